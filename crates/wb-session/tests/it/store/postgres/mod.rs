//! Sessions in a real PostgreSQL server; where none is installed, the tests skip.

mod writers;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use wb_session::store::postgres::{PostgresStore, PostgresUrl};
use wb_session::{Durability, StoreError};
use wb_testkit::postgres::Server;

use crate::store::files::Opened;

/// The server that tests of this process share; it stops after the last of them.
static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static N_SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Returns the shared server; none if it is not installed.
fn server() -> Option<Arc<Server>> {
    let mut known = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = known.upgrade() {
        return Some(running);
    }
    let started = Arc::new(Server::start()?);
    *known = Arc::downgrade(&started);
    Some(started)
}

/// Returns the name of a new session in a database.
fn session_in(database: &str, name: &str) -> PostgresUrl {
    let name = format!("{name} {}", N_SESSIONS.fetch_add(1, Ordering::SeqCst));
    PostgresUrl::parse(database).unwrap().with_session(&name)
}

fn session(server: &Server, name: &str) -> PostgresUrl {
    session_in(&server.socket_url(), name)
}

fn open(url: &PostgresUrl) -> PostgresStore {
    match PostgresStore::open(url, Durability::Always) {
        Err(StoreError::NoSession { .. }) => PostgresStore::create(url, Durability::Always).unwrap(),
        opened => opened.unwrap(),
    }
}

/// Checks a law on the store in a database.
pub(crate) fn each_store(name: &str, law: &dyn Fn(&dyn Fn() -> Opened, bool)) {
    let Some(server) = server() else { return };
    let url = session(&server, name);
    law(&|| Box::new(open(&url)), true);
}
