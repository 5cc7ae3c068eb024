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
//! Programs that do not ask for the lock, pi among them, are noticed by the length of the file before and after
//! each append. An append always goes to the end, so lines are never mixed.
#![expect(clippy::disallowed_methods, reason = "stores are where this crate touches files")]

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::{Durability, EntryStore, check_record, check_records};
use crate::error::{StoreError, Torn};
use wb_record::lines::Lines;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes within which the first line must end, as pi reads them.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// Keeps records in a file of JSON lines; a position is the byte at which a record begins.
#[derive(Debug)]
pub struct JsonlStore {
    path: PathBuf,
    file: File,
    /// The end of the last whole line.
    end: u64,
    durability: Durability,
    is_writer: bool,
    is_broken: bool,
    is_synced: bool,
    torn: Option<Torn>,
    lines: Vec<u8>,
}

impl JsonlStore {
    /// Begins a new file and fails if there is one.
    pub fn create(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let path = path.into();
        let options = OpenOptions::new().read(true).append(true).create_new(true).clone();
        let file = options.open(&path).map_err(|error| failed(&path, "creating it", error))?;
        lock(&file, &path)?;
        if durability != Durability::Never {
            sync_folder(&path)?;
        }
        Ok(Self::new(path, file, durability, true))
    }

    /// Opens a file for reading and appending, and repairs its end.
    ///
    /// The file must be empty or begin with a line of JSON; another one is refused and left as it is.
    pub fn open(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let path = path.into();
        let options = OpenOptions::new().read(true).append(true).clone();
        let file = options.open(&path).map_err(|error| failed(&path, "opening it", error))?;
        lock(&file, &path)?;
        let mut store = Self::new(path, file, durability, true);
        store.find_end()?;
        Ok(store)
    }

    /// Opens a file for reading, up to its last whole line as of now.
    pub fn open_for_reading(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let file = File::open(&path).map_err(|error| failed(&path, "opening it", error))?;
        let mut store = Self::new(path, file, Durability::Never, false);
        store.find_end()?;
        Ok(store)
    }

    fn new(path: PathBuf, file: File, durability: Durability, is_writer: bool) -> Self {
        let (torn, lines) = (None, Vec::new());
        Self { path, file, end: 0, durability, is_writer, is_broken: false, is_synced: true, torn, lines }
    }

    /// Returns the file's path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> StoreError {
        failed(&self.path, doing, source)
    }

    /// Returns the file's length; 0 if it was removed or another one took its name.
    fn length(&self) -> Result<u64, StoreError> {
        let metadata = self.file.metadata().map_err(|error| self.failed("looking at it", error))?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&metadata) == 0 {
            return Ok(0);
        }
        Ok(metadata.len())
    }

    /// Finds the end of the last whole line, and repairs what is after it if the file is written.
    fn find_end(&mut self) -> Result<(), StoreError> {
        let length = self.length()?;
        if length == 0 {
            return Ok(());
        }
        self.check_head()?;
        let rest = self.rest(length).map_err(|error| self.failed("reading it", error))?;
        let start = length - rest.len() as u64;
        match check_record(&rest) {
            _ if rest.is_empty() => self.end = length,
            Ok(()) if self.is_writer => {
                self.end = length;
                self.write_to_end(b"\n")?;
            }
            Ok(()) => self.end = length,
            Err(_) => {
                let kept_in = if self.is_writer { Some(self.move_aside(&rest, start)?) } else { None };
                self.torn = Some(Torn { position: start, n_bytes: rest.len() as u64, kept_in });
                self.end = start;
            }
        }
        Ok(())
    }

    /// Refuses a file that is something else, before its end is touched.
    fn check_head(&self) -> Result<(), StoreError> {
        let head = BufReader::new(At { file: &self.file, at: 0 }.take(MAX_HEADER_BYTES));
        let not_a_log = |what: &str| StoreError::NotALog { path: self.path.clone(), what: what.to_owned() };
        let mut lines = Lines::new(head);
        match lines.next_line().map_err(|error| self.failed("reading it", error))? {
            Some(line) => check_record(line.bytes).map_err(|error| not_a_log(&error.to_string())),
            None => Err(not_a_log("blank lines only")),
        }
    }

    /// Returns the bytes after the last line feed.
    fn rest(&self, length: u64) -> io::Result<Vec<u8>> {
        let (mut rest, mut start) = (Vec::new(), length);
        while start > 0 {
            let n_bytes = start.min(CHUNK as u64);
            start -= n_bytes;
            let mut chunk = Vec::new();
            At { file: &self.file, at: start }.take(n_bytes).read_to_end(&mut chunk)?;
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
    fn move_aside(&self, rest: &[u8], start: u64) -> Result<PathBuf, StoreError> {
        let mut name = OsString::from(&self.path);
        name.push(".torn");
        let aside = PathBuf::from(name);
        let append = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&aside)?;
            file.write_all(&[rest, b"\n"].concat())?;
            file.sync_all()
        };
        append().map_err(|error| failed(&aside, "keeping a torn record in it", error))?;
        let cut = self.file.set_len(start).and_then(|()| self.file.sync_all());
        cut.map_err(|error| self.failed("cutting off a torn record", error))?;
        Ok(aside)
    }

    fn check_unchanged(&self) -> Result<(), StoreError> {
        let found = self.length()?;
        let is_same = found == self.end;
        let changed = || StoreError::Changed { path: self.path.clone(), expected: self.end, found };
        if is_same { Ok(()) } else { Err(changed()) }
    }

    /// Writes to the end in one call; what a failed one left is cut off again.
    fn write_to_end(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.is_synced = false;
        let result = loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let error = match result {
            Ok(n_bytes) if n_bytes == bytes.len() => return self.after_write(bytes.len() as u64),
            Ok(_) => io::Error::new(io::ErrorKind::WriteZero, "only a part of it was written"),
            Err(error) => error,
        };
        self.is_broken = !self.is_cut_back(bytes);
        Err(self.failed("appending to it", error))
    }

    /// Cuts off what was written of some lines, if the file now ends with just that; tells whether it ends as before.
    fn is_cut_back(&self, lines: &[u8]) -> bool {
        let Ok(length) = self.length() else { return false };
        let mut written = Vec::new();
        let tail = At { file: &self.file, at: self.end }.take(lines.len() as u64).read_to_end(&mut written);
        let is_ours =
            tail.is_ok() && length == self.end + written.len() as u64 && lines.starts_with(&written);
        length == self.end || is_ours && self.file.set_len(self.end).is_ok()
    }

    /// Checks that nothing came in between, and makes the lines durable.
    fn after_write(&mut self, n_bytes: u64) -> Result<(), StoreError> {
        let before = self.end;
        self.end += n_bytes;
        let result = self.check_unchanged().and_then(|()| match self.durability {
            Durability::Always => self.sync(),
            Durability::OnClose | Durability::Never => Ok(()),
        });
        if result.is_err() {
            (self.end, self.is_broken) = (before, true);
        }
        result
    }

    /// Reads on from a place to the end of the line, into a buffer that is cleared.
    fn line_at(&self, position: u64, record: &mut Vec<u8>) -> io::Result<()> {
        record.clear();
        let limit = self.end - position;
        let mut input = At { file: &self.file, at: position }.take(limit);
        let mut n_wanted = 4096;
        loop {
            let seen = record.len();
            if input.by_ref().take(n_wanted).read_to_end(record)? == 0 {
                return Ok(());
            }
            if let Some(found) = record[seen..].iter().position(|byte| *byte == b'\n') {
                record.truncate(seen + found);
                return Ok(());
            }
            n_wanted = (n_wanted * 2).min(CHUNK as u64);
        }
    }
}

impl EntryStore for JsonlStore {
    fn append_all(&mut self, records: &[&[u8]]) -> Result<Vec<u64>, StoreError> {
        check_records(records)?;
        if !self.is_writer {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        }
        if self.is_broken {
            return Err(StoreError::Broken { path: self.path.clone() });
        }
        self.check_unchanged()?;
        let mut positions = Vec::with_capacity(records.len());
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        for record in records {
            positions.push(self.end + lines.len() as u64);
            lines.extend_from_slice(record);
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
        let mut input = BufReader::with_capacity(CHUNK, At { file: &self.file, at: 0 }.take(self.end));
        let (mut line, mut position) = (Vec::new(), 0);
        loop {
            line.clear();
            let n_bytes = input.read_until(b'\n', &mut line);
            let n_bytes = n_bytes.map_err(|error| self.failed("reading it", error))?;
            if n_bytes == 0 {
                break;
            }
            each(position, line.strip_suffix(b"\n").unwrap_or(&line));
            position += n_bytes as u64;
        }
        let changed = StoreError::Changed { path: self.path.clone(), expected: self.end, found: position };
        if position == self.end { Ok(()) } else { Err(changed) }
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        if position >= self.end {
            return Err(StoreError::NoRecord { position });
        }
        self.line_at(position, record).map_err(|error| self.failed("reading it", error))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if !self.is_synced {
            let result = self.file.sync_data();
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

/// Writes a file that must not be there yet, all of it or nothing.
///
/// It is written next to its place under the name `<name>.new`, made durable, and then gets its name by a link, for
/// which the file system must have links.
///
/// ```no_run
/// use std::path::Path;
/// use wb_session::store::jsonl::{JsonlStore, write_new};
/// use wb_session::{Durability, IdSource, Session, SessionError};
///
/// let old = JsonlStore::open_for_reading("old.jsonl")?;
/// let old = Session::open(Box::new(old), IdSource::new(1))?;
/// write_new::<SessionError>(Path::new("present.jsonl"), |out| old.write_to(out))?;
/// let store = JsonlStore::open("present.jsonl", Durability::Always)?;
/// let present = Session::open(Box::new(store), IdSource::new(1))?;
/// # Ok::<(), SessionError>(())
/// ```
pub fn write_new<E: From<StoreError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut name = OsString::from(path);
    name.push(".new");
    let draft = PathBuf::from(name);
    let file = File::create(&draft).map_err(|error| failed(&draft, "creating it", error))?;
    let mut out = io::BufWriter::with_capacity(CHUNK, file);
    let written = write(&mut out).and_then(|()| Ok(name_it(out, &draft, path)?));
    // The draft has a second name by now, or is of no use.
    let _ = std::fs::remove_file(&draft);
    written
}

fn name_it(mut out: io::BufWriter<File>, draft: &Path, path: &Path) -> Result<(), StoreError> {
    out.flush().map_err(|error| failed(draft, "writing it", error))?;
    out.get_ref().sync_all().map_err(|error| failed(draft, "waiting for the disk", error))?;
    // A link, unlike a rename, fails if there is a file.
    std::fs::hard_link(draft, path).map_err(|error| failed(path, "creating it", error))?;
    sync_folder(path)
}

/// Reads a file from a place on without a cursor that others share.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n_bytes = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        #[cfg(windows)]
        let n_bytes = std::os::windows::fs::FileExt::seek_read(self.file, buffer, self.at)?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }
}

fn failed(path: &Path, doing: &'static str, source: io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), doing, source }
}

fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => StoreError::Locked { path: path.to_owned() },
        TryLockError::Error(source) => failed(path, "locking it", source),
    })
}

/// Makes a new name durable; only Unix has that.
fn sync_folder(path: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let sync = || File::open(folder)?.sync_all();
        sync().map_err(|error| failed(folder, "waiting for the disk", error))?;
    }
    Ok(())
}
