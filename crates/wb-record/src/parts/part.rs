//! The bytes of a session: named parts that are read by position and changed all or nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Debug;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::parts::change::{ChangeSet, CommitError};
use crate::parts::piece_table::{PieceTable, unread};
use crate::parts::span::{PartId, Span};

/// The kind of access to parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// A file, a folder, a database or memory: whatever has parts with names and bytes.
pub trait Parts: Send + Sync + Debug {
    /// Returns the names that begin with a prefix, in their order.
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>>;

    /// Returns how many bytes a part has; nothing if there is no such part.
    fn len(&self, part: &str) -> io::Result<Option<u64>>;

    /// Appends a range of a part to `out`; a range beyond the end gives the bytes that are there.
    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()>;

    /// Carries out all the changes or none, after checking that each finds the bytes that it
    /// expects.
    fn commit(&mut self, set: &ChangeSet) -> Result<(), CommitError>;

    /// Returns the bytes of a span, as many as there are, without a copy where the part is held in
    /// memory.
    fn bytes(&self, span: &Span) -> io::Result<Cow<'_, [u8]>> {
        if let Some(held) = self.held(&span.part) {
            return Ok(piece(held, span.range()).into());
        }
        let mut out = Vec::new();
        self.read(&span.part, span.range(), &mut out)?;
        Ok(out.into())
    }

    /// Opens the part without a name again, as it is now, to be read in parallel with these.
    fn reopen(&self) -> io::Result<Box<dyn Parts>> {
        Ok(Box::new(MemoryParts::from_bytes(self.whole("")?)))
    }

    /// Returns all the bytes of a part without a copy, if it is in memory.
    fn held(&self, _part: &str) -> Option<&[u8]> {
        None
    }

    /// Returns all the bytes of a part; none if there is no such part.
    fn whole(&self, part: &str) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.read(part, 0..self.len(part)?.unwrap_or(0), &mut out)?;
        Ok(out)
    }

    /// Returns whether a line of the part without a name can begin at a place: at the start, or
    /// after a line feed.
    fn is_line_start(&self, at: u64) -> io::Result<bool> {
        let before = Span { at: at.saturating_sub(1), len: at.min(1), ..Span::default() };
        Ok(matches!(&*self.bytes(&before)?, [] | [b'\n']))
    }

    /// Returns the fingerprint of a span, by which it is recognized; it is stable across versions.
    fn fingerprint(&self, span: &Span) -> io::Result<u64> {
        Ok(xxh3_64(&self.bytes(span)?))
    }
}

const _: fn(&dyn Parts) = |_| ();

/// Returns a function that reads a part in its current state.
pub(crate) fn read_old<'a>(
    parts: &'a dyn Parts,
    part: &'a str,
) -> impl Fn(Range<u64>, &mut Vec<u8>) -> io::Result<()> + 'a {
    |range, out| parts.read(part, range, out)
}

/// Returns every part that is changed as it is after the changes; nothing is changed.
pub(crate) fn changed_parts(
    parts: &dyn Parts,
    set: &ChangeSet,
) -> Result<BTreeMap<PartId, PieceTable>, CommitError> {
    let mut all: BTreeMap<PartId, PieceTable> = BTreeMap::new();
    for (part, change) in &set.changes {
        let pieces = match all.entry(part.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(new) => new.insert(PieceTable::new(part, parts.len(part).map_err(unread)?)),
        };
        pieces.apply(&read_old(parts, part), change)?;
    }
    all.values_mut().for_each(PieceTable::index);
    Ok(all)
}

/// Reads a part from a place on, up to where the part ended at the time of the request: in chunks,
/// or directly if it is in memory.
#[derive(Debug)]
pub struct PartReader<'a> {
    parts: &'a dyn Parts,
    part: &'a str,
    /// The bytes to read, where they are held in memory.
    held: Option<&'a [u8]>,
    /// The range that is not in the chunk yet.
    rest: Range<u64>,
    chunk: Vec<u8>,
    /// The number of bytes read of the chunk, or of the bytes in memory.
    used: usize,
}

/// Bytes of a part that are read at once.
const CHUNK_BYTES: u64 = 64 * 1024;

impl<'a> PartReader<'a> {
    /// Starts at a byte of a part.
    pub fn new(parts: &'a dyn Parts, part: &'a str, from: u64) -> io::Result<Self> {
        let end = parts.len(part)?.unwrap_or(0);
        let rest = from.min(end)..end;
        let held = parts.held(part).map(|bytes| piece(bytes, rest.clone()));
        Ok(Self { parts, part, held, rest, chunk: Vec::new(), used: 0 })
    }
}

impl Read for PartReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.fill_buf()?.read(out)?;
        self.consume(n_bytes);
        Ok(n_bytes)
    }
}

impl BufRead for PartReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if let Some(held) = self.held {
            return Ok(&held[self.used..]);
        }
        if self.used == self.chunk.len() {
            self.used = 0;
            self.chunk.clear();
            let end = self.rest.end.min(self.rest.start.saturating_add(CHUNK_BYTES));
            let read = self.parts.read(self.part, self.rest.start..end, &mut self.chunk);
            if read.is_err() {
                // What came before the failure is read again.
                self.chunk.clear();
            }
            read?;
            self.rest.start += self.chunk.len() as u64;
        }
        Ok(&self.chunk[self.used..])
    }

    fn consume(&mut self, n_bytes: usize) {
        self.used += n_bytes;
    }
}

/// Parts in memory: for a stream, and for tests. Copies share their bytes until one of them
/// changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryParts(pub(crate) BTreeMap<PartId, Arc<Vec<u8>>>);

impl FromIterator<(PartId, Vec<u8>)> for MemoryParts {
    fn from_iter<I: IntoIterator<Item = (PartId, Vec<u8>)>>(parts: I) -> Self {
        Self(parts.into_iter().map(|(part, bytes)| (part, Arc::new(bytes))).collect())
    }
}

impl MemoryParts {
    /// Holds one part without a name, as a file is.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::from_iter([(PartId::new(), bytes.into())])
    }

    /// Reads a stream to its end.
    pub fn read_from(input: &mut dyn Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        Ok(Self::from_bytes(bytes))
    }
}

impl Parts for MemoryParts {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        Ok(self.0.keys().filter(|part| part.starts_with(prefix)).cloned().collect())
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        Ok(self.0.get(part).map(|bytes| bytes.len() as u64))
    }

    fn held(&self, part: &str) -> Option<&[u8]> {
        if part.is_empty() {
            // It is the first part, and is requested for each record: comparing empty names takes
            // longer than the rest.
            let (name, bytes) = self.0.first_key_value()?;
            return name.is_empty().then_some(bytes.as_slice());
        }
        self.0.get(part).map(|bytes| bytes.as_slice())
    }

    fn reopen(&self) -> io::Result<Box<dyn Parts>> {
        Ok(Box::new(self.clone()))
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(piece(self.held(part).unwrap_or_default(), range));
        Ok(())
    }

    fn commit(&mut self, set: &ChangeSet) -> Result<(), CommitError> {
        for (part, pieces) in changed_parts(self, set)? {
            let whole = pieces.whole(&read_old(self, &part)).map_err(unread)?;
            match whole {
                Some(bytes) => drop(self.0.insert(part, Arc::new(bytes))),
                None => drop(self.0.remove(&part)),
            }
        }
        Ok(())
    }
}

/// One immutable part without a name, borrowed from memory.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedPart<'a>(pub &'a [u8]);

impl Parts for BorrowedPart<'_> {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        Ok(if prefix.is_empty() { vec![PartId::new()] } else { Vec::new() })
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        Ok(self.held(part).map(|bytes| bytes.len() as u64))
    }

    fn held(&self, part: &str) -> Option<&[u8]> {
        part.is_empty().then_some(self.0)
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(piece(self.held(part).unwrap_or_default(), range));
        Ok(())
    }

    fn commit(&mut self, _: &ChangeSet) -> Result<(), CommitError> {
        Err(CommitError::ReadOnly)
    }
}

/// Returns a range of bytes, as much of it as there is.
fn piece(bytes: &[u8], range: Range<u64>) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    &bytes[place(range.start)..place(range.end).max(place(range.start))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrowed_text_is_one_part_that_nobody_changes() {
        let mut parts = BorrowedPart(b"abc");
        assert_eq!((parts.list("").unwrap(), parts.list("x").unwrap()), (vec![PartId::new()], Vec::new()));
        assert_eq!((parts.len("").unwrap(), parts.len("x").unwrap()), (Some(3), None));
        let span = |at: u64| Span { at, len: 9, ..Span::default() };
        assert_eq!(
            (parts.bytes(&span(1)).unwrap(), parts.bytes(&span(7)).unwrap()),
            (b"bc"[..].into(), b""[..].into())
        );
        assert_eq!((parts.whole("").unwrap(), parts.held("x")), (b"abc".to_vec(), None));
        assert!(matches!(parts.commit(&ChangeSet::default()), Err(CommitError::ReadOnly)));
    }
}
