//! Several programs at one session: one writes, others read and learn of new entries.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use wb_session::store::postgres::{PostgresStore, PostgresUrl, sessions};
use wb_session::store::staged::StagedStore;
use wb_session::{Durability, EntryStore, StoreError};
use wb_testkit::depth::rounds;

use super::{open, server, session};
use crate::store::crash::{append_step, n_records};
use crate::store::files::texts;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let Some(server) = server() else { return };
    let url = session(server, "locked");
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
fn a_session_is_begun_once() {
    let Some(server) = server() else { return };
    let url = session(server, "begun");
    assert!(matches!(PostgresStore::open_for_reading(&url), Err(StoreError::NoSession { .. })));
    drop(PostgresStore::create(&url, Durability::Never).unwrap());
    let error = PostgresStore::create(&url, Durability::Never).unwrap_err();
    assert!(matches!(error, StoreError::SessionExists { .. }), "{error}");
    let nameless = PostgresUrl::parse(&server.socket_url()).unwrap();
    assert!(matches!(PostgresStore::create(&nameless, Durability::Never), Err(StoreError::NoSession { .. })));
}

#[test]
fn a_reader_learns_of_what_others_append() {
    let Some(server) = server() else { return };
    let url = session(server, "heard");
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

#[test]
fn an_entry_with_an_id_of_the_session_is_refused() {
    let Some(server) = server() else { return };
    let mut store = open(&session(server, "twice"));
    store.append(b"{\"type\":\"session\",\"id\":\"a\"}").unwrap();
    store.append_all(&[b"{\"id\":\"a\"}", b"{\"id\":\"b\"}"]).unwrap();
    let error = store.append_all(&[b"{\"id\":\"c\"}", b"{\"id\":\"b\"}"]).unwrap_err();
    assert!(matches!(error, StoreError::BadRecord { .. }), "{error}");
    store.append(b"{\"id\":\"c\"}").unwrap();
    assert_eq!(texts(&store).len(), 4);
}

#[test]
fn a_session_that_a_foreign_program_changed_is_not_written_to() {
    let Some(server) = server() else { return };
    for change in [
        "INSERT INTO wb_line (session, list, at, record) SELECT id, 0, 3, '{}' FROM wb_session WHERE name = $$",
        "DELETE FROM wb_line USING wb_session WHERE session = wb_session.id AND name = $$",
    ] {
        let url = session(server, "foreign");
        let (mut store, mut staged) = (open(&url), None);
        store.append(b"{}").unwrap();
        staged.replace(StagedStore::open_in_database(&url).unwrap());
        server.sql(&format!("{change}{}$$", url.session().unwrap()));
        for _ in 0..2 {
            let error = store.append(b"{\"own\":1}").unwrap_err();
            assert!(matches!(error, StoreError::Changed { .. }), "{error}");
        }
        let mut staged = staged.unwrap();
        staged.append(b"{\"own\":1}").unwrap();
        assert!(matches!(staged.sync(), Err(StoreError::Locked { .. })));
        drop(store);
        assert!(matches!(staged.sync(), Err(StoreError::Changed { .. })));
    }
}

#[test]
fn what_is_staged_is_written_in_one_step_or_not_at_all() {
    let Some(server) = server() else { return };
    let url = session(server, "staged");
    open(&url).append(b"{\"a\":1}").unwrap();
    let mut forgotten = StagedStore::open_in_database(&url).unwrap();
    forgotten.append(b"{}").unwrap();
    drop(forgotten);
    let mut staged = StagedStore::open_in_database(&url).unwrap();
    staged.append_all(&[b"{\"b\":2}", b"{\"c\":3}"]).unwrap();
    assert_eq!(texts(&PostgresStore::open_for_reading(&url).unwrap()).len(), 1);
    staged.sync().unwrap();
    assert!(matches!(PostgresStore::open(&url, Durability::Never), Err(StoreError::Locked { .. })));
    staged.append(b"{}").unwrap();
    staged.sync().unwrap();
    drop(staged);
    assert_eq!(texts(&open(&url)), ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "{}"]);
}

/// Writers that take turns at few sessions: whoever gets the lock appends where the last one ended.
#[test]
fn writers_that_compete_for_sessions_lose_and_repeat_nothing() {
    let Some(server) = server() else { return };
    let urls = [(); 3].map(|()| session(server, "contested"));
    let n_acknowledged = urls.each_ref().map(|_| AtomicUsize::new(0));
    let n_locked = Mutex::new(0);
    thread::scope(|scope| {
        for writer in 0..4 {
            let (urls, n_acknowledged, n_locked) = (&urls, &n_acknowledged, &n_locked);
            scope.spawn(move || {
                for round in 0..rounds(60) {
                    let at = (writer + round) % urls.len();
                    let created = PostgresStore::create(&urls[at], Durability::Never);
                    let opened = created.or_else(|_| PostgresStore::open(&urls[at], Durability::Never));
                    let Ok(mut store) = opened else {
                        *n_locked.lock().unwrap() += 1;
                        continue;
                    };
                    let first = n_records(&store);
                    let n = append_step(&mut store, first);
                    n_acknowledged[at].fetch_add(n, Ordering::SeqCst);
                }
            });
        }
    });
    for (url, n) in urls.iter().zip(&n_acknowledged) {
        assert_eq!(n_records(&open(url)), n.load(Ordering::SeqCst), "{n_locked:?}");
    }
}

/// Sixteen writers and many sessions at once.
#[test]
fn many_sessions_are_written_at_once() {
    let Some(server) = server() else { return };
    let urls: Vec<PostgresUrl> = (0..rounds(200)).map(|_| session(server, "one of many")).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some(url) = urls.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let (mut store, mut n) = (open(url), 0);
                    while n < 30 {
                        n += append_step(&mut store, n);
                    }
                    assert_eq!(n_records(&store), n);
                }
            });
        }
    });
    assert!(urls.iter().all(|url| n_records(&PostgresStore::open_for_reading(url).unwrap()) >= 30));
}
