//! Errors of session logs, in terms common to all formats.

use wb_record::FormatError;
use wb_session::SessionError;

/// Turns the error of a log into that of a format.
pub(crate) fn of_log(error: SessionError) -> FormatError {
    match error {
        SessionError::Io { source, .. } => FormatError::Io(source),
        SessionError::Empty => FormatError::Empty,
        error => {
            FormatError::Log { line: error.line(), what: error.to_string(), hint: error.hint().to_owned() }
        }
    }
}
