//! Errors and faults of a session log and of the store that keeps it.

use std::fmt;
use std::path::PathBuf;

use crate::id::EntryId;
use wb_record::FileError;

/// The rest of a record that was cut off while it was written, found when its store was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// The position where it begins, as the store counts.
    pub position: u64,
    /// Its length.
    pub n_bytes: u64,
    /// The file that its bytes were moved to; none if they were left in place because the store is
    /// read-only.
    pub kept_in: Option<PathBuf>,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_bytes, position) = (self.n_bytes, self.position);
        match &self.kept_in {
            None => write!(f, "truncated last line skipped: {n_bytes} bytes at byte {position}"),
            Some(aside) => {
                let aside = aside.display();
                write!(f, "truncated last line of {n_bytes} bytes at byte {position} moved to {aside}")
            }
        }
    }
}

/// The reasons why a store fails; records that it acknowledged before stay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system failed.
    #[error("{}: {doing} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The lines before the store's records could not be read.
    #[error("the lines of the session could not be read: {source}")]
    Lines {
        /// The system's error.
        source: std::io::Error,
    },
    /// The file was refused: it is a link, or exists already.
    #[error(transparent)]
    File(FileError),
    /// Another writer has the file.
    #[error("{}: another writer has the session open", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Someone else changed the store since it was opened; nothing was written over.
    #[error("{}: the session was changed by another program: its end is at {found}, and was left at {expected}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The expected end, as the store counts.
        expected: u64,
        /// The actual end; 0 if the file is gone or another file has its name.
        found: u64,
    },
    /// The file does not begin with a line of JSON; it was left unchanged.
    #[error("{}: not a log of JSON lines: {what}", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// The actual content.
        what: String,
    },
    /// The store was opened for reading.
    #[error("{}: the session was opened for reading", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// An earlier append failed in a way that leaves open what the file holds.
    #[error("{}: an earlier append failed, and what the file holds is not known", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
    },
    /// The text to append is not one JSON object on one line.
    #[error("not a record: {what}")]
    BadRecord {
        /// The fault.
        what: String,
    },
    /// There is no record at this position.
    #[error("the store has no record at {position}")]
    NoRecord {
        /// The place that was asked for.
        position: u64,
    },
    /// The database has tables of a newer version.
    #[error("{}: the tables have version {found}, and only versions up to {known} are known", path.display())]
    OtherVersion {
        /// The database.
        path: PathBuf,
        /// Their version.
        found: i64,
        /// The version that is written.
        known: i64,
    },
    /// The database has no such session.
    #[error("{}: the database has no such session", path.display())]
    NoSession {
        /// The database and the session.
        path: PathBuf,
    },
    /// The session to begin is there.
    #[error("{}: the session exists already", path.display())]
    SessionExists {
        /// The database and the session.
        path: PathBuf,
    },
    /// The database failed.
    #[error("{}: {what}", path.display())]
    Database {
        /// The database and the session.
        path: PathBuf,
        /// The message.
        what: String,
        /// The remedy.
        hint: &'static str,
    },
}

impl StoreError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check that the disk has room and that the file may be read and written",
            Self::Lines { .. } => "check that the file can be read to its end",
            Self::File(error) => error.hint(),
            Self::Locked { .. } => "close the other program, or open the session for reading",
            Self::Changed { .. } | Self::Broken { .. } => {
                "open the session again, then repeat what was appended last if it is not there"
            }
            Self::NotALog { .. } => "name a session file; one that holds nothing of worth can be removed",
            Self::ReadOnly { .. } => "open the session for writing",
            Self::BadRecord { .. } => "append one JSON object without a line feed",
            Self::NoRecord { .. } => "use positions that this store gave",
            Self::OtherVersion { .. } => "use a newer version of this program",
            Self::NoSession { .. } => {
                "name a session after the database: postgres://user@host/database#session"
            }
            Self::SessionExists { .. } => "open it instead, or name another session",
            Self::Database { hint, .. } => hint,
        }
    }
}

impl From<FileError> for StoreError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io { path, doing, source } => Self::Io { path, doing, source },
            refused => Self::File(refused),
        }
    }
}

impl From<FileError> for SessionError {
    fn from(error: FileError) -> Self {
        Self::Store(error.into())
    }
}

/// The reasons why a session log cannot be read or written; lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The input failed.
    #[error("line {line}: the input failed: {source}")]
    Io {
        /// The line that was being read.
        line: usize,
        /// The error of the input.
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
        /// The actual content.
        found: String,
    },
    /// A line is not JSON.
    #[error("line {line}, column {column}: not JSON: {what}")]
    NotJson {
        /// The line.
        line: usize,
        /// The byte of the line, counted from 1, at which reading stopped.
        column: usize,
        /// The fault.
        what: String,
    },
    /// A line is JSON, but not an entry of a session.
    #[error("line {line}: not a session entry: {what}")]
    BadEntry {
        /// The line.
        line: usize,
        /// The fault.
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
    /// An entry is no longer where it was when the log was opened.
    #[error("line {line}: entry {id} is no longer there: the session was changed by another program")]
    Moved {
        /// The line where it was.
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
    /// The first entry that a compaction should keep is not on the path that it condenses.
    #[error("entry {id} is not on the path to the compaction that should keep it")]
    BadBoundary {
        /// The entry.
        id: EntryId,
    },
    /// There is no compaction on the path to the leaf.
    #[error("no compaction is on the path to the leaf, so there is none to undo")]
    NothingToUndo,
    /// The value to append has no place in a session log.
    #[error("cannot be written to a session log: {what}")]
    NotWritable {
        /// The value.
        what: String,
    },
    /// The log has another layout than the one that is written.
    #[error(
        "the session log has version {version}, and only version {} is appended to",
        crate::error::WRITTEN_VERSION
    )]
    OtherLayout {
        /// The version of the log.
        version: u64,
    },
    /// The store for a new log holds one already.
    #[error("the store holds a session log already")]
    NotEmpty,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The version of the layout that is written; pi has it since its first release with a tree.
pub(crate) const WRITTEN_VERSION: u64 = 3;

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
            Self::Moved { .. } => "open the session again",
            Self::UnknownLeaf { .. } => "name an entry of this log, or none for its last one",
            Self::BadBoundary { .. } => {
                "name an entry between the root and the leaf, or none to keep nothing"
            }
            Self::NothingToUndo => "go to an entry after the compaction first",
            Self::NotWritable { .. } => "append it as an entry of another kind",
            Self::OtherLayout { .. } => "write the log to a new file, which brings it to the present layout",
            Self::NotEmpty => "open the session instead, or name another file",
            Self::Store(error) => error.hint(),
        }
    }

    /// Returns what is wrong, without the line that it is on.
    pub(crate) fn what(&self) -> String {
        let text = self.to_string();
        let Some(line) = self.line() else { return text };
        let rest =
            text.strip_prefix(&format!("line {line}")).map(|rest| rest.trim_start_matches([':', ',', ' ']));
        rest.map_or_else(|| text.clone(), str::to_owned)
    }

    /// Returns the line that is wrong, counted from 1, if one line is.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Empty
            | Self::UnknownLeaf { .. }
            | Self::BadBoundary { .. }
            | Self::NothingToUndo
            | Self::NotWritable { .. }
            | Self::OtherLayout { .. }
            | Self::NotEmpty
            | Self::Store(_) => None,
            Self::Io { line, .. }
            | Self::NoHeader { line, .. }
            | Self::NotJson { line, .. }
            | Self::BadEntry { line, .. }
            | Self::Cycle { line, .. }
            | Self::Moved { line, .. } => Some(*line),
        }
    }

    /// Builds the error of a line that could not be parsed.
    pub(crate) fn of_json(line: usize, error: &serde_json::Error) -> Self {
        let what = wb_record::lines::fault(error);
        if error.is_data() {
            Self::BadEntry { line, what }
        } else {
            Self::NotJson { line, column: error.column(), what }
        }
    }
}
