//! Results that name no call next to calls without a result, in each format: the results are kept.

use serde_json::{Value, json};
use wb_formats::{FORMATS, SentAs, repair};
use wb_message::markers::INTERRUPTED;
use wb_message::{Message, Pairing};
use wb_record::{MemoryParts, Stamp};

use crate::damage::corrupted::written;
use crate::damage::unanswered::{Case, composed};
use crate::support::{of_parts, open};

/// Two calls of one answer with their results, and the next user message.
const BOTH: Case = Case { answered: &[true, true], is_end: false };

/// The formats in which a result is in its call or step, those of agents that leave out unpaired
/// calls and results, and one that is read only.
const OTHERS: [&str; 9] = [
    "pi",
    "codex",
    "opencode",
    "gemini-cli",
    "copilot-cli",
    "openhands-events",
    "kimi-code",
    "droid",
    "atif",
];

/// The formats that write calls as Anthropic or chat do, in which a call can be given an id.
const WITH_BLOCKS: [&str; 9] = [
    "cline",
    "anthropic-messages",
    "openai-chat",
    "mini-swe-agent",
    "openhands-llm-completions",
    "kimi-cli",
    "swe-agent",
    "tau-bench",
    "inspect-ai",
];

/// Replaces the first or the last place of an id.
fn replaced(bytes: &[u8], id: &str, is_first: bool, new: &str) -> Vec<u8> {
    let (text, old) = (str::from_utf8(bytes).unwrap(), format!("\"{id}\""));
    let at = if is_first { text.find(&old) } else { text.rfind(&old) }.unwrap();
    [&text[..at], new, &text[at + old.len()..]].concat().into_bytes()
}

/// Returns the error of a session's repair.
fn wrong(format: &str, bytes: &[u8]) -> Option<String> {
    let before = match open(bytes) {
        Ok(view) if view.format == format => view,
        other => return Some(format!("read as {:?}", other.map(|view| view.format))),
    };
    let is_known = Pairing::new(&before.messages).orphans().is_empty();
    match written(bytes) {
        _ if is_known => Some("names its call".to_owned()),
        Err(why) => Some(why),
        Ok((now, _)) => {
            let said = format!("{:?}", now.messages);
            let n_kept = said.matches("a.rs").count();
            let left = SentAs::from_view(&now).violations(&now.messages);
            let n_results = now.messages.iter().filter(|it| matches!(it, Message::ToolResult { .. })).count();
            let is_kept = (n_kept, n_results) == (2, 2) && !said.contains(INTERRUPTED);
            (!is_kept || !left.is_empty()).then(|| {
                format!(
                    "{n_kept} of {n_results} kept, left: {left:?} {:#?} {:#?}",
                    before.messages, now.messages
                )
            })
        }
    }
}

#[test]
fn a_result_that_names_no_call_answers_the_one_next_to_it() {
    let formats = FORMATS.iter().map(|row| row.format.name()).filter(|name| !OTHERS.contains(name));
    let wrong = formats.filter_map(|format| {
        let bytes = replaced(&composed(format, BOTH)?, "call_1", false, "\"\"");
        Some(format!("{format}: {}", wrong(format, &bytes)?))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_call_without_an_id_gets_that_of_the_result_next_to_it() {
    for format in WITH_BLOCKS {
        let bytes = replaced(&composed(format, BOTH).unwrap(), "call_1", true, "null");
        assert_eq!(wrong(format, &bytes), None, "{format}");
        let id = written(&bytes)
            .unwrap()
            .0
            .messages
            .iter()
            .flat_map(Message::calls)
            .next()
            .map(|it| it.0.to_owned());
        assert_eq!(id.as_deref(), Some("call_1"), "{format}");
    }
}

#[test]
fn a_result_of_swe_agent_lists_the_ids_of_its_calls() {
    let bytes = replaced(&composed("swe-agent", BOTH).unwrap(), "call_1", false, "\"\"");
    let mut document = of_parts(MemoryParts::from_bytes(bytes));
    let view = document.view("").unwrap();
    let repaired = repair(document.as_ref(), "", &view, &Stamp::default()).unwrap();
    document.commit(&repaired.changes).unwrap();
    let after: Value = serde_json::from_slice(&document.parts().whole("").unwrap()).unwrap();
    let results = after["history"].as_array().unwrap().iter().filter(|it| it["role"] == "tool");
    let ids: Vec<&Value> = results.map(|it| &it["tool_call_ids"]).collect();
    assert_eq!(ids, [&json!(["call_1"]), &json!(["call_2"])]);
}
