use std::path::PathBuf;

use super::*;
use crate::parts::change::Bytes;

const TABLES: &[Table] = &[
    Table { name: "note", group: "book", id: "id", columns: &["text"] },
    Table { name: "page", group: "note_id", id: "id", columns: &[] },
];

const OTHER: &[Table] = &[Table { name: "entry", group: "id", id: "id", columns: &[] }];
const NEWER: &[Table] = &[Table { name: "note", group: "book", id: "id", columns: &["text", "sort"] }];

const SCHEMA: &str = r#"
    PRAGMA journal_mode = WAL;
    CREATE TABLE note (id text PRIMARY KEY, book text NOT NULL, text text, weight real, n integer, raw);
    CREATE TABLE page (
        id integer PRIMARY KEY, note_id text NOT NULL REFERENCES note(id) ON DELETE CASCADE, text text
    );
    CREATE INDEX book ON note (book, id);
    INSERT INTO note VALUES
        ('a', 'x', '{"said": "é 😀\u0000 \n"}', 1.0, 9007199254740993, NULL),
        ('b', 'x', '', 0.1, -1, 'text'),
        ('c/1', 'y%', NULL, 1e300, 0, 7),
        ('d', 'z', NULL, NULL, NULL, x'00FF'),
        ('e', 'z', NULL, 9e999, NULL, NULL);
    INSERT INTO page VALUES (7, 'a', 'seven'), (12, 'a', 'twelve');
"#;

/// A database in a folder that goes away with it.
struct Database {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Database {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a base?%.db");
        Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
        Self { _folder: folder, path }
    }

    fn open(&self, access: Access) -> SqliteParts {
        SqliteParts::open(&self.path, TABLES, access).unwrap()
    }

    fn host(&self) -> Connection {
        Connection::open(&self.path).unwrap()
    }
}

fn set(changes: &[(&str, Change)]) -> ChangeSet {
    ChangeSet { changes: changes.iter().map(|(part, change)| ((*part).to_owned(), change.clone())).collect() }
}

fn create(row: &str) -> Change {
    Change::Create { new: Bytes(row.into()) }
}

fn text(parts: &SqliteParts, part: &str) -> String {
    String::from_utf8(parts.whole(part).unwrap()).unwrap()
}

fn all(parts: &SqliteParts) -> Vec<(PartId, Vec<u8>)> {
    let names = parts.list("").unwrap().into_iter();
    names.filter_map(|name| parts.whole(&name).ok().map(|row| (name, row))).collect()
}

#[test]
fn a_row_is_an_object_of_its_columns_in_their_order() {
    let parts = Database::new().open(Access::Read);
    assert_eq!(
        text(&parts, "note/x/a"),
        r#"{"id":"a","book":"x","text":"{\"said\": \"é 😀\\u0000 \\n\"}","weight":1.0,"n":9007199254740993,"raw":null}"#
    );
    assert_eq!(
        text(&parts, "note/y%25/c%2F1"),
        r#"{"id":"c/1","book":"y%","text":null,"weight":1e+300,"n":0,"raw":7}"#
    );
    assert_eq!(text(&parts, "page/a/7"), r#"{"id":7,"note_id":"a","text":"seven"}"#);
    for nowhere in ["", "note", "note/x", "note/y/a", "other/x/a"] {
        assert_eq!((parts.len(nowhere).unwrap(), text(&parts, nowhere).as_str()), (None, ""));
    }
    let mut some = Vec::new();
    parts.read("page/a/7", 1..5, &mut some).unwrap();
    parts.read("page/a/7", 900..901, &mut some).unwrap();
    assert_eq!(some, b"\"id\"");
}

#[test]
fn rows_are_listed_by_the_beginning_of_their_names() {
    let parts = Database::new().open(Access::Read);
    let notes = ["note/x/a", "note/x/b", "note/y%25/c%2F1", "note/z/d", "note/z/e"];
    assert_eq!(parts.list("").unwrap(), [&notes[..], &["page/a/12", "page/a/7"]].concat());
    assert_eq!(parts.list("note/").unwrap(), notes);
    assert_eq!(parts.list("no").unwrap(), notes);
    for (prefix, found) in [
        ("note/x/", &notes[..2]),
        ("note/x", &notes[..2]),
        ("note/y", &notes[2..3]),
        ("note/y%25/c%2F", &notes[2..3]),
        ("note/x/b", &notes[1..2]),
        ("note/w/", &[]),
        ("other/", &[]),
    ] {
        assert_eq!(parts.list(prefix).unwrap(), found, "{prefix}");
    }
}

#[test]
fn a_group_is_found_by_its_index() {
    let database = Database::new();
    let host = database.host();
    let plan: String = host
        .query_row(
            "EXPLAIN QUERY PLAN SELECT book, id FROM note WHERE book = 'x' AND substr(id, 1, 0) = ''",
            [],
            |row| row.get(3),
        )
        .unwrap();
    assert!(plan.contains("SEARCH note USING COVERING INDEX book (book=?)"), "{plan}");
}

#[test]
fn a_row_with_a_blob_or_an_endless_number_is_there_and_cannot_be_read() {
    let parts = Database::new().open(Access::Read);
    for (part, what) in
        [("note/z/d", "\"raw\" holds a blob"), ("note/z/e", "\"weight\" holds a number without an end")]
    {
        let error = parts.whole(part).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().ends_with(what), "{error}");
    }
}

#[test]
fn rows_are_created_changed_and_removed_and_all_is_reverted() {
    let database = Database::new();
    let mut parts = database.open(Access::Write);
    let before = all(&parts);
    let old = Bytes(parts.whole("note/x/b").unwrap());
    let note = r#"{"id":"n","book":"x","text":"{\"a\":1}","weight":-0.5,"n":null,"raw":2.5}"#;
    let set = set(&[
        ("note/x/n", create(note)),
        ("page/n/40", create(r#"{"id":40,"note_id":"n","text":null}"#)),
        ("note/x/a", Change::Splice { at: 32, old: Bytes("said".into()), new: Bytes("cut".into()) }),
        ("note/x/b", Change::Remove { old }),
    ]);
    parts.commit(&set).unwrap();
    assert!(parts.checkpoint().is_some_and(|checkpoint| !checkpoint.is_busy && checkpoint.n_logged > 0));
    let parts = database.open(Access::Read);
    assert_eq!(text(&parts, "note/x/n"), note);
    assert!(text(&parts, "note/x/a").contains(r#""text":"{\"cut\": "#));
    assert_eq!(parts.list("note/x/").unwrap(), ["note/x/a", "note/x/n"]);
    let mut parts = database.open(Access::Write);
    database.host().execute("INSERT INTO note VALUES ('host', 'x', NULL, NULL, NULL, NULL)", []).unwrap();
    parts.commit(&set.inverse()).unwrap();
    database.host().execute("DELETE FROM note WHERE id = 'host'", []).unwrap();
    assert_eq!(all(&parts), before);
}

#[test]
fn a_row_that_is_not_as_expected_undoes_the_whole_change() {
    let database = Database::new();
    let mut parts = database.open(Access::Write);
    let before = all(&parts);
    let fine = ("note/x/n", create(r#"{"id":"n","book":"x","text":null,"weight":null,"n":null,"raw":null}"#));
    for (part, wrong) in [
        ("note/x/a", create("{}")),
        ("note/x/a", Change::Remove { old: Bytes("{}".into()) }),
        ("note/x/a", Change::Splice { at: 0, old: Bytes("[".into()), new: Bytes::default() }),
        ("note/x/none", Change::Splice { at: 0, old: Bytes::default(), new: Bytes::default() }),
    ] {
        let refused = parts.commit(&set(&[fine.clone(), (part, wrong)]));
        assert!(matches!(refused, Err(CommitError::Stale { part: named, .. }) if named == part));
        assert_eq!(all(&parts), before);
    }
}

#[test]
fn what_would_not_be_read_back_is_not_written() {
    let database = Database::new();
    let mut parts = database.open(Access::Write);
    let before = all(&parts);
    let row =
        |text: &str| format!(r#"{{"id":"n","book":"x","text":{text},"weight":null,"n":null,"raw":null}}"#);
    for (part, row) in [
        ("note/x/n", row("true")),
        ("note/x/n", row("[1]")),
        ("note/x/n", row("18446744073709551615")),
        // The column would turn the number into a text.
        ("note/x/n", row("12")),
        ("note/other/n", row("null")),
        ("note/x/n", row("null").replace(",\"raw\":null", "")),
        ("note/x/n", row("null").replace(",\"n\"", ", \"n\"")),
        ("note", row("null")),
    ] {
        let refused = parts.commit(&set(&[(part, create(&row))]));
        assert!(matches!(refused, Err(CommitError::Unsupported(_))), "{row}: {refused:?}");
        assert_eq!(all(&parts), before);
    }
    let unknown = row("null").replace("raw", "rare");
    assert!(matches!(parts.commit(&set(&[("note/x/n", create(&unknown))])), Err(CommitError::Io { .. })));
}

#[test]
fn no_row_goes_that_was_not_named() {
    let database = Database::new();
    let mut parts = database.open(Access::Write);
    let before = all(&parts);
    let old = Bytes(parts.whole("note/x/a").unwrap());
    let refused = parts.commit(&set(&[("note/x/a", Change::Remove { old })]));
    assert!(matches!(refused, Err(CommitError::Unsupported(_))), "its pages would go with it");
    assert_eq!(all(&parts), before);
}

#[test]
fn a_lock_of_another_program_is_reported() {
    let database = Database::new();
    let mut parts = database.open(Access::Write);
    parts.connection().busy_timeout(Duration::from_millis(20)).unwrap();
    let host = database.host();
    host.execute_batch("BEGIN IMMEDIATE").unwrap();
    let change = Change::Splice { at: 7, old: Bytes("a".into()), new: Bytes("a".into()) };
    assert!(matches!(parts.commit(&set(&[("note/x/a", change.clone())])), Err(CommitError::Busy)));
    assert!(!text(&parts, "note/x/a").is_empty(), "it can be read meanwhile");
    host.execute_batch("ROLLBACK").unwrap();
    parts.commit(&set(&[("note/x/a", change)])).unwrap();
}

#[test]
fn a_reader_that_keeps_the_log_from_being_moved_is_reported() {
    let database = Database::new();
    let mut parts = database.open(Access::Write);
    let host = database.host();
    host.execute_batch("BEGIN; SELECT count(*) FROM note").unwrap();
    let change = Change::Splice { at: 7, old: Bytes("b".into()), new: Bytes("b2".into()) };
    let refused = parts.commit(&set(&[("note/x/b", change)]));
    assert!(matches!(refused, Err(CommitError::Unsupported(OTHER_ROW))), "the name of a row is its own");
    let change = Change::Splice { at: 28, old: Bytes("\"\"".into()), new: Bytes("\"new\"".into()) };
    parts.commit(&set(&[("note/x/b", change)])).unwrap();
    let checkpoint = parts.checkpoint().unwrap();
    assert!(checkpoint.n_moved < checkpoint.n_logged, "{checkpoint:?}");
    assert!(text(&database.open(Access::Read), "note/x/b").contains("\"new\""));
}

#[test]
fn a_database_that_is_read_is_not_changed() {
    let database = Database::new();
    let mut parts = database.open(Access::Read);
    assert!(matches!(parts.commit(&ChangeSet::default()), Err(CommitError::ReadOnly)));
    drop(parts);
    // There are no more writers: the log is in the file, and a read-only folder is enough.
    database.host().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    let frozen = frozen(&database.path).unwrap();
    assert_eq!(missing(&frozen, TABLES).unwrap(), None);
}

#[test]
fn what_is_not_such_a_database_is_refused_by_name() {
    let database = Database::new();
    let refused = |path: &Path, tables| {
        SqliteParts::open(path, tables, Access::Read).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(&database.path, OTHER), "the database has no table \"entry\"");
    assert_eq!(refused(&database.path, NEWER), "the table \"note\" of the database has no column \"sort\"");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file.as_file(), "no database at all\n".repeat(90).as_bytes()).unwrap();
    assert!(refused(file.path(), TABLES).starts_with("the database cannot be read: file is not a database"));
    assert!(
        refused(&database.path.with_extension("none"), TABLES).starts_with("the database cannot be read: ")
    );
}
