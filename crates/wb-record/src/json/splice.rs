//! Records of a text replaced, removed and added, while every other byte stays: lines of a log,
//! elements of an array.

use std::io;
use std::ops::Range;

use crate::parts::change::{Bytes, Change};
use crate::parts::part::Parts;
use crate::parts::span::Span;

/// The separator between the records of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// Each record is a line; its range ends with the line feed, where it has one.
    Line,
    /// Each record is an element of an array; its range is that of the value.
    Comma,
}

/// One record of the target text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The record of this number stays.
    Stays(usize),
    /// A new record.
    New(Vec<u8>),
}

/// Returns the changes that make the records of the part without a name into `pieces`, the last in
/// the text first.
///
/// Pieces that stay must come in the order of the text. A record that is no piece is removed,
/// unless `is_foreign` says that it belongs to another program. New records take the place of the
/// first record that they replace.
///
/// ```
/// use wb_record::MemoryParts;
/// use wb_record::splice::{Joint, Piece, splices};
/// let text = MemoryParts::from_bytes("a\nb\nc\n");
/// let pieces = [Piece::New(b"d".to_vec()), Piece::Stays(2)];
/// let changes = splices(&text, &[0..2, 2..4, 4..6], &pieces, Joint::Line, |_| false)?;
/// assert_eq!(changes[0].apply("", Some(b"a\nb\nc\n")).unwrap().unwrap(), b"d\nc\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn splices(
    parts: &dyn Parts,
    records: &[Range<usize>],
    pieces: &[Piece],
    joint: Joint,
    is_foreign: impl Fn(usize) -> bool,
) -> io::Result<Vec<Change>> {
    let mut changes = Vec::new();
    let (mut next, mut new) = (0, Vec::new());
    let end = std::iter::once(None);
    for piece in pieces.iter().map(Some).chain(end) {
        let stays = match piece {
            Some(Piece::New(bytes)) => {
                new.push(bytes.as_slice());
                continue;
            }
            Some(Piece::Stays(at)) => *at,
            None => records.len(),
        };
        let runs = runs(next..stays.max(next), &is_foreign);
        let own = place_of_new(&runs, next == 0);
        for (nth, gone) in runs.into_iter().enumerate() {
            let new = if nth == own { std::mem::take(&mut new) } else { Vec::new() };
            changes.extend(replaced(parts, records, gone, &new, joint)?);
        }
        next = (stays + 1).max(next);
    }
    changes.reverse();
    Ok(changes)
}

/// Splits a range of records at those that stay in any case; the first run is there even if it is
/// empty.
fn runs(gone: Range<usize>, is_foreign: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let first = gone.start..gone.start;
    let mut runs = Vec::from([first]);
    for at in gone {
        match runs.last_mut() {
            _ if is_foreign(at) => runs.push(at + 1..at + 1),
            Some(run) => run.end = at + 1,
            None => {}
        }
    }
    runs
}

/// Returns the run that new records replace: the first one with a removed record. If nothing is
/// removed they follow the piece before them, and at the beginning they follow what leads the text,
/// such as a header.
fn place_of_new(runs: &[Range<usize>], is_at_start: bool) -> usize {
    let last = if is_at_start { runs.len() - 1 } else { 0 };
    runs.iter().position(|run| !run.is_empty()).unwrap_or(last)
}

/// Replaces a run of records, which may be empty, by new ones, which may be none.
fn replaced(
    parts: &dyn Parts,
    records: &[Range<usize>],
    gone: Range<usize>,
    new: &[&[u8]],
    joint: Joint,
) -> io::Result<Option<Change>> {
    if gone.is_empty() && new.is_empty() {
        return Ok(None);
    }
    let (old, new) = match joint {
        Joint::Line => lines(parts, records, &gone, new)?,
        Joint::Comma => elements(records, &gone, new),
    };
    let at = old.start as u64;
    let old = parts.bytes(&Span { at, len: old.len() as u64, ..Span::default() })?;
    Ok(Some(Change::Splice { at, old: Bytes(old.into_owned()), new: Bytes(new) }))
}

fn lines(
    parts: &dyn Parts,
    records: &[Range<usize>],
    gone: &Range<usize>,
    new: &[&[u8]],
) -> io::Result<(Range<usize>, Vec<u8>)> {
    let end = parts.len("")?.unwrap_or(0);
    let at_end = usize::try_from(end).unwrap_or(usize::MAX);
    let start = records.get(gone.start).map_or(at_end, |record| record.start);
    let old = start..records[gone.clone()].last().map_or(start, |record| record.end);
    let mut lines: Vec<u8> = new.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
    if start == at_end && !parts.is_line_start(end)? {
        // The last line had no end.
        lines.insert(0, b'\n');
        lines.pop();
    }
    Ok((old, lines))
}

fn elements(records: &[Range<usize>], gone: &Range<usize>, new: &[&[u8]]) -> (Range<usize>, Vec<u8>) {
    let joined = new.join(&b","[..]);
    let before = gone.start.checked_sub(1).and_then(|at| records.get(at)).map(|record| record.end);
    let after = records.get(gone.end).map(|record| record.start);
    let run = &records[gone.clone()];
    let run = run.first().map(|first| first.start..run[run.len() - 1].end);
    match (run, before, after) {
        (Some(run), ..) if !new.is_empty() => (run, joined),
        // One of the commas next to them is removed too.
        (Some(run), _, Some(after)) => (run.start..after, Vec::new()),
        (Some(run), Some(before), None) => (before..run.end, Vec::new()),
        (Some(run), None, None) => (run, Vec::new()),
        (None, _, Some(after)) => (after..after, [&joined, &b","[..]].concat()),
        (None, Some(before), None) => (before..before, [&b","[..], &joined].concat()),
        // The place of elements in an empty array is not known.
        (None, None, None) => (0..0, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::part::MemoryParts;

    fn after(text: &str, records: &[Range<usize>], pieces: &[Piece], joint: Joint, foreign: usize) -> String {
        let parts = MemoryParts::from_bytes(text);
        let mut text = text.as_bytes().to_vec();
        for change in splices(&parts, records, pieces, joint, |at| at == foreign).unwrap() {
            text = change.apply("", Some(&text)).unwrap().unwrap();
        }
        String::from_utf8(text).unwrap()
    }

    fn pieces(words: &str) -> Vec<Piece> {
        let piece = |word: &str| word.parse().map_or_else(|_| Piece::New(word.into()), Piece::Stays);
        words.split_whitespace().map(piece).collect()
    }

    #[test]
    fn lines_are_replaced_and_all_others_stay() {
        let records = [0..2, 2..4, 5..7, 7..8];
        for (words, expected) in [
            ("0 1 2 3", "a\nb\n\nc\nd"),
            ("x 2 3", "x\n\nc\nd"),
            ("x y 1 z 3", "x\ny\nb\n\nz\nd"),
            ("0 1 2 3 x", "a\nb\n\nc\nd\nx"),
            ("x", "x\n"),
            ("3", "d"),
        ] {
            assert_eq!(after("a\nb\n\nc\nd", &records, &pieces(words), Joint::Line, 9), expected, "{words}");
        }
    }

    #[test]
    fn a_line_is_added_behind_the_blanks_of_another() {
        let records = [2..4, 6..8];
        assert_eq!(after("  a\n  b\n", &records, &pieces("x 0 y 1"), Joint::Line, 9), "  x\na\n  y\nb\n");
    }

    #[test]
    fn elements_are_replaced_with_their_commas() {
        let text = "[ 1 , 2,3 ]";
        let records = [2..3, 6..7, 8..9];
        for (words, expected) in [
            ("0 1 2", text),
            ("x 1 2", "[ x , 2,3 ]"),
            ("1 2", "[ 2,3 ]"),
            ("0", "[ 1 ]"),
            ("x 2", "[ x,3 ]"),
            ("0 x 1 2 y", "[ 1 , x,2,3,y ]"),
            ("0 x y", "[ 1 , x,y ]"),
        ] {
            assert_eq!(after(text, &records, &pieces(words), Joint::Comma, 9), expected, "{words}");
        }
    }

    #[test]
    fn what_is_not_ours_stays_among_what_goes() {
        let records = [0..2, 2..4, 4..6];
        assert_eq!(after("a\n?\nc\n", &records, &pieces("x"), Joint::Line, 1), "x\n?\n");
    }

    #[test]
    fn new_records_follow_the_header_of_the_text() {
        let records = [0..2, 2..4, 4..6];
        for (words, expected) in [("x", "?\nx\n"), ("x 2", "?\nx\nc\n"), ("x 1 2", "?\nx\nb\nc\n")] {
            assert_eq!(after("?\nb\nc\n", &records, &pieces(words), Joint::Line, 0), expected, "{words}");
        }
        assert_eq!(after("a\n?\nc\n", &records, &pieces("0 x 2"), Joint::Line, 1), "a\nx\n?\nc\n");
    }
}
