//! Records in a database of `SQLite`.
//!
//! One database holds the logs of any number of sessions. Each append is a transaction, of one record or of
//! several, so nothing is ever torn. Two writers of one log are not kept apart for longer than that: within its
//! transaction each looks whether the log ends where it left it, and the one that comes second finds that it does
//! not and fails. A writer that does not get the database within five seconds, which is what `rusqlite` waits, is
//! told that it is locked.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Error, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};

use super::{Durability, EntryStore, Record};
use crate::error::StoreError;
use wb_record::{FileError, write_new};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS records (
    log TEXT NOT NULL, position INTEGER NOT NULL, record BLOB NOT NULL, PRIMARY KEY (log, position)
) WITHOUT ROWID";

/// The version of the table above, which stands in the database's `user_version`.
const VERSION: i64 = 1;

/// Keeps records in a table; positions count from 0.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    log: String,
    /// Statements need a connection that no other thread uses.
    connection: Mutex<Connection>,
    n_records: i64,
    /// How it is written; nothing if it is only read.
    durability: Option<Durability>,
}

impl SqliteStore {
    /// Opens the log of a name in a database; both are begun where they are not there, for the owner alone to read.
    ///
    /// A database of another version is refused, before anything in it is changed. [`Durability::Never`] and
    /// [`Durability::OnClose`] are the same here: the database waits for the disk at its checkpoints.
    pub fn open(
        path: impl Into<PathBuf>,
        log: impl Into<String>,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let path = path.into();
        if is_name_of_file(&path) {
            match write_new(&path, None, false, |_| Ok(())) {
                Ok(()) | Err(FileError::Exists { .. } | FileError::Link { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let connection = Connection::open(&path).map_err(|error| failed(&path, &error))?;
        check_version(&path, &connection)?;
        begin(&connection, durability).map_err(|error| failed(&path, &error))?;
        Self::over(path, log.into(), connection, Some(durability))
    }

    /// Opens the log of a name for reading, as it is now; the database must be there.
    pub fn open_for_reading(path: impl Into<PathBuf>, log: impl Into<String>) -> Result<Self, StoreError> {
        let path = path.into();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| failed(&path, &error))?;
        check_version(&path, &connection)?;
        Self::over(path, log.into(), connection, None)
    }

    fn over(
        path: PathBuf,
        log: String,
        connection: Connection,
        durability: Option<Durability>,
    ) -> Result<Self, StoreError> {
        let n_records = count(&connection, &log).map_err(|error| failed(&path, &error))?;
        Ok(Self { path, log, connection: Mutex::new(connection), n_records, durability })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic in a callback leaves a connection as usable as before.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: &Error) -> StoreError {
        failed(&self.path, error)
    }

    /// Inserts records if the log ends where it was left, and returns where it ended.
    ///
    /// The transaction is a writer from its start: one that became it after it had read would fail at once where
    /// another one wrote in between.
    fn insert(&self, records: &[Record<'_>]) -> Result<i64, Error> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let n_records = count(&transaction, &self.log)?;
        if n_records == self.n_records {
            let sql = "INSERT INTO records (log, position, record) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare(sql)?;
            for (position, record) in (n_records..).zip(records) {
                insert.execute(params![self.log, position, record.bytes()])?;
            }
            drop(insert);
            transaction.commit()?;
        }
        Ok(n_records)
    }
}

/// Returns whether a name is none that only the database understands: in memory, or a URI.
fn is_name_of_file(path: &Path) -> bool {
    let name = path.to_string_lossy();
    !name.is_empty() && name != ":memory:" && !name.starts_with("file:")
}

/// Refuses a database that is of another version, or none of ours.
fn check_version(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    match version.map_err(|error| failed(path, &error))? {
        // The first ones said no version; an empty one says none either.
        0 | VERSION => Ok(()),
        found => Err(StoreError::OtherVersion { path: path.to_owned(), found, known: VERSION }),
    }
}

fn begin(connection: &Connection, durability: Durability) -> Result<(), Error> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = if durability == Durability::Always { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.execute(SCHEMA, [])?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// Returns how many records a log has; nothing is ever removed, so that is the place of the next one.
fn count(connection: &Connection, log: &str) -> Result<i64, Error> {
    let sql = "SELECT COALESCE(MAX(position) + 1, 0) FROM records WHERE log = ?1";
    connection.prepare(sql)?.query_row([log], |row| row.get(0))
}

fn failed(path: &Path, error: &Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        _ => StoreError::Database { path, what: error.to_string() },
    }
}

impl EntryStore for SqliteStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        if self.durability.is_none() {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        }
        let expected = self.n_records.unsigned_abs();
        let found = self.insert(records).map_err(|error| self.failed(&error))?;
        if found != self.n_records {
            let found = found.unsigned_abs();
            return Err(StoreError::Changed { path: self.path.clone(), expected, found });
        }
        self.n_records = found.saturating_add_unsigned(records.len() as u64);
        Ok((expected..self.n_records.unsigned_abs()).collect())
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        let read = || {
            let connection = self.connection();
            let sql =
                "SELECT position, record FROM records WHERE log = ?1 AND position < ?2 ORDER BY position";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query(params![self.log, self.n_records])?;
            while let Some(row) = rows.next()? {
                each(row.get::<_, i64>(0)?.unsigned_abs(), row.get_ref(1)?.as_blob()?);
            }
            Ok(())
        };
        let mut read = read;
        read().map_err(|error: Error| self.failed(&error))
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        let at = i64::try_from(position).unwrap_or(i64::MAX);
        let sql = "SELECT record FROM records WHERE log = ?1 AND position = ?2";
        let read = || {
            let connection = self.connection();
            let mut statement = connection.prepare(sql)?;
            statement.query_row(params![self.log, at], |row| row.get(0)).optional()
        };
        *record = read().map_err(|error| self.failed(&error))?.ok_or(StoreError::NoRecord { position })?;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if matches!(self.durability, None | Some(Durability::Always)) {
            return Ok(());
        }
        let checkpoint = "PRAGMA wal_checkpoint(FULL)";
        let is_busy = self.connection().query_row(checkpoint, [], |row| row.get::<_, bool>(0));
        if is_busy.map_err(|error| self.failed(&error))? {
            // Another connection reads an older state; what was appended may not be on the disk.
            return Err(StoreError::Locked { path: self.path.clone() });
        }
        Ok(())
    }
}
