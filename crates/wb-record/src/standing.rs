//! Whether changes stand in the bytes: whole, in part, and so that they can be taken back.

use std::io;

use crate::change::{Change, ChangeSet};
use crate::part::{MemoryParts, Parts, Span};

/// Returns whether changes can be taken back byte by byte, tried on a copy of what they changed.
pub(crate) fn can_be_taken_back(parts: &dyn Parts, set: &ChangeSet) -> io::Result<bool> {
    let mut copy = MemoryParts::default();
    for (part, _) in &set.changes {
        if !copy.0.contains_key(part) && parts.len(part)?.is_some() {
            copy.0.insert(part.clone(), parts.whole(part)?);
        }
    }
    Ok(copy.commit(&set.inverse()).is_ok())
}

/// Returns whether what a set of changes writes stands in the parts.
pub(crate) fn stands(parts: &dyn Parts, set: &ChangeSet) -> io::Result<bool> {
    for (part, change) in &set.changes {
        let there = match change {
            Change::Append { at, new } | Change::Splice { at, new, .. } => {
                let span = Span { part: part.clone(), at: *at, len: new.0.len() as u64 };
                !new.0.is_empty() && parts.bytes(&span)? == new.0
            }
            Change::Create { new } => parts.len(part)?.is_some() && parts.whole(part)? == new.0,
            Change::Cut { at, .. } => parts.len(part)? == Some(*at),
            Change::Remove { .. } => parts.len(part)?.is_none(),
        };
        if !there {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns what cuts off the beginning of an append, if that is all that stands there of a set of changes.
pub(crate) fn torn(parts: &dyn Parts, set: &ChangeSet) -> Option<ChangeSet> {
    let [(part, Change::Append { at, new })] = set.changes.as_slice() else { return None };
    let mut there = Vec::new();
    parts.read(part, *at..at + new.0.len() as u64, &mut there).ok()?;
    let is_end = parts.len(part).ok()? == Some(at + there.len() as u64);
    let is_ours = is_end && !there.is_empty() && new.0.starts_with(&there);
    is_ours.then(|| ChangeSet::append(part, *at, there).inverse())
}
