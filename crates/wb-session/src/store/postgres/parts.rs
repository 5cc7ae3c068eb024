//! The lines of one session as the bytes of a file, for documents and their lists of operations.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use wb_record::{Access, Bytes, Change, ChangeSet, CommitError, MemoryParts, PartId, Parts};

use super::connection::{Backend, Connection, notify, take_lock_of_transaction};
use super::fault::Fault;
use super::lines::{self, List, NewLines};
use super::schema::{ENTRIES_LOCK, OPERATIONS_LOCK};
use super::store::{connect, session_of};
use super::url::PostgresUrl;
use crate::error::StoreError;
use crate::store::Durability;

/// The lines of a session to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The session itself.
    Entries,
    /// The list of operations on it; it has no bytes before the first one.
    Operations,
}

impl PartKind {
    fn number(self) -> i16 {
        match self {
            Self::Entries => 0,
            Self::Operations => 1,
        }
    }

    fn lock(self) -> i32 {
        match self {
            Self::Entries => ENTRIES_LOCK,
            Self::Operations => OPERATIONS_LOCK,
        }
    }
}

/// One part without a name, whose lines are rows; it is read once, and again if others wrote.
///
/// Whole lines are appended, and cut off at the very end; no line is changed. A commit is one
/// transaction under the lock of the session's writer.
#[derive(Debug)]
pub struct PostgresParts {
    connection: Connection,
    list: List,
    kind: PartKind,
    access: Access,
    held: MemoryParts,
}

impl PostgresParts {
    /// Reads the lines of a session. Whoever opens the operations to write holds their lock until
    /// they are dropped.
    pub fn open(url: &PostgresUrl, kind: PartKind, access: Access) -> Result<Self, StoreError> {
        let connection = connect(url, Durability::Always)?;
        let list = List { session: session_of(&connection)?, number: kind.number() };
        let failed = |fault: Fault| fault.into_error(url);
        if (kind, access) == (PartKind::Operations, Access::Write) {
            connection.hold(kind.lock(), list.session).map_err(failed)?;
        }
        let held = read(&connection, list, kind).map_err(failed)?;
        Ok(Self { connection, list, kind, access, held })
    }

    fn failed(&self, doing: &'static str, fault: Fault) -> CommitError {
        match fault {
            Fault::Busy => CommitError::Busy,
            fault => {
                let source = io::Error::other(fault.into_error(self.connection.url()));
                CommitError::Io { doing, source }
            }
        }
    }

    fn read_again(&mut self) -> Result<(), CommitError> {
        let read = read(&self.connection, self.list, self.kind);
        self.held = read.map_err(|fault| self.failed("read the session again", fault))?;
        Ok(())
    }

    /// Finds out whether changes are in the database after their connection was lost.
    fn settle(&mut self, before: &MemoryParts, after: &MemoryParts, what: &str) -> Result<(), CommitError> {
        let is_read = self.read_again().is_ok();
        let source = io::Error::other(what.to_owned());
        match &self.held {
            now if is_read && now == after => Ok(()),
            now if is_read && now == before => {
                Err(CommitError::Io { doing: "write to the database", source })
            }
            _ => {
                let path = self.connection.url().path();
                Err(CommitError::Unknown { path, doing: "writing to the database", source })
            }
        }
    }
}

/// Reads all lines.
fn read(connection: &Connection, list: List, kind: PartKind) -> Result<MemoryParts, Fault> {
    let tail = connection.repeat(move |it| async move { lines::tail(&it.client, list).await })?;
    let (mut bytes, mut from) = (Vec::new(), 0);
    while from < tail.end {
        let end = tail.end;
        let some = connection
            .repeat(move |it| async move { lines::read(&it.client, list, from, end, lines::CHUNK).await });
        let (some, next) = some?;
        for (_, record) in some {
            bytes.extend_from_slice(&record);
            bytes.push(b'\n');
        }
        from = next;
    }
    let is_none = bytes.is_empty() && kind == PartKind::Operations;
    Ok(if is_none { MemoryParts::default() } else { MemoryParts::from_bytes(bytes) })
}

/// A change of the lines.
#[derive(Clone, Debug)]
enum Step {
    Append { at: i64, bytes: Vec<u8> },
    Cut { at: i64, old: Vec<u8> },
}

impl Step {
    fn new(part: &str, change: &Change) -> Result<Self, CommitError> {
        let place = |at: &u64| i64::try_from(*at).unwrap_or(i64::MAX);
        let step = match change {
            _ if !part.is_empty() => {
                return Err(CommitError::Unsupported("a session of the database has one part"));
            }
            Change::Append { at, new } => Self::Append { at: place(at), bytes: new.0.clone() },
            Change::Create { new } => Self::Append { at: 0, bytes: new.0.clone() },
            Change::Cut { at, old: Bytes(old) } => Self::Cut { at: place(at), old: old.clone() },
            Change::Remove { old: Bytes(old) } => Self::Cut { at: 0, old: old.clone() },
            Change::Splice { .. } => {
                let what = "a line in a database is never changed; write to a file with -o";
                return Err(CommitError::Unsupported(what));
            }
        };
        let (Self::Append { bytes, .. } | Self::Cut { old: bytes, .. }) = &step;
        if bytes.last().is_some_and(|last| *last != b'\n') {
            return Err(CommitError::Unsupported("a database holds whole lines"));
        }
        Ok(step)
    }

    fn place(&self) -> i64 {
        match self {
            Self::Append { at, .. } | Self::Cut { at, .. } => *at,
        }
    }

    /// Carries it out; false if the lines are not as expected.
    async fn run(&self, backend: &Backend, list: List) -> Result<bool, Fault> {
        match self {
            Self::Append { at, bytes } => {
                let tail = lines::tail(&backend.client, list).await?;
                let records =
                    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| &line[..line.len() - 1]);
                let new = NewLines::new(tail, list.number, records);
                Ok(tail.end == *at && (new.ats.is_empty() || lines::insert(backend, list, &new).await?))
            }
            Self::Cut { at, old } => {
                let found = lines::cut(&backend.client, list, *at).await?;
                Ok(found.iter().map(|record| record.len() + 1).sum::<usize>() == old.len()
                    && old.split(|byte| *byte == b'\n').zip(&found).all(|(line, record)| line == record))
            }
        }
    }
}

/// Carries out all steps or none; returns the place where the lines are not as expected.
async fn commit(
    backend: Arc<Backend>,
    list: List,
    lock: i32,
    steps: Vec<Step>,
) -> Result<Option<i64>, Fault> {
    let client = &backend.client;
    client.batch_execute("BEGIN").await?;
    let mut done = take_lock_of_transaction(client, (lock, list.session)).await.map(|()| None);
    for step in steps {
        if matches!(done, Ok(None)) {
            done = step.run(&backend, list).await.map(|is_done| (!is_done).then(|| step.place()));
        }
    }
    if matches!(done, Ok(None)) {
        done = notify(client, list.session).await.map(|()| None);
    }
    let end = if matches!(done, Ok(None)) { "COMMIT" } else { "ROLLBACK" };
    if !matches!(done, Err(Fault::Lost(_))) {
        client.batch_execute(end).await?;
    }
    done
}

impl Parts for PostgresParts {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        self.held.list(prefix)
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        self.held.len(part)
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        self.held.read(part, range, out)
    }

    fn held(&self, part: &str) -> Option<&[u8]> {
        self.held.held(part)
    }

    fn reopen(&self) -> io::Result<Box<dyn Parts>> {
        self.held.reopen()
    }

    fn commit(&mut self, set: &ChangeSet) -> Result<(), CommitError> {
        if self.access == Access::Read {
            return Err(CommitError::ReadOnly);
        }
        let steps = set.changes.iter().map(|(part, change)| Step::new(part, change));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        let (before, mut after) = (self.held.clone(), self.held.clone());
        after.commit(set)?;
        // What fails before the first statement has changed nothing.
        let connected = self.connection.repeat(|_| async { Ok(()) });
        connected.map_err(|fault| self.failed("connect to the database", fault))?;
        let (list, lock) = (self.list, self.kind.lock());
        match self.connection.once(|it| commit(it, list, lock, steps)) {
            Ok(None) => self.held = after,
            Ok(Some(at)) => {
                self.read_again()?;
                return Err(CommitError::Stale { part: PartId::new(), at: at.unsigned_abs() });
            }
            Err(Fault::Lost(what)) => return self.settle(&before, &after, &what),
            Err(fault) => return Err(self.failed("write to the database", fault)),
        }
        Ok(())
    }
}
