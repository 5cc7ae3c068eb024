//! Sessions that foreign programs and unusual models leave behind.

use serde_json::{Map, Value, json};
use wb_message::{Block, Message, outline};
use wb_session::store::memory::MemoryStore;
use wb_session::{EntryKind, IdSource, NewSession, Session};

fn empty() -> Session {
    Session::create(Box::new(MemoryStore::default()), &NewSession::default(), IdSource::new(1)).unwrap()
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn what_could_not_be_read_again_is_not_appended_and_the_session_goes_on() {
    let mut session = empty();
    session.append(&Message::user("Go on.").into(), 1).unwrap();
    let mut refused = Vec::new();
    for depth in (1..200).step_by(9) {
        let call = Block::call("c", "read", json!({ "path": nested(depth) }));
        let message = Message::Assistant { content: vec![call], error_message: None };
        if session.append(&message.into(), 1).is_err() {
            refused.push(depth);
        }
        assert!(session.context(session.leaf()).is_ok(), "{depth}");
    }
    assert_eq!(refused.first(), Some(&127));
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[test]
fn an_entry_in_pis_own_form_with_any_value_anywhere_is_refused_or_can_be_read() {
    let odd = [
        json!(null),
        json!(1),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!([]),
        json!({}),
        json!([1]),
        json!({"content": 1}),
        json!(true),
    ];
    let mut bad = std::collections::BTreeSet::new();
    let kinds: &[(&str, &[&str])] = &[
        ("user", &["content", "timestamp"]),
        (
            "assistant",
            &["content", "api", "provider", "model", "usage", "stopReason", "errorMessage", "timestamp"],
        ),
        ("toolResult", &["toolCallId", "toolName", "content", "isError", "details"]),
        ("bashExecution", &["command", "output", "exitCode", "excludeFromContext", "cancelled"]),
        ("custom", &["customType", "content", "display", "details"]),
        ("hookMessage", &["customType", "content", "display", "details"]),
    ];
    for (role, keys) in kinds {
        for key in *keys {
            for value in &odd {
                let mut session = empty();
                let entry = json!({"type": "message", "message": {"role": role, *key: value}});
                if session.append(&EntryKind::Other(fields(entry)), 1).is_ok()
                    && session.context(session.leaf()).is_err()
                {
                    bad.insert(format!("{role}.{key}={value}"));
                }
            }
        }
    }
    let kinds: &[(&str, &[&str])] = &[
        ("compaction", &["summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook"]),
        ("branch_summary", &["summary", "fromId", "details", "fromHook"]),
        ("custom_message", &["customType", "content", "display", "details"]),
        ("context_edit", &["targetId", "replacement"]),
        ("model_change", &["provider", "modelId"]),
        ("thinking_level_change", &["thinkingLevel"]),
        ("label", &["targetId", "label"]),
        ("session_info", &["name"]),
        ("custom", &["customType", "data"]),
        ("message", &["message"]),
    ];
    for (kind, keys) in kinds {
        for key in *keys {
            for value in &odd {
                let mut session = empty();
                let entry = json!({"type": kind, *key: value});
                if session.append(&EntryKind::Other(fields(entry)), 1).is_ok()
                    && session.context(session.leaf()).is_err()
                {
                    bad.insert(format!("{kind} {key}={value}"));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

fn call(id: &str) -> Message {
    Message::Assistant { content: vec![Block::call(id, "read", json!({}))], error_message: None }
}

fn result(id: &str, text: &str) -> Message {
    Message::tool_result(id, "read", text)
}

fn shell() -> Message {
    Message::BashExecution { command: "ls".into(), output: "a".into(), exit_code: Some(0) }
}

/// Returns the context after these messages, a line each.
fn seen(messages: &[Message]) -> Vec<String> {
    let mut session = empty();
    for message in messages {
        session.append(&message.clone().into(), 1).unwrap();
    }
    session.context(session.leaf()).unwrap().messages.iter().map(outline::line).collect()
}

#[test]
fn a_call_whose_result_never_came_is_not_sent_after_what_an_extension_or_a_command_said() {
    let go_on = Message::user("Go on.");
    for said in [Message::custom("note", "The build is red."), shell()] {
        let lines = seen(&[go_on.clone(), call("c"), said.clone()]);
        assert_eq!(lines, [outline::line(&go_on), outline::line(&said)]);
        let lines = seen(&[go_on.clone(), call("c"), said, result("c", "x")]);
        assert_eq!(lines.len(), 4, "and is again when the result is there");
    }
}

#[test]
fn of_two_results_of_one_call_the_first_is_sent() {
    let lines = seen(&[Message::user("u"), call("c"), result("c", "one"), result("c", "two")]);
    assert_eq!(lines.len(), 3);
    assert!(lines[2].contains("one"), "{lines:?}");
    // An id that is used again is another call.
    let again = [Message::user("u"), call("c"), result("c", "one"), call("c"), result("c", "two")];
    assert_eq!(seen(&again).len(), 5);
}
