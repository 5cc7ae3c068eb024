//! A failure in words that a user can act on.

use std::fmt;
use std::io;

use serde::Serialize;

/// An error for the user: the problem, its location, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UserError {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The file, as the user named it.
    pub(crate) file: Option<String>,
    /// The line of the file that is wrong, counted from 1.
    pub(crate) line: Option<usize>,
    /// The possible meanings of a word, one per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) candidates: Vec<String>,
    /// Indicates that the file may be valid, but of an unsupported kind.
    #[serde(skip)]
    pub(crate) is_foreign: bool,
}

impl UserError {
    /// Builds the error of what concerns no single file.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), Some(hint.into()));
        Self { message, hint, file: None, line: None, candidates: Vec::new(), is_foreign: false }
    }

    /// Builds the error of a file; a message that begins with the file's name loses it.
    pub(crate) fn of_file(
        file: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (file, message) = (file.into(), message.into());
        let bare = message.strip_prefix(&format!("{file}: ")).unwrap_or(&message);
        Self { message: without_number(bare), file: Some(file), ..Self::new("", hint) }
    }

    /// Says which line is wrong.
    pub(crate) fn at_line(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// Lists what may have been meant.
    pub(crate) fn with_candidates(self, candidates: Vec<String>) -> Self {
        Self { candidates, ..self }
    }

    /// Says that the file is of a kind that is not read.
    pub(crate) fn foreign(self) -> Self {
        Self { is_foreign: true, ..self }
    }

    /// Finds the failure to report; none if the reader of the output went away.
    pub(crate) fn from_error(error: &anyhow::Error) -> Option<Self> {
        if let Some(known) = error.downcast_ref::<Self>() {
            return Some(known.clone());
        }
        match error.downcast_ref::<io::Error>() {
            Some(failed) if failed.kind() == io::ErrorKind::BrokenPipe => None,
            Some(failed) => {
                let hint = "write to a location with free space and write permission";
                Some(Self::of_file("standard output", in_words(failed), hint))
            }
            None => Some(Self { hint: None, ..Self::new(format!("{error:#}"), "") }),
        }
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for UserError {}

/// Returns a text without the error number of the system.
fn without_number(text: &str) -> String {
    let parts =
        text.rsplit_once(" (os error ").and_then(|(words, rest)| Some((words, rest.split_once(')')?.1)));
    parts.map_or_else(|| text.to_owned(), |(words, rest)| [words, rest].concat())
}

/// Returns the system's description of an error, without its number.
pub(crate) fn in_words(error: &io::Error) -> String {
    let text = without_number(&error.to_string());
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_once() {
        for message in ["is a folder", "a.jsonl: is a folder"] {
            let error = UserError::of_file("a.jsonl", message, "name a file");
            assert_eq!(error.to_string(), "a.jsonl: is a folder");
        }
    }

    #[test]
    fn a_system_error_is_shown_without_its_number() {
        assert_eq!(in_words(&io::Error::from_raw_os_error(2)), "no such file or directory");
        assert_eq!(in_words(&io::Error::other("Odd")), "odd");
        let failed = format!("opening it failed: {}", io::Error::from_raw_os_error(13));
        assert_eq!(UserError::of_file("a", &failed, "").message, "opening it failed: Permission denied");
        let said = UserError::of_file("a", failed + "; the session is unchanged", "");
        assert_eq!(said.message, "opening it failed: Permission denied; the session is unchanged");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is_one() {
        assert_eq!(UserError::from_error(&io::Error::from(io::ErrorKind::BrokenPipe).into()), None);
        let full = UserError::from_error(&io::Error::from(io::ErrorKind::StorageFull).into()).unwrap();
        assert_eq!(full.file.as_deref(), Some("standard output"));
    }
}
