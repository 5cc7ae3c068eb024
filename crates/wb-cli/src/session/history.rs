//! The history of operations next to a session.

use std::path::Path;

use wb_record::{Access, Document, History, HistoryError};

#[cfg(feature = "postgres")]
use crate::args::database_url::is_database;
use crate::session::document;
use crate::session::find::database::file_of;
#[cfg(feature = "postgres")]
use crate::session::find::postgres;
use crate::session::in_use::refuse_in_use;
use crate::terminal::escape::with_file;
use crate::terminal::user_error::UserError;

/// Explains a failed operation on a session.
pub(crate) fn history_error(file: &str, error: &HistoryError) -> UserError {
    let end = if error.is_refused_write() { "; the session is unchanged" } else { "" };
    let list = format!("{}.wb-log", file_of(Path::new(file)).display());
    let hint = with_file(&error.hint().replace("FILE.wb-log", &list), Path::new(file));
    UserError::of_file(file, format!("{error}{end}"), hint)
}

/// Opens a session and its history.
pub(crate) fn open_with_history(
    path: &Path,
    access: Access,
) -> Result<(Box<dyn Document>, History), UserError> {
    if path == Path::new("-") {
        let hint = "name the session file, not the list of operations next to it";
        return Err(UserError::new("nothing is known of what was done to standard input", hint));
    }
    #[cfg(feature = "postgres")]
    if is_database(path) {
        return Ok((document(path, access)?, postgres::history(path, access)?));
    }
    // A missing session is reported as missing, not as one without operations.
    let document = document(path, access)?;
    // The list is next to the session itself; a link is only read through.
    let file = file_of(path);
    let real = if file.is_symlink() { file.canonicalize().ok() } else { None };
    let history = History::open_for(real.as_deref().unwrap_or(file), access);
    Ok((document, history.map_err(|error| history_error(&path.display().to_string(), &error))?))
}

fn open_to_write(path: &Path) -> Result<History, UserError> {
    #[cfg(feature = "postgres")]
    if is_database(path) {
        return postgres::history(path, Access::Write);
    }
    let history = History::open_for(file_of(path), Access::Write);
    history.map_err(|error| history_error(&path.display().to_string(), &error))
}

/// Opens the history of a session that will be written, unless another program uses the session.
pub(crate) fn history_to_write(
    path: &Path,
    document: &dyn Document,
    allow_open: bool,
) -> Result<History, UserError> {
    let history = open_to_write(path)?;
    if !allow_open {
        refuse_in_use(path, document, &history, ", or write to another file with -o")?;
    }
    Ok(history)
}
