//! Exit codes.

use std::process::ExitCode;

/// How a command ended; wrong usage ends with 2, before any of them runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It is done, also if there was nothing to do.
    Done,
    /// It failed.
    Failed,
    /// What was looked for is there: a session over its budget, something wrong in a summary, or
    /// what a provider refuses.
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
