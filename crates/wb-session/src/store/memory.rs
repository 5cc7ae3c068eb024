//! Records in memory.

use super::{EntryStore, Record};
use crate::error::StoreError;

/// Keeps records in memory, for tests and for sessions that nobody will open again.
///
/// Positions count from 0.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    records: Vec<Vec<u8>>,
}

impl MemoryStore {
    /// Takes the lines of a log, whatever they are.
    pub fn of_lines(log: &[u8]) -> Self {
        let lines = log.strip_suffix(b"\n").unwrap_or(log);
        let lines = (!log.is_empty()).then(|| lines.split(|byte| *byte == b'\n'));
        Self { records: lines.into_iter().flatten().map(<[u8]>::to_vec).collect() }
    }
}

impl EntryStore for MemoryStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        let first = self.records.len() as u64;
        self.records.extend(records.iter().map(|record| record.bytes().to_vec()));
        Ok((first..self.records.len() as u64).collect())
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        for (position, record) in (0..).zip(&self.records) {
            each(position, record);
        }
        Ok(())
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        let found = usize::try_from(position).ok().and_then(|at| self.records.get(at));
        record.clear();
        record.extend_from_slice(found.ok_or(StoreError::NoRecord { position })?);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
