//! Rollouts of Codex: reading each layout, and appending.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wb_formats::codex::lock_path;
use wb_message::markers::{DIGEST_HEADER, is_pinned};
use wb_message::{Block, Message};
use wb_record::{Document, Item, MemoryParts, NotExpressible, Note, ONLY_CONVERSATION, Stamp, View};

use crate::reading::composed::{all_segments, outline, outline_of};
use crate::support::{fixture, open};

const STAMP: Stamp =
    Stamp { now_ms: 1_772_358_400_250, seed: 1, tokens_before: 6110, tokens_after: 700, by_hand: true };

fn document(bytes: &[u8]) -> (Box<dyn Document>, View) {
    let document = wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))).unwrap();
    let view = document.view(ONLY_CONVERSATION).unwrap();
    (document, view)
}

fn digest() -> Message {
    Message::user(format!("{DIGEST_HEADER}\n# Goal\nFix it.").as_str())
}

/// Folds all that is not pinned before a message, and gives the lines that are appended.
fn appended(bytes: &[u8], cut: usize) -> Vec<Value> {
    let (mut document, view) = document(bytes);
    let digest = digest();
    let pinned = (0..cut).filter(|at| is_pinned(&view.messages[*at])).map(Item::Same);
    let items: Vec<Item<'_>> =
        pinned.chain([Item::New(&digest)]).chain((cut..view.messages.len()).map(Item::Same)).collect();
    let set = document.render(ONLY_CONVERSATION, &view, &items, &STAMP).unwrap();
    document.commit(&set).unwrap();
    lines_after(document.as_ref(), bytes.len())
}

fn lines_after(document: &dyn Document, n_bytes: usize) -> Vec<Value> {
    let text = String::from_utf8(document.parts().whole("").unwrap()).unwrap();
    text[n_bytes..]
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn what_the_host_says_at_the_start_and_later_is_pinned() {
    assert_snapshot!(outline_of("codex/world.jsonl"));
}

#[test]
fn an_answer_is_everything_between_results_and_what_the_host_says_is_not_the_users() {
    assert_snapshot!(outline_of("codex/current.jsonl"));
}

#[test]
fn every_kind_of_item_has_its_place() {
    assert_snapshot!(outline_of("codex/items.jsonl"));
}

#[test]
fn after_a_compaction_its_history_is_seen() {
    assert_snapshot!(outline_of("codex/compacted.jsonl"));
}

#[test]
fn what_was_rolled_back_is_not_seen_nor_what_the_host_said_right_before_it() {
    assert_snapshot!(outline_of("codex/rolled-back.jsonl"));
}

/// Newer versions say from which line on; it is counted from 0.
#[test]
fn what_was_rolled_back_from_a_line_on_is_not_seen() {
    let said = |text: &str| {
        format!(
            r#"{{"timestamp":"","type":"response_item","payload":{{"role":"user","type":"message","content":"{text}"}}}}"#
        )
    };
    let back = r#"{"timestamp":"","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":9,"rollback_start_index":1}}"#;
    let lines = [said("a"), said("b"), said("c"), back.to_owned(), said("d")].join("\n");
    let opened = open(lines.as_bytes()).unwrap();
    assert_eq!(opened.messages, [Message::user("a"), Message::user("d")]);
    assert_eq!(opened.notes[0].to_string(), "lines of abandoned branches skipped: 2");
}

#[test]
fn a_compaction_without_a_history_keeps_what_the_user_said() {
    assert_snapshot!(outline_of("codex/summary.jsonl"));
}

#[test]
fn lines_without_an_envelope_are_read_too() {
    assert_snapshot!(outline_of("codex/bare.jsonl"));
}

#[test]
fn segments_end_at_compactions() {
    for name in ["codex/compacted.jsonl", "codex/summary.jsonl"] {
        let each = all_segments(name);
        let each: Vec<String> =
            each.iter().map(|segment| outline(&segment.messages, &segment.usage)).collect();
        assert_snapshot!(each.join("--\n"));
    }
}

#[test]
fn a_line_that_cannot_be_read_hides_no_other() {
    let opened = open(fixture("codex/bad-middle.jsonl")).unwrap();
    assert_eq!(opened.messages.len(), 2);
    assert_eq!(opened.notes[0].to_string(), "unreadable lines left as they are: 1, the first is line 2");
}

#[test]
fn the_model_and_its_window_are_the_last_that_were_reported() {
    let opened = open(fixture("codex/rolled-back.jsonl")).unwrap();
    assert_eq!((opened.model.as_deref(), opened.context_window), (Some("gpt-z2"), Some(258_400)));
}

/// The shape is that of a compaction that a real host went on from.
#[test]
fn a_compaction_is_appended_with_what_keeps_the_host_from_repeating_everything() {
    let lines = appended(fixture("codex/world.jsonl"), 5);
    let kinds: Vec<_> =
        lines.iter().map(|line| (line["type"].as_str().unwrap(), line["ordinal"].as_u64())).collect();
    let expected = ["compacted", "world_state", "turn_context", "event_msg", "event_msg"];
    let first = kinds[0].1.unwrap();
    assert_eq!(first, 16);
    assert_eq!(kinds, (first..).zip(expected).map(|(nth, kind)| (kind, Some(nth))).collect::<Vec<_>>());
    assert!(lines.iter().all(|line| line["timestamp"] == "2026-03-01T09:46:40.250Z"));
    let all = lines.iter().map(|line| serde_json::to_string_pretty(&line["payload"]).unwrap());
    assert_snapshot!(all.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_file_without_ordinals_and_without_a_state_gets_neither() {
    let lines = appended(fixture("codex/compacted.jsonl"), 7);
    let kinds: Vec<_> =
        lines.iter().map(|line| line["payload"]["type"].as_str().unwrap_or("compacted")).collect();
    assert_eq!(kinds, ["compacted", "token_count", "item_completed"]);
    assert!(lines.iter().all(|line| line.get("ordinal").is_none()));
    let completed = &lines[2]["payload"];
    assert_eq!(
        (completed["thread_id"].as_str(), completed["turn_id"].as_str()),
        (Some("0199-demo-2"), Some("t2"))
    );
}

#[test]
fn items_that_stay_are_copied_byte_for_byte() {
    let bytes = fixture("codex/current.jsonl");
    let (document, view) = document(bytes);
    let items: Vec<Item<'_>> = (0..2).chain(3..view.messages.len()).map(Item::Same).collect();
    let set = document.render(ONLY_CONVERSATION, &view, &items, &STAMP).unwrap();
    let text = serde_json::to_string(&set).unwrap();
    let places = |at: usize| view.provenance.places(at).iter().map(|place| place.record.clone());
    for span in (0..2).chain(3..view.messages.len()).flat_map(places) {
        let item = String::from_utf8(document.parts().bytes(&span).unwrap().into_owned()).unwrap();
        let quoted = serde_json::to_string(&item).unwrap();
        assert!(item.starts_with("{\"type\":") && text.contains(&quoted[1..quoted.len() - 1]), "{item}");
    }
}

#[test]
fn of_a_result_only_the_output_is_replaced() {
    let bytes = fixture("codex/current.jsonl");
    let (mut document, view) = document(bytes);
    let body = [Block::text("a \"short\" é"), Block::image("image/png", "aGk=")];
    for (body, output) in [
        (&body[..1], serde_json::json!("a \"short\" é")),
        (
            &body[..],
            serde_json::json!([{"type": "input_text", "text": "a \"short\" é"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]),
        ),
        (&[], serde_json::json!("")),
    ] {
        let mut items: Vec<Item<'_>> = (0..view.messages.len()).map(Item::Same).collect();
        items[5] = Item::Body(5, body.into());
        let set = document.render(ONLY_CONVERSATION, &view, &items, &STAMP).unwrap();
        document.commit(&set).unwrap();
        let history = lines_after(document.as_ref(), bytes.len())[0]["payload"]["replacement_history"].take();
        let result = history.as_array().unwrap().iter().find(|item| item["output"] == output).unwrap();
        assert_eq!(
            (result["type"].as_str(), result["call_id"].as_str()),
            (Some("function_call_output"), Some("call_1"))
        );
        let after = document.view(ONLY_CONVERSATION).unwrap().messages;
        let Message::ToolResult { is_error, content, .. } = &after[5] else { panic!("no result") };
        assert_eq!(
            (*is_error, content.as_slice()),
            (true, body),
            "it failed, though its body does not tell any more"
        );
        document.commit(&set.inverse()).unwrap();
    }
}

#[test]
fn an_answer_is_never_edited() {
    let (document, view) = document(fixture("codex/current.jsonl"));
    let mut items: Vec<Item<'_>> = (0..view.messages.len()).map(Item::Same).collect();
    items[3] = Item::Body(3, vec![Block::text("x")].into());
    let refused = document.render(ONLY_CONVERSATION, &view, &items, &STAMP).unwrap_err();
    assert_eq!(refused.to_string(), "the format codex cannot hold it: another body for message 3, an answer");
}

#[test]
fn a_file_of_bare_lines_is_not_written() {
    let (document, view) = document(fixture("codex/bare.jsonl"));
    let refused = document.render(ONLY_CONVERSATION, &view, &[Item::Same(0)], &STAMP);
    assert!(matches!(refused, Err(NotExpressible::Refused { format: "codex", .. })));
}

#[test]
fn a_last_line_without_an_end_gets_one() {
    for name in ["codex/current.jsonl", "codex/truncated.jsonl"] {
        let bytes = fixture(name).trim_ascii_end();
        let (mut document, view) = document(bytes);
        let digest = digest();
        let set = document.render(ONLY_CONVERSATION, &view, &[Item::New(&digest)], &STAMP).unwrap();
        document.commit(&set).unwrap();
        assert_eq!(document.view(ONLY_CONVERSATION).unwrap().messages.len(), 1, "{name}");
        document.commit(&set.inverse()).unwrap();
        assert_eq!(document.parts().whole("").unwrap(), bytes);
    }
}

#[test]
fn what_others_append_is_taken_in_and_what_they_change_is_read_anew() {
    let bytes = fixture("codex/current.jsonl");
    let (mut document, before) = document(bytes);
    let line = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"é"}}"#;
    let half = bytes.len() as u64;
    for (at, new) in [(half, &line[..20]), (half + 20, &line[20..]), (half + line.len() as u64, "\n\n")] {
        document.commit(&wb_record::ChangeSet::append("", at, new.into())).unwrap();
    }
    let after = document.view(ONLY_CONVERSATION).unwrap();
    assert_eq!(after.messages.last(), Some(&Message::user("é")));
    assert_eq!((after.messages.len(), after.notes.len()), (before.messages.len() + 1, 0));
    let rest = document.parts().whole("").unwrap().split_off(bytes.len());
    let at = bytes.len() as u64;
    let cut = wb_record::ChangeSet::append("", at, rest).inverse();
    document.parts_mut().commit(&cut).unwrap();
    document.refresh().unwrap();
    assert_eq!(document.view(ONLY_CONVERSATION).unwrap().messages, before.messages);
}

/// The host went on after a compaction, so that its lines cannot be cut off.
#[test]
fn an_undo_appends_the_old_items_and_those_that_came_since() {
    let bytes = fixture("codex/current.jsonl");
    let (mut document, before) = document(bytes);
    let digest = digest();
    let items = [Item::Same(0), Item::Same(1), Item::New(&digest), Item::Same(6)];
    let set = document.render(ONLY_CONVERSATION, &before, &items, &STAMP).unwrap();
    document.commit(&set).unwrap();
    let said = br#"{"timestamp":"2026-03-03T00:00:00Z","ordinal":40,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"And now?"}]}}"#;
    let at = document.parts().whole("").unwrap().len() as u64;
    document.commit(&wb_record::ChangeSet::append("", at, [said, &b"\n"[..]].concat())).unwrap();
    let now = document.view(ONLY_CONVERSATION).unwrap();
    let old = (0..before.messages.len()).flat_map(|at| before.provenance.places(at));
    let old = old.map(|place| Item::Old(place.record.clone()));
    let items: Vec<Item<'_>> = old.chain([Item::Same(now.messages.len() - 1)]).collect();
    let undo = document.render(ONLY_CONVERSATION, &now, &items, &STAMP).unwrap();
    document.commit(&undo).unwrap();
    let after = document.view(ONLY_CONVERSATION).unwrap().messages;
    let expected = before.messages.iter().chain([now.messages.last().unwrap()]);
    let without_times = |message: &Message| match message.clone() {
        Message::User { content, .. } => Message::user(content),
        message => message,
    };
    let expected: Vec<Message> = expected.map(without_times).collect();
    assert_eq!(after.iter().map(without_times).collect::<Vec<_>>(), expected);
}

#[test]
fn the_lock_of_a_session_is_named_by_its_id() {
    let home = Path::new("/home/ada/.codex");
    let path = lock_path(&MemoryParts::from_bytes(fixture("codex/compacted.jsonl")), home).unwrap().unwrap();
    assert_eq!(path, home.join("thread-writer-locks/0199-demo-2.lock"));
    for line in [r#"{"timestamp":"","type":"session_meta","payload":{"id":"../../x"}}"#, r#"{"role":"user"}"#]
    {
        assert_eq!(lock_path(&MemoryParts::from_bytes(line), home).unwrap(), None, "{line}");
    }
}

#[test]
fn what_is_changed_before_lines_of_one_kind_is_read_again() {
    let item = |payload: Value| {
        let line =
            json!({ "timestamp": "2026-03-01T09:00:01Z", "type": "response_item", "payload": payload });
        format!("{line}\n")
    };
    let call = || {
        let call = json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1" });
        let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "a.rs" });
        item(call) + &item(output)
    };
    let text = json!([{ "type": "input_text", "text": "Look twice." }]);
    let user = item(json!({ "type": "message", "role": "user", "content": text }));
    // Where the last line began, one with the same bytes begins then.
    let bytes = user + &call() + &call() + &"0\n".repeat(4);
    let (mut document, view) = document(bytes.as_bytes());
    let repaired = wb_formats::repair(document.as_ref(), ONLY_CONVERSATION, &view, &STAMP).unwrap();
    document.commit(&repaired.changes).unwrap();
    let now = document.view(ONLY_CONVERSATION).unwrap();
    assert_ne!(now.messages, view.messages);
    assert_eq!(now.messages, repaired.messages);
}

#[test]
fn a_compaction_that_the_provider_cannot_decrypt_may_be_folded() {
    let line = |kind: &str, payload: Value| {
        json!({ "timestamp": "2026-10-20T08:00:00.000Z", "type": kind, "payload": payload }).to_string()
            + "\n"
    };
    let said = |role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
    };
    let opaque = json!({ "type": "compaction", "encrypted_content": "gAAAAAB" });
    let mut session = line("session_meta", json!({ "id": "s", "cwd": "/w" }));
    session += &line("response_item", said("user", "Plan the bed."));
    session += &line("compacted", json!({ "message": "", "replacement_history": [opaque] }));
    session += &line("response_item", said("user", "Go on."));
    let is_opaque = |message: &Message| is_pinned(message);
    let view = open(session.as_bytes()).unwrap();
    assert!(view.messages.iter().any(is_opaque), "{:?}", view.messages);
    let refusal = json!({ "error": { "code": "invalid_encrypted_content" } }).to_string();
    session += &line("event_msg", json!({ "type": "error", "message": refusal }));
    let view = open(session.as_bytes()).unwrap();
    assert!(!view.messages.iter().any(is_opaque), "{:?}", view.messages);
    assert!(view.notes.contains(&Note::UndecryptableCompaction { line: 5 }), "{:?}", view.notes);
}
