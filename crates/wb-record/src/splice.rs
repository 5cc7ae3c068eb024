//! Records of a text replaced, removed and added, while every other byte stays: lines of a log, elements of an array.

use std::ops::Range;

use crate::change::{Bytes, Change};

/// What stands between the records of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// Each record is a line; its range ends with the line feed, where it has one.
    Line,
    /// Each record is an element of an array; its range is that of the value.
    Comma,
}

/// One record of the text that shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The record of this number stays.
    Stays(usize),
    /// A new record.
    New(Vec<u8>),
}

/// Returns the changes that make a text of records into one of `pieces`, those behind first.
///
/// Pieces that stay must come in the order of the text. A record that is no piece goes, unless `is_foreign` says that it
/// is none of ours.
///
/// ```
/// use wb_record::splice::{Joint, Piece, splices};
/// let text = b"a\nb\nc\n";
/// let changes = splices(text, &[0..2, 2..4, 4..6], &[Piece::New(b"d".to_vec()), Piece::Stays(2)], Joint::Line, |_| false);
/// assert_eq!(changes[0].apply("", Some(text.to_vec())).unwrap().unwrap(), b"d\nc\n");
/// ```
pub fn splices(
    text: &[u8],
    records: &[Range<usize>],
    pieces: &[Piece],
    joint: Joint,
    is_foreign: impl Fn(usize) -> bool,
) -> Vec<Change> {
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
        for gone in runs(next..stays.max(next), &is_foreign) {
            changes.extend(replaced(text, records, gone, &std::mem::take(&mut new), joint));
        }
        next = (stays + 1).max(next);
    }
    changes.reverse();
    changes
}

/// Splits a range of records at those that stay in any case; the first run is there even if it is empty.
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

/// Replaces a run of records, which may be empty, by new ones, which may be none.
fn replaced(
    text: &[u8],
    records: &[Range<usize>],
    gone: Range<usize>,
    new: &[&[u8]],
    joint: Joint,
) -> Option<Change> {
    if gone.is_empty() && new.is_empty() {
        return None;
    }
    let (old, new) = match joint {
        Joint::Line => lines(text, records, &gone, new),
        Joint::Comma => elements(records, &gone, new),
    };
    let (at, old) = (old.start as u64, Bytes(text[old].to_vec()));
    Some(Change::Splice { at, old, new: Bytes(new) })
}

fn lines(
    text: &[u8],
    records: &[Range<usize>],
    gone: &Range<usize>,
    new: &[&[u8]],
) -> (Range<usize>, Vec<u8>) {
    let start = records.get(gone.start).map_or(text.len(), |record| record.start);
    let old = start..records[gone.clone()].last().map_or(start, |record| record.end);
    let mut lines: Vec<u8> = new.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
    if start == text.len() && !text.is_empty() && !text.ends_with(b"\n") {
        // The last line had no end.
        lines.insert(0, b'\n');
        lines.pop();
    }
    (old, lines)
}

fn elements(records: &[Range<usize>], gone: &Range<usize>, new: &[&[u8]]) -> (Range<usize>, Vec<u8>) {
    let joined = new.join(&b","[..]);
    let before = gone.start.checked_sub(1).and_then(|at| records.get(at)).map(|record| record.end);
    let after = records.get(gone.end).map(|record| record.start);
    let run = &records[gone.clone()];
    let run = run.first().map(|first| first.start..run[run.len() - 1].end);
    match (run, before, after) {
        (Some(run), ..) if !new.is_empty() => (run, joined),
        // One of the commas next to them goes too.
        (Some(run), _, Some(after)) => (run.start..after, Vec::new()),
        (Some(run), Some(before), None) => (before..run.end, Vec::new()),
        (Some(run), None, None) => (run, Vec::new()),
        (None, _, Some(after)) => (after..after, [&joined, &b","[..]].concat()),
        (None, Some(before), None) => (before..before, [&b","[..], &joined].concat()),
        // An array without elements has no place that is known.
        (None, None, None) => (0..0, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, records: &[Range<usize>], pieces: &[Piece], joint: Joint, foreign: usize) -> String {
        let mut text = text.as_bytes().to_vec();
        for change in splices(&text.clone(), records, pieces, joint, |at| at == foreign) {
            text = change.apply("", Some(text)).unwrap().unwrap();
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
}
