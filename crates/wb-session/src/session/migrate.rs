//! Lines of older layouts, brought to version 3 as pi does it; all else in them stays byte for
//! byte.

use crate::entry::EntryTag;
use crate::error::WRITTEN_VERSION;
use crate::id::EntryId;
use crate::tree::Node;
use crate::tree::log::first_kept_of_version_1;
use wb_record::json;
use wb_record::lines::Line;

/// Returns the header with the present version.
pub(crate) fn header(bytes: &[u8]) -> Vec<u8> {
    json::set(bytes, "version", WRITTEN_VERSION.to_string().as_bytes())
}

/// Returns the line of an entry from a log of an older version; `at` is its place among the
/// entries.
pub(crate) fn entry(bytes: &[u8], version: u64, node: &Node, at: usize) -> Vec<u8> {
    let mut line = bytes.to_vec();
    if version < 2 {
        line = with_place(&line, &node.id, node.parent_id.as_ref());
        if node.tag == EntryTag::Compaction {
            line = with_boundary_of_version_1(&line, at);
        }
    }
    match json::get(&line, "message") {
        Some(message) if json::get(message, "role") == Some(b"\"hookMessage\"") => {
            let renamed = json::set(message, "role", b"\"custom\"");
            json::set(&line, "message", &renamed)
        }
        _ => line,
    }
}

/// Returns the line with another id and another parent.
pub(crate) fn with_place(line: &[u8], id: &EntryId, parent: Option<&EntryId>) -> Vec<u8> {
    with_parent(&json::set(line, "id", &quoted(id)), parent)
}

/// Returns the line with another parent.
pub(crate) fn with_parent(line: &[u8], parent: Option<&EntryId>) -> Vec<u8> {
    json::set(line, "parentId", &parent.map_or_else(|| b"null".to_vec(), quoted))
}

/// Returns the line of a compaction with another first entry that it keeps.
pub(crate) fn with_first_kept(line: &[u8], first_kept: &EntryId) -> Vec<u8> {
    json::set(line, "firstKeptEntryId", &quoted(first_kept))
}

/// Returns the line of a label or an edit with a new target entry.
pub(crate) fn with_target(line: &[u8], target: &EntryId) -> Vec<u8> {
    json::set(line, "targetId", &quoted(target))
}

fn with_boundary_of_version_1(line: &[u8], n_before: usize) -> Vec<u8> {
    let boundary = first_kept_of_version_1(Line::alone(0, line), n_before);
    let line = json::remove(line, "firstKeptEntryIndex");
    boundary.map_or(line.clone(), |id| with_first_kept(&line, &id))
}

fn quoted(id: &EntryId) -> Vec<u8> {
    serde_json::Value::from(id.as_str()).to_string().into_bytes()
}
