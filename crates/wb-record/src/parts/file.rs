//! One file as parts: read by position, appended to in one write, or replaced as a whole.
//!
//! An append is one `write` to the end, so that a kill leaves at most a beginning of it. Every
//! other change is written to a draft that takes the name. Writers hold the system's advisory lock;
//! programs that ignore it are detected by the length, device and inode of the file, which are
//! checked before and after each write.
#![expect(clippy::disallowed_methods, reason = "files are touched here")]

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::parts::change::{Change, ChangeSet, CommitError};
use crate::parts::disk::{Disk, FileCursor, Identity, System, folder_of, mode_of};
use crate::parts::error::FileError;
use crate::parts::part::{Parts, changed_parts, read_old};
use crate::parts::piece_table::PieceTable;
use crate::parts::recover::appended;
use crate::parts::span::PartId;
use crate::parts::write::{Draft, PRIVATE, no_link, write_new_on};

/// The bytes reserved before it is known whether the file has them.
const CHUNK: u64 = 1 << 20;

/// One part without a name over one file.
pub struct FileParts {
    path: PathBuf,
    open: Option<(File, Identity)>,
    is_writer: bool,
    /// True if the lock is kept from one commit to the next.
    is_held: bool,
    disk: Arc<dyn Disk>,
}

impl FileParts {
    /// Opens a file to read and write. A link is refused, since a replacement would replace the
    /// link.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FileError> {
        Self::open_on(Arc::new(System), path.into())
    }

    /// Opens a file to read; links are followed.
    pub fn open_for_reading(path: impl Into<PathBuf>) -> Result<Self, FileError> {
        let path = path.into();
        let file = File::open(&path).map_err(FileError::io(&path, "opening it"))?;
        Self::from_file(Arc::new(System), path, file, false)
    }

    /// Names a file that does not exist yet: a commit creates it.
    pub fn begin(path: impl Into<PathBuf>) -> Self {
        Self::begin_on(Arc::new(System), path.into())
    }

    pub(crate) fn begin_on(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { path, open: None, is_writer: true, is_held: false, disk }
    }

    pub(crate) fn open_on(disk: Arc<dyn Disk>, path: PathBuf) -> Result<Self, FileError> {
        let there = fs::symlink_metadata(&path).map_err(FileError::io(&path, "opening it"))?;
        no_link(&path, &there)?;
        let file = OpenOptions::new().read(true).append(true).open(&path);
        let file = file.map_err(FileError::io(&path, "opening it"))?;
        let parts = Self::from_file(disk, path, file, true)?;
        match &parts.open {
            Some((_, identity)) if *identity == Identity::from_metadata(&there) => Ok(parts),
            _ => Err(FileError::io(&parts.path, "opening it")(replaced_meanwhile())),
        }
    }

    fn from_file(disk: Arc<dyn Disk>, path: PathBuf, file: File, is_writer: bool) -> Result<Self, FileError> {
        let metadata = file.metadata().map_err(FileError::io(&path, "looking at it"))?;
        if metadata.is_dir() {
            return Err(FileError::io(&path, "opening it")(io::ErrorKind::IsADirectory.into()));
        }
        let open = Some((file, Identity::from_metadata(&metadata)));
        Ok(Self { path, open, is_writer, is_held: false, disk })
    }

    /// Returns the file's path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether these are parts of the same file, under any name.
    pub fn is_same(&self, other: &Self) -> bool {
        let identity = |parts: &Self| parts.open.as_ref().map(|(_, identity)| *identity);
        identity(self) == identity(other)
    }

    /// Takes the lock and keeps it until the parts are dropped, as a program does that has a
    /// session open.
    pub fn hold(&mut self) -> Result<(), CommitError> {
        self.lock()?;
        self.is_held = true;
        Ok(())
    }

    /// Appends bytes to the end, which must be at `at`, in one write; `sync` waits for the disk.
    ///
    /// Other than a commit it takes no lock.
    pub fn append(&mut self, at: u64, new: &[u8], sync: bool) -> Result<(), CommitError> {
        if !self.is_writer {
            return Err(CommitError::ReadOnly);
        }
        let (file, _) = self.open.as_ref().ok_or(stale(at))?;
        if self.current_len()? != at {
            return Err(stale(at));
        }
        let n_written = loop {
            match self.disk.write(file, new) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written,
            }
        };
        let part = || io::Error::new(io::ErrorKind::WriteZero, "only a part of it was written");
        let doing = "appending to it";
        match n_written {
            Ok(n) if n == new.len() => self.check_appended(file, at, new)?,
            Ok(n) => return Err(self.revert(file, &new[..n], doing, part())),
            Err(error) => {
                // Some systems write a part and report only a failure.
                let n = self.current_len().map_or(0, |len| len.saturating_sub(at));
                let n = usize::try_from(n).unwrap_or(usize::MAX).min(new.len());
                return Err(self.revert(file, &new[..n], doing, error));
            }
        }
        let synced = if sync { self.disk.sync(file) } else { Ok(()) };
        synced.map_err(|error| self.revert(file, new, "waiting for the disk", error))
    }

    /// Waits until appended bytes are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.open.as_ref().map_or(Ok(()), |(file, _)| self.disk.sync(file))
    }

    /// Checks that the appended bytes are where they should be; if others wrote before them, they
    /// are removed.
    fn check_appended(&self, file: &File, at: u64, new: &[u8]) -> Result<(), CommitError> {
        let is_there = written_to(file).is_ok_and(|end| end == at + new.len() as u64);
        if is_there || has_bytes_at(file, at, new).unwrap_or(false) {
            return Ok(());
        }
        if self.try_revert(file, new) {
            return Err(stale(at));
        }
        Err(self.unknown("appending to it", io::Error::other("another program wrote at the same time")))
    }

    /// Removes the bytes that were written, and returns the error to report.
    fn revert(&self, file: &File, new: &[u8], doing: &'static str, error: io::Error) -> CommitError {
        if self.try_revert(file, new) { self.failed(doing)(error) } else { self.unknown(doing, error) }
    }

    /// Cuts off the written bytes if the file ends with exactly these, and returns whether it did.
    fn try_revert(&self, file: &File, new: &[u8]) -> bool {
        let end = self.current_len().ok();
        let Some(at) = end.and_then(|end| end.checked_sub(new.len() as u64)) else { return false };
        let is_ours = has_bytes_at(file, at, new).unwrap_or(false) && self.current_len().ok() == end;
        is_ours && (new.is_empty() || self.disk.cut(file, at).is_ok())
    }

    /// Returns the length of the file, if it still has the name.
    fn current_len(&self) -> Result<u64, CommitError> {
        let replaced = || CommitError::Replaced { path: self.path.clone() };
        let there = fs::symlink_metadata(&self.path).map_err(|_| replaced())?;
        let identity = self.open.as_ref().map(|(_, identity)| *identity);
        if identity == Some(Identity::from_metadata(&there)) { Ok(there.len()) } else { Err(replaced()) }
    }

    fn lock(&self) -> Result<(), CommitError> {
        let Some((file, _)) = self.open.as_ref().filter(|_| !self.is_held) else { return Ok(()) };
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => CommitError::Busy,
            TryLockError::Error(source) => self.failed("locking it")(source),
        })
    }

    fn unlock(&self) {
        if let Some((file, _)) = self.open.as_ref().filter(|_| !self.is_held) {
            // The lock ends with the file at the latest.
            let _ = file.unlock();
        }
    }

    fn change(&mut self, set: &ChangeSet) -> Result<(), CommitError> {
        let changes: Vec<&Change> = set.changes.iter().map(|(_, change)| change).collect();
        if let Some((at, new)) = appended(&changes) {
            return self.append(at, &new, true);
        }
        if let [Change::Cut { at, old }] = changes[..] {
            return self.cut(*at, &old.0);
        }
        self.rewrite(set)
    }

    fn cut(&self, at: u64, old: &[u8]) -> Result<(), CommitError> {
        let end = at.saturating_add(old.len() as u64);
        let (file, _) = self.open.as_ref().ok_or(stale(at))?;
        let is_there = has_bytes_at(file, at, old).map_err(self.failed("reading it"))?;
        // The file must be unchanged since it was read.
        if self.current_len()? != end || !is_there {
            return Err(stale(at));
        }
        self.disk.cut(file, at).map_err(self.failed("cutting it off"))?;
        self.disk.sync(file).map_err(|source| self.unknown("waiting for the disk", source))
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(io::Error) -> CommitError {
        let failed = FileError::io(&self.path, doing);
        |source| failed(source).into()
    }

    fn unknown(&self, doing: &'static str, source: io::Error) -> CommitError {
        CommitError::Unknown { path: self.path.clone(), doing, source }
    }

    /// Replaces the file by its content after the changes.
    fn rewrite(&mut self, set: &ChangeSet) -> Result<(), CommitError> {
        let len = self.len("").map_err(self.failed("looking at it"))?;
        let Some((_, after)) = changed_parts(self, set)?.pop_first() else { return Ok(()) };
        match (len, after.len()) {
            (_, Some(_)) => self.replace(len, &after),
            (Some(len), None) => self.remove(len),
            (None, None) => Ok(()),
        }
    }

    fn replace(&mut self, len: Option<u64>, after: &PieceTable) -> Result<(), CommitError> {
        let disk = self.disk.clone();
        let path = self.path.clone();
        let there = self.open.as_ref().map(|(file, _)| file.metadata()).transpose();
        let there = there.map_err(self.failed("looking at it"))?;
        let mode = there.as_ref().map_or(PRIVATE, mode_of);
        let content = |out: &mut dyn io::Write| {
            after.write(&read_old(self, ""), out).map_err(FileError::io(&path, "writing it"))
        };
        let draft = Draft::new(&*disk, &path, mode, there.as_ref(), content)?;
        // Programs that open the file by its name find it locked.
        draft.file().try_lock().map_err(|_| CommitError::Busy)?;
        self.check_len(len)?;
        let file = draft.keep(len.is_some())?;
        let metadata = file.metadata().map_err(|source| self.unknown("looking at it", source))?;
        self.open = Some((file, Identity::from_metadata(&metadata)));
        self.sync_folder()
    }

    fn remove(&mut self, len: u64) -> Result<(), CommitError> {
        self.check_len(Some(len))?;
        self.disk.remove(&self.path).map_err(self.failed("removing it"))?;
        self.open = None;
        self.sync_folder()
    }

    /// Checks that the length of the file is unchanged since it was read.
    fn check_len(&self, len: Option<u64>) -> Result<(), CommitError> {
        match len {
            Some(len) if self.current_len()? != len => Err(stale(len)),
            _ => Ok(()),
        }
    }

    fn sync_folder(&self) -> Result<(), CommitError> {
        let synced = self.disk.sync_folder(folder_of(&self.path));
        synced.map_err(|source| self.unknown("waiting for the disk", source))
    }
}

/// Appends a line to the end of a file, durably; a file that is not there is begun, with the mode
/// of `mode_of`.
///
/// A last line without a line feed gets one first.
pub fn append_line(path: &Path, mode_of: Option<&Path>, line: &[u8]) -> Result<(), CommitError> {
    append_line_on(&(Arc::new(System) as Arc<dyn Disk>), path, mode_of, line)
}

pub(crate) fn append_line_on(
    disk: &Arc<dyn Disk>,
    path: &Path,
    mode_of: Option<&Path>,
    line: &[u8],
) -> Result<(), CommitError> {
    let line = [line, b"\n"].concat();
    if !path.exists() {
        let begun = write_new_on(&**disk, path, mode_of, false, |out| {
            out.write_all(&line).map_err(FileError::io(path, "writing it"))
        });
        match begun {
            Err(FileError::Exists { .. }) => {}
            begun => return Ok(begun?),
        }
    }
    let mut parts = FileParts::open_on(disk.clone(), path.to_owned())?;
    let at = parts.current_len()?;
    let is_line_start = parts.is_line_start(at).map_err(parts.failed("reading it"))?;
    let feed = if is_line_start { &b""[..] } else { b"\n" };
    parts.commit(&ChangeSet::append("", at, [feed, &line].concat()))
}

/// Returns the end of the last write to a file.
fn written_to(mut file: &File) -> io::Result<u64> {
    if cfg!(unix) {
        // An append leaves the cursor at its end, whatever others append; nothing else here moves
        // it.
        return file.stream_position();
    }
    Ok(file.metadata()?.len())
}

/// Returns whether a file has these bytes at a place.
fn has_bytes_at(file: &File, at: u64, expected: &[u8]) -> io::Result<bool> {
    let mut found = vec![0; expected.len()];
    Ok(FileCursor { file, at }.fill(&mut found)? == expected.len() && found == expected)
}

fn replaced_meanwhile() -> io::Error {
    io::Error::other("it was replaced by another file meanwhile")
}

fn stale(at: u64) -> CommitError {
    CommitError::Stale { part: PartId::new(), at }
}

impl Parts for FileParts {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        let is_there = prefix.is_empty() && self.open.is_some();
        Ok(is_there.then(PartId::new).into_iter().collect())
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        let open = self.open.as_ref().filter(|_| part.is_empty());
        open.map(|(file, _)| Ok(file.metadata()?.len())).transpose()
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        let Some((file, _)) = self.open.as_ref().filter(|_| part.is_empty()) else { return Ok(()) };
        let mut n_bytes = range.end.saturating_sub(range.start);
        if n_bytes > CHUNK {
            // The range may extend past the end.
            n_bytes = n_bytes.min(file.metadata()?.len().saturating_sub(range.start));
        }
        let start = out.len();
        out.resize(start + usize::try_from(n_bytes).unwrap_or(0), 0);
        let read = FileCursor { file, at: range.start }.fill(&mut out[start..]);
        out.truncate(start + *read.as_ref().unwrap_or(&0));
        read.map(drop)
    }

    fn reopen(&self) -> io::Result<Box<dyn Parts>> {
        let again = Self::open_for_reading(&self.path).map_err(io::Error::other)?;
        if again.is_same(self) { Ok(Box::new(again)) } else { Err(replaced_meanwhile()) }
    }

    fn commit(&mut self, set: &ChangeSet) -> Result<(), CommitError> {
        if !self.is_writer {
            return Err(CommitError::ReadOnly);
        }
        if set.changes.iter().any(|(part, _)| !part.is_empty()) {
            return Err(CommitError::Unsupported("a file has one part, which has no name"));
        }
        if set.is_empty() {
            return Ok(());
        }
        self.lock()?;
        let changed = self.change(set);
        self.unlock();
        changed
    }
}

impl Drop for FileParts {
    fn drop(&mut self) {
        // A program that another thread is about to start briefly has the file too, and would keep
        // the lock.
        self.is_held = false;
        self.unlock();
    }
}

impl fmt::Debug for FileParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileParts").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::parts::change::Bytes;

    /// A disk on which a program that ignores the lock appends to the file during a write.
    #[derive(Debug)]
    struct Meddled {
        path: PathBuf,
        before: &'static [u8],
        after: &'static [u8],
    }

    impl Meddled {
        fn append(&self, bytes: &[u8]) -> io::Result<()> {
            OpenOptions::new().append(true).open(&self.path)?.write_all(bytes)
        }
    }

    impl Disk for Meddled {
        fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
            self.append(self.before)?;
            file.write_all(bytes)?;
            self.append(self.after).map(|()| bytes.len())
        }
    }

    /// Commits a change to a file with `old` in it, and returns the outcome and what the file holds
    /// after.
    fn meddled(
        before: &'static [u8],
        after: &'static [u8],
        change: Change,
    ) -> (Result<(), CommitError>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, "old\n").unwrap();
        let disk = Arc::new(Meddled { path: path.clone(), before, after });
        let mut parts = FileParts::open_on(disk, path.clone()).unwrap();
        let outcome = parts.commit(&ChangeSet { changes: vec![(PartId::new(), change)] });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
        (outcome, fs::read_to_string(path).unwrap())
    }

    #[test]
    fn concurrent_writes_stay_and_ours_is_whole_or_absent() {
        let append = || Change::Append { at: 4, new: Bytes(b"ours\n".into()) };
        let (outcome, text) = meddled(b"", b"theirs\n", append());
        assert_eq!((outcome.is_ok(), text.as_str()), (true, "old\nours\ntheirs\n"));
        let (outcome, text) = meddled(b"theirs\n", b"", append());
        assert!(matches!(outcome, Err(CommitError::Stale { at: 4, .. })), "{outcome:?}");
        assert_eq!(text, "old\ntheirs\n");
        let (outcome, text) = meddled(b"theirs\n", b"more\n", append());
        assert!(matches!(outcome, Err(CommitError::Unknown { .. })), "{outcome:?}");
        assert_eq!(text, "old\ntheirs\nours\nmore\n");
    }

    /// A disk that writes a part and then fails.
    #[derive(Debug)]
    struct Failing;

    impl Disk for Failing {
        fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
            file.write_all(&bytes[..bytes.len() / 2])?;
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn what_a_failed_write_left_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, "old\n").unwrap();
        let mut parts = FileParts::open_on(Arc::new(Failing), path.clone()).unwrap();
        let error = parts.commit(&ChangeSet::append("", 4, b"ours\n".to_vec())).unwrap_err();
        assert!(matches!(error, CommitError::File(FileError::Io { .. })), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
    }

    #[test]
    fn a_lock_that_was_kept_ends_with_its_writer_although_a_program_that_was_started_has_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        fs::write(&path, "a\n").expect("a file");
        let mut parts = FileParts::open(&path).expect("it opens");
        parts.hold().expect("nobody has it");
        let inherited = parts.open.as_ref().map(|(file, _)| file.try_clone()).expect("it is open");
        assert!(FileParts::open(&path).expect("it opens").hold().is_err());
        drop(parts);
        FileParts::open(&path).expect("it opens").hold().expect("nobody has it any more");
        drop(inherited);
    }

    #[test]
    fn what_others_append_while_the_draft_is_written_is_not_lost() {
        let splice = Change::Splice { at: 0, old: Bytes(b"old".into()), new: Bytes(b"new".into()) };
        let (outcome, text) = meddled(b"theirs\n", b"", splice);
        assert!(matches!(outcome, Err(CommitError::Stale { .. })), "{outcome:?}");
        assert_eq!(text, "old\ntheirs\n");
    }
}
