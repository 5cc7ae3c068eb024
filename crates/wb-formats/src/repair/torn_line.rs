//! A last line that was cut off while it was written: its remains are removed, since they are
//! unreadable, and a line that an agent appends would continue it.

use std::io;

use wb_record::{
    Bytes, Change, ChangeSet, Lines, MemoryParts, NotExpressible, Note, PartReader, Parts, Probe, Span,
};

use super::SessionRepair;
use super::stage::{Current, Next};
use crate::detect::detect;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let Some(line) = current.view.notes.iter().find_map(torn_line) else { return Ok(Next::Nothing) };
    let parts = current.document().parts();
    let changes = without_torn_line(parts).map_err(NotExpressible::unreadable)?;
    if current.messages().is_empty() && !is_session(parts, &changes).map_err(NotExpressible::unreadable)? {
        return Err(current.refused("without the truncated last line, no session would be left"));
    }
    current.step(SessionRepair { torn_line: Some(line), ..SessionRepair::from_changes(changes) })
}

/// Returns whether what changes leave of a file is a session.
fn is_session(parts: &dyn Parts, changes: &ChangeSet) -> io::Result<bool> {
    let Some((_, Change::Cut { at, .. })) = changes.changes.first() else { return Ok(true) };
    let rest = parts.bytes(&Span { at: 0, len: *at, ..Span::default() })?.into_owned();
    Ok(detect(&Probe::new(&MemoryParts::from_bytes(rest))?).is_some())
}

/// Returns the number of the last line, if it was cut off.
fn torn_line(note: &Note) -> Option<usize> {
    match note {
        Note::TruncatedLastLine { line } => Some(*line),
        _ => None,
    }
}

/// Returns the change that removes the last line; none if a line feed ends it.
fn without_torn_line(parts: &dyn Parts) -> io::Result<ChangeSet> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    let mut torn = None;
    while let Some((at, line)) = lines.next_raw()? {
        torn = (!line.ends_with(b"\n")).then(|| Span { at, len: line.len() as u64, ..Span::default() });
    }
    let Some(torn) = torn else { return Ok(ChangeSet::default()) };
    let change = Change::Cut { at: torn.at, old: Bytes(parts.bytes(&torn)?.into_owned()) };
    Ok(ChangeSet { changes: vec![(torn.part, change)] })
}
