//! Changes of a session log: made in memory, then appended to the file or written to a new one.

use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use wb_host::HostError;
use wb_message::Message;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    Durability, EntryId, EntryKind, EntryStore, IdSource, NEWEST_VERSION, Session, SessionError, StoreError,
};

use super::opened::{self, Log};
use crate::args::SessionChange;
use crate::escape::shell_word;
use crate::file_error::not_written;
use crate::session::write_new;
use crate::user_error::UserError;

/// Where a change goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteTarget<'a> {
    pub(crate) file: &'a Path,
    /// The new file that gets the whole session.
    pub(crate) out: Option<&'a Path>,
    /// Whether the change stays in memory.
    pub(crate) is_dry: bool,
}

impl<'a> WriteTarget<'a> {
    pub(crate) fn of(args: &'a SessionChange) -> Self {
        Self { file: &args.file, out: args.out.as_deref(), is_dry: args.dry_run }
    }

    pub(crate) fn out_name(&self) -> Option<String> {
        self.out.map(|out| out.display().to_string())
    }

    /// Returns the name of the file that has the change in it, as a shell takes it.
    pub(crate) fn shell_name(&self) -> String {
        let name = self.out.unwrap_or(self.file).display().to_string();
        shell_word(&if name.starts_with('-') { format!("./{name}") } else { name })
    }

    /// Returns an entry with the place that it was written to.
    pub(crate) fn appended(&self, entry: &EntryId) -> String {
        match self.out {
            Some(out) => format!("{entry}, at the end of the new file {}", out.display()),
            None => format!("{entry}, appended"),
        }
    }

    /// Returns the command that goes on from an entry again.
    pub(crate) fn way_back(&self, session: &Session, leaf: &EntryId) -> Result<String, SessionError> {
        let is_prompt = match session.entry(leaf)?.kind {
            EntryKind::Message(logged) => matches!(logged.message, Message::User { .. }),
            EntryKind::CustomMessage(_) => true,
            _ => false,
        };
        let before = if is_prompt { "  (before this prompt, and prints it)" } else { "" };
        Ok(format!("wb session branch {} {}{before}", self.shell_name(), shell_word(leaf.as_str())))
    }
}

/// A change that was carried out.
#[derive(Debug)]
pub(crate) struct Changed<T> {
    pub(crate) log: Log,
    pub(crate) done: T,
    /// Whether a file has it; it has not if nothing was appended.
    pub(crate) is_written: bool,
    /// What happened to the file besides that.
    pub(crate) notes: Vec<String>,
}

impl<T> Changed<T> {
    /// Returns what was passed over in the log, and what happened to the file.
    pub(crate) fn all_notes(&self) -> Vec<String> {
        self.log.notes().into_iter().chain(self.notes.iter().cloned()).collect()
    }
}

/// Carries out a change.
///
/// It is made on a copy in memory, and what it appended there is appended to the file. A change that is refused and
/// one that appends nothing leave the file as it is, its torn end among it.
pub(crate) fn apply_change<T>(
    log: Log,
    dest: WriteTarget<'_>,
    change: impl FnOnce(&mut Session, i64) -> Result<T, HostError>,
) -> Result<Changed<T>, UserError> {
    check(&log, dest)?;
    let mut before = Vec::new();
    log.session.write_to(&mut before).map_err(|error| log.failure(&error))?;
    let opened = Session::open(Box::new(MemoryStore::of_lines(&before)), ids());
    let mut session = opened.map_err(|error| log.failure(&error))?;
    let done = change(&mut session, now_ms()).map_err(|error| failure(&log.file, &error))?;
    let is_new = session.tree().nodes().len() > log.session.tree().nodes().len();
    let is_written = is_new && !dest.is_dry;
    let mut notes = Vec::new();
    if dest.is_dry && dest.out.is_none() && is_older(&log) {
        notes.push(format!("a layout of version {} is not appended to: the run needs -o OUT", version(&log)));
    }
    match dest.out {
        _ if !is_written => {}
        Some(out) => write_out(&session, out)?,
        None => notes.extend(append(&session, dest.file, &before)?),
    }
    Ok(Changed { log, done, is_written, notes })
}

fn write_out(session: &Session, out: &Path) -> Result<(), UserError> {
    let written = write_new(out, |to| session.write_to(to).map_err(io_error));
    written.map_err(|error| not_written(out, &error))
}

/// Appends to a file what a session has beyond what was read of that file.
fn append(session: &Session, file: &Path, before: &[u8]) -> Result<Option<String>, UserError> {
    let mut new = Rest { n_skipped: before.len(), bytes: Vec::new() };
    let appended = session.write_to(&mut new).and_then(|()| append_lines(file, before, &new.bytes));
    appended.map_err(|error| failure(&file.display().to_string(), &error.into()))
}

fn append_lines(file: &Path, before: &[u8], new: &[u8]) -> Result<Option<String>, SessionError> {
    // Opening for writing moves a torn end aside, which must not happen if nothing is appended then.
    check_same(&JsonlStore::open_for_reading(file)?, before)?;
    let mut store = JsonlStore::open(file, Durability::Always)?;
    let aside = store.torn().and_then(|torn| torn.kept_in.as_ref());
    let note = aside.map(|aside| format!("the truncated last line was moved to {}", aside.display()));
    check_same(&store, before)?;
    let lines: Vec<&[u8]> = new.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    store.append_all(&lines)?;
    Ok(note)
}

/// Refuses a file that is not as it was read.
fn check_same(store: &JsonlStore, before: &[u8]) -> Result<(), SessionError> {
    let (mut rest, mut is_same, mut found) = (before, true, 0);
    store.read_all(&mut |_, record| {
        found += record.len() as u64 + 1;
        let after = rest.strip_prefix(record).and_then(|rest| rest.strip_prefix(b"\n"));
        is_same &= after.is_some();
        rest = after.unwrap_or_default();
    })?;
    let changed = StoreError::Changed { path: store.path().to_owned(), expected: before.len() as u64, found };
    if is_same && rest.is_empty() { Ok(()) } else { Err(changed.into()) }
}

/// Keeps what is written after so many bytes.
struct Rest {
    n_skipped: usize,
    bytes: Vec<u8>,
}

impl Write for Rest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_skipped = self.n_skipped.min(bytes.len());
        self.n_skipped -= n_skipped;
        self.bytes.extend_from_slice(&bytes[n_skipped..]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses what cannot be written where it should go.
fn check(log: &Log, dest: WriteTarget<'_>) -> Result<(), UserError> {
    if let Some(out) = dest.out {
        return check_out(out);
    }
    if dest.is_dry {
        return Ok(());
    }
    if log.is_stream() {
        return Err(UserError::of_file(
            &log.file,
            "what comes through a pipe cannot be appended to",
            NAME_OUT,
        ));
    }
    if is_older(log) {
        let error = SessionError::OtherLayout { version: version(log) };
        return Err(failure(&log.file, &error.into()));
    }
    Ok(())
}

fn version(log: &Log) -> u64 {
    log.session.header().version
}

fn is_older(log: &Log) -> bool {
    version(log) < NEWEST_VERSION
}

fn check_out(out: &Path) -> Result<(), UserError> {
    let name = out.display().to_string();
    if out == Path::new("-") {
        return Err(UserError::of_file(&name, "standard output has the report", "name a new file with -o"));
    }
    if out.symlink_metadata().is_ok() {
        return Err(UserError::of_file(
            &name,
            "is there already",
            "name a new file with -o, or move this one away",
        ));
    }
    Ok(())
}

const NAME_OUT: &str = "write the whole session to a new file with -o OUT";

fn io_error(error: SessionError) -> io::Error {
    match error {
        SessionError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

/// Builds the error of a change, with what can be done about it by someone who writes.
fn failure(file: &str, error: &HostError) -> UserError {
    let hint = match error {
        HostError::Session(error) => hint(error),
        _ => "`wb session context` shows what there is to summarize",
    };
    UserError::of_file(file, error.to_string(), hint)
}

fn hint(error: &SessionError) -> &str {
    match error {
        SessionError::OtherLayout { version: 0..NEWEST_VERSION } => {
            "-o OUT writes the whole session to a new file in the present layout, with the change"
        }
        SessionError::OtherLayout { .. } => "a newer `wb` may know this layout",
        SessionError::Store(StoreError::Io { .. }) => {
            "check that the file may be written and the disk has room, or write to a new file with -o OUT"
        }
        SessionError::Store(StoreError::Locked { .. }) => {
            "close the other program, or write to a new file with -o OUT"
        }
        SessionError::Store(StoreError::Changed { .. } | StoreError::Broken { .. }) => {
            "close the program that writes to it, look at `wb session tree`, then try again"
        }
        SessionError::NothingToUndo => {
            "`wb session tree` shows where compactions are; go to an entry after one first"
        }
        other => opened::hint(other),
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns ids that another run does not make.
fn ids() -> IdSource {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = since.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(since.subsec_nanos()));
    IdSource::new(nanos ^ u64::from(std::process::id()).rotate_right(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] =
        b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"custom\",\"id\":\"a\"}\n";

    #[test]
    fn a_file_that_is_not_as_it_was_read_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        let changed = [&LOG[..LOG.len() - 4], b"b\"}\n"].concat();
        for now in [[LOG, b"{}\n"].concat(), LOG[..44].to_vec(), changed] {
            std::fs::write(&file, &now).unwrap();
            let error = append_lines(&file, LOG, b"{\"new\":1}\n").unwrap_err();
            assert!(matches!(error, SessionError::Store(StoreError::Changed { .. })), "{error}");
            assert_eq!(std::fs::read(&file).unwrap(), now);
        }
        std::fs::write(&file, LOG).unwrap();
        assert_eq!(append_lines(&file, LOG, b"{\"new\":1}\n{\"new\":2}\n").unwrap(), None);
        assert_eq!(std::fs::read(&file).unwrap(), [LOG, b"{\"new\":1}\n{\"new\":2}\n"].concat());
    }
}
