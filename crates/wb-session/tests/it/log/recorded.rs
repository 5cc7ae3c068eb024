//! Recorded answers of other systems, and real files.

use serde_json::{Value, json};
use wb_session::{EntryId, EntryKind, SessionError, SessionLog, build_context};
use wb_testkit::session_rows::Recording;

use crate::support::{bytes_of, shared};

/// Describes what is selected in the terms of the recorded answers.
fn described(log: &SessionLog, leaf: Option<&EntryId>) -> Vec<Value> {
    let selected = log.selected(leaf).unwrap();
    let described = selected.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Message(_) => Some(json!({"entry": entry.id.as_str()})),
        EntryKind::Compaction(it) => Some(json!({
            "role": "compactionSummary", "summary": it.summary, "tokensBefore": it.tokens_before,
            "timestamp": entry.timestamp,
        })),
        EntryKind::BranchSummary(it) if it.summary.is_empty() => None,
        EntryKind::BranchSummary(it) => Some(json!({
            "role": "branchSummary", "summary": it.summary, "fromId": it.from_id, "timestamp": entry.timestamp,
        })),
        EntryKind::CustomMessage(_) => Some(json!({"role": "custom"})),
        _ => None,
    });
    described.collect()
}

/// Returns whether a recorded message is the one described: hashed texts are taken as equal, and a
/// custom message is compared by its role only.
fn is_same(recorded: &Value, ours: &Value) -> bool {
    if ours["role"] == "custom" {
        return recorded["role"] == "custom";
    }
    let (Some(recorded), Some(ours)) = (recorded.as_object(), ours.as_object()) else { return false };
    recorded.len() == ours.len()
        && recorded
            .iter()
            .all(|(key, value)| ours.get(key).is_some_and(|own| own == value || value.is_object()))
}

fn check(row: &Value, log: &SessionLog) {
    let output = &row["output"];
    let leaf = match &row["params"]["leaf"] {
        Value::Null => None,
        Value::String(id) if id == "$undefined" => log.leaf().cloned(),
        Value::String(id) if log.entry(&id.as_str().into()).is_none() => {
            // They fall back to the last record; we report that the entry is unknown.
            let error = log.selected(Some(&id.as_str().into()));
            return assert!(matches!(error, Err(SessionError::UnknownLeaf { .. })));
        }
        id => id.as_str().map(EntryId::from),
    };
    let ours = described(log, leaf.as_ref());
    let theirs = output["messages"].as_array().unwrap();
    let is_equal = ours.len() == theirs.len() && theirs.iter().zip(&ours).all(|(a, b)| is_same(a, b));
    assert!(is_equal, "row {}: {ours:?} is not {theirs:?}", row["n"]);
    let context = build_context(log, leaf.as_ref()).unwrap();
    assert_eq!(context.model.as_deref(), output["model"]["modelId"].as_str(), "row {}", row["n"]);
    let level = context.thinking_level.as_deref().unwrap_or("off");
    assert_eq!(Some(level), output["thinkingLevel"].as_str(), "row {}", row["n"]);
}

#[test]
fn the_selection_is_the_recorded_one() {
    for recording in Recording::all() {
        let (mut n_checked, mut open) = (0, (None, None));
        for row in recording.rows("build_context") {
            let path = recording.session(&row);
            // Ids of the migrated files are random there.
            if path.as_ref().is_some_and(|path| path.to_string_lossy().contains("mig-")) {
                continue;
            }
            if open.0 != path {
                let log = path.as_deref().map(|path| SessionLog::read(bytes_of(path).as_slice()).unwrap());
                open = (path, log);
            }
            check(&row, open.1.as_ref().expect("a log"));
            n_checked += 1;
        }
        assert!(n_checked > if recording.is_whole { 900 } else { 0 }, "{n_checked} recorded answers");
    }
}

/// The recorded migration of a file was stored next to it: both give one context.
#[test]
fn migrating_gives_what_the_recorded_migration_gave() {
    let Some(folder) = shared("sessions/pi") else { return };
    for name in ["badlogic-pi-mono__before-compaction", "badlogic-pi-mono__large-session"] {
        let messages = |suffix: &str| {
            let log = SessionLog::read(bytes_of(&folder.join(format!("{name}{suffix}"))).as_slice()).unwrap();
            build_context(&log, log.leaf()).unwrap()
        };
        let (old, new) = (messages(".jsonl"), messages(".v3.jsonl"));
        assert_eq!(old.messages, new.messages, "{name}");
        assert_eq!(old.requests, new.requests, "{name}");
    }
}
