//! Checks a compaction that opencode writes into its database for `wb hook`, and its undo.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::support::wb_of;

const SESSION: &str = "ses_a";

const SCHEMA: &str = "
    CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, revert text, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
        time_updated integer, data text);";

/// A home in which opencode has one session.
struct Opencode {
    home: tempfile::TempDir,
    database: PathBuf,
    n_messages: i64,
}

impl Opencode {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".local/share/opencode");
        fs::create_dir_all(&folder).unwrap();
        let database = folder.join("opencode.db");
        let host = Connection::open(&database).unwrap();
        host.execute_batch(SCHEMA).unwrap();
        host.execute("INSERT INTO session VALUES (?1, NULL, '/w', NULL, 1)", [SESSION]).unwrap();
        Self { home, database, n_messages: 0 }
    }

    /// Writes a message as opencode does, and returns it in the form of an export.
    fn write(&mut self, mut info: Value, parts: &[Value]) -> Value {
        self.n_messages += 1;
        let (id, at) = (format!("msg_{:03}", self.n_messages), self.n_messages);
        info["time"] = json!({"created": at});
        let host = Connection::open(&self.database).unwrap();
        let row = params![id, SESSION, at, info.to_string()];
        host.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", row).unwrap();
        for (number, part) in parts.iter().enumerate() {
            let row = params![format!("prt_{at:03}_{number}"), id, SESSION, at, part.to_string()];
            host.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)", row).unwrap();
        }
        info["id"] = id.into();
        json!({"info": info, "parts": parts})
    }

    fn user(&mut self, words: &str) -> Value {
        let model = json!({"providerID": "acme", "modelID": "x"});
        let info = json!({"role": "user", "agent": "build", "model": model});
        self.write(info, &[json!({"type": "text", "text": words})])
    }

    fn answer(&mut self, words: &str) -> Value {
        let path = json!({"cwd": "/w", "root": "/w"});
        let info = json!({"role": "assistant", "providerID": "acme", "modelID": "x", "path": path, "finish": "stop"});
        self.write(info, &[json!({"type": "text", "text": words})])
    }

    fn wb(&self, words: &[&str], question: &str) -> String {
        let answer = wb_of(self.home.path(), words, question.as_bytes());
        assert_eq!(answer.code, 0, "wb {words:?}: {}{}", answer.stdout, answer.stderr);
        answer.stdout
    }

    /// Returns the model's view, one line per message.
    fn visible_messages(&self) -> Vec<String> {
        let out = self.home.path().join("seen.jsonl");
        let (from, to) = (text(&self.database), text(&out));
        self.wb(&["convert", from, "--to", "native", "-o", to, "--overwrite"], "");
        fs::read_to_string(out).unwrap().lines().map(str::to_owned).collect()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_log_shows_how_to_undo_each_session_of_opencode() {
    let mut opencode = Opencode::new();
    let mut reported = Vec::new();
    for at in 0..30 {
        reported.push(opencode.user(&format!("Look at part {at}, and never touch the public API.")));
        reported.push(opencode.answer(&"It holds one function. ".repeat(60)));
    }
    let (before, tail) = (opencode.visible_messages(), reported[56]["info"]["id"].clone());
    let newest = reported[59]["info"]["id"].clone();
    // It starts the compaction itself before it asks `wb`.
    let asks = json!({"type": "compaction", "auto": true});
    opencode.write(json!({"role": "user", "agent": "build", "model": {}}), &[asks]);
    let question = json!({"version": 1, "host": "opencode", "session_id": SESSION, "newest_record": newest, "keep_from": tail,
        "session": {"content": {"info": {"id": SESSION}, "messages": reported}}});
    opencode.wb(&["hook"], &question.to_string().replace(SESSION, "ses_b"));
    assert!(!opencode.wb(&["log"], "").contains("to undo:"), "a session that is not there");
    let answer: Value = serde_json::from_str(&opencode.wb(&["hook"], &question.to_string())).unwrap();
    assert_eq!((&answer["action"], answer["keep"][0]["start"].as_u64()), (&json!("replace"), Some(56)));

    let sums = json!({"role": "assistant", "summary": true, "parentID": "msg_061", "finish": "stop", "mode": "compaction"});
    opencode.write(sums, &[json!({"type": "text", "text": answer["digest"]})]);
    let host = Connection::open(&opencode.database).unwrap();
    let part = json!({"type": "compaction", "auto": true, "tail_start_id": tail});
    host.execute("UPDATE part SET data = ?1 WHERE message_id = 'msg_061'", [part.to_string()]).unwrap();
    // Later it notes in the user's message what the turn changed.
    let noted =
        "UPDATE message SET data = json_set(data, '$.summary', json('{\"diffs\":[]}')) WHERE id = 'msg_003'";
    assert_eq!(host.execute(noted, []), Ok(1));
    let host_says = json!({"type": "text", "text": "Continue if you have next steps.", "synthetic": true});
    opencode.write(json!({"role": "user", "agent": "build", "model": {}}), &[host_says]);
    opencode.user("And then?");
    let after = opencode.visible_messages();
    assert!(after.len() < 10 && after.concat().contains("elided into this digest"), "{after:?}");
    let command = format!("  to undo: wb undo {}", text(&opencode.database));
    let shown = opencode.wb(&["log"], "");
    assert!(shown.lines().any(|line| line == command), "{shown}");
    opencode.wb(&["undo", text(&opencode.database), "--allow-open"], "");
    let undone = opencode.visible_messages();
    assert_eq!(undone[..before.len()], before);
    assert!(undone.len() == before.len() + 2 && undone.concat().contains("And then?"), "{undone:?}");
    let command = format!("  undone; to redo: wb redo {}", text(&opencode.database));
    let shown = opencode.wb(&["log"], "");
    assert!(shown.lines().any(|line| line == command), "{shown}");
}

#[test]
fn a_locked_database_is_reported() {
    let opencode = Opencode::new();
    let host = Connection::open(&opencode.database).unwrap();
    host.execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").unwrap();
    let reported = wb_of(opencode.home.path(), &["weigh", opencode.database.to_str().unwrap()], b"");
    assert_eq!(reported.code, 1, "{}", reported.stdout);
    assert!(reported.stderr.contains("another program keeps it locked"), "{}", reported.stderr);
}
