//! Records in memory.

use std::ops::Range;

use wb_record::lines::places;

use super::{EntryStore, Record};
use crate::error::StoreError;

/// Keeps records in memory, for tests and for sessions that nobody will open again.
///
/// Positions count from 0.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The records one after another; what ends a line may stand between two.
    text: Vec<u8>,
    /// Where each record stands.
    records: Vec<Range<usize>>,
}

impl MemoryStore {
    /// Takes the lines of a log, whatever they are.
    pub fn of_lines(log: impl Into<Vec<u8>>) -> Self {
        let text = log.into();
        let records = places(&text).collect();
        Self { text, records }
    }
}

impl EntryStore for MemoryStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        let first = self.records.len() as u64;
        for record in records {
            let start = self.text.len();
            self.text.extend_from_slice(record.bytes());
            self.records.push(start..self.text.len());
        }
        Ok((first..self.records.len() as u64).collect())
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        for (position, record) in (0..).zip(&self.records) {
            each(position, &self.text[record.clone()]);
        }
        Ok(())
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        let found = usize::try_from(position).ok().and_then(|at| self.records.get(at));
        let found = found.ok_or(StoreError::NoRecord { position })?;
        record.clear();
        record.extend_from_slice(&self.text[found.clone()]);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
