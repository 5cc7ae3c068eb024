//! A last line that was cut off while it was written: what is there of it goes, since nobody can read it, and what an agent
//! appends would stand in one line with it.

use std::io;

use wb_record::{Bytes, Change, ChangeSet, Lines, PartReader, Parts, Span};

/// Returns the change that takes the last line out; none where a line feed ends it.
pub(super) fn without_torn_line(parts: &dyn Parts) -> io::Result<ChangeSet> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    let mut torn = None;
    while let Some((at, line)) = lines.next_raw()? {
        torn = (!line.ends_with(b"\n")).then(|| Span { at, len: line.len() as u64, ..Span::default() });
    }
    let Some(torn) = torn else { return Ok(ChangeSet::default()) };
    let change = Change::Cut { at: torn.at, old: Bytes(parts.bytes(&torn)?.into_owned()) };
    Ok(ChangeSet { changes: vec![(torn.part, change)] })
}
