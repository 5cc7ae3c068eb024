//! Several programs at one session: one writes, others read and learn of new entries.

use std::thread;
use std::time::Duration;

use wb_session::store::postgres::{PostgresStore, sessions};
use wb_session::{Durability, EntryStore, StoreError};

use super::{open, server, session};
use crate::store::files::texts;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let Some(server) = server() else { return };
    let url = session(&server, "locked");
    let mut writer = open(&url);
    writer.append(b"{\"type\":\"session\"}").unwrap();
    let error = PostgresStore::open(&url, Durability::Always).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    let mut reader = PostgresStore::open_for_reading(&url).unwrap();
    writer.append(b"{}").unwrap();
    assert_eq!(texts(&reader).len(), 1, "a reader sees the session as it was when it was opened");
    assert_eq!(texts(&PostgresStore::open_for_reading(&url).unwrap()).len(), 2);
    assert!(matches!(reader.append(b"{}").unwrap_err(), StoreError::ReadOnly { .. }));
    let listed = sessions(&url).unwrap().into_iter().find(|it| it.url.session() == url.session()).unwrap();
    assert_eq!((listed.n_bytes, listed.is_open), (22, true));
    drop(writer);
    open(&url).append(b"{}").unwrap();
}

#[test]
fn a_reader_learns_of_what_others_append() {
    let Some(server) = server() else { return };
    let url = session(&server, "heard");
    let mut writer = open(&url);
    let mut reader = PostgresStore::open_for_reading(&url).unwrap();
    assert!(!reader.wait_for_more(Duration::ZERO).unwrap());
    let waits = thread::spawn(move || {
        assert!(reader.wait_for_more(LONG).unwrap());
        texts(&reader)
    });
    writer.append(b"{\"a\":1}").unwrap();
    assert_eq!(waits.join().unwrap(), ["{\"a\":1}"]);
}
