//! Records in a file of JSON lines.
//!
//! Each append is one `write` of whole lines to the end of the file, so a kill can leave only a
//! last line without its line feed, after the first whole lines of the same step. Opening the file
//! for writing moves such a rest to a file next to it, `<name>.torn`, before anything is appended;
//! a last line that lacks only its line feed gets one. Nothing acknowledged is ever moved, since it
//! had its line feed. Whole lines stay where they are: no reader could detect that more should have
//! followed them.
//!
//! One writer at a time: it holds the system's advisory lock on the file. Readers take no lock and
//! read up to the last whole line. (Windows has only locks that bind readers too; there a reader
//! fails during a write.) Programs that ignore the lock, pi among them, are detected by the length
//! of the file and by the device and inode under its name, before and after each append. An append
//! always goes to the end, so lines are never mixed.
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::part_lines::{each_line, line_at};
use super::{Durability, EntryStore, Record};
use crate::error::{StoreError, Torn};
use wb_record::lines::Lines;
use wb_record::{
    Bytes, Change, ChangeSet, CommitError, FileParts, PartId, PartReader, Parts, Span, append_line,
};

/// The number of bytes per read.
const CHUNK: usize = 64 * 1024;
/// Bytes within which the first line must end, as pi reads them.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// Keeps records in a file of JSON lines; a position is the byte at which a record begins.
#[derive(Debug)]
pub struct JsonlStore {
    parts: FileParts,
    /// The end of the last whole line.
    end: u64,
    durability: Durability,
    is_writer: bool,
    is_broken: bool,
    is_synced: bool,
    torn: Option<Torn>,
    lines: Vec<u8>,
}

/// The state of a file when it was last checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    length: u64,
    /// That of the last bytes.
    fingerprint: u64,
}

impl JsonlStore {
    /// Begins a new file, which only its owner may read, and fails if there is one.
    pub fn create(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let mut store = Self::writer(FileParts::begin(path), durability)?;
        store.commit(Change::Create { new: Bytes::default() })?;
        Ok(store)
    }

    /// Opens a file for reading and appending, and repairs its end.
    ///
    /// The file must be empty or begin with a line of JSON; another one is refused and left as it
    /// is.
    pub fn open(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let mut store = Self::writer(FileParts::open(path)?, durability)?;
        store.find_end()?;
        Ok(store)
    }

    /// Opens a file for reading, up to its last whole line as of now.
    pub fn open_for_reading(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let mut store = Self::new(FileParts::open_for_reading(path)?, Durability::Never, false);
        store.find_end()?;
        Ok(store)
    }

    fn writer(parts: FileParts, durability: Durability) -> Result<Self, StoreError> {
        let mut store = Self::new(parts, durability, true);
        let held = store.parts.hold();
        held.map_err(|error| store.refused(error))?;
        Ok(store)
    }

    fn new(parts: FileParts, durability: Durability, is_writer: bool) -> Self {
        let (torn, lines) = (None, Vec::new());
        Self { parts, end: 0, durability, is_writer, is_broken: false, is_synced: true, torn, lines }
    }

    /// Opens the file for appending, if it is the one that this store reads and is as it was found.
    pub(super) fn to_writer(&self, found: FileState) -> Result<Self, StoreError> {
        let mut writer = Self::writer(FileParts::open(self.path())?, Durability::Always)?;
        let (is_same, now) = (writer.parts.is_same(&self.parts), writer.looked_at()?);
        if !is_same || now != found {
            let (expected, found) = (found.length, if is_same { now.length } else { 0 });
            return Err(StoreError::Changed { path: self.path().to_owned(), expected, found });
        }
        writer.find_end()?;
        Ok(writer)
    }

    /// Looks at the length of the file and at its end.
    pub(super) fn looked_at(&self) -> Result<FileState, StoreError> {
        let look = || {
            let length = self.parts.len("")?.unwrap_or(0);
            let len = length.min(CHUNK as u64);
            let tail = Span { part: PartId::new(), at: length - len, len };
            Ok(FileState { length, fingerprint: self.parts.fingerprint(&tail)? })
        };
        look().map_err(|error| self.failed("looking at it", error))
    }

    /// Returns the file's path as it was given.
    pub fn path(&self) -> &Path {
        self.parts.path()
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> StoreError {
        StoreError::Io { path: self.path().to_owned(), doing, source }
    }

    /// Turns what a change met into the error of the store.
    fn refused(&self, error: CommitError) -> StoreError {
        let path = self.path().to_owned();
        match error {
            CommitError::Busy => StoreError::Locked { path },
            CommitError::Stale { .. } => {
                let found = self.parts.len("").ok().flatten().unwrap_or(0);
                StoreError::Changed { path, expected: self.end, found }
            }
            CommitError::Replaced { .. } => StoreError::Changed { path, expected: self.end, found: 0 },
            CommitError::File(error) => error.into(),
            CommitError::Unknown { path, doing, source } => StoreError::Io { path, doing, source },
            other => self.failed("writing it", io::Error::other(other)),
        }
    }

    fn commit(&mut self, change: Change) -> Result<(), StoreError> {
        let set = ChangeSet { changes: vec![(PartId::new(), change)] };
        self.parts.commit(&set).map_err(|error| self.refused(error))
    }

    /// Finds the end of the last whole line, and repairs what is after it if the file is written.
    fn find_end(&mut self) -> Result<(), StoreError> {
        let length = self.parts.len("").map_err(|error| self.failed("looking at it", error))?.unwrap_or(0);
        if length == 0 {
            return Ok(());
        }
        self.check_head()?;
        let rest = self.rest(length).map_err(|error| self.failed("reading it", error))?;
        let start = length - rest.len() as u64;
        match Record::new(&rest) {
            _ if rest.is_empty() => self.end = length,
            Ok(_) => {
                self.end = length;
                if self.is_writer {
                    self.write_to_end(b"\n")?;
                }
            }
            Err(_) => {
                let n_bytes = rest.len() as u64;
                let kept_in = if self.is_writer { Some(self.move_aside(rest, start)?) } else { None };
                self.torn = Some(Torn { position: start, n_bytes, kept_in });
                self.end = start;
            }
        }
        Ok(())
    }

    /// Refuses a file that is something else, before its end is touched.
    fn check_head(&self) -> Result<(), StoreError> {
        let not_a_log =
            |what: &str| StoreError::NotALog { path: self.path().to_owned(), what: what.to_owned() };
        let head = PartReader::new(&self.parts, "", 0).map(|input| input.take(MAX_HEADER_BYTES));
        let head = head.map_err(|error| self.failed("reading it", error))?;
        let mut lines = Lines::new(head);
        match lines.next_line().map_err(|error| self.failed("reading it", error))? {
            Some(line) => Record::new(line.bytes).map(drop).map_err(|error| not_a_log(&error.to_string())),
            None => Err(not_a_log("blank lines only")),
        }
    }

    /// Returns the bytes after the last line feed.
    fn rest(&self, length: u64) -> io::Result<Vec<u8>> {
        let (mut rest, mut end) = (Vec::new(), length);
        while end > 0 {
            let start = end.saturating_sub(CHUNK as u64);
            let mut chunk = Vec::new();
            self.parts.read("", start..end, &mut chunk)?;
            end = start;
            let found = chunk.iter().rposition(|byte| *byte == b'\n');
            rest.push(chunk.split_off(found.map_or(0, |at| at + 1)));
            if found.is_some() {
                break;
            }
        }
        rest.reverse();
        Ok(rest.concat())
    }

    /// Moves the rest of a torn record to the file next to this one: first it is safe there, then
    /// it is cut off here, so that a failure in between leaves it twice.
    fn move_aside(&mut self, rest: Vec<u8>, start: u64) -> Result<PathBuf, StoreError> {
        let mut name = OsString::from(self.path());
        name.push(".torn");
        let aside = PathBuf::from(name);
        append_line(&aside, Some(self.path()), &rest).map_err(|error| match error {
            CommitError::File(error) => error.into(),
            other => StoreError::Io {
                path: aside.clone(),
                doing: "keeping a torn record in it",
                source: io::Error::other(other),
            },
        })?;
        self.commit(Change::Cut { at: start, old: Bytes(rest) })?;
        Ok(aside)
    }

    /// Writes to the end in one call; what a failed one left is cut off again.
    fn write_to_end(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let is_synced = self.durability == Durability::Always;
        match self.parts.append(self.end, bytes, is_synced) {
            Ok(()) => {
                self.end += bytes.len() as u64;
                self.is_synced = is_synced;
                Ok(())
            }
            Err(error) => {
                self.is_broken |= matches!(error, CommitError::Unknown { .. });
                Err(self.refused(error))
            }
        }
    }
}

impl EntryStore for JsonlStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        if !self.is_writer {
            return Err(StoreError::ReadOnly { path: self.path().to_owned() });
        }
        if self.is_broken {
            return Err(StoreError::Broken { path: self.path().to_owned() });
        }
        let mut positions = Vec::with_capacity(records.len());
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        for record in records {
            positions.push(self.end + lines.len() as u64);
            lines.extend_from_slice(record.bytes());
            lines.push(b'\n');
        }
        let result = self.write_to_end(&lines);
        // Many records in one step are rare, and what they took is not kept.
        lines.clear();
        lines.shrink_to(CHUNK);
        self.lines = lines;
        result.map(|()| positions)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        let read = each_line(&self.parts, self.end, each);
        let found = read.map_err(|error| self.failed("reading it", error))?;
        let changed = StoreError::Changed { path: self.path().to_owned(), expected: self.end, found };
        if found == self.end { Ok(()) } else { Err(changed) }
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        if position >= self.end {
            return Err(StoreError::NoRecord { position });
        }
        line_at(&self.parts, position, self.end, record).map_err(|error| self.failed("reading it", error))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if !self.is_synced {
            let result = self.parts.sync();
            // After a failed sync the system may have dropped what it could not write.
            self.is_broken |= result.is_err();
            result.map_err(|error| self.failed("waiting for the disk", error))?;
            self.is_synced = true;
        }
        Ok(())
    }

    fn torn(&self) -> Option<&Torn> {
        self.torn.as_ref()
    }
}

impl Drop for JsonlStore {
    fn drop(&mut self) {
        if self.is_writer && self.durability == Durability::OnClose {
            // A host that wants to know calls `sync` before.
            let _ = self.sync();
        }
    }
}
