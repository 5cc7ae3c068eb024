//! Detection of failed tools: results have no flag, but their texts contain an exit code, and so do
//! events for the screen.

use std::borrow::Cow;

use serde_json::Value;

use crate::kit::fields::Fields;

/// The starts of results that report a failure without an exit code.
const FAILURES: [&str; 7] = [
    // The host's answers to unanswered calls.
    wb_message::markers::INTERRUPTED,
    "apply_patch verification failed",
    "exec_command failed",
    "execution error",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool call",
];
/// The number of lines at the start of a result in which the exit code can appear.
const MAX_HEAD_LINES: usize = 8;

/// Returns whether a result says that its tool failed.
pub(crate) fn is_failure(text: &str) -> bool {
    if text.starts_with('{') {
        // Older versions store the exit code next to the output.
        let result = serde_json::from_str::<Value>(text).ok();
        let code = result.and_then(|result| result.pointer("/metadata/exit_code")?.as_i64());
        return code.is_some_and(|code| code != 0);
    }
    is_failure_in(text.lines())
}

/// Returns whether lines report a failure, by an exit code before the output or by their start.
fn is_failure_in<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut head = lines.take(MAX_HEAD_LINES).take_while(|line| !line.starts_with("Output:")).peekable();
    let is_named = head.peek().is_some_and(|line| FAILURES.iter().any(|start| line.starts_with(start)));
    let code = |line: &str| {
        let code =
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "));
        code?.trim().parse::<i64>().ok()
    };
    head.find_map(code).map_or(is_named, |code| code != 0)
}

/// Returns the call that an item or an event reports as failed.
pub(crate) fn failed_call(kind: &str, payload: &Fields<'_>) -> Option<String> {
    let is_failed = match kind {
        "exec_command_end" => is_not_zero(payload),
        "patch_apply_end" => payload.is("success", "false"),
        "mcp_tool_call_end" => is_mcp_failure(&payload.inner("result")?),
        "item_completed" => {
            let item = payload.inner("item")?;
            let is_failed =
                is_not_zero(&item) || item.text("status").is_some_and(|status| status == "failed");
            return item.text("id").filter(|_| is_failed).map(Cow::into_owned);
        }
        _ if kind.ends_with("_output") => is_failed_output(payload),
        _ => false,
    };
    payload.text("call_id").filter(|_| is_failed).map(Cow::into_owned)
}

fn is_not_zero(event: &Fields<'_>) -> bool {
    event.get("exit_code").is_some_and(|code| !matches!(code, b"0" | b"null"))
}

fn is_mcp_failure(result: &Fields<'_>) -> bool {
    result.get("Err").is_some() || result.inner("Ok").is_some_and(|it| it.is("isError", "true"))
}

fn is_failed_output(item: &Fields<'_>) -> bool {
    let json = item.json("output").unwrap_or_default();
    // A string that contains JSON is read as a whole.
    let has_failed = if json.starts_with("\"{") {
        item.text("output").is_some_and(|text| is_failure(&text))
    } else {
        json.strip_prefix('"').is_some_and(|rest| is_failure_in(escaped_lines(rest)))
    };
    let of_body = |body: Fields<'_>| {
        body.text("content").is_some_and(|text| is_failure(&text)) || body.is("success", "false")
    };
    has_failed || item.inner("output").is_some_and(of_body)
}

/// Visits the lines of a string, still escaped as JSON; the last one ends with the closing
/// quotation mark.
fn escaped_lines(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(json);
    std::iter::from_fn(move || {
        let (all, mut from) = (rest.take()?, 0);
        while let Some(at) = all.get(from..).and_then(|rest| memchr::memchr(b'\\', rest.as_bytes())) {
            let end = from + at;
            from = end + 2;
            if all.as_bytes().get(end + 1) == Some(&b'n') {
                rest = all.get(from..);
                let line = &all[..end];
                return Some(line.strip_suffix("\\r").unwrap_or(line));
            }
        }
        Some(all.strip_suffix('"').unwrap_or(all))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_precedes_the_output_or_is_next_to_it() {
        for (text, is_failed) in [
            ("Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\nok", true),
            ("Chunk ID: a\nProcess exited with code 0\nOutput:\nProcess exited with code 1", false),
            ("Exit code: 1\nWall time: 0 seconds\nOutput:\n", true),
            ("Output:\nExit code: 1", false),
            ("Process running with session ID 7\nOutput:\n", false),
            (r#"{"output":"no","metadata":{"exit_code":127,"duration_seconds":0.1}}"#, true),
            (r#"{"output":"Exit code: 1","metadata":{"exit_code":0}}"#, false),
            (r#"{"metadata":"#, false),
            ("apply_patch verification failed: Failed to find expected lines", true),
            ("Plan updated", false),
            ("", false),
        ] {
            assert_eq!(is_failure(text), is_failed, "{text}");
        }
    }

    #[test]
    fn a_result_in_json_reports_what_its_text_reports() {
        let long = "a \\ line \"b\"\n".repeat(100);
        for (text, is_failed) in [
            (format!("Chunk ID: a\nExit code: 1\nOutput:\n{long}"), true),
            (format!("\\n\n\r\nExit code: 1\r\n{long}"), true),
            (format!("{long}Exit code: 1\n"), false),
            ("Exit code: 3".to_owned(), true),
            ("execution error".to_owned(), true),
            (r#"{"metadata":{"exit_code":1}}"#.to_owned(), true),
        ] {
            let item = serde_json::json!({ "output": text }).to_string();
            let of_item = is_failed_output(&Fields::parse(item.as_bytes()).unwrap());
            assert_eq!((of_item, is_failure(&text)), (is_failed, is_failed), "{text:.40}");
        }
        for json in [r#"{"output":"a\"#, r#"{"output":[]}"#, "{}"] {
            assert!(!Fields::parse(json.as_bytes()).is_some_and(|item| is_failed_output(&item)), "{json}");
        }
    }

    #[test]
    fn events_report_failures_by_the_id_of_the_call() {
        for (kind, payload, is_failed) in [
            ("exec_command_end", r#"{"call_id":"c","exit_code":1}"#, true),
            ("exec_command_end", r#"{"call_id":"c","exit_code":0}"#, false),
            ("patch_apply_end", r#"{"call_id":"c","success":false}"#, true),
            ("mcp_tool_call_end", r#"{"call_id":"c","result":{"Err":"no"}}"#, true),
            ("mcp_tool_call_end", r#"{"call_id":"c","result":{"Ok":{"isError":true}}}"#, true),
            ("mcp_tool_call_end", r#"{"call_id":"c","result":{"Ok":{"isError":false}}}"#, false),
            ("item_completed", r#"{"item":{"type":"CommandExecution","id":"c","exit_code":3}}"#, true),
            ("item_completed", r#"{"item":{"type":"FileChange","id":"c","status":"failed"}}"#, true),
            ("item_completed", r#"{"item":{"type":"AgentMessage","id":"c"}}"#, false),
            ("function_call_output", r#"{"call_id":"c","output":"Exit code: 1\nOutput:\n"}"#, true),
            ("function_call_output", r#"{"call_id":"c","output":{"content":"x","success":false}}"#, true),
            ("function_call_output", r#"{"call_id":"c","output":[]}"#, false),
            ("user_message", r#"{"call_id":"c","exit_code":1}"#, false),
        ] {
            let failed = failed_call(kind, &Fields::parse(payload.as_bytes()).unwrap());
            assert_eq!(failed, is_failed.then(|| "c".to_owned()), "{payload}");
        }
    }
}
