//! Sessions that foreign programs and unusual models leave behind.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wb_message::{Block, Message, outline};
use wb_session::store::memory::MemoryStore;
use wb_session::{EntryId, EntryKind, EntryTag, IdSource, NewSession, Node, Session, SessionError};

use crate::session::undo::{content_of, context_of, face, here, opened, written};

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
fn outline_of(messages: &[Message]) -> Vec<String> {
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
        let lines = outline_of(&[go_on.clone(), call("c"), said.clone()]);
        assert_eq!(lines, [outline::line(&go_on), outline::line(&said)]);
        let lines = outline_of(&[go_on.clone(), call("c"), said, result("c", "x")]);
        assert_eq!(lines.len(), 4, "and is again when the result is there");
    }
}

#[test]
fn of_two_results_of_one_call_the_first_is_sent() {
    let lines = outline_of(&[Message::user("u"), call("c"), result("c", "one"), result("c", "two")]);
    assert_eq!(lines.len(), 3);
    assert!(lines[2].contains("one"), "{lines:?}");
    // An id that is used again is another call.
    let again = [Message::user("u"), call("c"), result("c", "one"), call("c"), result("c", "two")];
    assert_eq!(outline_of(&again).len(), 5);
}

/// Ids that a careless comparison takes for one another; no two are the same.
const LOOK_ALIKES: [&str; 14] = [
    "0000000a",
    "0000000A",
    "000000a",
    "00000000a",
    "+000000a",
    "-0000001",
    "00000010",
    " 0000010",
    "",
    "ffffffff",
    "FFFFFFFF",
    "éééé",
    "0000000é",
    "x",
];

fn an_id() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(LOOK_ALIKES.to_vec()).prop_map(str::to_owned),
        7 => (0_u32..40).prop_map(|n| format!("{n:08x}")),
    ]
}

/// A line from any program, whose parent is before it, after it or nowhere.
fn a_line() -> impl Strategy<Value = String> {
    let said = prop_oneof![
        6 => "[a-z]{1,5}".prop_map(|text| json!({"type": "message", "message": {"role": "user", "content": text}})),
        3 => (0_u64..90).prop_map(|n| json!({"type": "message", "message": {"role": "assistant", "content": "x",
            "usage": {"input": n}, "stopReason": if n % 3 == 0 { "error" } else { "stop" }}})),
        2 => an_id().prop_map(|id| json!({"type": "compaction", "summary": "S", "firstKeptEntryId": id})),
        2 => (an_id(), any::<bool>()).prop_map(|(id, hides)| json!({"type": "context_edit", "targetId": id,
            "replacement": if hides { Value::Null } else { json!({"content": "new"}) }})),
        2 => (an_id(), prop::option::of("[a-c]{0,1}")).prop_map(|(id, text)| json!({"type": "label", "targetId": id, "label": text})),
        1 => prop::option::of("[a-c]{0,1}").prop_map(|text| json!({"type": "session_info", "name": text})),
        1 => an_id().prop_map(|id| json!({"type": "unheard_of", "targetId": id, "message": {"role": "user"}})),
        1 => Just(json!({"type": "custom", "customType": "t", "data": {"id": "x", "parentId": "y"}})),
    ];
    (said, an_id(), prop::option::weighted(0.9, an_id()), 0_u8..20).prop_map(
        |(mut entry, id, parent, form)| {
            entry["id"] = id.into();
            entry["parentId"] = parent.into();
            let line = entry.to_string();
            match form {
                0 => format!("  {line}\t\r"),
                1 => format!("\n\r\n{line}\r"),
                2 => format!("{{\"type\":\n{line}"),
                3 => line[..line.len() - 1].to_owned(),
                _ => line,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(wb_testkit::depth::cases(300)))]
    #[test]
    fn a_compaction_of_any_log_is_undone_or_refused(
        lines in prop::collection::vec(a_line(), 1..40),
    ) {
        let header = r#"{"type":"session","version":3,"id":"s"}"#.to_owned();
        let log = std::iter::once(header).chain(lines).collect::<Vec<_>>().join("\n") + "\n";
        let mut session = opened(log.as_bytes());
        for _ in 0..3 {
            let Some(leaf) = session.leaf().cloned() else { return Ok(()) };
            let (before, labels) = (written(&session), labels(&session));
            let Ok(path) = session.path() else {
                prop_assert!(session.undo_compaction(9).is_err() && session.leaf() == Some(&leaf));
                return Ok(());
            };
            let at = path.iter().rposition(|node| node.tag == EntryTag::Compaction);
            let Some(at) = at else {
                prop_assert!(matches!(session.undo_compaction(9), Err(SessionError::NothingToUndo)));
                return Ok(());
            };
            if edits_what_comes_later(&session, &path) {
                return Ok(());
            }
            let mut ids: Vec<EntryId> = path.iter().map(|node| node.id.clone()).collect();
            ids.remove(at);
            let expected = context_of(&before, &ids);
            let undone = session.undo_compaction(9).unwrap();
            prop_assert_eq!(&undone.old_leaf_id, &leaf);
            let context = here(&session);
            prop_assert_eq!(content_of(&context), content_of(&expected));
            let after = written(&session);
            prop_assert!(after.starts_with(&before));
            prop_assert_eq!(face(&opened(&after)), face(&session));
            for (id, label) in labels {
                prop_assert_eq!(session.tree().label(&id), Some(label.as_str()));
            }
        }
    }
}

/// Returns whether an edit precedes the entry that it is about, which no program can write in its
/// order.
fn edits_what_comes_later(session: &Session, path: &[Node]) -> bool {
    path.iter().enumerate().any(|(at, node)| match session.entry(&node.id).map(|entry| entry.kind) {
        Ok(EntryKind::ContextEdit(edit)) => path[at..].iter().any(|later| later.id == edit.target_id),
        _ => false,
    })
}

fn labels(session: &Session) -> Vec<(EntryId, String)> {
    session.tree().labels().map(|(id, label)| (id.clone(), label.to_owned())).collect()
}

#[test]
fn ids_that_look_alike_are_different_entries() {
    let label =
        |id| json!({"type": "label", "id": id, "parentId": null, "targetId": id, "label": id}).to_string();
    let header = r#"{"type":"session","version":3,"id":"s"}"#.to_owned();
    let log = std::iter::once(header).chain(LOOK_ALIKES.map(label)).collect::<Vec<_>>().join("\n");
    let session = opened(log.as_bytes());
    let ids: Vec<EntryId> = session.tree().nodes().map(|node| node.id).collect();
    assert_eq!(ids, LOOK_ALIKES.map(EntryId::from));
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(session.tree().node(id).unwrap().line, at + 2, "{id:?}");
    }
}
