//! A part as it is after changes: stretches of the old bytes, and new bytes between them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;

use crate::parts::change::{Change, CommitError};
use crate::parts::span::PartId;

/// Appends a range of the part as it was, as much of it as there is.
pub(crate) type ReadOld<'a> = &'a dyn Fn(Range<u64>, &mut Vec<u8>) -> io::Result<()>;

/// Bytes that are read at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// One part as it is after changes, described by ranges of the part before; none of its bytes are
/// copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PieceTable {
    part: PartId,
    /// The pieces, none of them empty. Changes arrive at one end of the earlier ones or at the
    /// other.
    all: VecDeque<Extent>,
    /// The bytes of all of them; nothing if there is no such part.
    len: Option<u64>,
    /// The bytes of the part before.
    n_old: u64,
    /// The start of each piece, computed when there are no more changes.
    starts: Vec<u64>,
}

/// A stretch of a part that is replaced by `n_new` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) old: Range<usize>,
    pub(crate) n_new: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Extent {
    /// A stretch of the part as it was.
    Old(Range<u64>),
    New(Vec<u8>),
}

impl Extent {
    fn len(&self) -> u64 {
        match self {
            Self::Old(range) => range.end - range.start,
            Self::New(bytes) => bytes.len() as u64,
        }
    }

    /// Keeps the first bytes and returns the others.
    fn split_off(&mut self, n_bytes: u64) -> Self {
        match self {
            Self::Old(range) => {
                let middle = range.start + n_bytes;
                Self::Old(middle..std::mem::replace(&mut range.end, middle))
            }
            Self::New(bytes) => Self::New(bytes.split_off(place(n_bytes))),
        }
    }
}

impl PieceTable {
    /// Creates the table of an unchanged part with a length in bytes; empty if there is no such
    /// part.
    pub(crate) fn new(part: &str, len: Option<u64>) -> Self {
        let all = len.filter(|len| *len > 0).map(|len| Extent::Old(0..len)).into_iter().collect();
        Self { part: part.to_owned(), all, len, n_old: len.unwrap_or(0), starts: Vec::new() }
    }

    /// Makes any place quick to find, when nothing is changed any more.
    pub(crate) fn index(&mut self) {
        let mut end = 0;
        for piece in &self.all {
            self.starts.push(end);
            end += piece.len();
        }
    }

    /// Returns how many bytes these are; nothing if there is no such part.
    pub(crate) fn len(&self) -> Option<u64> {
        self.len
    }

    /// Returns the changed regions, in order.
    pub(crate) fn regions(&self) -> Vec<Region> {
        let (mut all, mut last) = (Vec::new(), 0);
        let mut n_new = 0;
        let end = Extent::Old(self.n_old..self.n_old);
        for piece in self.all.iter().chain([&end]) {
            match piece {
                Extent::New(bytes) => n_new += bytes.len(),
                Extent::Old(range) => {
                    if n_new > 0 || last < range.start {
                        all.push(Region { old: place(last)..place(range.start), n_new });
                    }
                    (n_new, last) = (0, range.end);
                }
            }
        }
        all
    }

    /// Carries out a change, after checking that it finds the bytes that it expects.
    pub(crate) fn apply(&mut self, read: ReadOld<'_>, change: &Change) -> Result<(), CommitError> {
        let (len, is_at) = (self.len, |at: u64, len: Option<u64>| len == Some(at));
        match change {
            Change::Create { new } if len.is_none() => self.replace(0..0, &new.0),
            Change::Append { at, new } if is_at(*at, len) => self.replace(*at..*at, &new.0),
            Change::Remove { old } if is_at(old.0.len() as u64, len) => {
                self.expect(read, 0, &old.0)?;
                (self.all, self.len) = (VecDeque::new(), None);
            }
            Change::Cut { at, old } if is_at(at.saturating_add(old.0.len() as u64), len) => {
                self.replace(self.expect(read, *at, &old.0)?, &[]);
            }
            Change::Splice { at, old, new } if len.is_some() => {
                self.replace(self.expect(read, *at, &old.0)?, &new.0);
            }
            Change::Append { at, .. } | Change::Cut { at, .. } | Change::Splice { at, .. } => {
                return Err(self.stale(*at));
            }
            Change::Create { .. } | Change::Remove { .. } => return Err(self.stale(0)),
        }
        Ok(())
    }

    fn stale(&self, at: u64) -> CommitError {
        CommitError::Stale { part: self.part.clone(), at }
    }

    /// Returns the place of bytes that are required there.
    fn expect(&self, read: ReadOld<'_>, at: u64, old: &[u8]) -> Result<Range<u64>, CommitError> {
        let (mut there, mut next) = (Vec::new(), at);
        for expected in old.chunks(place(CHUNK_BYTES)) {
            let end = next.saturating_add(expected.len() as u64);
            there.clear();
            self.read(read, next..end, &mut there).map_err(unread)?;
            if there != expected {
                return Err(self.stale(at));
            }
            next = end;
        }
        if self.len.is_some_and(|len| next <= len) { Ok(at..next) } else { Err(self.stale(at)) }
    }

    /// Replaces a stretch that is there.
    fn replace(&mut self, range: Range<u64>, new: &[u8]) {
        let start = self.seam(range.start, self.find(range.start));
        // Pieces that are far from both ends are found from those that were found already.
        let mut behind = (start, range.start);
        while let Some(n_bytes) = self.all.get(behind.0).map(Extent::len)
            && behind.1 + n_bytes <= range.end
        {
            behind = (behind.0 + 1, behind.1 + n_bytes);
        }
        // A later seam leaves the earlier ones in place.
        let end = self.seam(range.end, behind);
        self.all.drain(start..end);
        if !new.is_empty() {
            self.all.insert(start, Extent::New(new.to_vec()));
        }
        self.len = Some(self.len.unwrap_or(0) - (range.end - range.start) + new.len() as u64);
    }

    /// Returns which piece begins at a place, given the one that holds it, which is divided if it
    /// must be.
    fn seam(&mut self, at: u64, (number, start): (usize, u64)) -> usize {
        if at == start {
            return number;
        }
        let rest = self.all[number].split_off(at - start);
        self.all.insert(number + 1, rest);
        number + 1
    }

    /// Returns the index of the piece with the byte at a place, and the start of the piece; the
    /// number of pieces for a place after the last.
    fn find(&self, at: u64) -> (usize, u64) {
        let mut end = self.len.unwrap_or(0);
        if at >= end {
            return (self.all.len(), at);
        }
        if let Some(number) = self.starts.partition_point(|start| *start <= at).checked_sub(1) {
            return (number, self.starts[number]);
        }
        if self.all.front().is_some_and(|first| at < first.len()) {
            return (0, 0);
        }
        for (number, piece) in self.all.iter().enumerate().rev() {
            end -= piece.len();
            if end <= at {
                return (number, end);
            }
        }
        (0, 0)
    }

    /// Appends a range to `out`, as much of it as there is.
    pub(crate) fn read(&self, old: ReadOld<'_>, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        let (first, mut start) = self.find(range.start);
        for piece in self.all.range(first..) {
            if start >= range.end {
                break;
            }
            let end = start + piece.len();
            let within = range.start.max(start) - start..range.end.min(end) - start;
            match piece {
                Extent::New(bytes) => out.extend_from_slice(&bytes[place(within.start)..place(within.end)]),
                Extent::Old(was) => {
                    let before = out.len();
                    old(was.start + within.start..was.start + within.end, out)?;
                    if ((out.len() - before) as u64) < within.end - within.start {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
            start = end;
        }
        Ok(())
    }

    /// Returns all the bytes; nothing if there is no such part.
    pub(crate) fn whole(&self, old: ReadOld<'_>) -> io::Result<Option<Vec<u8>>> {
        let Some(len) = self.len else { return Ok(None) };
        let mut whole = Vec::with_capacity(place(len));
        self.read(old, 0..len, &mut whole)?;
        Ok(Some(whole))
    }

    /// Writes all the bytes, some at a time.
    pub(crate) fn write(&self, old: ReadOld<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (mut chunk, len) = (Vec::new(), self.len.unwrap_or(0));
        for start in (0..len).step_by(place(CHUNK_BYTES)) {
            chunk.clear();
            self.read(old, start..len.min(start + CHUNK_BYTES), &mut chunk)?;
            out.write_all(&chunk)?;
        }
        Ok(())
    }
}

impl Change {
    /// Returns the part after the change, given it as it is: nothing if there is no such part.
    pub fn apply(&self, part: &str, before: Option<&[u8]>) -> Result<Option<Vec<u8>>, CommitError> {
        let old = |range: Range<u64>, out: &mut Vec<u8>| {
            let before = before.unwrap_or_default();
            out.extend_from_slice(before.get(place(range.start)..place(range.end)).unwrap_or_default());
            Ok(())
        };
        let mut pieces = PieceTable::new(part, before.map(|before| before.len() as u64));
        pieces.apply(&old, self)?;
        pieces.whole(&old).map_err(unread)
    }
}

pub(crate) fn unread(source: io::Error) -> CommitError {
    CommitError::Io { doing: "reading what is to be changed", source }
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parts::change::Bytes;

    /// Replaces a stretch of a text that is held in memory.
    fn replaced(text: &mut Vec<u8>, at: usize, n_bytes: usize, new: &[u8]) -> Change {
        let old = Bytes(text.splice(at..at + n_bytes, new.iter().copied()).collect());
        Change::Splice { at: at as u64, old, new: Bytes(new.to_vec()) }
    }

    proptest! {
        #[test]
        fn a_part_is_read_as_it_is_after_all_changes(
            before in "[a-z]{0,20}",
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, "[A-Z]{0,4}"), 0..8),
            from in 0..30_u64,
            n_bytes in 0..30_u64,
        ) {
            let before = before.into_bytes();
            let old = |range: Range<u64>, out: &mut Vec<u8>| {
                out.extend_from_slice(&before[place(range.start)..place(range.end)]);
                Ok(())
            };
            let (mut text, mut pieces) = (before.clone(), PieceTable::new("", Some(before.len() as u64)));
            for (at, n_gone, new) in edits {
                let at = at.index(text.len() + 1);
                let n_gone = n_gone.min(text.len() - at);
                pieces.apply(&old, &replaced(&mut text, at, n_gone, new.as_bytes())).unwrap();
                // What expects anything else changes nothing.
                let wrong = Change::Splice { at: 0, old: Bytes(vec![0]), new: Bytes::default() };
                let is_stale = matches!(pieces.apply(&old, &wrong), Err(CommitError::Stale { at: 0, .. }));
                prop_assert!(is_stale);
                let end = Change::Splice { at: text.len() as u64 + 1, old: Bytes::default(), new: Bytes::default() };
                prop_assert!(pieces.apply(&old, &end).is_err());
            }
            prop_assert_eq!(pieces.whole(&old).unwrap().unwrap(), text.clone());
            pieces.index();
            let mut written = Vec::new();
            pieces.write(&old, &mut written).unwrap();
            prop_assert_eq!(&written, &text);
            let (mut read, range) = (b"> ".to_vec(), from..from + n_bytes);
            pieces.read(&old, range.clone(), &mut read).unwrap();
            let end = place(range.end).min(text.len());
            prop_assert_eq!(&read[2..], text.get(place(from)..end).unwrap_or_default());
        }
    }

    #[test]
    fn what_is_gone_meanwhile_is_an_error_and_not_a_gap() {
        let gone = |_: Range<u64>, _: &mut Vec<u8>| Ok(());
        let mut pieces = PieceTable::new("", Some(4));
        pieces.apply(&gone, &Change::Append { at: 4, new: Bytes(b"x".to_vec()) }).unwrap();
        assert!(pieces.read(&gone, 3..5, &mut Vec::new()).is_err());
        assert!(pieces.read(&gone, 4..5, &mut Vec::new()).is_ok());
    }
}
