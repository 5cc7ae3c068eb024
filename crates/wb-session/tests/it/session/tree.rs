//! The tree of a session against the log that holds every entry.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use wb_session::store::memory::MemoryStore;
use wb_session::{EntryId, IdSource, Session, SessionError, SessionLog, build_context};

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}";

fn session(log: &str) -> Session {
    Session::open(Box::new(MemoryStore::of_lines(log.as_bytes())), IdSource::new(1)).unwrap()
}

/// Ids of every form, few enough that they meet.
fn id() -> impl Strategy<Value = String> {
    let long = (0..6_u32).prop_map(|n| format!("{n:08x}-0000-4000-8000-000000000000"));
    let short = select(vec!["", "a", "0000000A", "+0000001", "root"]).prop_map(str::to_owned);
    prop_oneof![6 => (0..12_u32).prop_map(|n| format!("{n:08x}")), 3 => long, 1 => short]
}

/// Logs in which anything follows anything: ids that come twice, parents that come later, never or
/// are the entry.
fn log() -> impl Strategy<Value = String> {
    let kind =
        select(vec!["user", "user", "assistant", "model_change", "thinking_level_change", "compaction"]);
    let entry = (kind, id(), prop::option::weighted(0.9, id()), id(), 0..3_u32);
    let line = |(kind, id, parent, other, time): (&str, String, Option<String>, String, u32)| {
        let said = match kind {
            "compaction" => json!({"type": kind, "summary": id, "firstKeptEntryId": other}),
            "model_change" => json!({"type": kind, "provider": "p", "modelId": other}),
            "thinking_level_change" => json!({"type": kind, "thinkingLevel": other}),
            role => {
                json!({"type": "message", "message": {"role": role, "content": [{"type": "text", "text": id}]}})
            }
        };
        let mut line =
            json!({"id": id, "parentId": parent, "timestamp": format!("2026-01-01T00:00:0{time}Z")});
        line.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        line.to_string()
    };
    let lines = prop::collection::vec(entry.prop_map(line), 0..30);
    lines.prop_map(|lines| [vec![HEADER.to_owned()], lines].concat().join("\n"))
}

proptest! {
    #[test]
    fn a_session_sees_the_tree_and_the_contexts_of_its_log(text in log()) {
        let (session, log) = (session(&text), SessionLog::read(text.as_bytes()).unwrap());
        let (nodes, entries): (Vec<_>, _) = (session.tree().nodes().collect(), log.entries());
        prop_assert_eq!(nodes.len(), entries.len());
        for (node, entry) in nodes.iter().zip(entries) {
            let seen = (&node.id, &node.parent_id, node.timestamp, node.line);
            prop_assert_eq!(seen, (&entry.id, &entry.parent_id, entry.timestamp, entry.line));
            prop_assert_eq!(&session.entry(&node.id).unwrap(), log.entry(&node.id).unwrap());
            let leaf = Some(&node.id);
            match log.path(leaf) {
                Ok(path) => {
                    let seen = session.tree().path(leaf).unwrap().into_iter().map(|node| (node.id, node.line));
                    let path = path.into_iter().map(|entry| (entry.id.clone(), entry.line));
                    prop_assert_eq!(seen.collect::<Vec<_>>(), path.collect::<Vec<_>>());
                    prop_assert_eq!(session.context(leaf).unwrap(), build_context(&log, leaf).unwrap());
                }
                Err(_) => prop_assert!(session.tree().path(leaf).is_err()),
            }
        }
        let mut lines: Vec<usize> = session.tree().walk().into_iter().map(|(_, node)| node.line).collect();
        lines.sort_unstable();
        prop_assert_eq!(lines, (2..entries.len() + 2).collect::<Vec<_>>());
    }
}

fn message(id: &str, parent: &str) -> String {
    json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": id}})
        .to_string()
}

#[test]
fn a_cycle_above_what_the_context_holds_does_not_keep_it_from_being_built() {
    let compaction = |kept: &str| json!({"type": "compaction", "id": "c", "parentId": "k", "summary": "S", "firstKeptEntryId": kept});
    let log = |kept: &str| {
        let lines = [message("a", "b"), message("b", "a"), message("k", "b"), compaction(kept).to_string()];
        session(&[&[HEADER.to_owned()], &lines[..], &[message("d", "c")]].concat().join("\n"))
    };
    let seen = |kept: &str| log(kept).context(Some(&"d".into()));
    let entries = |ids: &[&str]| ids.iter().map(|id| EntryId::from(*id)).collect::<Vec<_>>();
    assert_eq!(seen("k").unwrap().entries, entries(&["c", "k", "d"]));
    assert_eq!(seen("c").unwrap().entries, entries(&["c", "d"]), "nothing is kept");
    assert_eq!(seen("gone").unwrap().entries, entries(&["c", "d"]));
    assert!(matches!(seen("d"), Err(SessionError::Cycle { .. })), "it is looked for in vain");
    assert!(matches!(log("k").path(), Err(SessionError::Cycle { .. })));
}

#[test]
fn a_parent_keeps_its_name_while_it_is_not_there() {
    let mut lines = vec![HEADER.to_owned(), message("b", "00000001"), message("c", "gone")];
    let parent = |session: &Session, id: &str| session.tree().node(&id.into()).unwrap().parent_id;
    let open = |lines: &[String]| session(&lines.join("\n"));
    let before = open(&lines);
    assert_eq!((parent(&before, "b"), parent(&before, "c")), (Some("00000001".into()), Some("gone".into())));
    assert_eq!(before.tree().path(Some(&"b".into())).unwrap().len(), 1);
    lines.push(message("00000001", "c"));
    let after = open(&lines);
    assert_eq!(parent(&after, "b"), Some("00000001".into()));
    assert_eq!(after.tree().path(Some(&"b".into())).unwrap().len(), 3);
}
