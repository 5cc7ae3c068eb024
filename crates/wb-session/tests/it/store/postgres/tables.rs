//! The tables: made once, by whoever comes first, and never changed by an older version.

use std::thread;

use wb_session::store::postgres::{PostgresStore, PostgresUrl, sessions};
use wb_session::{Durability, StoreError};

use super::{open, server, session_in};

fn database(server: &wb_testkit::postgres::Server, name: &str) -> String {
    server.sql(&format!("CREATE DATABASE {name}"));
    let url = server.socket_url();
    format!("{}/{name}", url.strip_suffix("/postgres").unwrap())
}

#[test]
fn the_tables_are_made_once_by_whoever_comes_first() {
    let Some(server) = server() else { return };
    let database = database(server, "fresh");
    let url = PostgresUrl::parse(&database).unwrap();
    assert!(sessions(&url).unwrap().is_empty(), "reading makes no tables");
    assert!(matches!(
        PostgresStore::open(&url.with_session("s"), Durability::Always),
        Err(StoreError::NoSession { .. })
    ));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| drop(open(&session_in(&database, "first"))));
        }
    });
    let made = PostgresUrl::parse(&database).unwrap();
    assert_eq!(sessions(&made).unwrap().len(), 6);
}

#[test]
fn tables_of_a_newer_version_are_left_alone() {
    let Some(server) = server() else { return };
    let database = database(server, "newer");
    let url = session_in(&database, "old");
    drop(open(&url));
    server.sql_in("newer", "INSERT INTO wb_migration (version) VALUES (99)");
    for error in [
        PostgresStore::open_for_reading(&url).unwrap_err(),
        PostgresStore::create(&session_in(&database, "new"), Durability::Always).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::OtherVersion { found: 99, .. }), "{error}");
        assert_eq!(error.hint(), "use a newer version of this program");
    }
}
