//! Lines that cannot be read, and can be once their damage is undone: zeros of a power cut, bytes
//! that are not UTF-8, line ends within a text, and a record that was torn by the next one.

use std::io;
use std::ops::RangeInclusive;

use serde::de::IgnoredAny;
use wb_record::{Bytes, Change, ChangeSet, Lines, NotExpressible, Note, PartReader, Parts};

use super::SessionRepair;
use super::stage::{Current, Next};
use crate::kit::line_separators::{has_separator, without_separators};

/// The most lines of one record, and the most attempts to read them as one.
const MOST_LINES: usize = 10_000;
const MOST_ATTEMPTS: usize = 64;
/// The most lines that are joined in a file: each of several torn records joins all that follow.
const MOST_JOINED: usize = 500_000;
/// The starts of records by which torn lines are split: records of a kind begin alike.
const START_BYTES: usize = 8;
const MOST_STARTS: usize = 16;
/// The most places at which a torn line may be split.
const MOST_SPLITS: usize = 1_024;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let is_able = current.uncovers.lines && current.document().abilities().fold_head.is_there();
    if !is_able || !has_unreadable(current) || !current.is_one_file()? {
        return Ok(Next::Nothing);
    }
    let separated = current.view.notes.iter().any(|note| matches!(note, Note::LineSeparators { .. }));
    let fixes = fixes(current.document().parts(), separated).map_err(NotExpressible::unreadable)?;
    if fixes.is_empty() {
        return Ok(Next::Nothing);
    }
    let restored = fixes.iter().flat_map(|fix| fix.lines.clone()).collect();
    // In reverse order, so that no change moves the position of another.
    let changes = fixes.into_iter().rev().map(|fix| (String::new(), fix.change)).collect();
    current.step(SessionRepair { restored, ..SessionRepair::from_changes(ChangeSet { changes }) })
}

fn has_unreadable(current: &Current<'_>) -> bool {
    let is_unread = |note: &Note| {
        matches!(
            note,
            Note::UnreadableRecords { .. } | Note::TruncatedLastLine { .. } | Note::LineSeparators { .. }
        )
    };
    current.view.notes.iter().any(is_unread)
}

/// Returns the bytes of the lines that stay unreadable, in a session of one file.
pub(super) fn unreadable_bytes(current: &Current<'_>) -> Vec<u8> {
    if !has_unreadable(current) || !current.is_one_file().unwrap_or(false) {
        return Vec::new();
    }
    let scan = Scan::new(current.document().parts(), false).unwrap_or_default();
    scan.runs.into_iter().flatten().flat_map(|line| line.bytes).collect()
}

/// The lines of a file that cannot be read.
#[derive(Default)]
struct Scan {
    /// Those that follow each other together.
    runs: Vec<Vec<Unread>>,
    starts: Starts,
}

/// The different starts of lines that can be read.
#[derive(Default)]
struct Starts(Vec<[u8; START_BYTES]>);

impl Starts {
    fn add(&mut self, line: &[u8]) {
        let start = line.first_chunk().filter(|start| self.0.len() < MOST_STARTS && !self.0.contains(start));
        self.0.extend(start);
    }

    fn begin(&self, line: &[u8]) -> bool {
        line.first_chunk().is_some_and(|start| self.0.contains(start))
    }
}

/// A line that cannot be read, with its line end.
struct Unread {
    at: u64,
    number: usize,
    bytes: Vec<u8>,
}

/// A change after which lines can be read.
struct Fix {
    change: Change,
    lines: RangeInclusive<usize>,
}

/// Returns the changes; with `separated`, the agent splits lines at the separators of Unicode.
fn fixes(parts: &dyn Parts, separated: bool) -> io::Result<Vec<Fix>> {
    let Scan { runs, starts } = Scan::new(parts, separated)?;
    let mut left = MOST_JOINED;
    Ok(runs.iter().flat_map(|run| fixes_of(run, &starts, &mut left)).collect())
}

impl Scan {
    fn new(parts: &dyn Parts, separated: bool) -> io::Result<Self> {
        let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
        let (mut scan, mut run, mut number) = (Self::default(), Vec::new(), 0);
        while let Some((at, bytes)) = lines.next_raw()? {
            number += 1;
            let is_split = separated && has_separator(bytes);
            if !bytes.trim_ascii().is_empty() && (is_split || !is_object(bytes)) {
                run.push(Unread { at, number, bytes: bytes.to_vec() });
                continue;
            }
            scan.starts.add(bytes);
            scan.runs.extend(Some(std::mem::take(&mut run)).filter(|run| !run.is_empty()));
        }
        scan.runs.extend(Some(run).filter(|run| !run.is_empty()));
        Ok(scan)
    }
}

impl Unread {
    /// Returns the line without its line end.
    fn text(&self) -> &[u8] {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        text.strip_suffix(b"\r").unwrap_or(text)
    }
}

fn is_object(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let is_text = || std::str::from_utf8(line).is_ok();
    line.starts_with(b"{") && is_text() && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

fn fixes_of(run: &[Unread], starts: &Starts, left: &mut usize) -> Vec<Fix> {
    let (mut found, mut nth) = (Vec::new(), 0);
    while nth < run.len() {
        let (first, plain) = (&run[nth], plain(run[nth].text()));
        let replaced = |n: usize, new: Vec<u8>| {
            let last = &run[nth + n - 1];
            let mut old: Vec<u8> = run[nth..nth + n].iter().flat_map(|line| line.bytes.clone()).collect();
            old.truncate(old.len() + last.text().len() - last.bytes.len());
            Fix {
                change: Change::Splice { at: first.at, old: Bytes(old), new: Bytes(new) },
                lines: first.number..=last.number,
            }
        };
        let joined = |left| joined(&run[nth..], starts, left);
        if plain.is_empty() || is_object(&plain) {
            found.push(replaced(1, plain));
        } else if let Some((n, record)) = joined(left) {
            found.push(replaced(n, record));
            nth += n - 1;
        } else if let Some(split) = split_at(first.text(), starts) {
            let at = first.at + split as u64;
            let change = Change::Splice { at, old: Bytes::default(), new: Bytes(b"\n".to_vec()) };
            found.push(Fix { change, lines: first.number..=first.number });
        }
        nth += 1;
    }
    found
}

/// Returns a line without zeros, with U+FFFD for what is not UTF-8, and with escapes for the line
/// separators of Unicode.
fn plain(line: &[u8]) -> Vec<u8> {
    let text: Vec<u8> = line.iter().copied().filter(|byte| *byte != 0).collect();
    without_separators(&text)
}

/// Joins lines to one record, of which a text has line ends, up to one that begins a record, and at
/// most as many as are `left`; returns their number and the record.
fn joined(run: &[Unread], starts: &Starts, left: &mut usize) -> Option<(usize, Vec<u8>)> {
    if starts.0.is_empty() || !run.first().is_some_and(|first| plain(first.text()).starts_with(b"{")) {
        return None;
    }
    let mut record = Vec::new();
    let mut n_attempts = 0;
    for (nth, line) in run.iter().take(MOST_LINES.min(*left)).enumerate() {
        *left -= 1;
        if nth > 0 {
            if starts.begin(line.text()) {
                break;
            }
            record.extend_from_slice(b"\\n");
        }
        for byte in plain(line.text()) {
            match byte {
                b'\t' => record.extend_from_slice(b"\\t"),
                b'\r' => record.extend_from_slice(b"\\r"),
                0..0x20 => record.push(b' '),
                _ => record.push(byte),
            }
        }
        if record.ends_with(b"}") {
            n_attempts += 1;
            if is_object(&record) {
                return Some((nth + 1, record));
            }
        }
        if n_attempts == MOST_ATTEMPTS {
            break;
        }
    }
    None
}

/// Returns the place in a line at which a whole record begins that tore the one before it.
///
/// Whole records on one line are another stage's.
fn split_at(line: &[u8], starts: &Starts) -> Option<usize> {
    // A record ends with the line; objects inside of it do not.
    let found = (1..line.len()).rev().filter(|at| starts.begin(&line[*at..]));
    let at = found.take(MOST_SPLITS).find(|at| is_object(&line[*at..]))?;
    (!is_object(&line[..at])).then_some(at)
}

#[cfg(test)]
mod tests {
    use wb_record::MemoryParts;

    use super::*;

    /// Returns the lines after the fixes.
    fn fixed(file: &[u8]) -> String {
        let parts = MemoryParts::from_bytes(file.to_vec());
        let mut bytes = file.to_vec();
        for fix in fixes(&parts, true).expect("in memory").into_iter().rev() {
            let Change::Splice { at, old, new } = fix.change else { panic!("a splice") };
            let at = usize::try_from(at).expect("small");
            assert_eq!(bytes.splice(at..at + old.0.len(), new.0).collect::<Vec<_>>(), old.0);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn many_torn_records_are_not_joined_with_all_that_follow() {
        let (torn, mut left) = ("{\"other\":\"a\n".repeat(2_000), MOST_JOINED);
        let file = format!("{{\"type\":\"a\"}}\n{torn}");
        let scan = Scan::new(&MemoryParts::from_bytes(file.into_bytes()), false).expect("in memory");
        assert!(fixes_of(&scan.runs[0], &scan.starts, &mut left).is_empty());
        assert_eq!(left, 0);
    }

    #[test]
    fn each_kind_of_damage_is_undone() {
        let a = r#"{"type":"a"}"#;
        let b = r#"{"type":"b","text":"two"}"#;
        let c = r#"{"parentUuid":"b","type":"c","parts":[{"type":"d"}]}"#;
        for (damaged, expected) in [
            (format!("{a}\n\0\0\0{b}\n"), format!("{a}\n{b}\n")),
            (format!("{a}\n\0\0\0\n{b}\n"), format!("{a}\n\n{b}\n")),
            (
                format!("{a}\n{{\"text\":\"1\n2\r\n\t3}}\n4\"}}\n{b}\n"),
                format!("{a}\n{{\"text\":\"1\\n2\\n\\t3}}\\n4\"}}\n{b}\n"),
            ),
            (format!("{a}\n{{\"type\":\"b\",\"te{b}\n"), format!("{a}\n{{\"type\":\"b\",\"te\n{b}\n")),
            (format!("{a}\n{{\"type\":\"b\n{b}\n"), format!("{a}\n{{\"type\":\"b\n{b}\n")),
            // Records of another kind begin otherwise than the first.
            (
                format!("{a}\n{c}\n{{\"type\":\"b\",\"te{c}\n"),
                format!("{a}\n{c}\n{{\"type\":\"b\",\"te\n{c}\n"),
            ),
            (format!("{a}\nno record\n{b}\n"), format!("{a}\nno record\n{b}\n")),
            (format!("{a}\n{{\"text\":\"1\u{2028}2\"}}\n"), format!("{a}\n{{\"text\":\"1\\u20282\"}}\n")),
        ] {
            assert_eq!(fixed(damaged.as_bytes()), expected, "{damaged:?}");
        }
        let latin = [a.as_bytes(), b"\n{\"text\":\"caf\xe9\"}\n"].concat();
        assert_eq!(fixed(&latin), format!("{a}\n{{\"text\":\"caf\u{fffd}\"}}\n"));
    }
}
