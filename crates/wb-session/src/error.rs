//! What can be wrong with a session log.

use crate::id::EntryId;

/// Tells why a session log cannot be read; lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The input failed.
    #[error("line {line}: the input failed: {source}")]
    Io {
        /// The line that was being read.
        line: usize,
        /// What the input said.
        source: std::io::Error,
    },
    /// There is no line in the log.
    #[error("the session log is empty")]
    Empty,
    /// The first line is no session header.
    #[error("line {line}: expected a session header, found {found}")]
    NoHeader {
        /// The first line that is not blank.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A line is not JSON.
    #[error("line {line}, column {column}: not JSON: {what}")]
    NotJson {
        /// The line.
        line: usize,
        /// The byte of the line, counted from 1, at which reading stopped.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// A line is JSON, but not an entry of a session.
    #[error("line {line}: not a session entry: {what}")]
    BadEntry {
        /// The line.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// An entry is its own ancestor.
    #[error("line {line}: entry {id} is its own ancestor")]
    Cycle {
        /// The line of the entry.
        line: usize,
        /// The entry.
        id: EntryId,
    },
    /// The entry that was asked for is not in the log.
    #[error("entry {id} is not in the session log")]
    UnknownLeaf {
        /// The entry that was asked for.
        id: EntryId,
    },
}

impl SessionError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::Io { .. } => "check that the file can be read to its end",
            Self::Empty => {
                "a session log begins with a line like {\"type\":\"session\",\"version\":3,\"id\":…}"
            }
            Self::NoHeader { .. } => {
                "the first line must be an object with \"type\":\"session\" and an \"id\" that is a string"
            }
            Self::NotJson { .. } => "each line must be one JSON object; remove or repair this line",
            Self::BadEntry { .. } => "repair this line, or remove it and let its children name its parent",
            Self::Cycle { .. } => "let the \"parentId\" of this entry name an entry before it",
            Self::UnknownLeaf { .. } => "name an entry of this log, or none for its last one",
        }
    }

    /// Returns the line that is wrong, counted from 1, where one line is.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Empty | Self::UnknownLeaf { .. } => None,
            Self::Io { line, .. }
            | Self::NoHeader { line, .. }
            | Self::NotJson { line, .. }
            | Self::BadEntry { line, .. }
            | Self::Cycle { line, .. } => Some(*line),
        }
    }

    /// Builds the error of a line that could not be parsed.
    pub(crate) fn of_json(line: usize, error: &serde_json::Error) -> Self {
        let what = crate::lines::fault(error);
        if error.is_data() {
            Self::BadEntry { line, what }
        } else {
            Self::NotJson { line, column: error.column(), what }
        }
    }
}
