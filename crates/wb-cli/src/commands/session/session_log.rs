//! Opens a session log, and describes its problems.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::staged::StagedStore;
use wb_session::{EntryStore, Session, SessionError, StoreError};

#[cfg(feature = "postgres")]
use crate::args::database_url::is_database;
use crate::platform::clock::ids;
#[cfg(feature = "postgres")]
use crate::session::find::postgres;
use crate::session::stream;
use crate::terminal::escape::escaped;
use crate::terminal::file_error::not_opened;
use crate::terminal::number::{count, grouped_in};
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The most notes to show; the rest is counted.
const SHOWN_NOTES: usize = 10;

/// A session log.
#[derive(Debug)]
pub(crate) struct OpenLog {
    /// The file as it was named.
    pub(crate) file: String,
    pub(crate) session: Session,
    /// A copy of piped input, since a log is read at random positions.
    copy: Option<NamedTempFile>,
}

impl OpenLog {
    /// Opens a log to look into it.
    pub(crate) fn open(shell: &Shell, path: &Path) -> Result<Self, UserError> {
        #[cfg(feature = "postgres")]
        if is_database(path) {
            return shell.timed("reading", || Self::of_store(path, postgres::log(path, false)?));
        }
        shell.timed("reading", || Self::read(path, |path| Ok(Box::new(JsonlStore::open_for_reading(path)?))))
    }

    /// Opens a log to change it: new entries stay in memory until the session is synced.
    pub(crate) fn open_staged(shell: &Shell, path: &Path) -> Result<Self, UserError> {
        #[cfg(feature = "postgres")]
        if is_database(path) {
            return shell.timed("reading", || Self::of_store(path, postgres::log(path, true)?));
        }
        shell.timed("reading", || Self::read(path, |path| Ok(Box::new(StagedStore::open(path)?))))
    }

    #[cfg(feature = "postgres")]
    fn of_store(path: &Path, store: Box<dyn EntryStore>) -> Result<Self, UserError> {
        let file = path.display().to_string();
        let failed =
            |error| UserError::of_file(&file, format!("{error}"), hint(&error)).at_line(error.line());
        let session = Session::open(store, ids()).map_err(failed)?;
        Ok(Self { file, session, copy: None })
    }

    fn read(
        path: &Path,
        open: impl FnOnce(&Path) -> Result<Box<dyn EntryStore>, StoreError>,
    ) -> Result<Self, UserError> {
        let file = path.display().to_string();
        let copy = copy_of_stream(path).map_err(|error| not_opened(path, &error))?;
        let source = copy.as_ref().map_or(path, NamedTempFile::path);
        let opened = open(source).map_err(SessionError::from);
        let session = opened.and_then(|store| Session::open(store, ids()));
        let session = session.map_err(|error| match &error {
            SessionError::Store(StoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::IsADirectory =>
            {
                UserError::of_file(&file, "is a folder", "name a session file of pi in it")
            }
            SessionError::Store(StoreError::Io { source, .. }) => not_opened(path, source),
            error => {
                let text = error.to_string();
                let named = format!("{}: ", source.display());
                UserError::of_file(&file, text.strip_prefix(&named).unwrap_or(&text), hint(error))
                    .at_line(error.line())
            }
        })?;
        Ok(Self { file, session, copy })
    }

    #[cfg(test)]
    pub(crate) fn of_session(file: &str, session: Session) -> Self {
        Self { file: file.to_owned(), session, copy: None }
    }

    /// Returns whether the log came through a pipe.
    pub(crate) fn is_stream(&self) -> bool {
        self.copy.is_some()
    }

    /// Turns a failure in the middle of the log into the error that the user sees.
    pub(crate) fn failure(&self, error: &SessionError) -> UserError {
        UserError::of_file(&self.file, error.to_string(), hint(error)).at_line(error.line())
    }

    /// Writes the name of the file and what follows it, dimmed.
    pub(crate) fn heading(&self, page: &mut Page<'_>, what: &str) -> io::Result<()> {
        page.heading(&escaped(&self.file), &escaped(what))
    }

    /// Returns the notes on what the reader skipped.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.session.notes().iter().map(ToString::to_string).collect()
    }

    /// Writes these notes: all of them if verbose, otherwise the first lines.
    pub(crate) fn write_notes(&self, shell: &Shell, page: &mut Page<'_>, more: &[String]) -> io::Result<()> {
        let notes = self.session.notes();
        let n_shown = if shell.is_verbose() { notes.len() } else { SHOWN_NOTES.min(notes.len()) };
        let shown = notes[..n_shown].iter().map(ToString::to_string);
        let hidden = match notes.len() - n_shown {
            0 => None,
            n => Some(format!("{} were skipped, -v names them", count(n, "more line", "more lines"))),
        };
        let mut all = shown.chain(more.iter().cloned()).chain(hidden);
        all.try_for_each(|note| {
            page.prose("  ", 4, &format!("{DIM}note: {}{DIM:#}", escaped(&grouped_in(&note))))
        })
    }
}

/// Returns the hint on an error for a command that only reads.
pub(crate) fn hint(error: &SessionError) -> &str {
    match error {
        SessionError::Empty
        | SessionError::NoHeader { .. }
        | SessionError::Store(StoreError::NotALog { .. }) => {
            "name a session file of pi, version 1 to 3; `wb plan` and `wb compact` take those of other agents too"
        }
        SessionError::Store(StoreError::Io { .. }) => "check that the file is there and may be read",
        SessionError::Store(StoreError::Changed { .. }) => "try again when the file is no longer written to",
        other => other.hint(),
    }
}

/// Copies standard input or a pipe to a file; none if the path names a file.
fn copy_of_stream(path: &Path) -> io::Result<Option<NamedTempFile>> {
    let Some(mut input) = stream(path)? else { return Ok(None) };
    let mut copy = NamedTempFile::new()?;
    io::copy(&mut input, copy.as_file_mut())?;
    Ok(Some(copy))
}
