//! The laws of stores, for each of them, and what is special about files.

use std::path::{Path, PathBuf};

use wb_record::{FileError, FileParts, write_new};
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::store::staged::StagedStore;
use wb_session::{Durability, EntryStore, IdSource, Session, SessionError, StoreError};
use wb_testkit::shared::bytes_of;

use crate::support::{append_bytes, fresh};

/// A way to open one and the same store again and again; stores in memory begin anew each time.
pub(crate) type Opened = Box<dyn EntryStore>;

fn jsonl(path: &Path) -> Opened {
    let open = if path.exists() { JsonlStore::open } else { JsonlStore::create };
    Box::new(open(path.to_owned(), Durability::Always).unwrap())
}

/// Checks a law on each store that a closure can open; the flag marks a store that outlives its
/// value.
pub(crate) fn each_store(name: &str, law: impl Fn(&dyn Fn() -> Opened, bool)) {
    law(&|| Box::new(MemoryStore::default()), false);
    let path = fresh(&format!("{name}.jsonl"));
    law(&|| jsonl(&path), true);
    let path = fresh(&format!("{name}-staged.jsonl"));
    drop(JsonlStore::create(&path, Durability::Never).unwrap());
    law(&|| Box::new(StagedStore::open(&path).unwrap()), false);
    #[cfg(feature = "postgres")]
    super::postgres::each_store(name, &law);
}

fn all(store: &dyn EntryStore) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    let mut take =
        |position, record: &[u8]| all.push((position, String::from_utf8(record.to_vec()).unwrap()));
    store.read_all(&mut take).unwrap();
    all
}

pub(crate) fn texts(store: &dyn EntryStore) -> Vec<String> {
    all(store).into_iter().map(|(_, text)| text).collect()
}

fn record(at: usize) -> String {
    format!("{{\"at\":{at},\"text\":\"{}\"}}", "é".repeat(at * at * 7 % 90_000))
}

#[test]
fn what_was_appended_is_read_in_order_at_ascending_positions_also_after_opening_again() {
    each_store("order", |open, outlives| {
        let (mut store, mut positions) = (open(), Vec::new());
        assert!(all(&*store).is_empty());
        for at in 0..40 {
            positions.push(store.append(record(at).as_bytes()).unwrap());
            if at % 10 == 9 && outlives {
                drop(store);
                store = open();
            }
        }
        store.sync().unwrap();
        assert!(positions.is_sorted_by(|a, b| a < b));
        let expected: Vec<_> = positions.iter().copied().zip((0..40).map(record)).collect();
        assert_eq!(all(&*store), expected);
    });
}

#[test]
fn each_record_is_found_at_its_position_and_none_elsewhere_behind_the_last() {
    each_store("single", |open, _| {
        let mut store = open();
        let positions = [0, 120, 3, 77, 0].map(|at| store.append(record(at).as_bytes()).unwrap());
        let mut found = b"of before".to_vec();
        for (position, at) in positions.into_iter().zip([0, 120, 3, 77, 0]).rev() {
            store.read_at(position, &mut found).unwrap();
            assert_eq!(String::from_utf8_lossy(&found), record(at));
        }
        for position in [positions[4] + 1_000, u64::MAX] {
            let error = store.read_at(position, &mut found).unwrap_err();
            assert!(matches!(error, StoreError::NoRecord { .. }), "{error}");
        }
    });
}

#[test]
fn lines_of_a_part_stay_before_what_follows() {
    for (lines, n_lines) in [("", 0), ("{}\n\nno JSON\n", 3), ("{}\n{\"at\":1}", 2)] {
        let path = with("behind.jsonl", lines);
        let parts = FileParts::open_for_reading(&path).unwrap();
        let mut store = MemoryStore::over(Box::new(parts)).unwrap();
        let positions = store.append_all(&[b"{\"at\":2}", b"{\"at\":3}"]).unwrap();
        let seen = all(&store);
        assert_eq!(
            seen[n_lines..],
            [(positions[0], "{\"at\":2}".into()), (positions[1], "{\"at\":3}".into())]
        );
        assert!(lines.lines().eq(seen[..n_lines].iter().map(|(_, text)| text.as_str())));
        let mut found = Vec::new();
        for (position, text) in seen {
            store.read_at(position, &mut found).unwrap();
            assert_eq!(String::from_utf8_lossy(&found), text);
        }
        assert_eq!(text_of(&path), lines);
    }
}

#[test]
fn records_of_one_step_are_what_records_of_several_are() {
    each_store("steps", |open, outlives| {
        let mut store = open();
        let first = store.append(record(1).as_bytes()).unwrap();
        let texts_of_step = [record(60), record(0), record(7)];
        let step = texts_of_step.each_ref().map(String::as_bytes);
        let positions = store.append_all(&step).unwrap();
        assert!(store.append_all(&[]).unwrap().is_empty());
        let last = store.append(record(2).as_bytes()).unwrap();
        if outlives {
            drop(store);
            store = open();
        }
        let expected = [&[first], &positions[..], &[last]].concat();
        assert!(expected.is_sorted_by(|a, b| a < b));
        let numbers = [1, 60, 0, 7, 2];
        assert_eq!(all(&*store), expected.into_iter().zip(numbers.map(record)).collect::<Vec<_>>());
    });
}

#[test]
fn where_one_record_of_a_step_is_none_nothing_is_written() {
    each_store("step-refused", |open, _| {
        let mut store = open();
        let error = store.append_all(&[b"{}", b"{\"a\":1}", b"{"]).unwrap_err();
        assert!(matches!(error, StoreError::BadRecord { .. }), "{error}");
        assert!(all(&*store).is_empty());
        store.append(b"{\"b\":2}").unwrap();
        assert_eq!(texts(&*store), ["{\"b\":2}"]);
    });
}

#[test]
fn what_is_no_record_is_refused_and_leaves_nothing_behind() {
    each_store("refused", |open, _| {
        let mut store = open();
        store.append(b"{}").unwrap();
        for bad in [&b""[..], b"{}\n", b"{\"a\":\n1}", b"[]", b"7", b" {}", b"{", b"{} {}", b"\xFF"] {
            let error = store.append(bad).unwrap_err();
            assert!(matches!(error, StoreError::BadRecord { .. }), "{error}");
        }
        store.append(b"{\"b\":2}").unwrap();
        assert_eq!(texts(&*store), ["{}", "{\"b\":2}"]);
    });
}

#[test]
fn a_store_is_an_object_and_can_be_shared() {
    fn check<T: Send + Sync + ?Sized>() {}
    check::<dyn EntryStore>();
    check::<JsonlStore>();
}

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

fn with(name: &str, text: &str) -> PathBuf {
    let path = fresh(name);
    append_bytes(&path, text.as_bytes());
    path
}

fn text_of(path: &Path) -> String {
    String::from_utf8(bytes_of(path)).unwrap()
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let path = with("locked.jsonl", HEADER);
    let mut writer = JsonlStore::open(&path, Durability::Never).unwrap();
    let error = JsonlStore::open(&path, Durability::Never).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("locked.jsonl") && error.hint().contains("close the other program"));
    let mut reader = JsonlStore::open_for_reading(&path).unwrap();
    writer.append(b"{}").unwrap();
    assert_eq!(texts(&reader).len(), 1, "a reader sees the file as it was when it was opened");
    assert_eq!(texts(&JsonlStore::open_for_reading(&path).unwrap()).len(), 2);
    assert!(matches!(reader.append(b"{}").unwrap_err(), StoreError::ReadOnly { .. }));
    drop(writer);
    JsonlStore::open(&path, Durability::Never).unwrap().append(b"{}").unwrap();
}

#[test]
fn a_torn_line_is_moved_aside_by_a_writer_and_left_alone_by_a_reader() {
    let path = with("torn.jsonl", &format!("{HEADER}{{\"a\":1}}\n{{\"b\":"));
    let reader = JsonlStore::open_for_reading(&path).unwrap();
    assert_eq!((texts(&reader).len(), reader.torn().unwrap().kept_in.as_ref()), (2, None));
    let mut writer = JsonlStore::open(&path, Durability::Always).unwrap();
    let torn = writer.torn().unwrap().clone();
    assert_eq!((torn.position, torn.n_bytes), (HEADER.len() as u64 + 8, 5));
    writer.append(b"{\"c\":3}").unwrap();
    assert_eq!(text_of(&path), format!("{HEADER}{{\"a\":1}}\n{{\"c\":3}}\n"));
    let aside = torn.kept_in.unwrap();
    assert_eq!(
        (aside.file_name().unwrap().to_str(), text_of(&aside)),
        (Some("torn.jsonl.torn"), "{\"b\":\n".into())
    );
    drop(writer);
    append_bytes(&path, b"\0\0\0");
    assert!(JsonlStore::open(&path, Durability::Always).unwrap().torn().is_some());
    assert_eq!(text_of(&aside), "{\"b\":\n\0\0\0\n", "what was moved aside before stays");
}

#[test]
fn a_last_line_that_lacks_only_its_line_feed_gets_it() {
    let path = with("unended.jsonl", &format!("{HEADER}{{\"a\":1}}"));
    assert_eq!(texts(&JsonlStore::open_for_reading(&path).unwrap()).len(), 2);
    let mut writer = JsonlStore::open(&path, Durability::Always).unwrap();
    assert!(writer.torn().is_none());
    writer.append(b"{}").unwrap();
    assert_eq!(text_of(&path), format!("{HEADER}{{\"a\":1}}\n{{}}\n"));
}

/// Appends to a store that stages, and checks that the file is not touched.
fn staged(path: &Path, records: &[&[u8]]) -> StagedStore {
    let before = bytes_of(path);
    let mut store = StagedStore::open(path).unwrap();
    for record in records {
        let position = store.append(record).unwrap();
        let mut found = Vec::new();
        store.read_at(position, &mut found).unwrap();
        assert_eq!(found, *record);
    }
    assert!(
        texts(&store)
            .iter()
            .map(String::as_bytes)
            .rev()
            .take(records.len())
            .eq(records.iter().rev().copied())
    );
    assert_eq!(bytes_of(path), before);
    store
}

#[test]
fn what_is_staged_is_written_in_one_step_or_not_at_all() {
    let records: [&[u8]; 2] = [b"{\"b\":2}", b"{\"c\":3}"];
    let whole = "{\"a\":1}\n";
    for (end, kept, is_torn) in
        [("", "", false), (whole, whole, false), ("{\"a\":1}", whole, false), ("{\"a\":", "", true)]
    {
        let path = with("staged.jsonl", &format!("{HEADER}{end}"));
        drop(staged(&path, &records));
        assert_eq!(text_of(&path), format!("{HEADER}{end}"), "what is not synced is forgotten");
        let mut store = staged(&path, &records);
        store.sync().unwrap();
        let after = format!("{HEADER}{kept}{{\"b\":2}}\n{{\"c\":3}}\n");
        assert_eq!((text_of(&path), texts(&store).join("\n") + "\n"), (after.clone(), after));
        assert_eq!(store.torn().is_some_and(|torn| torn.kept_in.is_some()), is_torn);
        assert!(matches!(JsonlStore::open(&path, Durability::Never), Err(StoreError::Locked { .. })));
        store.append(b"{}").unwrap();
        store.sync().unwrap();
        assert!(text_of(&path).ends_with("\n{}\n"), "it goes on as a writer");
    }
    let path = with("staged.jsonl", &format!("{HEADER}{{\"a\":1}}"));
    StagedStore::open(&path).unwrap().sync().unwrap();
    assert_eq!(text_of(&path), format!("{HEADER}{{\"a\":1}}"), "nothing is repaired for nothing");
}

#[test]
fn what_is_staged_is_not_written_to_a_file_that_changed() {
    let text = format!("{HEADER}{{\"a\":1}}\n");
    for now in [format!("{text}{{}}\n"), HEADER.to_owned(), text.replace('1', "2")] {
        let path = with("staged-changed.jsonl", &text);
        let mut store = staged(&path, &[b"{\"b\":2}"]);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        append_bytes(&path, now.as_bytes());
        for _ in 0..2 {
            let error = store.sync().unwrap_err();
            assert!(matches!(error, StoreError::Changed { .. }), "{error}");
        }
        assert_eq!(text_of(&path), now);
    }
    let path = with("staged-locked.jsonl", &text);
    let mut store = staged(&path, &[b"{\"b\":2}"]);
    let writer = JsonlStore::open(&path, Durability::Never).unwrap();
    assert!(matches!(store.sync(), Err(StoreError::Locked { .. })));
    drop(writer);
    store.sync().unwrap();
    assert_eq!(text_of(&path), format!("{text}{{\"b\":2}}\n"));
}

#[test]
fn a_file_that_is_something_else_is_refused_and_left_alone() {
    for text in ["notes\nfor me", "{\n  \"a\": 1\n}", "{\"type\":\"session\",\"ver", "\n\n", "[1]\n{\"a\":"] {
        let path = with("other.jsonl", text);
        let error = JsonlStore::open(&path, Durability::Always).unwrap_err();
        assert!(matches!(error, StoreError::NotALog { .. }), "{error}");
        assert_eq!(text_of(&path), text);
    }
    let path = with("empty.jsonl", "");
    JsonlStore::open(&path, Durability::Always).unwrap().append(b"{}").unwrap();
    assert_eq!(text_of(&path), "{}\n");
    let missing = JsonlStore::open(fresh("missing.jsonl"), Durability::Always).unwrap_err();
    assert!(missing.to_string().contains("missing.jsonl: opening it failed"), "{missing}");
    let error = JsonlStore::create(&path, Durability::Always).unwrap_err();
    assert!(matches!(error, StoreError::File(FileError::Exists { .. })), "{error}");
}

#[test]
fn a_file_that_another_program_changed_is_not_written_to() {
    let path = with("foreign.jsonl", HEADER);
    let mut store = JsonlStore::open(&path, Durability::Always).unwrap();
    append_bytes(&path, b"{\"foreign\":1}\n");
    for _ in 0..2 {
        let error = store.append(b"{\"own\":1}").unwrap_err();
        assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    }
    assert_eq!(texts(&store).len(), 1, "what was there when it was opened can still be read");
    drop(store);
    JsonlStore::open(&path, Durability::Always).unwrap().append(b"{\"own\":1}").unwrap();
    assert_eq!(text_of(&path), format!("{HEADER}{{\"foreign\":1}}\n{{\"own\":1}}\n"));
}

#[cfg(unix)]
#[test]
fn a_file_that_was_removed_or_replaced_is_not_written_to() {
    let path = with("replaced.jsonl", HEADER);
    let mut store = JsonlStore::open(&path, Durability::Never).unwrap();
    std::fs::remove_file(&path).unwrap();
    append_bytes(&path, HEADER.as_bytes());
    let error = store.append(b"{}").unwrap_err();
    assert!(matches!(error, StoreError::Changed { found: 0, .. }), "{error}");
    assert_eq!(text_of(&path), HEADER);
}

/// `/dev/full` takes no byte, so an append to it fails as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn an_append_that_fails_is_an_error_that_names_the_file() {
    let mut store = JsonlStore::open("/dev/full", Durability::Never).unwrap();
    let error = store.append(b"{}").unwrap_err();
    assert!(error.to_string().starts_with("/dev/full: appending to it failed"), "{error}");
}

#[test]
fn a_session_is_written_to_a_new_file_whole_or_not_at_all() {
    let path = fresh("new.jsonl");
    let session = |log: &[u8]| Session::open(Box::new(MemoryStore::of_lines(log)), IdSource::new(1)).unwrap();
    let write = |log: &[u8]| write_new::<SessionError>(&path, None, false, |out| session(log).write_to(out));
    let failed = write_new::<SessionError>(&path, None, false, |out| {
        session(HEADER.as_bytes()).write_to(out)?;
        Err(SessionError::Empty)
    });
    assert!(failed.is_err() && !path.exists());
    write(HEADER.as_bytes()).unwrap();
    let error = write(b"{\"type\":\"session\",\"version\":3,\"id\":\"other\"}").unwrap_err();
    assert!(matches!(error, SessionError::Store(StoreError::File(FileError::Exists { .. }))), "{error}");
    assert_eq!(text_of(&path), HEADER);
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    const TORN: &str = "{\"b\":";

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_new_log_is_private_and_a_torn_end_gets_the_mode_of_its_log() {
        let path = fresh("private.jsonl");
        JsonlStore::create(&path, Durability::Never).unwrap().append(b"{}").unwrap();
        assert_eq!(mode(&path), 0o600);
        for expected in [0o600, 0o640] {
            let path = with("torn-mode.jsonl", &format!("{HEADER}{TORN}"));
            fs::set_permissions(&path, fs::Permissions::from_mode(expected)).unwrap();
            let store = JsonlStore::open(&path, Durability::Never).unwrap();
            let aside = store.torn().unwrap().kept_in.clone().unwrap();
            assert_eq!((mode(&path), mode(&aside)), (expected, expected));
        }
    }

    #[test]
    fn a_torn_end_is_not_written_through_a_link() {
        let path = with("torn-link.jsonl", &format!("{HEADER}{TORN}"));
        let victim = with("victim", "precious\n");
        symlink(&victim, path.with_extension("jsonl.torn")).unwrap();
        let error = JsonlStore::open(&path, Durability::Always).unwrap_err();
        assert!(matches!(error, StoreError::File(FileError::Link { .. })), "{error}");
        assert!(error.to_string().ends_with(&format!("is a link to {}", victim.display())), "{error}");
        assert_eq!((text_of(&victim), text_of(&path)), ("precious\n".to_owned(), format!("{HEADER}{TORN}")));
    }

    #[test]
    fn a_log_behind_a_link_is_read_and_not_written() {
        let (path, link) = (with("linked.jsonl", HEADER), fresh("link.jsonl"));
        symlink("linked.jsonl", &link).unwrap();
        assert_eq!(texts(&JsonlStore::open_for_reading(&link).unwrap()).len(), 1);
        let error = JsonlStore::open(&link, Durability::Always).unwrap_err();
        assert_eq!(error.hint(), "name the file that the link leads to");
        assert_eq!(text_of(&path), HEADER);
    }

    #[test]
    fn after_a_move_nothing_is_appended_to_the_file_that_was_moved() {
        let (path, moved) = (with("before-move.jsonl", HEADER), fresh("moved.jsonl"));
        let mut store = JsonlStore::open(&path, Durability::Never).unwrap();
        fs::rename(&path, &moved).unwrap();
        for _ in 0..2 {
            let error = store.append(b"{}").unwrap_err();
            assert!(matches!(error, StoreError::Changed { found: 0, .. }), "{error}");
            assert_eq!(text_of(&moved), HEADER);
            // Another program begins a new session under the name.
            append_bytes(&path, HEADER.as_bytes());
        }
        assert_eq!(text_of(&moved), HEADER);
    }
}
