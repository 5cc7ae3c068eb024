//! Records of a file and those to append, in memory until all of them are written in one step.

use std::path::PathBuf;

use super::jsonl::{FileState, JsonlStore};
use super::{EntryStore, Record};
use crate::error::{StoreError, Torn};

/// Makes a change of a file of JSON lines as a whole or not at all.
///
/// The file is read once. Appended records stay in memory until [`sync`](EntryStore::sync), which
/// takes the lock, checks that the file is unchanged, repairs its end, and writes all in one step;
/// then it holds the lock. Records that are never synced leave no trace.
#[derive(Debug)]
pub struct StagedStore {
    file: JsonlStore,
    found: FileState,
    is_writer: bool,
    /// The whole lines of the file, and those to append; a position is a byte offset in them, as in
    /// the file.
    lines: Vec<u8>,
    /// The number of their bytes in the file.
    n_written: usize,
}

impl StagedStore {
    /// Reads a file.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let file = JsonlStore::open_for_reading(path)?;
        let (found, mut lines) = (file.looked_at()?, Vec::new());
        file.read_all(&mut |_, record| {
            lines.extend_from_slice(record);
            lines.push(b'\n');
        })?;
        Ok(Self { file, found, is_writer: false, n_written: lines.len(), lines })
    }
}

impl EntryStore for StagedStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        let mut positions = Vec::with_capacity(records.len());
        for record in records {
            positions.push(self.lines.len() as u64);
            self.lines.extend_from_slice(record.bytes());
            self.lines.push(b'\n');
        }
        Ok(positions)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        let mut position = 0;
        for line in self.lines.split_inclusive(|byte| *byte == b'\n') {
            each(position, line.strip_suffix(b"\n").unwrap_or(line));
            position += line.len() as u64;
        }
        Ok(())
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        let rest = usize::try_from(position).ok().and_then(|at| self.lines.get(at..));
        let line =
            rest.and_then(|rest| rest.split(|byte| *byte == b'\n').next().filter(|_| !rest.is_empty()));
        record.clear();
        record.extend_from_slice(line.ok_or(StoreError::NoRecord { position })?);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let new = &self.lines[self.n_written..];
        let records: Vec<Record<'_>> = new
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| Record::written(&line[..line.len() - 1]))
            .collect();
        if records.is_empty() {
            return Ok(());
        }
        if !self.is_writer {
            self.file = self.file.to_writer(self.found)?;
            self.is_writer = true;
        }
        self.file.put(&records)?;
        self.n_written = self.lines.len();
        Ok(())
    }

    fn torn(&self) -> Option<&Torn> {
        self.file.torn()
    }
}
