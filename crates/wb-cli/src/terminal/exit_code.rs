//! Exit codes.

use std::process::ExitCode;

/// The result of a command; wrong usage exits with 2 before any command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded, even if there was nothing to do.
    Done,
    /// The command failed.
    Failed,
    /// The command found what it looks for: a session over its budget, an error in a summary, or a
    /// violation.
    Found,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Found => Self::from(3),
        }
    }
}
