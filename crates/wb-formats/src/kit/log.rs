//! The lines of a log, each an object, read once from its start to its end.

use std::io::{self, BufRead as _, Read as _};
use std::ops::Range;

use serde::de::IgnoredAny;
use wb_record::lines::trimmed;
use wb_record::{FormatError, Line, Lines, Note, PartReader, Parts, Span};

use super::fields::Fields;
use super::skips::Skips;

/// The outcome of reading all lines.
#[derive(Debug, Default)]
pub(crate) struct LogEnd {
    pub(crate) passed: Skips,
    /// The last line, if it was cut off while it was written.
    truncated: Option<usize>,
    pub(crate) n_bytes: u64,
    /// Set if the lines end with a line feed.
    pub(crate) is_ended: bool,
}

impl LogEnd {
    /// Reads all lines, each with the members of the object under a key; other values are counted.
    pub(crate) fn of_lines(
        parts: &dyn Parts,
        inner: &str,
        mut take: impl FnMut(&mut Skips, &Fields<'_>, Line<'_>),
    ) -> Result<Self, FormatError> {
        let n_bytes = parts.len("")?.unwrap_or(0);
        let mut end = Self { n_bytes, is_ended: true, ..Self::default() };
        let mut lines = Lines::new(PartReader::new(parts, "", 0)?.take(n_bytes));
        while let Some(line) = lines.next_line()? {
            end.is_ended = line.is_ended;
            match Fields::with_inner(line.bytes, inner) {
                Some(fields) => take(&mut end.passed, &fields, line),
                None if line.is_truncated() => end.truncated = Some(line.number),
                None if is_json(line.bytes) => end.passed.ignored(line.number),
                None => end.passed.unreadable(line.number),
            }
        }
        Ok(end)
    }

    /// Returns notes of what was skipped among the lines and later.
    pub(crate) fn notes(&self, other: Skips) -> Vec<Note> {
        let truncated = self.truncated.map(|line| Note::TruncatedLastLine { line });
        truncated.into_iter().chain(self.passed.notes(other)).collect()
    }
}

/// Returns whether a line is JSON in UTF-8.
pub(crate) fn is_json(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| serde_json::from_str::<IgnoredAny>(line).is_ok())
}

/// Returns the position of a part of a line in its file.
pub(crate) fn span_in(line: u64, within: &Range<usize>) -> Span {
    Span { at: line + within.start as u64, len: within.len() as u64, ..Span::default() }
}

/// Returns the position of a line in its file.
pub(crate) fn span_of(line: Line<'_>) -> Span {
    span_in(line.at, &(0..line.bytes.len()))
}

/// Returns the number of the line that contains a position, counted from 1.
pub(crate) fn line_of(parts: &dyn Parts, at: u64) -> io::Result<usize> {
    let mut before = PartReader::new(parts, "", 0)?.take(at);
    let mut line = 1;
    loop {
        let piece = before.fill_buf()?;
        let n_bytes = piece.len();
        if n_bytes == 0 {
            return Ok(line);
        }
        line += memchr::memchr_iter(b'\n', piece).count();
        before.consume(n_bytes);
    }
}

/// Returns the positions of the non-blank lines of the part without a name, each with its line
/// feed.
pub(crate) fn line_ranges(parts: &dyn Parts) -> io::Result<Vec<Range<usize>>> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    let (mut all, mut number) = (Vec::new(), 0);
    while let Some((start, raw)) = lines.next_raw()? {
        number += 1;
        let line = trimmed(raw, number);
        if !line.is_empty() {
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            let blanks = line.as_ptr().addr() - raw.as_ptr().addr();
            all.push(start + blanks..start + raw.len());
        }
    }
    Ok(all)
}
