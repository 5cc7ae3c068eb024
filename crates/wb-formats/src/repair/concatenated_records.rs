//! Lines that hold several records: each record gets a line of its own, so that it is read again.

use std::io;

use serde::de::IgnoredAny;
use wb_record::{Bytes, Change, ChangeSet, Lines, NotExpressible, Note, PartReader, Parts};

use super::SessionRepair;
use super::stage::{Current, Next};

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let is_unread = |note: &Note| matches!(note, Note::UnreadableRecords { .. });
    let is_able = current.uncovers.lines && current.document().abilities().fold_head.is_there();
    if !is_able || !current.view.notes.iter().any(is_unread) || !current.is_one_file()? {
        return Ok(Next::Nothing);
    }
    let (changes, lines) = parted(current.document().parts()).map_err(NotExpressible::unreadable)?;
    if lines.is_empty() {
        return Ok(Next::Nothing);
    }
    current.step(SessionRepair { parted: lines, ..SessionRepair::from_changes(changes) })
}

/// Returns the line feeds that separate the records of each line that holds several objects and
/// nothing else, and these lines.
fn parted(parts: &dyn Parts) -> io::Result<(ChangeSet, Vec<usize>)> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    let (mut changes, mut numbers) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next_line()? {
        let ends = ends_of_objects(line.bytes);
        if let [inner @ .., _] = ends.as_slice()
            && !inner.is_empty()
        {
            numbers.push(line.number);
            changes.extend(inner.iter().map(|end| line.at + *end as u64));
        }
    }
    let feed = |at| (String::new(), Change::Splice { at, old: Bytes::default(), new: Bytes(b"\n".to_vec()) });
    // In reverse order, so that no change moves the position of another.
    Ok((ChangeSet { changes: changes.into_iter().rev().map(feed).collect() }, numbers))
}

/// Returns the end of each object of a line; none if there is anything else.
fn ends_of_objects(line: &[u8]) -> Vec<usize> {
    let mut values = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    let mut ends: Vec<usize> = Vec::new();
    while let Some(value) = values.next() {
        let start = ends.last().copied().unwrap_or(0);
        if value.is_err() || !line[start..].trim_ascii_start().starts_with(b"{") {
            return Vec::new();
        }
        ends.push(values.byte_offset());
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_side_by_side_are_parted() {
        for (line, expected) in [
            (r#"{"a":1}{"b":{"c":2}}"#, &[7, 20][..]),
            (r#"{"a":1} {"b":2}"#, &[7, 15]),
            (r#"{"a":"}{"}"#, &[10]),
            (r#"{"a":1}{"b":"#, &[]),
            (r#"{"a":1}7"#, &[]),
            (r#"{"a":1},{"b":2}"#, &[]),
            ("", &[]),
        ] {
            assert_eq!(ends_of_objects(line.as_bytes()), expected, "{line}");
        }
    }
}
