//! Errors of transcript files.

use std::io;
use std::path::{Path, PathBuf};

/// The reason that a file cannot be read; lines are counted from 1. The caller adds the name of the
/// file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The input failed.
    #[error("the input failed: {0}")]
    Io(#[from] std::io::Error),
    /// The file cannot be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file does not begin like any supported format.
    #[error("unrecognized format (starts with {begins:?})")]
    Unknown {
        /// The first characters of the file.
        begins: String,
        /// The supported formats.
        hint: String,
    },
    /// A line is not JSON.
    #[error("line {line}, column {column}: not JSON: {what}")]
    NotJson {
        /// The line.
        line: usize,
        /// The byte of the line, counted from 1, at which reading stopped.
        column: usize,
        /// The problem there.
        what: String,
    },
    /// A document is not all UTF-8.
    #[error("line {line}, column {column}: not UTF-8")]
    NotUtf8 {
        /// The line.
        line: usize,
        /// The first wrong byte of the line, counted from 1.
        column: usize,
    },
    /// A message of the project's format is incomplete.
    #[error("line {line}: not a message: {what}")]
    BadMessage {
        /// The line of the message, or its last line if it spans several.
        line: usize,
        /// The problem with the message.
        what: String,
    },
    /// A log or a database cannot be read.
    #[error("{what}")]
    Log {
        /// The wrong line, if it is a single one.
        line: Option<usize>,
        /// The problem.
        what: String,
        /// The remedy for the user.
        hint: String,
    },
}

impl FormatError {
    /// Returns the wrong line, if it is a single one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Io(_) | Self::File(_) | Self::Empty | Self::Unknown { .. } => None,
            Self::NotJson { line, .. } | Self::NotUtf8 { line, .. } | Self::BadMessage { line, .. } => {
                Some(*line)
            }
            Self::Log { line, .. } => *line,
        }
    }

    /// Returns what the user can do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::Io(_) => "check that the file can be read to its end",
            Self::File(error) => error.hint(),
            Self::Empty => "name a session with at least one message",
            Self::NotJson { .. } => "remove or repair this line; only the last line of a log may be cut off",
            Self::NotUtf8 { .. } => {
                "bytes of this line are damaged or of another encoding: restore them from a copy of the file, \
                 or write the file as UTF-8"
            }
            Self::BadMessage { .. } => {
                "a message is an object with a \"role\" and its fields: user {content}, assistant {content}, \
                 toolResult {toolCallId, toolName, content}, bashExecution {command, output}, custom {customType, \
                 content}, branchSummary {summary, fromId}, compactionSummary {summary}; content is a string or an \
                 array of blocks {kind: text | thinking | tool_call | tool_result | image | command, …}"
            }
            Self::Unknown { hint, .. } | Self::Log { hint, .. } => hint,
        }
    }

    /// Returns a document as text, or the error that names the first byte that is not UTF-8.
    ///
    /// ```
    /// use wb_record::FormatError;
    ///
    /// let error = FormatError::utf8_of(b"{\n \"a\": \"\xFF\"}").unwrap_err();
    /// assert_eq!(error.to_string(), "line 2, column 8: not UTF-8");
    /// ```
    pub fn utf8_of(document: &[u8]) -> Result<&str, Self> {
        // This is quicker but returns no place.
        if let Some(text) = crate::parts::lines::utf8(document) {
            return Ok(text);
        }
        std::str::from_utf8(document).map_err(|error| {
            let before = &document[..error.valid_up_to()];
            let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let line = 1 + memchr::memchr_iter(b'\n', before).count();
            Self::NotUtf8 { line, column: 1 + before.len() - start }
        })
    }

    /// Builds the error of JSON that could not be parsed; `line` is that of the first line of the
    /// text.
    pub fn from_json(line: usize, error: &serde_json::Error) -> Self {
        let what = crate::parts::lines::fault(error);
        let line = line + error.line().saturating_sub(1);
        if error.is_data() {
            Self::BadMessage { line, what }
        } else {
            Self::NotJson { line, column: error.column(), what }
        }
    }
}

/// The reason that a file was not written or opened; the existing file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A file has the name, and it should not be overwritten.
    #[error("{}: already exists", path.display())]
    Exists {
        /// The name.
        path: PathBuf,
    },
    /// The name is a link; nothing is written through links.
    #[error("{}: is a link to {}", path.display(), target.display())]
    Link {
        /// The name.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// The system refused.
    #[error("{}: {doing} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl FileError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "name a new file, or move this one away",
            Self::Link { .. } => "name the file that the link leads to",
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "check that the file and its folder are there"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
                "name a file, not a folder"
            }
            Self::Io { .. } => "check the room on the disk and the rights on the file and its folder",
        }
    }

    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, doing, source }
    }
}
