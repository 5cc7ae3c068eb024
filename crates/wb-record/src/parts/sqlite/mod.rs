//! Rows of a `SQLite` database as parts: each row is one JSON object, addressed by group and id.
//!
//! Agents write such databases concurrently: a change is one immediate transaction that compares
//! every row with the expected one, and a lock of another program is an error, not an endless wait.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior, params, params_from_iter};
use serde_json::{Map, Number, Value};

use crate::parts::change::{Change, ChangeSet, CommitError};
use crate::parts::error::FormatError;
use crate::parts::part::{Access, Parts};
use crate::parts::span::PartId;

/// The first bytes of every database of `SQLite` 3.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The time to wait for a lock of another program.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// A table whose rows are parts, named `table/<value of group>/<value of id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of the table.
    pub name: &'static str,
    /// The column that identifies the group of a row, which should have an index.
    pub group: &'static str,
    /// The column that identifies the row within its group.
    pub id: &'static str,
    /// The other columns that must be there.
    pub columns: &'static [&'static str],
}

/// The result of the checkpoint after a commit; only a database with a write-ahead log has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// True if other programs kept it from moving everything; what was committed is still safe in
    /// the log.
    pub is_busy: bool,
    /// The pages in the log.
    pub n_logged: i64,
    /// The number of them that are in the database itself by now.
    pub n_moved: i64,
}

/// Some tables of a database, row by row.
///
/// The bytes of a row are one JSON object of all its columns in their order: texts are strings,
/// also where they hold JSON themselves, numbers are numbers. A row with a blob, or a text that is
/// not UTF-8, has a name and cannot be read.
#[derive(Debug)]
pub struct SqliteParts {
    connection: Mutex<Connection>,
    tables: &'static [Table],
    access: Access,
    checkpoint: Option<Checkpoint>,
}

impl SqliteParts {
    /// Opens an existing database and checks that it has the tables.
    ///
    /// The latest writes may be in a log next to the file, so a copy of the file alone is not the
    /// session.
    pub fn open(path: &Path, tables: &'static [Table], access: Access) -> Result<Self, FormatError> {
        let looked = |connection| Ok((missing(&connection, tables)?, connection));
        let opened = connect(path, access).and_then(looked);
        let is_frozen =
            |error: &rusqlite::Error| access == Access::Read && cannot_open(error) && !has_log(path);
        let opened = match opened {
            Err(error) if is_frozen(&error) => frozen(path).and_then(looked),
            opened => opened,
        };
        let (missing, connection) = opened.map_err(|error| unreadable(&error))?;
        match missing {
            Some(what) => {
                Err(refused(what, "the agent may have changed its layout, or it is another program's"))
            }
            None => Ok(Self { connection: Mutex::new(connection), tables, access, checkpoint: None }),
        }
    }

    /// Returns the result of the checkpoint after the last commit.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        self.checkpoint
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place<'a>(&self, part: &'a str) -> Option<RowKey<'a>> {
        let (table, rest) = part.split_once('/')?;
        let (group, id) = rest.split_once('/')?;
        let table = self.tables.iter().find(|known| known.name == table)?;
        Some(RowKey { table, group: plain(group), id: plain(id) })
    }
}

fn connect(path: &Path, access: Access) -> rusqlite::Result<Connection> {
    let flags = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Functions that a foreign schema names must not run with our rights.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// Opens a read-only file in a folder where log files cannot be created.
fn frozen(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(frozen_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)
}

fn frozen_uri(path: &Path) -> String {
    let escaped = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'/' | b'.' | b'-' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    format!("file:{}?immutable=1", escaped.collect::<String>())
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Returns what the tables lack, in words.
fn missing(connection: &Connection, tables: &[Table]) -> rusqlite::Result<Option<String>> {
    for table in tables {
        let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns: Vec<String> =
            columns.query_map([table.name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if columns.is_empty() {
            return Ok(Some(format!("the database has no table {:?}", table.name)));
        }
        let needed = [table.group, table.id].into_iter().chain(table.columns.iter().copied());
        if let Some(column) = needed.into_iter().find(|column| !columns.iter().any(|known| known == column)) {
            return Ok(Some(format!("the table {:?} of the database has no column {column:?}", table.name)));
        }
    }
    Ok(None)
}

fn unreadable(error: &rusqlite::Error) -> FormatError {
    if is_busy(error) {
        return FormatError::Io(io::ErrorKind::WouldBlock.into());
    }
    refused(format!("the database cannot be read: {error}"), "check that it is whole")
}

fn refused(what: String, hint: &str) -> FormatError {
    FormatError::Log { line: None, what, hint: hint.to_owned() }
}

/// A row by its name.
struct RowKey<'a> {
    table: &'static Table,
    group: Cow<'a, str>,
    id: Cow<'a, str>,
}

impl RowKey<'_> {
    fn is_it(&self) -> String {
        let Table { group, id, .. } = self.table;
        format!("{} = ?1 AND {} = ?2", quoted(group), quoted(id))
    }

    /// Reads the row; nothing if there is none.
    fn read(&self, connection: &Connection) -> io::Result<Option<Vec<u8>>> {
        let sql = format!("SELECT * FROM {} WHERE {}", quoted(self.table.name), self.is_it());
        let mut statement = connection.prepare(&sql).map_err(io_error)?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query(params![self.group, self.id]).map_err(io_error)?;
        let row = rows.next().map_err(io_error)?;
        row.map(|row| json_of(&columns, row).map_err(|what| self.bad(&what))).transpose()
    }

    fn bad(&self, what: &str) -> io::Error {
        let text = format!("the row {} of the table {:?} cannot be read: {what}", self.id, self.table.name);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }

    fn insert(&self, connection: &Connection, row: &Map<String, Value>) -> Result<(), CommitError> {
        let columns: Vec<String> = row.keys().map(|column| quoted(column)).collect();
        let marks = vec!["?"; columns.len()].join(", ");
        let sql =
            format!("INSERT INTO {} ({}) VALUES ({marks})", quoted(self.table.name), columns.join(", "));
        run(connection, &sql, cells(row)?)
    }

    fn update(&self, connection: &Connection, row: &Map<String, Value>) -> Result<(), CommitError> {
        let columns = row.keys().enumerate().map(|(at, column)| format!("{} = ?{}", quoted(column), at + 3));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let sql = format!("UPDATE {} SET {columns} WHERE {}", quoted(self.table.name), self.is_it());
        let mut values = self.key();
        values.extend(cells(row)?);
        run(connection, &sql, values)
    }

    fn delete(&self, connection: &Connection) -> Result<(), CommitError> {
        run(
            connection,
            &format!("DELETE FROM {} WHERE {}", quoted(self.table.name), self.is_it()),
            self.key(),
        )
    }

    fn key(&self) -> Vec<Cell> {
        vec![Cell::Text(self.group.clone().into_owned()), Cell::Text(self.id.clone().into_owned())]
    }

    /// Carries out one change after checking that the row is as the change expects it.
    fn change(&self, connection: &Connection, part: &str, change: &Change) -> Result<(), CommitError> {
        let read =
            || self.read(connection).map_err(|source| CommitError::Io { doing: "read the row", source });
        let before = read()?;
        let after = change.apply(part, before.as_deref())?;
        if after == before {
            return Ok(());
        }
        match (&before, &after) {
            (None, Some(row)) => self.insert(connection, &object(row)?)?,
            (Some(_), Some(row)) => self.update(connection, &object(row)?)?,
            (_, None) => self.delete(connection)?,
        }
        // A column may convert a value to another type, and a row may have moved to another name.
        if read()? == after { Ok(()) } else { Err(CommitError::Unsupported(OTHER_ROW)) }
    }
}

const OTHER_ROW: &str = "the database does not hold the row as it was to be written";

/// Runs a statement that must change one row and no other, also not by what the schema adds to it.
fn run(connection: &Connection, sql: &str, values: Vec<Cell>) -> Result<(), CommitError> {
    let before = connection.total_changes();
    let mut statement = connection.prepare(sql).map_err(commit_error)?;
    statement.execute(params_from_iter(values)).map_err(commit_error)?;
    match connection.total_changes() - before {
        1 => Ok(()),
        _ => Err(CommitError::Unsupported("the database would change more than the row")),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Escapes a value for the name of a part.
fn escaped(value: &str) -> String {
    value.replace('%', "%25").replace('/', "%2F")
}

fn plain(value: &str) -> Cow<'_, str> {
    if !value.contains('%') {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.replace("%2F", "/").replace("%25", "%"))
}

fn json_of(columns: &[String], row: &Row<'_>) -> Result<Vec<u8>, String> {
    let mut object = Map::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        let cell = row.get_ref(at).map_err(|error| error.to_string())?;
        let value = value_of(cell).map_err(|what| format!("the column {column:?} holds {what}"))?;
        object.insert(column.clone(), value);
    }
    serde_json::to_vec(&object).map_err(|error| error.to_string())
}

fn value_of(cell: ValueRef<'_>) -> Result<Value, &'static str> {
    match cell {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(number.into()),
        ValueRef::Real(number) => {
            Number::from_f64(number).map(Value::Number).ok_or("a number without an end")
        }
        ValueRef::Text(text) => {
            std::str::from_utf8(text).map(Value::from).map_err(|_| "a text that is not UTF-8")
        }
        ValueRef::Blob(_) => Err("a blob"),
    }
}

fn object(row: &[u8]) -> Result<Map<String, Value>, CommitError> {
    serde_json::from_slice(row).map_err(|_| CommitError::Unsupported("a row is written as one JSON object"))
}

fn cells(row: &Map<String, Value>) -> Result<Vec<Cell>, CommitError> {
    row.values().map(cell_of).collect()
}

fn cell_of(value: &Value) -> Result<Cell, CommitError> {
    let number = |number: &Number| match number.as_i64() {
        Some(number) => Some(Cell::Integer(number)),
        None if number.is_f64() => number.as_f64().map(Cell::Real),
        None => None,
    };
    let cell = match value {
        Value::Null => Some(Cell::Null),
        Value::String(text) => Some(Cell::Text(text.clone())),
        Value::Number(value) => number(value),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    cell.ok_or(CommitError::Unsupported("a column holds a text, a number or nothing"))
}

fn io_error(error: rusqlite::Error) -> io::Error {
    if is_busy(&error) { io::Error::new(io::ErrorKind::WouldBlock, error) } else { io::Error::other(error) }
}

/// Returns whether another program holds the lock.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn commit_error(error: rusqlite::Error) -> CommitError {
    match error.sqlite_error_code() {
        _ if is_busy(&error) => CommitError::Busy,
        Some(ErrorCode::ReadOnly) => CommitError::ReadOnly,
        _ => CommitError::Io { doing: "write to the database", source: io::Error::other(error) },
    }
}

impl Parts for SqliteParts {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        let connection = self.connection();
        let mut names = Vec::new();
        for table in self.tables {
            match prefix.split_once('/') {
                None if table.name.starts_with(prefix) => names.extend(rows_of(&connection, table, "")?),
                Some((name, rest)) if table.name == name => names.extend(rows_of(&connection, table, rest)?),
                _ => {}
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        let row = self.place(part).map_or(Ok(None), |place| place.read(&self.connection()))?;
        Ok(row.map(|row| row.len() as u64))
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        let row = self.whole(part)?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(row.len());
        out.extend_from_slice(&row[place(range.start)..place(range.end).max(place(range.start))]);
        Ok(())
    }

    fn commit(&mut self, set: &ChangeSet) -> Result<(), CommitError> {
        if self.access == Access::Read {
            return Err(CommitError::ReadOnly);
        }
        let nowhere = CommitError::Unsupported("a part with this name has no row in the database");
        let places: Option<Vec<RowKey<'_>>> = set.changes.iter().map(|(part, _)| self.place(part)).collect();
        let places = places.ok_or(nowhere)?;
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
        let whole =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(commit_error)?;
        for (place, (part, change)) in places.iter().zip(&set.changes) {
            place.change(&whole, part, change)?;
        }
        whole.commit().map_err(commit_error)?;
        self.checkpoint = moved(connection);
        Ok(())
    }

    fn whole(&self, part: &str) -> io::Result<Vec<u8>> {
        let row = self.place(part).map_or(Ok(None), |place| place.read(&self.connection()))?;
        Ok(row.unwrap_or_default())
    }
}

/// Returns the names of a table's rows whose group and id have a prefix; a prefix with `/` names a
/// whole group.
fn rows_of(connection: &Connection, table: &Table, begins: &str) -> io::Result<Vec<PartId>> {
    let Table { name, group, id, .. } = table;
    let (group, id) = (quoted(group), quoted(id));
    let (with, first, second) = match begins.split_once('/') {
        Some((whole, begins)) => {
            (format!("{group} = ?1 AND substr({id}, 1, length(?2)) = ?2"), whole, begins)
        }
        None if begins.is_empty() => ("?1 = ?2".to_owned(), "", ""),
        None => (format!("{group} >= ?1 AND substr({group}, 1, length(?2)) = ?2"), begins, begins),
    };
    let sql = format!("SELECT {group}, {id} FROM {} WHERE {with}", quoted(name));
    let mut statement = connection.prepare(&sql).map_err(io_error)?;
    let mut rows = statement.query(params![plain(first), plain(second)]).map_err(io_error)?;
    let mut names = Vec::new();
    while let Some(row) = rows.next().map_err(io_error)? {
        let value = |at: usize| row.get_ref(at).ok().and_then(name_of);
        // A row without a name cannot be addressed.
        let Some((group, id)) = value(0).zip(value(1)) else { continue };
        names.push(format!("{name}/{}/{}", escaped(&group), escaped(&id)));
    }
    Ok(names)
}

fn name_of(cell: ValueRef<'_>) -> Option<String> {
    match cell {
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(str::to_owned),
        _ => None,
    }
}

/// Moves the log into the database as far as other programs let it.
fn moved(connection: &Connection) -> Option<Checkpoint> {
    let row = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(Checkpoint { is_busy: row.get::<_, i64>(0)? != 0, n_logged: row.get(1)?, n_moved: row.get(2)? })
    });
    row.ok().filter(|checkpoint| checkpoint.n_logged >= 0)
}

#[cfg(test)]
mod tests;
