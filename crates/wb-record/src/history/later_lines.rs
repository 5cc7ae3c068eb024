//! Undo of changes at the end of a log that other lines follow by now.

use std::io;

use crate::parts::change::{Bytes, Change, ChangeSet};
use crate::parts::part::Parts;

/// Returns the reverse of changes of which some were at the end of the part without a name, where
/// whole lines were appended since; nothing for other changes. A line that was cut off is restored
/// as a separate line.
pub(crate) fn below_later_lines(parts: &dyn Parts, set: &ChangeSet) -> io::Result<Option<ChangeSet>> {
    let back = set.inverse().changes;
    let is_at_end = |(_, change): &(_, Change)| matches!(change, Change::Cut { .. } | Change::Append { .. });
    if !back.iter().any(is_at_end) || back.iter().any(|(part, _)| !part.is_empty()) {
        return Ok(None);
    }
    let begin = |(part, change)| Ok(middle_change(parts, change)?.map(|change| (part, change)));
    let changes: io::Result<Option<Vec<_>>> = back.into_iter().map(begin).collect();
    Ok(changes?.map(|changes| ChangeSet { changes }))
}

/// Returns a change of the end as one of the middle.
fn middle_change(parts: &dyn Parts, change: Change) -> io::Result<Option<Change>> {
    let (at, old, new) = match change {
        Change::Cut { at, old: Bytes(old) } if old.ends_with(b"\n") => match old.strip_prefix(b"\n") {
            // It ended the line before, which needs that line feed now.
            Some(lines) => (at + 1, lines.to_vec(), Vec::new()),
            None => (at, old, Vec::new()),
        },
        Change::Append { at, new: Bytes(mut line) } => {
            if !parts.is_line_start(at)? {
                return Ok(None);
            }
            if !line.ends_with(b"\n") {
                line.push(b'\n');
            }
            (at, Vec::new(), line)
        }
        Change::Splice { .. } => return Ok(Some(change)),
        Change::Cut { .. } | Change::Create { .. } | Change::Remove { .. } => return Ok(None),
    };
    Ok(Some(Change::Splice { at, old: Bytes(old), new: Bytes(new) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::part::MemoryParts;

    /// Carries out a change, lets another line follow, and undoes the change.
    fn back(before: &str, change: Change) -> Option<String> {
        let mut parts = MemoryParts::from_bytes(before);
        let set = ChangeSet { changes: vec![(String::new(), change)] };
        parts.commit(&set).unwrap();
        let end = parts.len("").unwrap().unwrap();
        parts.commit(&ChangeSet::append("", end, b"later\n".to_vec())).unwrap();
        parts.commit(&below_later_lines(&parts, &set).unwrap()?).unwrap();
        Some(String::from_utf8(parts.whole("").unwrap()).unwrap())
    }

    #[test]
    fn lines_that_were_added_go_and_a_line_that_was_cut_off_comes_back() {
        let append = |at, new: &str| Change::Append { at, new: Bytes(new.into()) };
        assert_eq!(back("a\n", append(2, "b\nc\n")).unwrap(), "a\nlater\n");
        assert_eq!(back("a", append(1, "\nb\n")).unwrap(), "a\nlater\n");
        let cut = |at, old: &str| Change::Cut { at, old: Bytes(old.into()) };
        assert_eq!(back("a\n{\"b", cut(2, "{\"b")).unwrap(), "a\n{\"b\nlater\n");
        assert_eq!(back("a{\"b", cut(1, "{\"b")), None, "the line before would be another");
        let splice = Change::Splice { at: 0, old: Bytes("a".into()), new: Bytes("b".into()) };
        assert_eq!(back("a\n", splice), None, "nothing was at the end");
    }
}
