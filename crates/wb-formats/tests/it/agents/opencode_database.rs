//! Databases of opencode, composed from exports, and those that its program wrote.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::Value;
use wb_formats::opencode::open_database;
use wb_formats::{Document, Note};
use wb_message::{Edit, Message, Patch, markers};
use wb_record::Access;
use wb_record::{
    Change, ChangeSet, CommitError, History, Item, MemoryParts, OperationKind, Parts, Stamp, UndoMethod,
    WriteError, items,
};

use crate::support::{files_of, fixture, open, shared};
use crate::writing::laws;

const SESSION: &str = "ses_3f0a";

const STAMP: Stamp =
    Stamp { now_ms: 1_800_000_000_000, seed: 9, tokens_before: 90_000, tokens_after: 9_000, by_hand: true };

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE session (
        id text PRIMARY KEY, parent_id text, directory text NOT NULL, revert text, time_updated integer NOT NULL
    );
    CREATE TABLE message (
        id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
    );
    CREATE TABLE part (
        id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE,
        session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
    );
    CREATE INDEX message_session ON message (session_id, time_created, id);
    CREATE INDEX part_message ON part (message_id, id);";

/// A database in a folder that goes away with it.
struct Database {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Database {
    /// Holds the sessions of composed exports.
    fn new(exports: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Self { path: folder.path().join("opencode.db"), _folder: folder };
        let host = database.host();
        host.execute_batch(SCHEMA).unwrap();
        for (at, export) in exports.iter().enumerate() {
            let export: Value = serde_json::from_slice(fixture(export)).unwrap();
            // Ids are one namespace: the second session has others.
            let text = export.to_string();
            let own = if at == 0 {
                text
            } else {
                text.replace("_0", &format!("_{at}")).replace("ses_3", &format!("ses_{}", 3 + at))
            };
            insert(&host, &serde_json::from_str(&own).unwrap());
        }
        database
    }

    fn copy(path: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("opencode.db");
        std::fs::copy(path, &copy).unwrap();
        Self { path: copy, _folder: folder }
    }

    fn host(&self) -> Connection {
        Connection::open(&self.path).unwrap()
    }

    fn open(&self, access: Access) -> Box<dyn Document> {
        open_database(&self.path, access).unwrap()
    }

    fn rows(&self) -> MemoryParts {
        copy(self.open(Access::Read).parts())
    }
}

fn copy(parts: &dyn Parts) -> MemoryParts {
    let names = parts.list("").unwrap();
    names.into_iter().map(|name| (name.clone(), parts.whole(&name).unwrap())).collect()
}

fn insert(host: &Connection, export: &Value) {
    let info = &export["info"];
    let session = info["id"].as_str().unwrap();
    let revert = info["revert"].is_object().then(|| info["revert"].to_string());
    let updated = info["time"]["updated"].as_i64();
    host.execute("INSERT INTO session VALUES (?1, NULL, '/w', ?2, ?3)", params![session, revert, updated])
        .unwrap();
    for message in export["messages"].as_array().unwrap() {
        let id = message["info"]["id"].as_str().unwrap();
        let created = message["info"]["time"]["created"].as_i64().unwrap();
        let data = without_names(&message["info"]);
        host.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", params![id, session, created, data])
            .unwrap();
        for part in message["parts"].as_array().unwrap() {
            let (name, data) = (part["id"].as_str().unwrap(), without_names(part));
            let row = params![name, id, session, created, data];
            host.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)", row).unwrap();
        }
    }
}

/// Returns the JSON as the column `data` has it.
fn without_names(value: &Value) -> String {
    let mut object = value.as_object().unwrap().clone();
    for name in ["id", "sessionID", "messageID"] {
        object.shift_remove(name);
    }
    Value::Object(object).to_string()
}

/// Adds a prompt and its answer as the program does it after a resume.
fn go_on(host: &Connection, now_ms: i64) {
    let user = r#"{"role":"user","time":{"created":1},"agent":"build","model":{"providerID":"acme","modelID":"claude-x"}}"#;
    let answer = r#"{"role":"assistant","parentID":"msg_z1","tokens":{"input":700,"output":5,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"claude-x","providerID":"acme","finish":"stop"}"#;
    for (at, (data, text)) in [(user, "And then?"), (answer, "Then this.")].into_iter().enumerate() {
        let (id, created) = (format!("msg_z{}", at + 1), now_ms + i64::try_from(at).unwrap());
        host.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", params![id, SESSION, created, data])
            .unwrap();
        let data = format!(r#"{{"type":"text","text":"{text}"}}"#);
        let row = params![format!("prt_z{at}"), id, SESSION, created, data];
        host.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)", row).unwrap();
    }
}

fn digest(text: &str) -> Message {
    Message::user(format!("{}\n{text}", markers::DIGEST_HEADER))
}

/// Folds everything before a message.
fn fold(document: &dyn Document, cut: usize) -> ChangeSet {
    let view = document.view(SESSION).unwrap();
    let patch = Patch::new(vec![Edit::Fold { range: 0..cut, with: vec![digest("D")] }]);
    document.render(SESSION, &view, &items(&patch, view.messages.len()), &STAMP).unwrap()
}

#[test]
fn a_session_of_a_database_is_read_like_its_export() {
    for export in
        ["opencode/session.json", "opencode/compacted.json", "opencode/digest.json", "opencode/reverted.json"]
    {
        let database = Database::new(&[export]);
        let view = database.open(Access::Read).view(SESSION).unwrap();
        let exported = open(fixture(export)).unwrap();
        assert_eq!((view.messages, view.usage), (exported.messages, exported.usage), "{export}");
        assert_eq!((view.notes, view.model), (exported.notes, exported.model), "{export}");
    }
}

#[test]
fn the_laws_hold_on_rows() {
    for export in ["opencode/session.json", "opencode/compacted.json", "opencode/digest.json"] {
        let tried = laws::holds(&Database::new(&[export]).rows(), 9);
        // The text sent for an interrupted call has no record, so it cannot be cleared.
        assert!(tried.refused < tried.folds, "{export} {tried:?}");
    }
}

#[test]
fn the_newest_main_session_comes_last() {
    let exports = ["opencode/session.json", "opencode/compacted.json", "opencode/digest.json"];
    let database = Database::new(&exports);
    let host = database.host();
    host.execute("UPDATE session SET time_updated = 99999, parent_id = 'ses_4f0a' WHERE id = 'ses_5f0a'", [])
        .unwrap();
    host.execute("UPDATE session SET time_updated = 9999 WHERE id = 'ses_3f0a'", []).unwrap();
    let document = database.open(Access::Read);
    let sessions = document.conversations().unwrap();
    assert_eq!(sessions, ["ses_5f0a", "ses_4f0a", "ses_3f0a"]);
    for (session, export) in sessions.iter().zip([exports[2], exports[1], exports[0]]) {
        let messages = document.view(session).unwrap().messages;
        assert_eq!(laws::said(&messages).len(), open(fixture(export)).unwrap().messages.len(), "{session}");
    }
    let none = document.view("ses_none").unwrap_err();
    assert_eq!(none.to_string(), "the database has no session \"ses_none\"");
}

#[test]
fn a_fold_is_undone_after_the_program_went_on() {
    for export in ["opencode/session.json", "opencode/compacted.json"] {
        let database = Database::new(&[export]);
        let mut document = database.open(Access::Write);
        let before = document.view(SESSION).unwrap();
        let cut = (2..before.messages.len()).find(|at| before.provenance.is_seam(*at)).unwrap();
        let set = fold(document.as_ref(), cut);
        document.commit(&set).unwrap();
        go_on(&database.host(), STAMP.now_ms + 5_000);
        document.refresh().unwrap();
        let after = document.view(SESSION).unwrap();
        assert_eq!(markers::digest_body(&after.messages[0]).as_deref(), Some("D"));
        // A call that was open is taken for interrupted by now.
        let n_kept = before.messages.len() - cut;
        assert_eq!(laws::said(&after.messages[1..=n_kept]), laws::said(&before.messages[cut..]));
        let [usage] = after.usage.as_slice() else { panic!("one request since") };
        assert_eq!((usage.at, usage.usage.prompt_tokens()), (after.messages.len() - 1, 700));
        document.commit(&set.inverse()).unwrap();
        let expected = Database::new(&[export]);
        go_on(&expected.host(), STAMP.now_ms + 5_000);
        assert_eq!(database.rows(), expected.rows());
    }
}

#[test]
fn a_pair_that_the_program_changed_is_removed_as_it_is() {
    let database = Database::new(&["opencode/session.json"]);
    let mut document = database.open(Access::Write);
    let before = document.view(SESSION).unwrap();
    let cut = (2..before.messages.len()).find(|at| before.provenance.is_seam(*at)).unwrap();
    let set = fold(document.as_ref(), cut);
    document.commit(&set).unwrap();
    database
        .host()
        .execute("UPDATE message SET time_updated = 5 WHERE time_created = ?1", [STAMP.now_ms])
        .unwrap();
    go_on(&database.host(), STAMP.now_ms + 5_000);
    document.refresh().unwrap();
    assert!(matches!(document.commit(&set.inverse()), Err(WriteError::Commit(CommitError::Stale { .. }))));
    let view = document.view(SESSION).unwrap();
    let record = |at: usize| Item::Old(before.provenance.places(at)[0].record.clone());
    let wanted: Vec<_> = (0..cut).map(record).chain((1..view.messages.len()).map(Item::Same)).collect();
    let back = document.render(SESSION, &view, &wanted, &STAMP).unwrap();
    document.commit(&back).unwrap();
    let expected = Database::new(&["opencode/session.json"]);
    go_on(&expected.host(), STAMP.now_ms + 5_000);
    assert_eq!(database.rows(), expected.rows());
}

#[test]
fn compactions_of_two_sessions_are_undone_in_any_order() {
    let database = Database::new(&["opencode/session.json", "opencode/session.json"]);
    let other = "ses_4f0a";
    let mut document = database.open(Access::Write);
    let mut history = History::open(Box::new(MemoryParts::default())).unwrap();
    let before = [SESSION, other].map(|name| laws::said(&document.view(name).unwrap().messages));
    for (seed, name) in [(1, SESSION), (2, other)] {
        let stamp = Stamp { seed, ..STAMP };
        let view = document.view(name).unwrap();
        let cut = (2..view.messages.len()).find(|at| view.provenance.is_seam(*at)).unwrap();
        let fold = Patch::new(vec![Edit::Fold { range: 0..cut, with: vec![digest("D")] }]);
        let set = document.render(name, &view, &items(&fold, view.messages.len()), &stamp).unwrap();
        history.change(OperationKind::Compact, document.as_mut(), name, &view, &set, &stamp).unwrap();
    }
    // This keeps the old bytes from coming back.
    let changed =
        "UPDATE message SET time_updated = time_updated + 1 WHERE session_id = ?1 AND time_created = ?2";
    database.host().execute(changed, params![SESSION, STAMP.now_ms]).unwrap();
    document.refresh().unwrap();
    assert_eq!(history.undo(document.as_mut(), Some(1), &STAMP).unwrap(), (1, UndoMethod::ByAppending));
    assert_eq!(laws::said(&document.view(SESSION).unwrap().messages), before[0]);
    assert_eq!(history.undo(document.as_mut(), None, &STAMP).unwrap(), (2, UndoMethod::Exactly));
    assert_eq!(laws::said(&document.view(other).unwrap().messages), before[1]);
}

#[test]
fn what_the_program_wrote_between_reading_and_writing_is_kept() {
    let database = Database::new(&["opencode/compacted.json"]);
    let mut document = database.open(Access::Write);
    let view = document.view(SESSION).unwrap();
    let cut = (2..view.messages.len()).find(|at| view.provenance.is_seam(*at)).unwrap();
    go_on(&database.host(), STAMP.now_ms - 5_000);
    let set = fold(document.as_ref(), cut);
    document.commit(&set).unwrap();
    let after = document.view(SESSION).unwrap();
    assert_eq!(after.messages.len(), 1 + view.messages.len() - cut + 2, "behind the tail that it belongs to");
}

#[test]
fn rows_that_cannot_be_read_are_left_alone() {
    let database = Database::new(&["opencode/session.json"]);
    let host = database.host();
    host.execute("UPDATE message SET data = x'00' WHERE id = 'msg_0001'", []).unwrap();
    host.execute("UPDATE part SET data = 'no json' WHERE message_id = 'msg_0008'", []).unwrap();
    let document = database.open(Access::Write);
    let view = document.view(SESSION).unwrap();
    assert!(view.notes.contains(&Note::UnreadableRecords { n: 2, line: 1 }), "{:?}", view.notes);
    assert!(matches!(view.messages[0], Message::Assistant { .. }));
    let cut = (2..view.messages.len()).find(|at| view.provenance.is_seam(*at)).unwrap();
    assert!(!fold(document.as_ref(), cut).is_empty());
}

#[test]
fn a_database_of_another_layout_is_refused_by_name() {
    let database = Database::new(&["opencode/session.json"]);
    database.host().execute_batch("ALTER TABLE message ADD COLUMN seq integer").unwrap();
    let document = database.open(Access::Write);
    let view = document.view(SESSION).unwrap();
    let patch = Patch::new(vec![Edit::Fold { range: 0..3, with: vec![digest("D")] }]);
    let refused = document.render(SESSION, &view, &items(&patch, view.messages.len()), &STAMP).unwrap_err();
    assert!(
        refused.to_string().ends_with("the table \"message\" has a column \"seq\" that is not known"),
        "{refused}"
    );
    database.host().execute_batch("DROP TABLE part").unwrap();
    let refused = open_database(&database.path, Access::Read).unwrap_err();
    assert_eq!(refused.to_string(), "the database has no table \"part\"");
}

#[test]
fn a_session_that_may_only_be_read_is_not_written() {
    let database = Database::new(&["opencode/session.json"]);
    let mut document = database.open(Access::Read);
    let set = fold(document.as_ref(), 3);
    assert!(matches!(document.commit(&set), Err(WriteError::Commit(CommitError::ReadOnly))));
}

#[test]
fn a_mark_on_a_result_is_one_small_change_of_its_row() {
    let database = Database::new(&["opencode/session.json"]);
    let document = database.open(Access::Write);
    let view = document.view(SESSION).unwrap();
    let at = view.messages.iter().position(|it| matches!(it, Message::ToolResult { .. })).unwrap();
    let patch = Patch::new(vec![Edit::Body { at, content: markers::cleared_body() }]);
    let set = document.render(SESSION, &view, &items(&patch, view.messages.len()), &STAMP).unwrap();
    let [(part, Change::Splice { old, new, .. })] = set.changes.as_slice() else { panic!("{set:?}") };
    assert_eq!((part.as_str(), old.0.as_slice()), ("part/msg_0002/prt_000a", &b""[..]));
    assert_eq!(String::from_utf8_lossy(&new.0), r#",\"compacted\":1800000000000"#);
}

#[test]
fn a_part_that_the_program_changed_since_is_not_written_over() {
    let database = Database::new(&["opencode/session.json"]);
    let document = database.open(Access::Write);
    let view = document.view(SESSION).unwrap();
    let at = view.messages.iter().position(|it| matches!(it, Message::ToolResult { .. })).unwrap();
    database.host().execute("UPDATE part SET data = replace(data, 'fn list', 'fn sort')", []).unwrap();
    let patch = Patch::new(vec![Edit::Body { at, content: markers::cleared_body() }]);
    let refused = document.render(SESSION, &view, &items(&patch, view.messages.len()), &STAMP).unwrap_err();
    assert!(refused.to_string().ends_with("another program changed it meanwhile"), "{refused}");
}

#[test]
fn databases_of_the_program_are_read_and_written() {
    let Some(folder) = shared("hosts/fixtures/opencode") else { return };
    let is_database =
        |(name, _): &(String, PathBuf)| Path::new(name).extension().is_some_and(|it| it == "db");
    let (mut n, mut folds) = (0, 0);
    for (name, path) in files_of(&folder).into_iter().filter(is_database) {
        let database = Database::copy(&path);
        let rows = database.rows();
        folds += laws::holds(&rows, 9).folds;
        let mut document = database.open(Access::Write);
        let session = wb_formats::newest(document.as_ref()).unwrap();
        let view = document.view(&session).unwrap();
        let exported = path.with_file_name(name.replace(".db", ".export.json"));
        if exported.exists() {
            let exported = open(&crate::support::bytes_of(&exported)).unwrap();
            assert_eq!((&view.messages, &view.usage), (&exported.messages, &exported.usage), "{name}");
        }
        let Some(cut) = (1..view.messages.len()).rfind(|at| view.provenance.is_seam(*at)) else { continue };
        let patch = Patch::new(vec![Edit::Fold { range: 0..cut, with: vec![digest("D")] }]);
        let set = document.render(&session, &view, &items(&patch, view.messages.len()), &STAMP).unwrap();
        document.commit(&set).unwrap();
        let again = database.open(Access::Read).view(&session).unwrap();
        assert_eq!(laws::said(&again.messages[1..]), laws::said(&view.messages[cut..]), "{name}");
        document.commit(&set.inverse()).unwrap();
        assert_eq!(database.rows(), rows, "{name}");
        n += 1;
    }
    assert!(n > 2 && folds > 10, "{n} {folds}");
}
