//! Records in memory, after lines that are left in place.

use std::io;

use wb_record::lines::places;
use wb_record::{MemoryParts, Parts};

use super::part_lines::{each_line, line_at};
use super::{EntryStore, Record};
use crate::error::StoreError;

/// Keeps records in memory, for tests and for sessions that nobody will open again. They may follow
/// the lines of a part, which are read in place and never changed.
///
/// A position is the byte at which a record begins.
#[derive(Debug)]
pub struct MemoryStore {
    /// The lines that were there.
    lines: Box<dyn Parts>,
    n_bytes: u64,
    /// The line feed that the last of them lacks.
    feed: &'static [u8],
    /// The records that were appended, each with its line feed.
    new: Vec<u8>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::of_lines([])
    }
}

impl MemoryStore {
    /// Starts with the lines of a log, whatever they contain.
    pub fn of_lines(log: impl Into<Vec<u8>>) -> Self {
        let log = log.into();
        let (n_bytes, is_ended) = (log.len() as u64, is_ended(&log));
        Self::new(Box::new(MemoryParts::from_bytes(log)), n_bytes, is_ended)
    }

    /// Appends after the lines of a part, whatever they contain; the part has no name and is read
    /// repeatedly.
    pub fn over(lines: Box<dyn Parts>) -> io::Result<Self> {
        let n_bytes = lines.len("")?.unwrap_or(0);
        let is_ended = lines.is_line_start(n_bytes)?;
        Ok(Self::new(lines, n_bytes, is_ended))
    }

    fn new(lines: Box<dyn Parts>, n_bytes: u64, is_ended: bool) -> Self {
        Self { lines, n_bytes, feed: if is_ended { b"" } else { b"\n" }, new: Vec::new() }
    }

    /// Returns the position of the first record that was appended.
    fn start(&self) -> u64 {
        self.n_bytes + self.feed.len() as u64
    }

    fn read_new(&self, position: u64, record: &mut Vec<u8>) -> Option<()> {
        let at = usize::try_from(position.checked_sub(self.start())?).ok()?;
        let place = places(self.new.get(at..)?).next()?;
        record.extend_from_slice(&self.new[at + place.start..at + place.end]);
        Some(())
    }
}

/// Returns whether another line can follow.
fn is_ended(text: &[u8]) -> bool {
    matches!(text.last(), None | Some(b'\n'))
}

fn failed(source: io::Error) -> StoreError {
    StoreError::Lines { source }
}

impl EntryStore for MemoryStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        let mut positions = Vec::with_capacity(records.len());
        for record in records {
            positions.push(self.start() + self.new.len() as u64);
            self.new.extend_from_slice(record.bytes());
            self.new.push(b'\n');
        }
        Ok(positions)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        each_line(self.lines.as_ref(), self.n_bytes, each).map_err(failed)?;
        for place in places(&self.new) {
            each(self.start() + place.start as u64, &self.new[place]);
        }
        Ok(())
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        if position < self.n_bytes {
            return line_at(self.lines.as_ref(), position, self.n_bytes, record).map_err(failed);
        }
        record.clear();
        self.read_new(position, record).ok_or(StoreError::NoRecord { position })
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
