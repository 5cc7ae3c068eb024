//! The reasons that an undo or a redo fails.

use std::io::ErrorKind;

use crate::format::{NotExpressible, WriteError};
use crate::parts::change::CommitError;
use crate::parts::error::{FileError, FormatError};

/// The reason that an operation was not undone or redone; the session is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is nothing to undo.
    #[error("nothing to undo")]
    NothingToUndo,
    /// There is nothing to redo.
    #[error("nothing to redo")]
    NothingToRedo,
    /// The list has no such operation.
    #[error("there is no operation {id}")]
    Unknown {
        /// The requested number.
        id: u64,
    },
    /// The operation is in that state already.
    #[error("operation {id} is {}", if *is_undone { "undone already" } else { "not undone" })]
    WrongState {
        /// Its number.
        id: u64,
        /// True if the operation is undone.
        is_undone: bool,
    },
    /// The agent compacted the session itself since.
    #[error("the agent has changed the beginning of the conversation since operation {id}")]
    Overtaken {
        /// Its number.
        id: u64,
    },
    /// A later operation changed what this one changed.
    #[error("operation {id} cannot be {doing} by itself: something was written after it")]
    NotAlone {
        /// Its number.
        id: u64,
        /// The action that was requested.
        doing: &'static str,
    },
    /// An earlier operation, which this one builds on, is undone too.
    #[error("operation {id} cannot be redone before operation {first}, which was undone after it")]
    RedoFirst {
        /// Its number.
        id: u64,
        /// The number of the earlier one.
        first: u64,
    },
    /// The session was written to since the operation was undone.
    #[error("operation {id} cannot be redone: the session was written to since it was undone")]
    WrittenSince {
        /// Its number.
        id: u64,
    },
    /// A record that was there is gone.
    #[error("the records that operation {id} had before are not in the session any more")]
    Lost {
        /// Its number.
        id: u64,
    },
    /// The bytes that it wrote are not found in the rewritten session.
    #[error(
        "the text of operation {id} is not in the session unchanged and exactly once, or the agent has continued from it"
    )]
    NotFound {
        /// Its number.
        id: u64,
    },
    /// The list cannot be read.
    #[error("can't read the .wb-log file: {0}")]
    List(String),
    /// A line of the list is no entry.
    #[error("can't read the .wb-log file: line {line}: {what}")]
    DamagedList {
        /// The line, counted from 1.
        line: usize,
        /// The problem.
        what: String,
    },
    /// The list cannot be written.
    #[error("can't write the .wb-log file: {0}")]
    ListNotWritten(String),
    /// The disk has no room for the list.
    #[error("can't write the .wb-log file: no space left on the disk")]
    NoRoomForList,
    /// The session contains the operation, and the list does not say so.
    #[error("the session was changed, but {source}")]
    NotMarked {
        /// The reason that the list was not written.
        source: Box<Self>,
    },
    /// Another program is writing the list.
    #[error("another program is changing the session")]
    ListBusy,
    /// The session cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl HistoryError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::NothingToUndo => {
                "`wb log FILE` lists operations; if you moved the session, move FILE.wb-log along with it"
            }
            Self::NothingToRedo | Self::Unknown { .. } | Self::WrongState { .. } => {
                "`wb log FILE` lists operations"
            }
            Self::Overtaken { .. } => "the replaced messages are still in the session",
            Self::NotAlone { .. } => "`wb undo FILE` undoes the later ones first, one at a time",
            Self::RedoFirst { .. } => "`wb redo FILE` redoes the one that was undone last",
            Self::WrittenSince { .. } => "run `wb compact` or `wb repair` again instead",
            Self::Lost { .. } => "look for a copy of the session from before",
            Self::NotFound { .. } => "FILE.wb-log contains the replaced messages",
            Self::List(_) => "check FILE.wb-log",
            Self::DamagedList { .. } => {
                "`wb repair FILE --in-place` rebuilds FILE.wb-log from the lines that can be read"
            }
            Self::NotMarked { .. } => {
                "free some space on the disk of FILE.wb-log: the next `wb undo` or `wb compact --in-place` completes it"
            }
            Self::ListNotWritten(_) => "check the permissions of FILE.wb-log and its folder",
            Self::NoRoomForList => "free some space on the disk of FILE.wb-log",
            Self::ListBusy => "wait until it is done and run the command again",
            Self::Write(error) => error.hint(),
        }
    }
}

impl HistoryError {
    /// Returns whether the disk refused a write, so that the session is as it was.
    pub fn is_refused_write(&self) -> bool {
        let refused = |error: &CommitError| matches!(error, CommitError::File(_) | CommitError::Io { .. });
        match self {
            Self::NoRoomForList | Self::ListNotWritten(_) => true,
            Self::Write(WriteError::Commit(error)) => refused(error),
            _ => false,
        }
    }

    /// Returns the reason that the list was not written; if another program began it first, that
    /// program is at work.
    pub(crate) fn from_list_error(error: &CommitError) -> Self {
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::WriteZero];
        match error {
            CommitError::Busy | CommitError::Stale { .. } | CommitError::File(FileError::Exists { .. }) => {
                Self::ListBusy
            }
            CommitError::File(FileError::Io { source, .. })
            | CommitError::Io { source, .. }
            | CommitError::Unknown { source, .. }
                if full.contains(&source.kind()) =>
            {
                Self::NoRoomForList
            }
            error => Self::ListNotWritten(error.to_string()),
        }
    }
}

impl From<CommitError> for HistoryError {
    fn from(error: CommitError) -> Self {
        Self::Write(error.into())
    }
}

impl From<FormatError> for HistoryError {
    fn from(error: FormatError) -> Self {
        Self::Write(error.into())
    }
}

impl From<NotExpressible> for HistoryError {
    fn from(error: NotExpressible) -> Self {
        Self::Write(error.into())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_busy_list_and_a_full_disk_are_reported() {
        let path = || PathBuf::from("s.jsonl.wb-log");
        let second = HistoryError::from_list_error(&CommitError::File(FileError::Exists { path: path() }));
        assert!(matches!(second, HistoryError::ListBusy), "{second}");
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::PermissionDenied] {
            let cause = FileError::io(&path(), "writing it")(kind.into());
            let error = HistoryError::from_list_error(&CommitError::File(cause));
            let is_full = kind != ErrorKind::PermissionDenied;
            assert_eq!(error.hint().contains("free some space"), is_full, "{error}");
        }
    }
}
