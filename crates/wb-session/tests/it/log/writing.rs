//! Logs that are written anew: real files, recorded answers, and entries in pi's form.

use std::collections::HashMap;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::{Block, Content, Message};
use wb_record::Line;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    BranchSummary, Compaction, ContextEdit, Custom, CustomMessage, EntryId, EntryKind, EntryTag, IdSource,
    Label, Logged, ModelChange, NewSession, Replacement, Request, Session, SessionError, SessionInfo,
    SessionLog, StopReason, ThinkingLevelChange, build_context,
};
use wb_testkit::session_rows::{NEWEST, Recording, is_of};
use wb_testkit::shared::{more_shared, shared_files};

use crate::support::{FIXTURES, bytes_of, shared};

fn opened(log: &[u8]) -> Session {
    Session::open(Box::new(MemoryStore::of_lines(log)), IdSource::new(1)).unwrap()
}

fn written(session: &Session) -> Vec<u8> {
    let mut out = Vec::new();
    session.write_to(&mut out).unwrap();
    out
}

fn files() -> Vec<PathBuf> {
    let mut files = shared_files("sessions/pi");
    files.extend(shared_files("vectors/session-cases"));
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files
}

/// Checks that the store and the log in memory agree at every leaf.
fn assert_same(session: &Session, log: &SessionLog, name: &str) {
    let leaves =
        log.entries().iter().map(|entry| Some(&entry.id)).rev().step_by(1 + log.entries().len() / 20);
    for leaf in leaves.chain([None]) {
        assert_eq!(session.context(leaf).unwrap(), build_context(log, leaf).unwrap(), "{name} {leaf:?}");
    }
    assert_eq!(session.leaf(), log.leaf(), "{name}");
}

#[test]
fn every_real_file_is_written_as_it_was_and_a_migrated_one_opens_as_the_same() {
    for path in files() {
        let (bytes, name) = (bytes_of(&path), path.display().to_string());
        let (session, log) = (opened(&bytes), SessionLog::read(&bytes[..]).unwrap());
        assert_same(&session, &log, &name);
        let anew = written(&session);
        if session.header().version == 3 {
            assert!(anew == bytes, "{name} was changed");
        }
        let again = opened(&anew);
        assert_eq!(again.header().version, 3, "{name}");
        assert_same(&again, &log, &name);
        assert!(written(&again) == anew, "{name} is not written the same twice");
    }
}

/// The recorded migration of these files was stored next to them.
#[test]
fn a_migrated_file_is_byte_for_byte_what_the_recorded_migration_wrote() {
    let Some(folder) = shared("sessions/pi") else { return };
    for name in ["badlogic-pi-mono__before-compaction", "badlogic-pi-mono__large-session"] {
        let file = |suffix: &str| bytes_of(&folder.join(format!("{name}{suffix}")));
        assert!(written(&opened(&file(".jsonl"))) == file(".v3.jsonl"), "{name}");
    }
}

#[test]
fn lines_that_are_no_entries_are_noted_and_written_as_they_were() {
    let header = "\u{FEFF}{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\r\n";
    let entry = "{\"type\":\"x\", \"id\":\"a\",\"parentId\":null,\"n\":1.50e1,\"t\":\"\\ud83d\"}\r\n";
    let log = format!("{header}\n{entry}{{\"type\":\"message\n  42\n{entry}\n");
    let session = opened(log.as_bytes());
    assert_eq!(String::from_utf8(written(&session)).unwrap(), log);
    let notes: Vec<_> = session.notes().iter().map(|note| format!("{note:?}")).collect();
    assert_eq!(notes.len(), 2);
    assert!(
        notes[0].starts_with("BadLine { line: 4,") && notes[1].starts_with("BadLine { line: 5,"),
        "{notes:?}"
    );
    assert_eq!(session.tree().nodes().map(|node| node.line).collect::<Vec<_>>(), [3, 6]);
    for (name, text) in FIXTURES {
        if let Ok(log) = SessionLog::read(text.as_bytes()) {
            let session = opened(text.as_bytes());
            assert_eq!(
                session.context(log.leaf()).unwrap(),
                build_context(&log, log.leaf()).unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_session_without_a_header_is_refused() {
    let open =
        |log: &[u8]| Session::open(Box::new(MemoryStore::of_lines(log)), IdSource::new(1)).unwrap_err();
    assert!(matches!(open(b""), SessionError::Empty));
    assert!(matches!(open(b"\n{\"type\":\"message\"}\n"), SessionError::NoHeader { line: 2, .. }));
    assert!(matches!(open(b"hello\n"), SessionError::NotJson { line: 1, .. }));
}

/// Returns the recorded answers to an operation, each with its session.
fn rows(op: &str) -> Vec<(Value, Session)> {
    let of = |recording: Recording| {
        let with_session = |row: Value| {
            let session = opened(&bytes_of(&recording.session(&row).unwrap()));
            (row, session)
        };
        recording.rows(op).into_iter().map(with_session).collect::<Vec<_>>()
    };
    Recording::all().into_iter().flat_map(of).collect()
}

fn records(log: &[u8]) -> Vec<Value> {
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|bytes| Line::alone(1, bytes).parse().unwrap()).collect()
}

#[test]
fn migrations_and_parsed_types_are_the_recorded_ones() {
    for (row, session) in rows("migrate") {
        let records = records(&written(&session));
        assert_eq!(records[0]["version"], row["output"]["version"]);
        for (before, record) in records.iter().zip(&records[1..]) {
            assert_eq!(
                record["parentId"],
                if before["type"] == "session" { Value::Null } else { before["id"].clone() }
            );
            assert_eq!(record["id"].as_str().map(str::len), Some(8));
        }
        let at = |id: &Value| records.iter().position(|record| !id.is_null() && record["id"] == *id);
        let of_compaction = |(at_own, it): (usize, &Value)| {
            json!({ "at": at_own, "firstKeptAt": at(&it["firstKeptEntryId"]),
                "hasIndexField": it.get("firstKeptEntryIndex").is_some() })
        };
        let compactions = records.iter().enumerate().filter(|(_, record)| record["type"] == "compaction");
        let compactions: Value = compactions.map(of_compaction).collect();
        assert_eq!(compactions, row["output"]["compactions"]);
        if let Some(roles) = row["output"]["roles"].as_array() {
            let ours = records.iter().filter_map(|record| record["message"].get("role"));
            assert_eq!(&ours.cloned().collect::<Vec<_>>(), roles);
        }
    }
    for (row, session) in rows("parse") {
        let types: Value = records(&written(&session)).iter().map(|record| record["type"].clone()).collect();
        assert_eq!(types, row["output"]["types"]);
    }
}

#[test]
fn the_state_of_a_session_is_the_recorded_one() {
    let mut n_checked = 0;
    for (row, session) in rows("session_state").into_iter().filter(|(row, _)| is_of(row, NEWEST)) {
        let tree = session.tree();
        let walk = tree.walk();
        assert_eq!(walk.len(), tree.nodes().len());
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for (_, node) in &walk {
            let parent = node.parent_id.as_ref().filter(|id| tree.node(id).is_some());
            *counts.entry(parent.map_or("", EntryId::as_str)).or_default() += 1;
        }
        let count = |node: &wb_session::Node| counts.get(node.id.as_str()).copied().unwrap_or(0);
        // Recorded in the order of the entries, not in that of their labels.
        let labels =
            tree.nodes().filter_map(|node| Some([node.id.to_string(), tree.label(&node.id)?.to_owned()]));
        let labels: Vec<_> = labels.collect();
        assert_eq!(labels.len(), tree.labels().count());
        let roots = walk.iter().filter(|(depth, _)| *depth == 0);
        let ours = json!({
            "leafId": session.leaf().map(EntryId::as_str),
            "branch": session.path().unwrap().iter().map(|node| node.id.as_str()).collect::<Vec<_>>(),
            "name": tree.name(),
            "latestCompaction": tree.last_compaction().map(|node| node.id),
            "labels": labels,
            "roots": roots.map(|(_, node)| node.id.as_str()).collect::<Vec<_>>(),
            "childCounts": tree.nodes().map(|it| (it.id.to_string(), json!(count(&it)))).collect::<Value>(),
        });
        for (key, value) in row["output"].as_object().unwrap() {
            assert_eq!(&ours[key], value, "{key} in row {}", row["n"]);
        }
        n_checked += 1;
    }
    assert!(
        n_checked > if more_shared("vectors").is_some() { 90 } else { 5 },
        "{n_checked} recorded answers"
    );
}

#[test]
fn a_fork_is_the_recorded_one() {
    let mut n_checked = 0;
    let begin = NewSession { id: "fork".into(), timestamp: 5, cwd: "/".into(), parent_session: None };
    for (row, session) in rows("fork_path").into_iter().filter(|(row, _)| is_of(row, NEWEST)) {
        let leaf = EntryId::from(row["params"]["leaf"].as_str().unwrap());
        let mut out = Vec::new();
        session.fork_to(Some(&leaf), &begin, &mut IdSource::new(9), &mut out).unwrap();
        let mut records = records(&out);
        records.remove(0);
        let seen = |record: &Value| match record["type"].as_str() {
            Some("label") => {
                json!({ "type": "label", "targetId": record["targetId"], "label": record["label"] })
            }
            Some("compaction") if record.get("firstKeptEntryId").is_some() => {
                json!({ "type": "compaction", "id": record["id"], "parentId": record["parentId"],
                "firstKeptEntryId": record["firstKeptEntryId"] })
            }
            _ => json!({ "type": record["type"], "id": record["id"], "parentId": record["parentId"] }),
        };
        let ours: Value = records.iter().map(seen).collect();
        assert_eq!(ours, row["output"], "row {}", row["n"]);
        let fork = opened(&out);
        assert!(fork.tree().path(fork.leaf()).unwrap().len() == records.len(), "one chain");
        n_checked += 1;
    }
    assert!(
        n_checked > if more_shared("vectors").is_some() { 110 } else { 5 },
        "{n_checked} recorded answers"
    );
}

fn answer() -> Logged {
    let usage =
        Usage { input_tokens: 10, output_tokens: 5, cache_read_tokens: Some(3), cache_write_tokens: Some(1) };
    Logged {
        message: Message::Assistant {
            content: vec![
                Block::Thinking { text: "hm".into(), signature: Some("sig".into()) },
                Block::text("é"),
                Block::call("c1", "read", json!({ "z": 1, "a": 2.5 })),
            ],
            error_message: Some("cut".into()),
        },
        request: Some(Request {
            api: Some("x-api".into()),
            provider: Some("p".into()),
            model: Some("m".into()),
            usage: Some(usage),
            stop_reason: StopReason::Aborted,
        }),
        is_excluded: false,
    }
}

/// One entry of each kind.
fn one_of_each(target: &EntryId) -> Vec<EntryKind> {
    let result = Message::ToolResult {
        tool_call_id: "c1".into(),
        tool_name: "read".into(),
        content: vec![Block::text("x"), Block::image("image/png", "aGk=")],
        is_error: true,
        is_refusal: false,
    };
    let shell = Message::BashExecution { command: "ls".into(), output: "a".into(), exit_code: Some(2) };
    vec![
        Message::User { content: "hi".into(), timestamp: 7 }.into(),
        EntryKind::Message(answer()),
        result.into(),
        EntryKind::Message(Logged { message: shell, request: None, is_excluded: true }),
        Message::custom("ci", "red").into(),
        EntryKind::ModelChange(ModelChange { provider: "p".into(), model_id: "m".into() }),
        EntryKind::ThinkingLevelChange(ThinkingLevelChange { thinking_level: "high".into() }),
        EntryKind::Compaction(Compaction {
            summary: "S".into(),
            first_kept_entry_id: Some(target.clone()),
            tokens_before: 900,
            details: Some(json!({ "readFiles": ["a"], "modifiedFiles": [] })),
            from_hook: true,
        }),
        EntryKind::BranchSummary(BranchSummary {
            from_id: "root".into(),
            summary: "B".into(),
            details: None,
            from_hook: false,
        }),
        EntryKind::CustomMessage(CustomMessage {
            custom_type: "note".into(),
            content: Content::Blocks(vec![Block::text("n")]),
            display: true,
            details: Some(json!(1)),
        }),
        EntryKind::ContextEdit(ContextEdit {
            target_id: target.clone(),
            replacement: Some(Replacement { content: "new".into() }),
        }),
        EntryKind::Custom(Custom { custom_type: "ext".into(), data: Some(json!([1])) }),
        EntryKind::SessionInfo(SessionInfo { name: Some("name".into()) }),
        EntryKind::Other(json!({ "type": "usage", "kind": "title", "x": null }).as_object().unwrap().clone()),
    ]
}

fn begun() -> Session {
    let begin = NewSession {
        id: "s".into(),
        timestamp: 1_000,
        cwd: "/p".into(),
        parent_session: Some("old.jsonl".into()),
    };
    Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(3)).unwrap()
}

#[test]
fn an_entry_of_each_kind_is_written_as_pi_does() {
    let mut session = begun();
    let target = session.append(&Message::user("first").into(), 2_000).unwrap();
    for kind in one_of_each(&target) {
        session.append(&kind, 3_000).unwrap();
    }
    session.set_label(&target, Some("L"), 4_000).unwrap();
    session.set_label(&target, None, 4_000).unwrap();
    assert_snapshot!(String::from_utf8(written(&session)).unwrap());
}

#[test]
fn what_is_written_is_read_back_as_it_was() {
    let mut session = begun();
    let target = session.append(&Message::user("first").into(), 2_000).unwrap();
    let kinds = one_of_each(&target);
    let ids: Vec<EntryId> = kinds.iter().map(|kind| session.append(kind, 3_000).unwrap()).collect();
    let log = SessionLog::read(&written(&session)[..]).unwrap();
    for (kind, id) in kinds.iter().zip(&ids) {
        let entry = session.entry(id).unwrap();
        assert_eq!(Some(&entry), log.entry(id));
        assert_eq!((entry.timestamp, entry.kind.tag()), (3_000, kind.tag()));
        match kind {
            EntryKind::Other(_) => assert_eq!(entry.kind.tag(), EntryTag::Other),
            kind => assert_eq!(&entry.kind, kind),
        }
    }
    assert_same(&opened(&written(&session)), &log, "written");
}

#[test]
fn the_tree_learns_of_an_entry_what_it_learns_when_the_session_is_opened_again() {
    let mut session = begun();
    let target = session.append(&Message::user("first").into(), 2_000).unwrap();
    let mut kinds = one_of_each(&target);
    kinds.push(EntryKind::SessionInfo(SessionInfo { name: Some(String::new()) }));
    kinds.extend(
        [Some("L"), Some(""), None].map(|label| {
            EntryKind::Label(Label { target_id: target.clone(), label: label.map(str::to_owned) })
        }),
    );
    for (kind, timestamp) in kinds.iter().flat_map(|kind| TIMES.map(|timestamp| (kind, timestamp))) {
        session.append(kind, timestamp).unwrap();
        let again = opened(&written(&session));
        assert!(session.tree().nodes().eq(again.tree().nodes()), "{kind:?} at {timestamp}");
        assert_eq!(session.tree().label(&target), again.tree().label(&target), "{kind:?}");
        assert_eq!(session.tree().name(), again.tree().name(), "{kind:?}");
    }
}

/// The first and the last year that are written with four digits, and what lies beyond.
const TIMES: [i64; 5] =
    [0, -62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999, 253_402_300_800_000];

#[test]
fn an_entry_is_refused_only_if_it_could_not_be_read_again() {
    let mut session = begun();
    let target = session.append(&Message::user("first").into(), 2_000).unwrap();
    let (mut deep, mut n_refused) = (json!(1), 0);
    for levels in 1..140 {
        deep = if levels % 2 == 0 { json!([deep]) } else { json!({ "a": deep }) };
        let call = || vec![Block::call("c", "t", deep.clone())];
        let details = Some(deep.clone());
        for kind in [
            Message::Assistant { content: call(), error_message: None }.into(),
            EntryKind::Compaction(Compaction { details: details.clone(), ..Compaction::default() }),
            EntryKind::BranchSummary(BranchSummary { details: details.clone(), ..BranchSummary::default() }),
            EntryKind::CustomMessage(CustomMessage {
                custom_type: "x".into(),
                content: Content::Blocks(call()),
                display: true,
                details: None,
            }),
            EntryKind::ContextEdit(ContextEdit {
                target_id: target.clone(),
                replacement: Some(Replacement { content: Content::Blocks(call()) }),
            }),
            EntryKind::Custom(Custom { custom_type: "x".into(), data: details }),
        ] {
            match session.append(&kind, 3_000) {
                Ok(id) => assert_eq!(session.entry(&id).unwrap().kind.tag(), kind.tag(), "{levels} levels"),
                Err(error) => {
                    assert!(levels > 100 && error.hint().len() > 10, "{levels} levels: {error}");
                    n_refused += 1;
                }
            }
        }
    }
    assert!(n_refused > 6);
    assert!(opened(&written(&session)).notes().is_empty());
}

#[test]
fn reasoning_that_only_the_provider_can_read_is_written_as_pi_does_and_read_again() {
    let begin = NewSession { id: "s".into(), ..NewSession::default() };
    let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(1)).unwrap();
    let message = Message::assistant_blocks(vec![Block::redacted_thinking("b3A="), Block::text("Done.")]);
    let kind = EntryKind::Message(Logged { message: message.clone(), request: None, is_excluded: false });
    session.append(&kind, 0).unwrap();
    let bytes = written(&session);
    let part =
        r#"{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"b3A=","redacted":true}"#;
    assert!(String::from_utf8_lossy(&bytes).contains(part), "{}", String::from_utf8_lossy(&bytes));
    let again = opened(&bytes);
    assert_eq!(again.context(again.leaf()).unwrap().messages[0].blocks(), message.blocks());
}
