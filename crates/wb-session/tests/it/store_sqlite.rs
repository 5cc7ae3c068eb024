//! What is special about tables.

use std::path::Path;

use rusqlite::Connection;
use wb_session::store::sqlite::SqliteStore;
use wb_session::{Durability, EntryStore, StoreError};

use crate::store::texts;
use crate::support::fresh;

#[test]
fn of_two_writers_of_one_table_the_second_is_told_that_the_log_changed() {
    let path = fresh("writers.db");
    let open = || SqliteStore::open(&path, "one", Durability::Never).unwrap();
    let (mut first, mut second) = (open(), open());
    first.append(b"{\"a\":1}").unwrap();
    let error = second.append(b"{\"b\":2}").unwrap_err();
    assert!(matches!(error, StoreError::Changed { expected: 0, found: 1, .. }), "{error}");
    assert_eq!((texts(&first), texts(&second).len()), (vec!["{\"a\":1}".to_owned()], 0));
}

/// The wait is the five seconds after which a writer gives up.
#[test]
fn a_writer_that_does_not_get_the_database_is_told_that_it_is_locked() {
    let path = fresh("busy.db");
    let mut store = SqliteStore::open(&path, "one", Durability::Never).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.append_all(&[b"{}", b"{}"]).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(texts(&store).is_empty());
    other.execute_batch("COMMIT").unwrap();
    store.append(b"{\"a\":1}").unwrap();
    assert_eq!(texts(&store), ["{\"a\":1}"]);
}

#[test]
fn writers_at_the_same_time_are_told_that_the_log_changed_and_lose_nothing() {
    let path = &fresh("race.db");
    let open = || SqliteStore::open(path, "one", Durability::Never).unwrap();
    drop(open());
    let n_written = |writer: usize| {
        let mut n_written = 0;
        for at in 0..200 {
            match open().append(format!("{{\"writer\":{writer},\"at\":{at}}}").as_bytes()) {
                Ok(_) => n_written += 1,
                Err(error) => assert!(matches!(error, StoreError::Changed { .. }), "{error}"),
            }
        }
        n_written
    };
    let n_written: usize = std::thread::scope(|scope| {
        let writers = [0, 1].map(|writer| scope.spawn(move || n_written(writer)));
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(n_written >= 200, "{n_written}");
    assert_eq!(texts(&open()).len(), n_written);
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_database_of_another_version_is_refused_and_left_as_it_is() {
    let path = fresh("version.db");
    SqliteStore::open(&path, "one", Durability::Never).unwrap().append(b"{}").unwrap();
    assert_eq!(version(&path), 1);
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 0).unwrap();
    SqliteStore::open(&path, "one", Durability::Never).unwrap();
    assert_eq!(version(&path), 1, "the first databases said no version");
    other.pragma_update(None, "user_version", 2).unwrap();
    for error in [
        SqliteStore::open(&path, "one", Durability::Never).unwrap_err(),
        SqliteStore::open_for_reading(&path, "one").unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::OtherVersion { found: 2, known: 1, .. }), "{error}");
    }
    assert_eq!(version(&path), 2);
}

#[test]
fn a_database_that_is_read_is_not_written() {
    let path = fresh("read.db");
    SqliteStore::open_for_reading(&path, "one").unwrap_err();
    assert!(!path.exists());
    let mut writer = SqliteStore::open(&path, "one", Durability::Never).unwrap();
    writer.append(b"{\"a\":1}").unwrap();
    let mut reader = SqliteStore::open_for_reading(&path, "one").unwrap();
    assert!(matches!(reader.append(b"{}"), Err(StoreError::ReadOnly { .. })));
    reader.sync().unwrap();
    writer.append(b"{\"b\":2}").unwrap();
    assert_eq!((texts(&reader), texts(&writer).len()), (vec!["{\"a\":1}".to_owned()], 2));
    assert!(texts(&SqliteStore::open_for_reading(&path, "none").unwrap()).is_empty());
    let mut in_memory = SqliteStore::open(":memory:", "one", Durability::Never).unwrap();
    in_memory.append(b"{}").unwrap();
    assert!(!Path::new(":memory:").exists());
}

/// The wait is the five seconds after which a checkpoint gives up.
#[test]
fn a_checkpoint_that_a_reader_holds_up_is_no_success() {
    let path = fresh("checkpoint.db");
    let mut store = SqliteStore::open(&path, "one", Durability::OnClose).unwrap();
    store.append(b"{}").unwrap();
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM records").unwrap();
    store.append(b"{}").unwrap();
    let error = store.sync().unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    reader.execute_batch("COMMIT").unwrap();
    store.sync().unwrap();
}

#[cfg(unix)]
#[test]
fn a_new_database_is_private_with_what_stands_next_to_it() {
    use std::os::unix::fs::MetadataExt;
    let path = fresh("private.db");
    let mut store = SqliteStore::open(&path, "one", Durability::Never).unwrap();
    store.append(b"{}").unwrap();
    for name in ["private.db", "private.db-wal", "private.db-shm"] {
        assert_eq!(std::fs::metadata(path.with_file_name(name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
}
