//! Stores for records: in memory, in a file of JSON lines, or in a PostgreSQL database.
//!
//! A store knows nothing of sessions. It keeps records, each one JSON object on one line, in the
//! order in which they were appended, and never changes one. This is the crate's only module that
//! touches session files and databases.

use std::fmt;

use serde::de::IgnoredAny;

use crate::error::{StoreError, Torn};

mod part_lines;
pub mod memory;
#[cfg(any(unix, windows))]
pub mod jsonl;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(unix, windows))]
pub mod staged;

/// A place for the records of one session.
///
/// A store appends records, reads all of them, and can read one again, so that a session need not
/// hold in memory the content that its context does not use. It can make acknowledged records
/// durable, and it reports a torn record that it found. Positions ascend in the order of the
/// records, mean nothing else, and stay valid when the store is opened again.
pub trait EntryStore: fmt::Debug + Send + Sync {
    /// Appends records in one step and returns their positions, one for each record; all of them
    /// are acknowledged when it returns.
    ///
    /// After an error the store holds the same records as before; if that cannot be ensured, each
    /// further append fails until the store is opened again. The result of a kill depends on the
    /// store: in a file of lines, the first ones of the records.
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError>;

    /// Appends records in one step, as [`put`](Self::put) does; if one is invalid, nothing is
    /// written.
    fn append_all(&mut self, records: &[&[u8]]) -> Result<Vec<u64>, StoreError> {
        let records: Vec<Record<'_>> =
            records.iter().map(|bytes| Record::new(bytes)).collect::<Result<_, _>>()?;
        self.put(&records)
    }

    /// Appends one record and returns its position.
    fn append(&mut self, record: &[u8]) -> Result<u64, StoreError> {
        let positions = self.append_all(&[record])?;
        positions.first().copied().ok_or(StoreError::NoRecord { position: 0 })
    }

    /// Passes each record with its position to `each`, in order; `each` must not call this store.
    ///
    /// All lines of a file are passed, including blank lines and lines that are not JSON, so that
    /// the number of the call is the number of the line and nothing is lost in a copy.
    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError>;

    /// Puts the record at a position in place of what `record` held.
    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError>;

    /// Makes durable what was appended, as far as the store can.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Returns what was left of a torn record when the store was opened.
    fn torn(&self) -> Option<&Torn> {
        None
    }
}

/// The measures of a store to make records outlive a failure; none of them weakens the guarantees
/// after an error or a kill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Every append waits for the disk: an acknowledged record survives a power cut.
    #[default]
    Always,
    /// Waits for the disk on a sync and when the store is dropped: an acknowledged record survives
    /// a kill of the process; after a power cut the latest records can be missing.
    OnClose,
    /// Waits for the disk only on a sync: a power cut shortly after the end can lose records too.
    Never,
}

/// One JSON object on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a>(&'a [u8]);

impl<'a> Record<'a> {
    /// Checks that the bytes are one JSON object on one line.
    pub fn new(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let bad = |what: &str| Err(StoreError::BadRecord { what: what.to_owned() });
        match bytes {
            _ if bytes.contains(&b'\n') => bad("it holds a line feed"),
            [b'{', ..] => match serde_json::from_slice::<IgnoredAny>(bytes) {
                Ok(_) => Ok(Self(bytes)),
                Err(error) => bad(&error.to_string()),
            },
            _ => bad("it does not begin with a brace"),
        }
    }

    /// Wraps an object that this crate wrote.
    pub(crate) fn written(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the object.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}
