//! The history of operations next to a session.

use std::path::Path;

use wb_record::{Access, Document, History, HistoryError};

use crate::session::document;
use crate::session::find::database::file_of;
use crate::session::in_use::refuse_in_use;
use crate::terminal::user_error::UserError;

/// Explains a failed operation on a session.
pub(crate) fn history_error(file: &str, error: &HistoryError) -> UserError {
    let end = if error.is_refused_write() { "; the session is unchanged" } else { "" };
    UserError::of_file(file, format!("{error}{end}"), error.hint())
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
    // A missing session is reported as missing, not as one without operations.
    let document = document(path, access)?;
    // The list is next to the session itself; a link is only read through.
    let file = file_of(path);
    let real = if file.is_symlink() { file.canonicalize().ok() } else { None };
    let history = History::open_for(real.as_deref().unwrap_or(file), access);
    Ok((document, history.map_err(|error| history_error(&path.display().to_string(), &error))?))
}

/// Opens the history of a session that will be written, unless another program uses the session.
pub(crate) fn history_to_write(
    path: &Path,
    document: &dyn Document,
    allow_open: bool,
) -> Result<History, UserError> {
    let history = History::open_for(file_of(path), Access::Write);
    let history = history.map_err(|error| history_error(&path.display().to_string(), &error))?;
    if !allow_open {
        refuse_in_use(path, document, &history, ", or write to another file with -o")?;
    }
    Ok(history)
}
