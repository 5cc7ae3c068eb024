//! Opening a session log, and what is wrong with it in words.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use tempfile::NamedTempFile;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::staged::StagedStore;
use wb_session::{EntryStore, IdSource, Session, SessionError, StoreError};

use crate::escape::escaped;
use crate::show::style::{DIM, HEAD};

/// Notes that people are shown; the rest is counted.
const SHOWN_NOTES: usize = 10;

/// A session log.
#[derive(Debug)]
pub(crate) struct Log {
    /// The file as it was named.
    pub(crate) file: String,
    pub(crate) session: Session,
    /// Holds what came through a pipe, for a log is read at any place of it.
    copy: Option<NamedTempFile>,
}

impl Log {
    /// Opens a log for reading.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::over(path, |source| Ok(Box::new(JsonlStore::open_for_reading(source)?)))
    }

    /// Opens a log for a change, which is written when the session is synced.
    pub(crate) fn to_change(path: &Path) -> Result<Self> {
        Self::over(path, |source| Ok(Box::new(StagedStore::open(source)?)))
    }

    fn over(path: &Path, open: fn(&Path) -> Result<Box<dyn EntryStore>, StoreError>) -> Result<Self> {
        let file = path.display().to_string();
        let copy = copy_of_stream(path).map_err(|error| {
            user_error(&file, &error.to_string(), "check that the input can be read to its end")
        })?;
        let source = copy.as_ref().map_or(path, NamedTempFile::path);
        let opened = open(source).map_err(SessionError::from);
        let session = opened.and_then(|store| Session::open(store, ids())).map_err(|error| {
            let text = error.to_string();
            let named = format!("{}: ", source.display());
            user_error(&file, text.strip_prefix(&named).unwrap_or(&text), hint(&error))
        })?;
        Ok(Self { file, session, copy })
    }

    /// Returns whether the log came through a pipe.
    pub(crate) fn is_stream(&self) -> bool {
        self.copy.is_some()
    }

    /// Turns a failure in the middle of the log into the error that the user sees.
    pub(crate) fn failure(&self, error: &SessionError) -> anyhow::Error {
        failure(&self.file, &error.to_string(), hint(error))
    }

    /// Writes the name of the file and what follows it, dimmed.
    pub(crate) fn heading(&self, out: &mut dyn Write, what: &str) -> io::Result<()> {
        writeln!(out, "{HEAD}{}{HEAD:#}  {DIM}{}{DIM:#}", escaped(&self.file), escaped(what))
    }

    /// Returns what was passed over.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.session.notes().iter().map(ToString::to_string).collect()
    }

    /// Writes what was passed over, the first lines of it.
    pub(crate) fn write_notes(&self, out: &mut dyn Write, more: &[String]) -> io::Result<()> {
        let notes = self.session.notes();
        for note in notes.iter().take(SHOWN_NOTES).map(ToString::to_string).chain(more.iter().cloned()) {
            writeln!(out, "  {DIM}note: {}{DIM:#}", escaped(&note))?;
        }
        match notes.len().saturating_sub(SHOWN_NOTES) {
            0 => Ok(()),
            n => writeln!(out, "  {DIM}note: {n} more lines were skipped{DIM:#}"),
        }
    }
}

/// Builds an error of a text that may name the file itself.
pub(crate) fn failure(file: &str, text: &str, hint: &str) -> anyhow::Error {
    let named = format!("{file}: ");
    user_error(file, text.strip_prefix(&named).unwrap_or(text), hint)
}

/// Builds an error of the house: what is wrong with which file, and what can be done about it.
pub(crate) fn user_error(file: &str, what: &str, hint: &str) -> anyhow::Error {
    anyhow!("{}: {}\nhint: {}", escaped(file), escaped(what), escaped(hint))
}

/// Returns what can be done about an error by someone who only reads.
pub(crate) fn hint(error: &SessionError) -> &str {
    match error {
        SessionError::Empty
        | SessionError::NoHeader { .. }
        | SessionError::Store(StoreError::NotALog { .. }) => {
            "name a session file of pi, version 1 to 3; `wb plan` reads those of Claude Code too"
        }
        SessionError::Store(StoreError::Io { source, .. })
            if source.kind() == io::ErrorKind::IsADirectory =>
        {
            "name a session file; those of pi end in .jsonl"
        }
        SessionError::Store(StoreError::Io { .. }) => "check that the file is there and may be read",
        SessionError::Store(StoreError::Changed { .. }) => "try again when the file is no longer written to",
        other => other.hint(),
    }
}

/// Returns ids that another run does not make.
pub(crate) fn ids() -> IdSource {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = since.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(since.subsec_nanos()));
    IdSource::new(nanos ^ u64::from(std::process::id()).rotate_right(16))
}

/// Copies standard input or a pipe to a file; nothing if the path names a file.
fn copy_of_stream(path: &Path) -> io::Result<Option<NamedTempFile>> {
    let mut input: Box<dyn io::Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        Box::new(File::open(path)?)
    } else {
        return Ok(None);
    };
    let mut copy = NamedTempFile::new()?;
    io::copy(&mut input, copy.as_file_mut())?;
    Ok(Some(copy))
}
