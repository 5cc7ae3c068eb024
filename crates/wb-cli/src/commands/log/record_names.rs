//! Names the records of a session: by line in a file, by row in a database.

use std::fmt;
use std::io::{self, BufReader};

use serde::Serialize;
use wb_record::lines::Lines;
use wb_record::{PartReader, Parts, RecordRef, Span};

/// The name of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum RecordName {
    /// The line on which it begins, counted from 1.
    Line(usize),
    Row(String),
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// The names of all records.
pub(crate) struct RecordNames<'a> {
    parts: &'a dyn Parts,
    /// The lines of a file; none for a database.
    lines: Option<Vec<LineSpan>>,
}

#[derive(Clone, Copy)]
struct LineSpan {
    number: usize,
    at: u64,
    len: u64,
}

impl<'a> RecordNames<'a> {
    pub(crate) fn new(parts: &'a dyn Parts) -> io::Result<Self> {
        if parts.len("")?.is_none() {
            return Ok(Self { parts, lines: None });
        }
        let mut lines = Lines::new(BufReader::new(PartReader::new(parts, "", 0)?));
        let mut starts = Vec::new();
        while let Some(line) = lines.next_line()? {
            starts.push(LineSpan { number: line.number, at: line.at, len: line.bytes.len() as u64 });
        }
        Ok(Self { parts, lines: Some(starts) })
    }

    /// Returns the name of a record in the session; none if it is gone or changed.
    pub(crate) fn of_record(&self, record: &RecordRef) -> Option<RecordName> {
        let is_unchanged = self.parts.fingerprint(&record.span).is_ok_and(|hash| hash == record.hash);
        let Some(lines) = &self.lines else {
            return is_unchanged.then(|| RecordName::Row(record.span.part.clone()));
        };
        let before = lines.partition_point(|line| line.at <= record.span.at).checked_sub(1)?;
        is_unchanged.then(|| RecordName::Line(lines[before].number))
    }

    /// Returns the bytes of a line or a row by its name, if it exists.
    pub(crate) fn find(&self, name: &str) -> Option<(RecordName, Span)> {
        let Some(lines) = &self.lines else {
            let len = self.parts.len(name).ok()??;
            return Some((RecordName::Row(name.to_owned()), Span { part: name.to_owned(), at: 0, len }));
        };
        let number = name.parse().ok()?;
        let at = lines.binary_search_by_key(&number, |line| line.number).ok()?;
        Some((RecordName::Line(number), Span { at: lines[at].at, len: lines[at].len, ..Span::default() }))
    }

    /// Explains how to name a record.
    pub(crate) fn hint(&self) -> String {
        match self.lines.as_deref() {
            None => "name a row as `wb log FILE OPERATION` shows them, such as message/SESSION/ID".to_owned(),
            Some([.., last]) => format!("name a line of the file, from 1 to {}", last.number),
            Some([]) => "the file has no lines".to_owned(),
        }
    }
}
