//! Records in a file of JSON lines.
//!
//! Each append is one `write` of whole lines to the end of the file, so what a kill can leave behind is a last line
//! without its line feed, after the first whole lines of those that were appended in one step. Opening the file for
//! writing moves such a rest to a file next to it, `<name>.torn`, before anything is appended; a last line that is
//! whole but for its line feed gets that. Nothing that was acknowledged is ever moved, since that had its line feed.
//! Whole lines stay where they are: no reader could tell that more should have followed them.
//!
//! One writer at a time: it holds the system's advisory lock on the file. Readers take no lock and read up to the
//! last whole line. (Windows knows only locks that bind readers too; there a reader fails while a writer is at it.)
//! Programs that do not ask for the lock, pi among them, are noticed by the length of the file and by what stands
//! under its name, device and inode, before and after each append. An append always goes to the end, so lines are never
//! mixed.
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::{Durability, EntryStore, Record};
use crate::error::{StoreError, Torn};
use wb_record::lines::Lines;
use wb_record::{
    Bytes, Change, ChangeSet, CommitError, FileParts, PartId, PartReader, Parts, Span, append_line,
};

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes within which the first line must end, as pi reads them.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// Keeps records in a file of JSON lines; a position is the byte at which a record begins.
#[derive(Debug)]
pub struct JsonlStore {
    parts: FileParts,
    mode: Mode,
    /// The end of the last whole line.
    end: u64,
    /// The length of the file, and the fingerprint of its end, as it was found.
    found: (u64, u64),
    /// What shall follow the end and is not written yet.
    staged: Vec<u8>,
    durability: Durability,
    is_broken: bool,
    is_synced: bool,
    torn: Option<Torn>,
    lines: Vec<u8>,
}

/// What happens to records that are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// They are refused.
    Reads,
    /// They are kept until they are all written in one step.
    Stages,
    /// They are written at once.
    Writes,
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
    /// The file must be empty or begin with a line of JSON; another one is refused and left as it is.
    pub fn open(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let mut store = Self::writer(FileParts::open(path)?, durability)?;
        store.find_end()?;
        Ok(store)
    }

    /// Opens a file for reading, up to its last whole line as of now.
    pub fn open_for_reading(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let mut store = Self::new(FileParts::open_for_reading(path)?, Durability::Never, Mode::Reads);
        store.find_end()?;
        Ok(store)
    }

    /// Opens a file for a change that is made as a whole or not at all.
    ///
    /// What is appended is read again from memory, and the file is not touched until [`sync`](EntryStore::sync), which
    /// takes the lock, looks whether the file is as it was, repairs its end and writes all in one step. From then on the
    /// store is one that [`open`](Self::open) gives.
    pub fn stage(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let mut store = Self::new(FileParts::open_for_reading(path)?, Durability::Always, Mode::Stages);
        store.find_end()?;
        Ok(store)
    }

    fn writer(parts: FileParts, durability: Durability) -> Result<Self, StoreError> {
        let mut store = Self::new(parts, durability, Mode::Writes);
        let held = store.parts.hold();
        held.map_err(|error| store.refused(error))?;
        Ok(store)
    }

    fn new(parts: FileParts, durability: Durability, mode: Mode) -> Self {
        Self {
            parts,
            mode,
            end: 0,
            found: (0, 0),
            staged: Vec::new(),
            durability,
            is_broken: false,
            is_synced: true,
            torn: None,
            lines: Vec::new(),
        }
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
        self.found = self.looked_at()?;
        let (length, _) = self.found;
        if length == 0 {
            return Ok(());
        }
        self.check_head()?;
        let rest = self.rest(length).map_err(|error| self.failed("reading it", error))?;
        let n_bytes = rest.len() as u64;
        self.end = length;
        match Record::new(&rest) {
            _ if rest.is_empty() => {}
            Ok(_) if self.mode == Mode::Writes => self.write_to_end(b"\n")?,
            Ok(_) if self.mode == Mode::Stages => self.staged.push(b'\n'),
            Ok(_) => {}
            Err(_) => {
                self.end -= n_bytes;
                let kept_in = if self.mode == Mode::Writes { Some(self.move_aside(rest)?) } else { None };
                self.torn = Some(Torn { position: self.end, n_bytes, kept_in });
            }
        }
        Ok(())
    }

    /// Returns the length of the file and a fingerprint of its end.
    fn looked_at(&self) -> Result<(u64, u64), StoreError> {
        let look = || {
            let length = self.parts.len("")?.unwrap_or(0);
            let len = length.min(CHUNK as u64);
            let tail = Span { part: PartId::new(), at: length - len, len };
            Ok((length, self.parts.fingerprint(&tail)?))
        };
        look().map_err(|error| self.failed("looking at it", error))
    }

    /// Takes the lock, writes what was staged if the file is as it was found, and goes on as a writer.
    fn write_staged(&mut self) -> Result<(), StoreError> {
        let mut writer = FileParts::open(self.path())?;
        writer.hold().map_err(|error| self.refused(error))?;
        let is_same = writer.is_same(&self.parts);
        let reader = std::mem::replace(&mut self.parts, writer);
        let written = self.repair_and_write(is_same);
        match written {
            Ok(()) => self.mode = Mode::Writes,
            Err(_) => self.parts = reader,
        }
        written
    }

    fn repair_and_write(&mut self, is_same: bool) -> Result<(), StoreError> {
        let now = self.looked_at()?;
        if !is_same || now != self.found {
            let found = if is_same { now.0 } else { 0 };
            return Err(StoreError::Changed { path: self.path().to_owned(), expected: self.found.0, found });
        }
        if let Some(Torn { position: at, n_bytes: len, .. }) = self.torn {
            let rest = self.parts.bytes(&Span { part: PartId::new(), at, len });
            let kept_in = self.move_aside(rest.map_err(|error| self.failed("reading it", error))?)?;
            self.torn = Some(Torn { position: at, n_bytes: len, kept_in: Some(kept_in) });
        }
        let staged = std::mem::take(&mut self.staged);
        let written = self.write_to_end(&staged);
        if written.is_err() {
            self.staged = staged;
        }
        written
    }

    /// Refuses a file that is something else, before its end is touched.
    fn check_head(&self) -> Result<(), StoreError> {
        let not_a_log =
            |what: &str| StoreError::NotALog { path: self.path().to_owned(), what: what.to_owned() };
        let head = PartReader::new(&self.parts, "", 0).map(|input| input.take(MAX_HEADER_BYTES));
        let head = head.map_err(|error| self.failed("reading it", error))?;
        let mut lines = Lines::new(BufReader::new(head));
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

    /// Moves the rest of a torn record to the file next to this one: first it is safe there, then it is cut off
    /// here, so that a failure in between leaves it twice.
    fn move_aside(&mut self, rest: Vec<u8>) -> Result<PathBuf, StoreError> {
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
        self.commit(Change::Cut { at: self.end, old: Bytes(rest) })?;
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

    /// Reads on from a place to the end of the line, into a buffer that is cleared.
    fn line_at(&self, position: u64, record: &mut Vec<u8>) -> io::Result<()> {
        record.clear();
        let mut n_wanted = 4096;
        loop {
            let seen = record.len();
            let start = position + seen as u64;
            self.parts.read("", start..self.end.min(start + n_wanted), record)?;
            if record.len() == seen {
                return Ok(());
            }
            if let Some(found) = record[seen..].iter().position(|byte| *byte == b'\n') {
                record.truncate(seen + found);
                return Ok(());
            }
            n_wanted = (n_wanted * 2).min(CHUNK as u64);
        }
    }

    /// Returns what is staged from a position on.
    fn staged_at(&self, position: u64) -> Result<&[u8], StoreError> {
        let at = usize::try_from(position - self.end).ok();
        let rest = at.and_then(|at| self.staged.get(at..)).filter(|rest| !rest.is_empty());
        rest.ok_or(StoreError::NoRecord { position })
    }
}

impl EntryStore for JsonlStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        if self.mode == Mode::Reads {
            return Err(StoreError::ReadOnly { path: self.path().to_owned() });
        }
        if self.is_broken {
            return Err(StoreError::Broken { path: self.path().to_owned() });
        }
        let mut positions = Vec::with_capacity(records.len());
        let is_staging = self.mode == Mode::Stages;
        let mut lines = std::mem::take(if is_staging { &mut self.staged } else { &mut self.lines });
        for record in records {
            positions.push(self.end + lines.len() as u64);
            lines.extend_from_slice(record.bytes());
            lines.push(b'\n');
        }
        if is_staging {
            self.staged = lines;
            return Ok(positions);
        }
        let result = self.write_to_end(&lines);
        // Many records in one step are rare, and what they took is not kept.
        lines.clear();
        lines.shrink_to(CHUNK);
        self.lines = lines;
        result.map(|()| positions)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        let failed = |error| self.failed("reading it", error);
        let input = PartReader::new(&self.parts, "", 0).map_err(failed)?;
        let mut input = BufReader::with_capacity(CHUNK, input.take(self.end)).chain(&self.staged[..]);
        let (mut line, mut position) = (Vec::new(), 0);
        loop {
            line.clear();
            let n_bytes = input.read_until(b'\n', &mut line).map_err(failed)?;
            if n_bytes == 0 {
                break;
            }
            each(position, line.strip_suffix(b"\n").unwrap_or(&line));
            position += n_bytes as u64;
        }
        let expected = self.end + self.staged.len() as u64;
        let changed = StoreError::Changed { path: self.path().to_owned(), expected, found: position };
        if position == expected { Ok(()) } else { Err(changed) }
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        if position >= self.end {
            let rest = self.staged_at(position)?;
            record.clear();
            record.extend(rest.iter().take_while(|byte| **byte != b'\n'));
            return Ok(());
        }
        self.line_at(position, record).map_err(|error| self.failed("reading it", error))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        // The line feed that the last line lacks is none of the records.
        if self.mode == Mode::Stages && self.staged.len() > 1 {
            return self.write_staged();
        }
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
        if self.mode == Mode::Writes && self.durability == Durability::OnClose {
            // A host that wants to know calls `sync` before.
            let _ = self.sync();
        }
    }
}
