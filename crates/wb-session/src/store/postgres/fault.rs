//! The kinds of failed statements: the connection is lost, or the server refused.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

use super::url::{PostgresUrl, cause};
use crate::error::StoreError;

/// The hint on a certificate.
const CERTIFICATE: &str = "name the file with the server's root certificate: ?sslrootcert=FILE";

/// The outcome of a statement that failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone, and the outcome is not known.
    Lost(String),
    /// The server answered; nothing was changed.
    Refused(Box<Error>),
    /// Another writer has the lock.
    Busy,
    /// The encryption cannot be set up.
    Setup(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        if is_lost(&error) { Self::lost(&error) } else { Self::Refused(Box::new(error)) }
    }
}

impl Fault {
    pub(super) fn lost(error: &Error) -> Self {
        Self::Lost(cause(error))
    }

    /// Builds the fault of a statement that was not answered in time.
    pub(super) fn silent(after: Duration) -> Self {
        Self::Lost(format!("no answer within {} s", after.as_secs_f32()))
    }

    /// Returns whether the server refused with a state.
    pub(super) fn has_state(&self, state: &SqlState) -> bool {
        matches!(self, Self::Refused(error) if error.code() == Some(state))
    }

    /// Returns whether a row would have broken a rule of a table.
    pub(super) fn has_constraint(&self, name: &str) -> bool {
        let Self::Refused(error) = self else { return false };
        error.as_db_error().and_then(|db| db.constraint()) == Some(name)
    }

    /// Turns it into the error of a store.
    pub(super) fn into_error(self, url: &PostgresUrl) -> StoreError {
        let path = url.path();
        match self {
            Self::Lost(what) => unreachable(path, &what),
            Self::Refused(error) => refused(path, &error),
            Self::Busy => StoreError::Locked { path },
            Self::Setup(what) => StoreError::Database { path, what, hint: CERTIFICATE },
        }
    }
}

/// A fatal error ends the connection, also in the middle of a commit.
fn is_lost(error: &Error) -> bool {
    let Some(error) = error.as_db_error() else { return !is_of_value(error) };
    let is_fatal = matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    is_fatal || matches!(error.code().code().get(..3), Some("57P" | "080"))
}

/// Returns whether a value could not be sent, so that the server saw nothing.
fn is_of_value(error: &Error) -> bool {
    let what = error.to_string();
    ["error serializing", "error encoding"].iter().any(|start| what.starts_with(start))
}

/// Returns whether connecting again can help.
pub(super) fn is_passing(error: &Error) -> bool {
    let Some(db) = error.as_db_error() else { return !is_of_name(error) };
    let codes = [
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    codes.contains(db.code())
}

/// Returns whether the name of the host or the certificate is wrong, not the network.
fn is_of_name(error: &Error) -> bool {
    let what = cause(error);
    ["certificate", "lookup address", "password missing", "does not support TLS"]
        .iter()
        .any(|part| what.contains(part))
}

fn unreachable(path: PathBuf, what: &str) -> StoreError {
    let hint = "check that the server runs and that host and port are right, then try again";
    StoreError::Database { path, what: format!("the connection failed: {what}"), hint }
}

/// Explains an error that the server returned.
fn refused(path: PathBuf, error: &Error) -> StoreError {
    let what = error.as_db_error().map_or_else(|| cause(error), |db| db.message().to_owned());
    let hint = match error.code() {
        None if is_of_value(error) => "append smaller records",
        _ if what.contains("password missing") => "set the password in PGPASSWORD",
        _ if what.contains("certificate") => CERTIFICATE,
        None => "check the host and the port",
        Some(state) if *state == SqlState::INVALID_PASSWORD => "set the user's password in PGPASSWORD",
        Some(state) if *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "check the user, and that pg_hba.conf of the server lets it in"
        }
        Some(state) if *state == SqlState::INVALID_CATALOG_NAME => "name a database that is there",
        Some(state) if *state == SqlState::INSUFFICIENT_PRIVILEGE => {
            "let the owner of the database grant this user its tables"
        }
        Some(state) if *state == SqlState::READ_ONLY_SQL_TRANSACTION => {
            "name the primary server; this one only reads"
        }
        Some(state) if *state == SqlState::DISK_FULL => "free some space on the server",
        _ => "see the log of the server",
    };
    StoreError::Database { path, what, hint }
}
