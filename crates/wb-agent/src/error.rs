//! Errors that end a turn of the agent.

use std::io;

use wb_conductor::SettingsError;
use wb_dialect::Dialect;
use wb_invoke::InvokeError;
use wb_session::{DriverError, SessionError, SettingsFileError};

/// The reason that the agent cannot continue or start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The request that was about to be sent breaks rules of its provider. That is a fault of this
    /// program.
    #[error("a fault of wb-agent: the request is not valid for {dialect}, and was not sent: {}", findings.join("; "))]
    Invalid {
        /// The dialect of the request.
        dialect: Dialect,
        /// The problems, one per line.
        findings: Vec<String>,
    },
    /// The transcript cannot be brought within the window.
    #[error("the context has {tokens} tokens and the window {window}; nothing more can be folded")]
    TooLarge {
        /// The size of the request in tokens.
        tokens: u64,
        /// The window, in tokens.
        window: u64,
    },
    /// The model failed. The transcript is whole and contains the prompt; the next one continues
    /// from there.
    #[error("the model failed: {0}")]
    Model(#[from] InvokeError),
    /// The log could not be read or written.
    #[error("the log: {0}")]
    Session(#[from] SessionError),
    /// The session was not compacted, or did not go to another branch.
    #[error(transparent)]
    Driver(DriverError),
    /// A settings file was refused.
    #[error("{0}\nhint: {hint}", hint = .0.hint())]
    SettingsFile(#[from] SettingsFileError),
    /// The settings make no sense for the model.
    #[error("the settings: {0}")]
    Settings(#[from] SettingsError),
    /// A file or a folder could not be used.
    #[error("{what}: {source}")]
    File {
        /// The file and its purpose.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The user's input is invalid.
    #[error("{0}")]
    Usage(String),
}

impl AgentError {
    /// Adds the file to an error.
    pub(crate) fn of_file(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::File { what, source }
    }
}

impl From<DriverError> for AgentError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Session(error) => Self::Session(error),
            error => Self::Driver(error),
        }
    }
}
