//! Explains problems with a named file: it is missing, is a folder, or contains something else.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use wb_formats::FormatError;
use wb_record::FileError;

use crate::terminal::escape::{file_word, shell_word};
use crate::terminal::json_layout::{CUT, GLUED, JsonLayout, SPREAD};
use crate::terminal::user_error::{UserError, in_words};

/// The fault of a path whose folder is missing; the path names that folder.
const NO_FOLDER: &str = "its folder does not exist";
/// The least similarity of a suggested name to the typed one, from 0 to 1.
const LEAST_LIKENESS: f64 = 0.85;

/// Explains why a file cannot be opened for reading.
pub(crate) fn not_opened(path: &Path, error: &io::Error) -> UserError {
    let file = path.display().to_string();
    match error.kind() {
        ErrorKind::NotFound => not_there(path),
        ErrorKind::IsADirectory => folder_given(path),
        ErrorKind::WouldBlock => UserError::of_file(
            file,
            "another program keeps it locked",
            "wait until that is done, or close the agent that has it open, and run the command again",
        ),
        ErrorKind::PermissionDenied => {
            UserError::of_file(file, "may not be read", "ask its owner, or change its permissions with chmod")
        }
        _ => UserError::of_file(
            file,
            format!("cannot be read: {}", in_words(error)),
            "check that it can be read to its end",
        ),
    }
}

/// Explains why a folder is not accepted as a session.
pub(crate) fn folder_given(path: &Path) -> UserError {
    let files = || path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sessions: Vec<_> =
        files().filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    sessions.sort();
    let hint = match sessions.first() {
        Some(first) => format!("name a session in it, such as {}", file_word(first)),
        None => "name a session file; `wb weigh` and `wb replay` take folders".to_owned(),
    };
    UserError::of_file(path.display().to_string(), "is a folder", hint)
}

/// Explains why a folder has nothing to weigh.
pub(crate) fn folder_without_sessions(path: &Path) -> UserError {
    let hint = "session files end in .jsonl or .json; `wb` alone says where agents keep theirs";
    UserError::of_file(path.display().to_string(), "no session files found in or below this folder", hint)
}

fn not_there(path: &Path) -> UserError {
    let file = path.display().to_string();
    if let Ok(target) = path.read_link() {
        let what = format!("is a link to {}, which is not there", target.display());
        return UserError::of_file(
            file,
            what,
            "name the session itself; `wb` alone lists the newest sessions",
        );
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return UserError::of_file(file, NO_FOLDER, near_or(folder, "`wb` alone lists the newest sessions"));
    }
    UserError::of_file(file, "no such file", near_or(path, "`wb` alone lists the newest sessions"))
}

/// Names the existing file whose name is most similar to a missing one.
fn near_or(path: &Path, otherwise: &str) -> String {
    near(path)
        .map_or_else(|| otherwise.to_owned(), |near| format!("did you mean {}?", file_word(Path::new(&near))))
}

fn near(path: &Path) -> Option<String> {
    let typed = path.file_name()?.to_str()?;
    let names =
        folder_of(path).read_dir().ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let likeness = |name: &str| strsim::jaro_winkler(typed, name);
    let best = names.max_by(|one, two| likeness(one).total_cmp(&likeness(two)).then(two.cmp(one)))?;
    (likeness(&best) >= LEAST_LIKENESS).then(|| path.with_file_name(best).display().to_string())
}

/// Explains why a file that was opened is not read.
pub(crate) fn not_read(path: &Path, error: &FormatError) -> UserError {
    let file = path.display().to_string();
    match error {
        FormatError::Io(error) | FormatError::File(FileError::Io { source: error, .. }) => {
            not_opened(path, error)
        }
        FormatError::Empty => {
            UserError::of_file(file, "the file is empty", "name a session with at least one message")
        }
        FormatError::Unknown { begins, .. } => {
            let what = format!("unrecognized format (starts with `{begins}`)");
            let hint = "`wb formats` lists the known formats";
            UserError::of_file(file, what, hint).foreign()
        }
        error => UserError::of_file(file, error.to_string(), hint(path, error)).at_line(error.line()),
    }
}

/// Returns the hint for an unreadable file, by the layout of its lines.
fn hint(path: &Path, error: &FormatError) -> String {
    let layout = match error {
        FormatError::NotJson { line, .. } | FormatError::Log { line: Some(line), .. } => {
            JsonLayout::read(path, *line)
        }
        _ => JsonLayout::Line,
    };
    match (layout, error) {
        (JsonLayout::Spread, _) => SPREAD.replace("FILE", &file_word(path)),
        (JsonLayout::Glued, _) => GLUED.to_owned(),
        (JsonLayout::Cut, FormatError::NotJson { .. }) => CUT.to_owned(),
        _ => error.hint().to_owned(),
    }
}

/// Explains why a readable file was not opened for writing.
pub(crate) fn not_opened_to_write(path: &Path, error: &FormatError) -> UserError {
    let denied = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    match error {
        FormatError::File(FileError::Io { source, .. }) if denied.contains(&source.kind()) => {
            let hint = "ask its owner, or change its permissions with chmod";
            UserError::of_file(path.display().to_string(), "may not be written", hint)
        }
        error => not_read(path, error),
    }
}

/// Explains why a whole file was not written.
pub(crate) fn not_file_written(path: &Path, error: &FileError) -> UserError {
    match error {
        FileError::Io { source, .. } => not_written(path, source),
        FileError::Exists { .. } => UserError::of_file(
            path.display().to_string(),
            "already exists",
            "name a new file, or add --overwrite",
        ),
        error => UserError::of_file(path.display().to_string(), error.to_string(), error.hint()),
    }
}

/// Explains why a file cannot be written.
pub(crate) fn not_written(path: &Path, error: &io::Error) -> UserError {
    let file = path.display().to_string();
    let folder = folder_of(path);
    let (what, hint) = match error.kind() {
        ErrorKind::NotFound if !folder.is_dir() => {
            (NO_FOLDER.to_owned(), near_or(folder, "make the folder first, or name a file in another one"))
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ("no room is left there".to_owned(), "free some space, or name a file on another disk".to_owned())
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => (
            "may not be written".to_owned(),
            format!(
                "name a file in a folder of yours, such as {}",
                shell_word(&format!("./{}", path.file_name().unwrap_or_default().display()))
            ),
        ),
        _ if fs::metadata(path).is_ok_and(|there| there.is_dir()) => {
            let inside = path.join("compacted.jsonl");
            ("is a folder".to_owned(), format!("name a file in it, such as {}", file_word(&inside)))
        }
        _ => (
            format!("cannot be written: {}", in_words(error)),
            "name a file in a folder that can be written to".to_owned(),
        ),
    };
    UserError::of_file(file, what, hint)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
