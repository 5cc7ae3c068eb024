//! One file as parts.

use std::fs;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use wb_record::recover::progress;
use wb_record::{
    Bytes, Change, ChangeSet, CommitError, FileError, FileParts, MemoryParts, PartReader, Parts,
};

/// A folder with one file in it.
fn place(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn set(changes: impl IntoIterator<Item = Change>) -> ChangeSet {
    ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() }
}

fn bytes(text: &str) -> Bytes {
    Bytes(text.into())
}

fn append(at: u64, new: &str) -> Change {
    Change::Append { at, new: bytes(new) }
}

fn splice(at: u64, old: &str, new: &str) -> Change {
    Change::Splice { at, old: bytes(old), new: bytes(new) }
}

fn text(path: &Path) -> String {
    String::from_utf8(fs::read(path).unwrap()).unwrap()
}

/// Names in a folder; a leftover draft would be among them.
fn names(folder: &TempDir) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn every_change_is_applied_and_reverted() {
    let (folder, path) = place("one two\n");
    let mut parts = FileParts::open(&path).unwrap();
    for (changes, after) in [
        (vec![append(8, "three\n")], Some("one two\nthree\n")),
        (vec![append(8, "3\n"), append(10, "4\n")], Some("one two\n3\n4\n")),
        (vec![splice(4, "two", "2"), append(6, "3\n")], Some("one 2\n3\n")),
        (vec![Change::Cut { at: 4, old: bytes("two\n") }], Some("one ")),
        (vec![Change::Remove { old: bytes("one two\n") }], None),
        (vec![], Some("one two\n")),
    ] {
        let set = set(changes);
        parts.commit(&set).unwrap();
        assert_eq!(path.exists().then(|| text(&path)).as_deref(), after);
        assert_eq!(parts.len("").unwrap(), after.map(|text| text.len() as u64));
        assert_eq!(String::from_utf8(parts.whole("").unwrap()).unwrap(), after.unwrap_or_default());
        parts.commit(&set.inverse()).unwrap();
        assert_eq!((text(&path).as_str(), names(&folder)), ("one two\n", vec!["s.jsonl".to_owned()]));
    }
}

#[test]
fn a_part_is_read_by_place_and_is_the_only_one() {
    let (_folder, path) = place("0123456789");
    let parts = FileParts::open_for_reading(&path).unwrap();
    let read = |range| {
        let mut out = b">".to_vec();
        parts.read("", range, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!([read(2..5), read(8..99), read(50..u64::MAX)], [">234", ">89", ">"]);
    assert_eq!(std::io::read_to_string(PartReader::new(&parts, "", 7).unwrap()).unwrap(), "789");
    assert_eq!((parts.list("").unwrap(), parts.list("x").unwrap()), (vec![String::new()], Vec::new()));
    assert_eq!((parts.len("x").unwrap(), parts.whole("x").unwrap()), (None, Vec::new()));
}

#[test]
fn a_file_is_opened_once_more_to_be_read_unless_another_has_its_name() {
    let (folder, path) = place("one\n");
    let mut parts = FileParts::open(&path).unwrap();
    let mut again = parts.reopen().unwrap();
    parts.commit(&set([append(4, "two\n")])).unwrap();
    assert_eq!(again.whole("").unwrap(), b"one\ntwo\n");
    assert!(matches!(again.commit(&set([append(8, "x")])), Err(CommitError::ReadOnly)));
    fs::rename(&path, folder.path().join("moved.jsonl")).unwrap();
    assert!(parts.reopen().is_err());
    fs::write(&path, "another\n").unwrap();
    assert!(parts.reopen().is_err());
    assert_eq!(MemoryParts::from_bytes("held").reopen().unwrap().whole("").unwrap(), b"held");
}

#[test]
fn a_part_is_read_on_in_chunks_by_lines_and_by_bytes() {
    let text = (0..30_000).fold(String::new(), |text, n| text + &format!("line {n}\n"));
    let parts = MemoryParts::from_bytes(text.as_str());
    let reader = |from| PartReader::new(&parts, "", from).unwrap();
    assert!(reader(0).lines().map(Result::unwrap).eq(text.lines()));
    let mut bytes = Vec::new();
    reader(5).take(150_000).read_to_end(&mut bytes).unwrap();
    assert!(bytes == text.as_bytes()[5..150_005]);
    assert_eq!(reader(u64::MAX).fill_buf().unwrap(), b"");
}

#[test]
fn what_finds_something_else_changes_nothing() {
    let (folder, path) = place("one two\n");
    let mut parts = FileParts::open(&path).unwrap();
    for changes in [
        vec![append(7, "x")],
        vec![append(9, "x")],
        vec![append(u64::MAX, "x"), append(u64::MAX, "y")],
        vec![splice(u64::MAX, "x", "y")],
        vec![Change::Cut { at: u64::MAX, old: bytes("x") }],
        vec![append(8, "x"), append(8, "y")],
        vec![splice(0, "two", "x")],
        vec![splice(0, "one", "x"), splice(0, "one", "y")],
        vec![Change::Cut { at: 0, old: bytes("one two") }],
        vec![Change::Cut { at: 4, old: bytes("TWO\n") }],
        vec![Change::Remove { old: bytes("one") }],
        vec![Change::Create { new: bytes("one") }],
    ] {
        let set = set(changes);
        let error = parts.commit(&set).unwrap_err();
        assert!(matches!(error, CommitError::Stale { .. }), "{error}");
        progress(&parts, &set).unwrap();
    }
    let elsewhere = ChangeSet::append("x", 0, b"x".to_vec());
    assert!(matches!(parts.commit(&elsewhere), Err(CommitError::Unsupported(_))));
    let mut reader = FileParts::open_for_reading(&path).unwrap();
    assert!(matches!(reader.commit(&set([append(8, "x")])), Err(CommitError::ReadOnly)));
    assert!(matches!(reader.append(8, b"x", true), Err(CommitError::ReadOnly)));
    assert_eq!((text(&path).as_str(), names(&folder)), ("one two\n", vec!["s.jsonl".to_owned()]));
}

#[test]
fn a_file_that_is_not_there_is_created_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.jsonl");
    assert!(matches!(FileParts::open(&path), Err(FileError::Io { .. })));
    let create = set([Change::Create { new: bytes("{}\n") }]);
    let (mut first, mut second) = (FileParts::begin(&path), FileParts::begin(&path));
    assert!(matches!(first.commit(&set([append(0, "x")])), Err(CommitError::Stale { .. })));
    first.commit(&create).unwrap();
    let error = second.commit(&create).unwrap_err();
    assert!(matches!(error, CommitError::File(FileError::Exists { .. })), "{error}");
    first.commit(&set([append(3, "[]\n")])).unwrap();
    assert_eq!((text(&path).as_str(), names(&folder)), ("{}\n[]\n", vec!["new.jsonl".to_owned()]));
}

#[test]
fn of_two_writers_the_second_is_refused_while_the_first_holds_the_lock() {
    let (_folder, path) = place("{}\n");
    let (mut first, mut second) = (FileParts::open(&path).unwrap(), FileParts::open(&path).unwrap());
    first.commit(&set([append(3, "a\n")])).unwrap();
    second.commit(&set([append(5, "b\n")])).unwrap();
    first.hold().unwrap();
    assert!(matches!(second.hold(), Err(CommitError::Busy)));
    for changes in [append(7, "c\n"), splice(0, "{}", "[]"), Change::Cut { at: 5, old: bytes("b\n") }] {
        assert!(matches!(second.commit(&set([changes])), Err(CommitError::Busy)));
    }
    first.commit(&set([splice(0, "{}", "[]")])).unwrap();
    let mut third = FileParts::open(&path).unwrap();
    assert!(
        matches!(third.commit(&set([append(7, "c\n")])), Err(CommitError::Busy)),
        "the new file is held too"
    );
    drop(first);
    third.commit(&set([append(7, "c\n")])).unwrap();
    assert_eq!(text(&path), "[]\na\nb\nc\n");
}

/// Writers that append and one that replaces the file, each of them refused occasionally.
#[test]
fn writers_at_the_same_time_lose_nothing() {
    let (folder, path) = place("0\n");
    let is_written = |change: &dyn Fn(&[u8]) -> Change| {
        let Ok(mut parts) = FileParts::open(&path) else { return false };
        let change = change(&parts.whole("").unwrap());
        match parts.commit(&set([change])) {
            Ok(()) => true,
            Err(CommitError::Busy | CommitError::Stale { .. } | CommitError::Replaced { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    };
    let write = |writer: usize| {
        for at in 0..20 {
            let line = format!("{writer} {at}\n");
            let change = |before: &[u8]| match writer {
                0 => splice(0, std::str::from_utf8(&before[..1]).unwrap(), &(at % 10).to_string()),
                _ => append(before.len() as u64, &line),
            };
            while !is_written(&change) {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || write(writer));
        }
    });
    let text = text(&path);
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((lines.len(), text.lines().count()), (60, 61));
    assert_eq!(names(&folder), ["s.jsonl"]);
}

#[test]
fn what_others_appended_meanwhile_makes_a_change_stale_and_stays() {
    let (_folder, path) = place("{}\n");
    let mut parts = FileParts::open(&path).unwrap();
    fs::write(&path, "{}\nforeign\n").unwrap();
    for change in [append(3, "ours\n"), Change::Cut { at: 0, old: bytes("{}\n") }] {
        assert!(matches!(parts.commit(&set([change])), Err(CommitError::Stale { .. })));
    }
    parts.commit(&set([splice(0, "{}", "[]")])).unwrap();
    assert_eq!(text(&path), "[]\nforeign\n");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn another_file_under_the_name_is_left_alone() {
        let (folder, path) = place("{}\n");
        let moved = folder.path().join("moved.jsonl");
        for change in [append(3, "x"), splice(0, "{}", "[]"), Change::Remove { old: bytes("{}\n") }] {
            let mut parts = FileParts::open(&path).unwrap();
            fs::rename(&path, &moved).unwrap();
            let error = parts.commit(&set([change.clone()])).unwrap_err();
            assert!(matches!(error, CommitError::Replaced { .. }), "{error}");
            fs::write(&path, "{}\n").unwrap();
            let error = parts.commit(&set([change])).unwrap_err();
            assert!(matches!(error, CommitError::Replaced { .. }), "{error}");
            assert_eq!((text(&path).as_str(), text(&moved).as_str()), ("{}\n", "{}\n"));
        }
        let mut parts = FileParts::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&moved, &path).unwrap();
        assert!(matches!(parts.commit(&set([append(3, "x")])), Err(CommitError::Replaced { .. })));
        assert_eq!(text(&moved), "{}\n");
    }

    #[test]
    fn a_link_is_read_and_never_written_through() {
        let (folder, path) = place("{}\n");
        let link = folder.path().join("link.jsonl");
        symlink("s.jsonl", &link).unwrap();
        assert_eq!(FileParts::open_for_reading(&link).unwrap().whole("").unwrap(), b"{}\n");
        let error = FileParts::open(&link).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: is a link to {}", link.display(), path.display()));
        assert_eq!(error.hint(), "name the file that the link leads to");
        let dangling = folder.path().join("dangling.jsonl");
        symlink("victim.jsonl", &dangling).unwrap();
        let create = set([Change::Create { new: bytes("x") }]);
        FileParts::begin(&dangling).commit(&create).unwrap_err();
        assert!(!folder.path().join("victim.jsonl").exists());
    }

    #[test]
    fn what_is_new_is_private_and_what_replaces_keeps_mode_and_owner() {
        let (folder, path) = place("{}\n");
        for (expected, owner) in [(0o640, 4242), (0o600, 4242), (0o664, 0)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(expected)).unwrap();
            let may_give = std::os::unix::fs::chown(&path, Some(owner), Some(owner)).is_ok();
            FileParts::open(&path).unwrap().commit(&set([splice(0, "{}", "{}")])).unwrap();
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!(metadata.mode() & 0o777, expected);
            assert!(!may_give || (metadata.uid(), metadata.gid()) == (owner, owner));
        }
        let new = folder.path().join("new.jsonl");
        FileParts::begin(&new).commit(&set([Change::Create { new: bytes("x") }])).unwrap();
        assert_eq!(mode(&new), 0o600);
    }
}
