//! The texts that an operation wrote, from the bytes of its changes: the current view may lack it.

use serde_json::Value;
use wb_message::markers::{CLEARED_TOOL_RESULT, digest_in_text};
use wb_record::{Change, ChangeSet};

/// The first heading of a digest.
const FIRST_HEADING: &str = "# Objective";

/// Returns the digest among the written texts.
pub(super) fn digest_in(changes: &ChangeSet) -> Option<String> {
    changes.changes.iter().find_map(|(_, change)| digest_in_bytes(new_bytes(change)))
}

/// Returns the number of tool results that the changes cleared.
pub(super) fn n_cleared(changes: &ChangeSet) -> usize {
    let marks = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(CLEARED_TOOL_RESULT).count();
    let added: usize = changes.changes.iter().map(|(_, change)| marks(new_bytes(change))).sum();
    let removed: usize = changes.changes.iter().map(|(_, change)| marks(old_bytes(change))).sum();
    added.saturating_sub(removed)
}

fn new_bytes(change: &Change) -> &[u8] {
    match change {
        Change::Append { new, .. } | Change::Splice { new, .. } | Change::Create { new } => &new.0,
        Change::Cut { .. } | Change::Remove { .. } => &[],
    }
}

fn old_bytes(change: &Change) -> &[u8] {
    match change {
        Change::Splice { old, .. } | Change::Cut { old, .. } | Change::Remove { old } => &old.0,
        Change::Append { .. } | Change::Create { .. } => &[],
    }
}

/// Reads the bytes as JSON, whole or by line.
fn digest_in_bytes(bytes: &[u8]) -> Option<String> {
    let whole = || digest_in_json(&serde_json::from_slice(bytes).ok()?);
    let of_line = |line: &[u8]| digest_in_json(&serde_json::from_slice(line).ok()?);
    whole().or_else(|| bytes.split(|byte| *byte == b'\n').find_map(of_line))
}

fn digest_in_json(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let own = || text.starts_with(FIRST_HEADING).then_some(text.as_str());
            digest_in_text(text).or_else(own).map(str::to_owned)
        }
        Value::Array(all) => all.iter().find_map(digest_in_json),
        Value::Object(all) => all.values().find_map(digest_in_json),
        _ => None,
    }
}
