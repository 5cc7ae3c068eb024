//! Records of a file or database and those to append, in memory until all of them are written in
//! one step.

use std::path::PathBuf;

use super::jsonl::{FileState, JsonlStore};
#[cfg(feature = "postgres")]
use super::postgres::{PostgresStore, PostgresUrl};
use super::{EntryStore, Record};
use crate::error::{StoreError, Torn};

/// Makes a change of a file of JSON lines, or of a session in a database, as a whole or not at
/// all.
///
/// It is read once. Appended records stay in memory until [`sync`](EntryStore::sync), which takes
/// the lock, checks that nothing changed, repairs the end of a file, and writes all in one step;
/// then it holds the lock. Records that are never synced leave no trace.
#[derive(Debug)]
pub struct StagedStore {
    base: Base,
    is_writer: bool,
    /// The whole lines that are written, and those to append; a position is a byte offset in them,
    /// as in a file.
    lines: Vec<u8>,
    /// The number of their bytes that are written.
    n_written: usize,
}

/// The store that the records are written to.
#[derive(Debug)]
enum Base {
    File {
        store: JsonlStore,
        found: FileState,
    },
    #[cfg(feature = "postgres")]
    Database(Box<PostgresStore>),
}

impl Base {
    fn store(&self) -> &dyn EntryStore {
        match self {
            Self::File { store, .. } => store,
            #[cfg(feature = "postgres")]
            Self::Database(store) => store.as_ref(),
        }
    }

    fn store_mut(&mut self) -> &mut dyn EntryStore {
        match self {
            Self::File { store, .. } => store,
            #[cfg(feature = "postgres")]
            Self::Database(store) => store.as_mut(),
        }
    }

    /// Takes the lock, if the store still holds the lines that were read.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "a file has a fingerprint"))]
    fn begin_to_write(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::File { store, found } => *store = store.to_writer(*found)?,
            #[cfg(feature = "postgres")]
            Self::Database(store) => {
                let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
                store.begin_to_write(lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

impl StagedStore {
    /// Reads a file.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = JsonlStore::open_for_reading(path)?;
        let found = store.looked_at()?;
        Self::new(Base::File { store, found })
    }

    /// Reads a session in a database.
    #[cfg(feature = "postgres")]
    pub fn open_in_database(url: &PostgresUrl) -> Result<Self, StoreError> {
        Self::new(Base::Database(Box::new(PostgresStore::open_for_reading(url)?)))
    }

    fn new(base: Base) -> Result<Self, StoreError> {
        let mut lines = Vec::new();
        base.store().read_all(&mut |_, record| {
            lines.extend_from_slice(record);
            lines.push(b'\n');
        })?;
        Ok(Self { base, is_writer: false, n_written: lines.len(), lines })
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
            self.base.begin_to_write(&self.lines[..self.n_written])?;
            self.is_writer = true;
        }
        self.base.store_mut().put(&records)?;
        self.n_written = self.lines.len();
        Ok(())
    }

    fn torn(&self) -> Option<&Torn> {
        self.base.store().torn()
    }
}
