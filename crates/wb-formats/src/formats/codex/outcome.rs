//! Whether a tool failed: results have no flag, their texts tell an exit code, and so do events for the screen.

use std::borrow::Cow;

use serde_json::Value;
use wb_record::Line;

use super::super::fields::Fields;

/// How results begin that tell a failure without an exit code.
const FAILURES: [&str; 7] = [
    // How a call is answered that nobody answered.
    wb_message::markers::INTERRUPTED,
    "apply_patch verification failed",
    "exec_command failed",
    "execution error",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool call",
];
/// The lines at the start of a result among which the exit code stands.
const MAX_HEAD_LINES: usize = 8;

/// Returns whether a result tells that its tool failed.
pub(super) fn is_failure(text: &str) -> bool {
    exit_code(text).map_or_else(|| FAILURES.iter().any(|start| text.starts_with(start)), |code| code != 0)
}

/// Returns the exit code of a result: in a line before the output, or of older versions beside the output in JSON.
fn exit_code(text: &str) -> Option<i64> {
    if text.starts_with('{') {
        return serde_json::from_str::<Value>(text).ok()?.pointer("/metadata/exit_code")?.as_i64();
    }
    let mut head = text.lines().take(MAX_HEAD_LINES).take_while(|line| !line.starts_with("Output:"));
    let code = |line: &str| {
        let code =
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "));
        code?.trim().parse().ok()
    };
    head.find_map(code)
}

/// Returns the call that an item or an event tells to have failed.
pub(super) fn failed_call(kind: &str, payload: &Fields<'_>) -> Option<String> {
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
    let body = item.inner("output");
    let text =
        item.get("output").and_then(head).or_else(|| Some(body.as_ref()?.text("content")?.into_owned()));
    text.is_some_and(|text| is_failure(&text)) || body.is_some_and(|body| body.is("success", "false"))
}

/// Reads the lines of a string among which the exit code stands; all of one that may be JSON in a string.
fn head(json: &[u8]) -> Option<String> {
    let (mut end, mut n_lines) = (1, 0);
    while n_lines < MAX_HEAD_LINES && !json.starts_with(b"\"{") {
        let Some(found) = json.get(end..).and_then(|rest| memchr::memchr(b'\\', rest)) else { break };
        n_lines += usize::from(json.get(end + found + 1) == Some(&b'n'));
        end += found + 2;
    }
    if n_lines < MAX_HEAD_LINES {
        return Line::alone(1, json).parse().ok();
    }
    Line::alone(1, &[json.get(..end)?, b"\""].concat()).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_stands_before_the_output_or_beside_it() {
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
    fn of_a_long_result_only_the_lines_with_the_code_are_read() {
        let long = "a \\ line\n".repeat(100);
        for (text, is_failed) in [
            (format!("Chunk ID: a\nExit code: 1\nOutput:\n{long}"), true),
            (format!("\\n\nExit code: 1\n{long}"), true),
            (format!("{long}Exit code: 1\n"), false),
        ] {
            let json = Value::from(text.as_str()).to_string();
            let head = head(json.as_bytes()).unwrap();
            assert_eq!((is_failure(&head), is_failure(&text)), (is_failed, is_failed), "{text:.40}");
            assert!(head.lines().count() <= MAX_HEAD_LINES && text.starts_with(&head));
        }
        assert_eq!((head(b"[]"), head(b"\"a\\").is_some()), (None, false));
    }

    #[test]
    fn events_tell_failures_by_the_id_of_the_call() {
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
            let failed = failed_call(kind, &Fields::of(payload.as_bytes()).unwrap());
            assert_eq!(failed, is_failed.then(|| "c".to_owned()), "{payload}");
        }
    }
}
