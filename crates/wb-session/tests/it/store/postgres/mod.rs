//! Sessions in a real PostgreSQL server; where none is installed, the tests skip.

mod writers;
mod parts;
mod kills;
mod outages;
mod secrets;
mod tables;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use wb_session::store::postgres::{PostgresStore, PostgresUrl};
use wb_session::store::staged::StagedStore;
use wb_session::{Durability, StoreError};
use wb_testkit::postgres::Server;

use crate::store::files::Opened;

/// The server that the tests of this process share.
static SERVER: OnceLock<Option<Server>> = OnceLock::new();
static N_SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Returns the shared server; none if it is not installed.
fn server() -> Option<&'static Server> {
    SERVER.get_or_init(Server::start).as_ref()
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

/// Checks a law on the stores in a database.
pub(crate) fn each_store(name: &str, law: &dyn Fn(&dyn Fn() -> Opened, bool)) {
    let Some(server) = server() else { return };
    let url = session(server, name);
    law(&|| Box::new(open(&url)), true);
    let url = session(server, name);
    drop(open(&url));
    law(&|| Box::new(StagedStore::open_in_database(&url).unwrap()), false);
}
