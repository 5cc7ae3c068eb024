//! Sessions from which a line is gone, or which a compaction parts in the wrong place: what no
//! provider takes is found and repaired.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use wb_formats::{Note, SentAs, View, lone_surrogates};
use wb_message::Message;
use wb_record::MemoryParts;

use crate::damage::corrupted::written;
use crate::support::{claude::lines, fixtures, of_parts, open};

/// A session of pi whose compaction is between a call and its result, as after a resume.
const PARTED: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"start"}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}}],"stopReason":"toolUse"}}
{"type":"compaction","id":"k1","parentId":"a1","summary":"Read a.rs.","firstKeptEntryId":"r1","tokensBefore":100}
{"type":"message","id":"r1","parentId":"k1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"u2","parentId":"r1","message":{"role":"user","content":"go on"}}
"#;

fn n_results(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::ToolResult { .. })).count()
}

#[test]
fn a_result_that_a_compaction_parts_from_its_call_is_noted_and_hidden() {
    let view = open(PARTED.as_bytes()).unwrap();
    let found = SentAs::from_view(&view).violations(&view.messages);
    assert!(found.iter().all(|it| it.rule == "result-orphan") && !found.is_empty(), "{found:?}");
    assert_eq!(n_results(&view.messages), 1);
    let (now, is_written) = written(PARTED.as_bytes()).unwrap();
    assert!(is_written && n_results(&now.messages) == 0, "{:?}", now.messages);
    assert_eq!(now.messages.len(), view.messages.len() - 1);
}

#[test]
fn a_call_whose_result_is_in_an_unreadable_line_is_not_answered_by_a_mark() {
    let compaction = format!("{}\n", PARTED.lines().nth(3).expect("a line"));
    let whole = PARTED.replace(&compaction, "").replace("\"k1\"", "\"a1\"");
    let result = whole.lines().nth(3).expect("a line");
    for (damaged, is_readable) in [
        (format!("\0\0\0{result}"), true),
        (result.replace("fn a()", "fn\na()"), true),
        (result.replace("}]", "]"), false),
    ] {
        let session = whole.replace(result, &damaged);
        let (now, _) = match written(session.as_bytes()) {
            Ok(repaired) => repaired,
            Err(why) => panic!("{damaged:?}: {why}"),
        };
        assert_eq!(n_results(&now.messages), usize::from(is_readable), "{damaged:?}: {:?}", now.messages);
        assert!(!format!("{:?}", now.messages).contains("interrupted"), "{damaged:?}: {:?}", now.messages);
    }
}

fn is_lost(view: &View) -> bool {
    view.notes.iter().any(|note| matches!(note, Note::LostParent { .. }))
}

#[test]
fn what_precedes_a_line_that_is_gone_is_seen_again() {
    let mut relinked: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, bytes) in fixtures().iter().chain(&[("pi/parted.jsonl", PARTED.as_bytes())]) {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for gone in 0..lines.len() {
            let bytes = [lines[..gone].concat(), lines[gone + 1..].concat()].concat();
            let Ok(view) = open(&bytes) else { continue };
            if !is_lost(&view) {
                continue;
            }
            let (now, is_written) = match written(&bytes) {
                Ok(repaired) => repaired,
                // Such as a file that is only read.
                Err(why) if why.starts_with("not written") => continue,
                Err(why) => panic!("{name} without line {}: {why}", gone + 1),
            };
            if is_written && !is_lost(&now) {
                // Results whose call is gone went too.
                let [before, after] = [&view, &now].map(|it| it.messages.len() - n_results(&it.messages));
                assert!(after >= before, "{name} without line {}", gone + 1);
                *relinked.entry(view.format).or_default() += 1;
            }
        }
    }
    assert!(
        ["claude-code", "pi", "qwen-code"].iter().all(|format| relinked.contains_key(format)),
        "{relinked:?}"
    );
}

#[test]
fn a_line_is_not_hung_where_that_leads_in_a_circle() {
    let line = |id: &str, parent: Value, role: &str, content: Value| {
        let message = json!({ "id": "m1", "role": role, "content": content });
        json!({ "type": role, "uuid": id, "parentUuid": parent, "agentId": "7", "isSidechain": true, "message": message })
    };
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    // The second line is there twice, and follows itself.
    let answers = [
        line("a2", "a1".into(), "assistant", text("Seen.")),
        line("a1", "a1".into(), "assistant", text("I look.")),
    ];
    let asked = line("a1", Value::Null, "user", "look".into());
    let bytes = lines(&[&answers[..], &[asked]].concat());
    let view = open(&bytes).unwrap();
    let (now, _) = written(&bytes).unwrap();
    assert!(is_lost(&view) && now.messages.len() >= view.messages.len(), "{view:?}, then {now:?}");
}

#[test]
fn what_is_there_of_a_line_that_was_cut_off_goes_and_nothing_else() {
    let mut repaired: BTreeSet<&str> = BTreeSet::new();
    let is_torn = |view: &View| view.notes.iter().any(|note| matches!(note, Note::TruncatedLastLine { .. }));
    for (name, bytes) in fixtures() {
        let last = bytes.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let bytes = &bytes[..last + (bytes.len() - last) / 2];
        let Ok(view) = open(bytes) else { continue };
        if !is_torn(&view) {
            continue;
        }
        let (now, is_written) = written(bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(is_written && !is_torn(&now), "{name}");
        assert!(now.messages.len() >= view.messages.len() - n_results(&view.messages), "{name}");
        repaired.insert(view.format);
    }
    let formats = ["claude-code", "codex", "copilot-cli", "gemini-cli", "goose", "kimi-cli", "native", "pi"];
    assert!(formats.iter().all(|format| repaired.contains(format)), "{repaired:?}");
}

#[test]
fn half_of_a_character_that_a_repair_brings_to_light_is_replaced_with_it() {
    let line = |id: &str, parent: Value, text: &str| {
        let message = json!({ "role": "user", "content": text });
        json!({ "type": "user", "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message })
    };
    let all = [
        line("u1", Value::Null, "half H of a pair"),
        line("u2", "u1".into(), "well?"),
        line("u3", "gone".into(), "go on"),
    ];
    let bytes = String::from_utf8(lines(&all)).unwrap().replace('H', "\\ud83d");
    let document = of_parts(MemoryParts::from_bytes(bytes.as_bytes()));
    let view = open(bytes.as_bytes()).unwrap();
    assert_eq!((view.messages.len(), lone_surrogates(document.as_ref(), &view).unwrap().len()), (1, 0));
    let (now, is_written) = written(bytes.as_bytes()).unwrap();
    assert!(is_written && now.messages.len() == 3, "{:?}", now.messages);
}

#[test]
fn a_line_of_qwen_code_that_is_no_object_says_nothing() {
    let line = |id: &str, parent: Value, role: &str| {
        let message = json!({ "role": role, "parts": [{ "text": "look" }] });
        json!({ "uuid": id, "parentUuid": parent, "sessionId": "s", "type": role, "message": message })
    };
    let all = [line("u1", Value::Null, "user"), json!("assistant"), line("a1", "u1".into(), "model")];
    assert_eq!(open(&lines(&all)).unwrap().messages.len(), 2);
}
