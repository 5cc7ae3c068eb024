//! Writes whole files, such as `-o OUT`.

use std::io::{self, Write};
use std::path::Path;

use wb_record::{FileError, check_new, write_new};

use crate::args::database_url::is_database;
use crate::session::find::database::file_of;
use crate::terminal::file_error::not_file_written;
use crate::terminal::user_error::UserError;

/// Writes a whole file or nothing, with the permissions of its source session, or for the owner
/// only.
pub(crate) fn write_whole(
    path: &Path,
    session: Option<&Path>,
    overwrite: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), UserError> {
    let is_file = |session: &&Path| *session != Path::new("-") && !is_database(session);
    let session = session.filter(is_file).map(file_of);
    let failed = |source| FileError::Io { path: path.to_owned(), doing: "writing it", source };
    write_new(path, session, overwrite, |file| content(file).map_err(failed))
        .map_err(|error| not_file_written(path, &error))
}

/// Writes a whole file or nothing, as [`write_whole`] does; `-` is standard output.
pub(crate) fn write_out(
    path: &Path,
    session: &Path,
    overwrite: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if path != Path::new("-") {
        return Ok(write_whole(path, Some(session), overwrite, content)?);
    }
    let mut raw = io::stdout().lock();
    content(&mut raw)?;
    Ok(raw.flush()?)
}

/// Refuses an unwritable name and the sessions that are read, before there is anything to write.
pub(crate) fn check_target<'a>(
    path: &Path,
    mut sessions: impl Iterator<Item = &'a Path>,
    overwrite: bool,
    option: &str,
) -> Result<(), UserError> {
    if sessions.any(|session| is_same(session, path)) {
        let hint = format!("write to another file with {option}");
        return Err(UserError::of_file(path.display().to_string(), "is the session itself", hint));
    }
    check_new(path, overwrite).map_err(|error| not_file_written(path, &error))
}

/// Returns whether two names refer to the same file; `-` means the file behind standard input, if
/// the system reveals it.
fn is_same(session: &Path, out: &Path) -> bool {
    let session = if session == Path::new("-") { Path::new("/dev/stdin") } else { session };
    session.canonicalize().ok().zip(out.canonicalize().ok()).is_some_and(|(session, out)| session == out)
}
