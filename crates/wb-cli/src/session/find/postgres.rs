//! Sessions in a PostgreSQL database, named `postgres://user@host/database#session`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wb_record::{Access, Document, History, HistoryError};
use wb_session::store::postgres::{
    PartKind, PostgresParts, PostgresStore, PostgresUrl, StoredSession, sessions,
};
use wb_session::store::staged::StagedStore;
use wb_session::{EntryStore, StoreError};

use crate::args::database_url::password_of;
use crate::args::format_option;
use crate::terminal::escape::file_word;
use crate::terminal::file_error::not_read;
use crate::terminal::user_error::UserError;

/// The time in which the server answers a statement.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The attempts to connect again, less than a second in all: somebody waits for the command.
const N_ATTEMPTS: u32 = 4;
/// The sessions that an error lists.
const MOST_CANDIDATES: usize = 5;

/// Explains what a database refused.
fn store_error(error: &StoreError) -> UserError {
    let file = match error {
        StoreError::Database { path, .. }
        | StoreError::NoSession { path }
        | StoreError::Locked { path }
        | StoreError::OtherVersion { path, .. } => path.display().to_string(),
        other => return UserError::new(other.to_string(), other.hint()),
    };
    let database = file.split('#').next().unwrap_or_default();
    let hint = match error {
        StoreError::NoSession { .. } => format!("`wb {}` lists its sessions", file_word(Path::new(database))),
        other => other.hint().to_owned(),
    };
    UserError::of_file(file, error.to_string(), hint)
}

/// Returns the database of a name, with the password of the command line, the environment or the
/// password file.
fn database(path: &Path) -> Result<PostgresUrl, UserError> {
    let name = path.to_str().unwrap_or_default();
    let url = PostgresUrl::parse(name).map_err(|error| UserError::new(error.to_string(), error.hint()))?;
    if url.name() != name {
        // Such a name came from elsewhere than the command line, and would be printed.
        return Err(UserError::new(
            "the name of a database must not contain a password",
            "set PGPASSWORD instead",
        ));
    }
    let url = url.with_patience(ANSWER_WITHIN, N_ATTEMPTS);
    let (given, sources) = password_of(name);
    let url = url.with_password(given.as_deref()).with_password(sources.variable.as_deref());
    Ok(match sources.file.filter(|file| is_private(file)).map(fs::read_to_string) {
        Some(Ok(text)) => url.with_password_file(&text),
        _ => url,
    })
}

/// Returns whether only its owner may read a file.
#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    fs::metadata(file).is_ok_and(|there| there.is_file() && there.permissions().mode().trailing_zeros() >= 6)
}

#[cfg(not(unix))]
fn is_private(file: &Path) -> bool {
    file.is_file()
}

fn stored(url: &PostgresUrl) -> Result<Vec<StoredSession>, UserError> {
    sessions(url).map_err(|error| store_error(&error))
}

/// Returns a session of a database: the named one, or the only one.
fn session(path: &Path) -> Result<PostgresUrl, UserError> {
    let url = database(path)?;
    if url.session().is_some() {
        return Ok(url);
    }
    let mut all = stored(&url)?;
    let names = |all: &[StoredSession]| {
        all.iter().take(MOST_CANDIDATES).map(|it| file_word(Path::new(it.url.name()))).collect()
    };
    match all.len() {
        1 => Ok(all.remove(0).url),
        0 => Err(UserError::of_file(url.name(), "the database has no sessions", "name another database")),
        n => {
            let hint = format!("name one of them; `wb {}` lists all", file_word(path));
            Err(UserError::of_file(url.name(), format!("the database has {n} sessions"), hint)
                .with_candidates(names(&all)))
        }
    }
}

/// Returns the names of the sessions of a database, the newest first; the name itself if it has a
/// session or none can be listed.
pub(crate) fn session_names(path: &Path) -> Vec<PathBuf> {
    let url = database(path).ok().filter(|url| url.session().is_none());
    let all = url.and_then(|url| sessions(&url).ok()).filter(|all| !all.is_empty());
    let name = |it: &StoredSession| PathBuf::from(it.url.name());
    all.map_or_else(|| vec![path.to_owned()], |all| all.iter().map(name).collect())
}

/// Opens a session.
pub(crate) fn document(path: &Path, access: Access) -> Result<Box<dyn Document>, UserError> {
    let parts = PostgresParts::open(&session(path)?, PartKind::Entries, access);
    let parts = parts.map_err(|error| store_error(&error))?;
    format_option::open(Box::new(parts)).map_err(|error| not_read(path, &error))
}

/// Opens the history of operations of a session.
pub(crate) fn history(path: &Path, access: Access) -> Result<History, UserError> {
    let list = PostgresParts::open(&session(path)?, PartKind::Operations, access);
    let list = list.map_err(|error| match error {
        StoreError::Locked { path } => UserError::of_file(
            path.display().to_string(),
            HistoryError::ListBusy.to_string(),
            HistoryError::ListBusy.hint(),
        ),
        error => store_error(&error),
    })?;
    History::open(Box::new(list))
        .map_err(|error| UserError::of_file(path.display().to_string(), error.to_string(), error.hint()))
}

/// Refuses a session that another program has open to write; `or` names an alternative.
pub(crate) fn refuse_open(path: &Path, or: &str) -> Result<(), UserError> {
    let url = session(path)?;
    if stored(&url)?.iter().any(|it| it.is_open && it.url.session() == url.session()) {
        let hint = format!("close the session there, or end that program{or}");
        return Err(UserError::of_file(url.name(), "is open in another program", hint));
    }
    Ok(())
}

/// Opens the log of a session to look into it, or to stage changes of it.
pub(crate) fn log(path: &Path, is_staged: bool) -> Result<Box<dyn EntryStore>, UserError> {
    let url = session(path)?;
    let opened: Result<Box<dyn EntryStore>, StoreError> = if is_staged {
        StagedStore::open_in_database(&url).map(|store| Box::new(store) as _)
    } else {
        PostgresStore::open_for_reading(&url).map(|store| Box::new(store) as _)
    };
    opened.map_err(|error| store_error(&error))
}
