//! Determines from the bytes how far interrupted changes got: after a kill or a power cut there is
//! no other source.

use std::io;

use crate::parts::change::{Bytes, Change, ChangeSet, CommitError};
use crate::parts::part::{Parts, changed_parts, read_old};
use crate::parts::piece_table::PieceTable;

/// The extent to which changes of one part were carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// None of them is there.
    NotBegun,
    /// A piece of an append is at the end; the changes remove it.
    Torn(ChangeSet),
    /// All of them are there; others may have appended since.
    Finished,
    /// The bytes are neither those before nor those after the changes.
    Foreign,
}

/// Determines how far changes were carried out.
///
/// Of an append a power cut may leave a beginning, or all of its length with zeros where the disk
/// was not written. Every other change is there or not.
pub fn progress(parts: &dyn Parts, set: &ChangeSet) -> io::Result<Progress> {
    let mut all = Vec::new();
    for part in names(set) {
        let changes: Vec<&Change> =
            set.changes.iter().filter(|(name, _)| name == part).map(|(_, change)| change).collect();
        all.push(match appended(&changes) {
            Some((at, new)) => append_progress(parts, part, at, &new)?,
            None => rewrite_progress(parts, part, &changes)?,
        });
    }
    all.dedup();
    // Parts that are changed together are changed in one transaction.
    Ok(if all.len() > 1 { Progress::Foreign } else { all.pop().unwrap_or(Progress::Finished) })
}

/// Returns whether changes can be reverted byte by byte.
pub(crate) fn can_be_undone(parts: &dyn Parts, set: &ChangeSet) -> io::Result<bool> {
    is_done(changed_parts(parts, &set.inverse()))
}

/// Returns where changes append to and what, if they do nothing else.
pub(crate) fn appended(changes: &[&Change]) -> Option<(u64, Vec<u8>)> {
    let mut all: Option<(u64, Vec<u8>)> = None;
    for change in changes {
        let Change::Append { at, new } = change else { return None };
        let (start, bytes) = all.get_or_insert_with(|| (*at, Vec::new()));
        if start.saturating_add(bytes.len() as u64) != *at {
            return None;
        }
        bytes.extend_from_slice(&new.0);
    }
    all
}

fn names(set: &ChangeSet) -> Vec<&str> {
    let mut names: Vec<&str> = set.changes.iter().map(|(part, _)| part.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn append_progress(parts: &dyn Parts, part: &str, at: u64, new: &[u8]) -> io::Result<Progress> {
    let Some(len) = parts.len(part)? else { return Ok(Progress::Foreign) };
    let mut there = Vec::new();
    parts.read(part, at..at.saturating_add(new.len() as u64), &mut there)?;
    let is_ours = there.iter().zip(new).all(|(found, ours)| found == ours || *found == 0);
    Ok(if there == new {
        Progress::Finished
    } else if len == at {
        Progress::NotBegun
    } else if is_ours && !there.is_empty() && len - at == there.len() as u64 {
        let cut = Change::Cut { at, old: Bytes(there) };
        Progress::Torn(ChangeSet { changes: vec![(part.to_owned(), cut)] })
    } else {
        Progress::Foreign
    })
}

fn rewrite_progress(parts: &dyn Parts, part: &str, changes: &[&Change]) -> io::Result<Progress> {
    let len = parts.len(part)?;
    let back: Vec<Change> = changes.iter().rev().map(|change| change.inverse()).collect();
    let back: Vec<&Change> = back.iter().collect();
    let (is_after, is_before) = (fits(parts, part, len, &back)?, fits(parts, part, len, changes)?);
    if is_after || is_before {
        // Where one text begins like the other, both seem to be there, and the longer one is.
        let is_longer = changes.iter().map(|change| grown_by(change)).sum::<i64>() > 0;
        return Ok(if is_after && (is_longer || !is_before) {
            Progress::Finished
        } else {
            Progress::NotBegun
        });
    }
    // Others may have appended since.
    let end = end_after(changes).filter(|end| Some(*end) <= len);
    let is_there = end.is_some() && fits(parts, part, end, &back)?;
    Ok(if is_there { Progress::Finished } else { Progress::Foreign })
}

/// Returns whether changes find what they expect in the first bytes of a part.
fn fits(parts: &dyn Parts, part: &str, len: Option<u64>, changes: &[&Change]) -> io::Result<bool> {
    let mut pieces = PieceTable::new(part, len);
    let old = read_old(parts, part);
    is_done(changes.iter().try_for_each(|change| pieces.apply(&old, change)))
}

/// Returns whether something was not refused; what cannot be read is no refusal.
fn is_done<T>(outcome: Result<T, CommitError>) -> io::Result<bool> {
    match outcome {
        Err(CommitError::Io { source, .. }) => Err(source),
        outcome => Ok(outcome.is_ok()),
    }
}

/// Returns the end of a part after changes, if they contain it.
fn end_after(changes: &[&Change]) -> Option<u64> {
    changes.iter().fold(None, |end: Option<u64>, change| match change {
        Change::Append { at, new } => Some(at.saturating_add(new.0.len() as u64)),
        Change::Cut { at, .. } => Some(*at),
        Change::Create { new } => Some(new.0.len() as u64),
        Change::Splice { .. } => end?.checked_add_signed(grown_by(change)),
        Change::Remove { .. } => None,
    })
}

/// Returns the number of bytes that a change adds to a part.
fn grown_by(change: &Change) -> i64 {
    let [new, old] = match change {
        Change::Append { new, .. } | Change::Create { new } => [new.0.len(), 0],
        Change::Splice { old, new, .. } => [new.0.len(), old.0.len()],
        Change::Cut { old, .. } | Change::Remove { old } => [0, old.0.len()],
    };
    i64::try_from(new).unwrap_or(i64::MAX).saturating_sub_unsigned(old as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::part::MemoryParts;

    fn append(at: u64, new: &str) -> Change {
        Change::Append { at, new: Bytes(new.into()) }
    }

    fn splice(at: u64, old: &str, new: &str) -> Change {
        Change::Splice { at, old: Bytes(old.into()), new: Bytes(new.into()) }
    }

    fn describe(text: &str, changes: &[Change]) -> String {
        let changes = changes.iter().map(|change| (String::new(), change.clone())).collect();
        match progress(&MemoryParts::from_bytes(text), &ChangeSet { changes }).unwrap() {
            Progress::Torn(cut) => {
                let mut parts = MemoryParts::from_bytes(text);
                parts.commit(&cut).unwrap();
                format!("torn after {:?}", String::from_utf8(parts.whole("").unwrap()).unwrap())
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn an_append_is_detected_by_its_bytes() {
        for (text, expected) in [
            ("old", "NotBegun"),
            ("oldnew", "Finished"),
            ("oldnewer", "Finished"),
            ("oldn", "torn after \"old\""),
            ("oldn\0\0", "torn after \"old\""),
            ("old\0ew", "torn after \"old\""),
            ("oldx", "Foreign"),
            ("oldnx", "Foreign"),
            ("old\0\0\0\0", "Foreign"),
            ("ol", "Foreign"),
        ] {
            assert_eq!(describe(text, &[append(3, "new")]), expected, "{text:?}");
            assert_eq!(describe(text, &[append(3, "n"), append(4, "ew")]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_rewrite_is_there_or_not() {
        let mixed = [splice(0, "old", "fresh"), append(5, "!")];
        for (text, expected) in [
            ("old", "NotBegun"),
            ("fresh!", "Finished"),
            ("fresh! and more", "Finished"),
            ("fresh", "Foreign"),
        ] {
            assert_eq!(describe(text, &mixed), expected, "{text:?}");
        }
        let (longer, shorter) = ([splice(0, "1", "100")], [splice(0, "100", "1")]);
        assert_eq!([describe("1", &longer), describe("100", &longer)], ["NotBegun", "Finished"]);
        assert_eq!([describe("100", &shorter), describe("1", &shorter)], ["NotBegun", "Finished"]);
        let cut = [Change::Cut { at: 1, old: Bytes("ld".into()) }];
        assert_eq!(
            [describe("old", &cut), describe("o", &cut), describe("on", &cut)],
            ["NotBegun", "Finished", "Finished"]
        );
    }

    #[test]
    fn a_part_is_created_or_not() {
        let set = ChangeSet { changes: vec![("x".into(), Change::Create { new: Bytes("new".into()) })] };
        let mut parts = MemoryParts::from_bytes("other");
        assert_eq!(progress(&parts, &set).unwrap(), Progress::NotBegun);
        parts.commit(&set).unwrap();
        assert_eq!(progress(&parts, &set).unwrap(), Progress::Finished);
        assert_eq!(progress(&parts, &set.inverse()).unwrap(), Progress::NotBegun);
        parts.commit(&set.inverse()).unwrap();
        assert_eq!(progress(&parts, &set.inverse()).unwrap(), Progress::Finished);
    }
}
