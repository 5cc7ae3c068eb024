//! The records of one session in a database.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::connection::{Backend, Connection, Setup};
use super::fault::Fault;
use super::lines::{self, List, NewLines, Tail};
use super::notifications::notify_later;
use super::schema::{self, ENTRIES_LOCK, VERSION};
use super::url::PostgresUrl;
use crate::error::StoreError;
use crate::store::{Durability, EntryStore, Record};

/// Keeps records in a PostgreSQL database; a position is the byte at which a record would begin in
/// a file.
///
/// Each store has a connection of its own, which holds the lock of its session if it writes. A lost
/// connection is made again, and what was lost with it is repeated where that is safe. With a
/// durability other than [`Always`](Durability::Always), commits do not wait for the server's disk,
/// so a crash of the server counts as a power cut.
#[derive(Debug)]
pub struct PostgresStore {
    connection: Connection,
    list: List,
    tail: Tail,
    durability: Durability,
    is_writer: bool,
    is_broken: bool,
    is_synced: bool,
    /// The lines that were read last, since those around a line are read after it.
    near: Mutex<Vec<(i64, Vec<u8>)>>,
}

/// The time after which a reader looks by itself: a writer may be killed before it reports.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The bytes of lines that are read together.
const NEAR: i64 = 64 * 1024;

impl PostgresStore {
    /// Begins a session, and fails if there is one of this name; makes the tables where needed.
    pub fn create(url: &PostgresUrl, durability: Durability) -> Result<Self, StoreError> {
        let name = name_of(url)?;
        let connection = connect(url, durability)?;
        let created = connection.repeat(move |backend| {
            let name = name.clone();
            async move { lines::create(&backend.client, &name).await }
        });
        let session = created.map_err(|fault| fault.into_error(url))?;
        let session = session.ok_or_else(|| StoreError::SessionExists { path: url.path() })?;
        Self::writer(connection, session, durability)
    }

    /// Opens a session for reading and appending.
    pub fn open(url: &PostgresUrl, durability: Durability) -> Result<Self, StoreError> {
        let connection = connect(url, durability)?;
        let session = session_of(&connection)?;
        Self::writer(connection, session, durability)
    }

    /// Opens a session for reading, as it is now.
    pub fn open_for_reading(url: &PostgresUrl) -> Result<Self, StoreError> {
        let connection = connect(url, Durability::Always)?;
        let session = session_of(&connection)?;
        Self::new(connection, session, Durability::Always, false)
    }

    fn writer(connection: Connection, session: i32, durability: Durability) -> Result<Self, StoreError> {
        let held = connection.hold(ENTRIES_LOCK, session);
        held.map_err(|fault| fault.into_error(connection.url()))?;
        Self::new(connection, session, durability, true)
    }

    fn new(
        connection: Connection,
        session: i32,
        durability: Durability,
        is_writer: bool,
    ) -> Result<Self, StoreError> {
        let (list, tail) = (List { session, number: 0 }, Tail::default());
        let (is_broken, is_synced, near) = (false, true, Mutex::default());
        let mut store = Self { connection, list, tail, durability, is_writer, is_broken, is_synced, near };
        store.tail = store.tail_now()?;
        Ok(store)
    }

    /// Returns the name of the database and the session, without the password.
    pub fn url(&self) -> &PostgresUrl {
        self.connection.url()
    }

    /// Takes the lock of the writer, if the session still ends as it was read, with a record.
    pub(in crate::store) fn begin_to_write(&mut self, last: &[u8]) -> Result<(), StoreError> {
        let held = self.connection.hold(ENTRIES_LOCK, self.list.session);
        held.map_err(|fault| self.failed(fault))?;
        let now = self.tail_now()?;
        let found = now.last.map_or(Ok(Vec::new()), |at| self.near(at))?;
        if now != self.tail || found.last().is_some_and(|(_, record)| record != last) {
            return Err(self.changed(now));
        }
        self.is_writer = true;
        Ok(())
    }

    /// Waits until others appended records, for a limited time, and returns whether there are any;
    /// from then on they are read too.
    pub fn wait_for_more(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let listens = self.connection.listen_to(self.list.session);
        listens.map_err(|fault| self.failed(fault))?;
        let mut left = timeout;
        loop {
            let seen = self.connection.n_signals();
            if self.has_more()? {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
            let some = left.min(LOOK_EVERY);
            self.connection.wait_for_signal(seen, some);
            left -= some;
        }
    }

    fn has_more(&mut self) -> Result<bool, StoreError> {
        let now = self.tail_now()?;
        if now.end < self.tail.end {
            return Err(self.changed(now));
        }
        let before = std::mem::replace(&mut self.tail, now);
        if before != now {
            // An undo of others may have cut lines off before new ones came.
            self.near = Mutex::default();
        }
        Ok(before != now)
    }

    fn tail_now(&self) -> Result<Tail, StoreError> {
        let list = self.list;
        let tail = self.connection.repeat(move |it| async move { lines::tail(&it.client, list).await });
        tail.map_err(|fault| self.failed(fault))
    }

    /// Reads what follows the last record that is known.
    fn more(&self) -> Result<Vec<(i64, Vec<u8>)>, Fault> {
        let (list, from) = (self.list, self.tail.end);
        // Lines of another writer may begin in between.
        let from = self.tail.last.map_or(0, |last| last + 1).min(from);
        self.connection.repeat(move |it| async move {
            Ok(lines::read(&it.client, list, from, i64::MAX, i64::MAX).await?.0)
        })
    }

    /// Reads a line with those around it.
    fn near(&self, at: i64) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
        let (list, from, end) = (self.list, at - at % NEAR, self.tail.end);
        let read =
            self.connection.repeat(|it| async move { lines::read(&it.client, list, from, end, NEAR).await });
        read.map(|(lines, _)| lines).map_err(|fault| self.failed(fault))
    }

    fn failed(&self, fault: Fault) -> StoreError {
        fault.into_error(self.url())
    }

    fn changed(&self, found: Tail) -> StoreError {
        let (expected, found) = (self.tail.end.unsigned_abs(), found.end.unsigned_abs());
        StoreError::Changed { path: self.url().path(), expected, found }
    }

    /// Appends lines; after a lost connection it looks at what was stored, and repeats the rest.
    fn insert(&mut self, new: &Arc<NewLines>) -> Result<(), StoreError> {
        for _ in 0..=self.url().n_attempts {
            let (list, lines) = (self.list, Arc::clone(new));
            match self.connection.once(|it| append(it, list, lines)) {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    let now = self.tail_now()?;
                    return Err(self.changed(now));
                }
                Err(Fault::Lost(_)) => {
                    self.is_broken = true;
                    let more = self.more().map_err(|fault| self.failed(fault))?;
                    if new.are(&more) {
                        self.is_broken = false;
                        return Ok(());
                    }
                    if !more.is_empty() {
                        let now = self.tail_now()?;
                        return Err(self.changed(now));
                    }
                    self.is_broken = false;
                }
                Err(fault) if lines::is_repeated(&fault) => {
                    let what = "the session has an entry with this id".to_owned();
                    return Err(StoreError::BadRecord { what });
                }
                Err(fault) => return Err(self.failed(fault)),
            }
        }
        Err(self.failed(Fault::Lost("it is lost again and again".to_owned())))
    }
}

/// Appends lines and has them reported.
async fn append(backend: Arc<Backend>, list: List, lines: Arc<NewLines>) -> Result<bool, Fault> {
    let is_done = lines::insert(&backend, list, &lines).await?;
    if is_done {
        notify_later(&backend, list.session);
    }
    Ok(is_done)
}

fn name_of(url: &PostgresUrl) -> Result<String, StoreError> {
    url.session().map(str::to_owned).ok_or_else(|| StoreError::NoSession { path: url.path() })
}

/// Connects to a database whose tables are none or of a known version.
pub(super) fn connect(url: &PostgresUrl, durability: Durability) -> Result<Connection, StoreError> {
    let setup = Setup { is_relaxed: durability != Durability::Always, ..Setup::default() };
    let connection = Connection::open(url, setup).map_err(|fault| fault.into_error(url))?;
    let found = connection.repeat(|it| async move { schema::version(&it.client).await });
    let (found, known) = (found.map_err(|fault| fault.into_error(url))?, VERSION);
    if found > known {
        return Err(StoreError::OtherVersion { path: url.path(), found, known });
    }
    Ok(connection)
}

/// Returns the number of the session that the name has.
pub(super) fn session_of(connection: &Connection) -> Result<i32, StoreError> {
    let url = connection.url();
    let name = name_of(url)?;
    let found = connection.repeat(move |it| {
        let name = name.clone();
        async move {
            if schema::version(&it.client).await? == 0 {
                Ok(None)
            } else {
                lines::find(&it.client, &name).await
            }
        }
    });
    let found = found.map_err(|fault| fault.into_error(url))?;
    found.ok_or_else(|| StoreError::NoSession { path: url.path() })
}

impl EntryStore for PostgresStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        let path = || self.url().path();
        if !self.is_writer {
            return Err(StoreError::ReadOnly { path: path() });
        }
        if self.is_broken {
            return Err(StoreError::Broken { path: path() });
        }
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let new = Arc::new(NewLines::new(self.tail, self.list.number, records.iter().map(Record::bytes)));
        self.insert(&new)?;
        self.tail = new.tail();
        self.is_synced = self.durability == Durability::Always;
        Ok(new.ats.iter().map(|at| at.unsigned_abs()).collect())
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        let (list, end) = (self.list, self.tail.end);
        let (mut from, mut read_to) = (0, 0);
        while from < end {
            let some = self
                .connection
                .repeat(|it| async move { lines::read(&it.client, list, from, end, lines::CHUNK).await });
            let (some, next) = some.map_err(|fault| self.failed(fault))?;
            for (at, record) in some {
                read_to = at + lines::place(record.len() + 1);
                each(at.unsigned_abs(), &record);
            }
            from = next;
        }
        if read_to == end { Ok(()) } else { Err(self.changed(Tail { last: None, end: read_to })) }
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        record.clear();
        let none = || StoreError::NoRecord { position };
        let at = i64::try_from(position).map_err(|_| none())?;
        if at >= self.tail.end {
            return Err(none());
        }
        let mut near = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        if near.binary_search_by_key(&at, |line| line.0).is_err() {
            *near = self.near(at)?;
        }
        let found = near.binary_search_by_key(&at, |line| line.0).map_err(|_| none())?;
        record.extend_from_slice(&near[found].1);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.is_synced {
            return Ok(());
        }
        // A commit that waits for the disk waits for all commits before it.
        let session = self.list.session;
        let sql = format!(
            "BEGIN; SET LOCAL synchronous_commit = on;
             UPDATE wb_session SET synced_at = now() WHERE id = {session}; COMMIT"
        );
        let synced = self.connection.repeat(|it| {
            let sql = sql.clone();
            async move { Ok(it.client.batch_execute(&sql).await?) }
        });
        synced.map_err(|fault| self.failed(fault))?;
        self.is_synced = true;
        Ok(())
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        if self.is_writer && self.durability == Durability::OnClose {
            // A host that wants to know calls `sync` before.
            let _ = self.sync();
        }
    }
}
