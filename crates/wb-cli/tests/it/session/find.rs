//! Sessions by id, by title and by folder.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::support::home::Home;

const IDS: [&str; 2] = ["0a1b2c3d-0000-7000-8000-000000000001", "0a1b2c3d-1111-7000-8000-000000000002"];

/// Writes a session of pi that was held in a folder.
fn lay(home: &Home, id: &str, folder: &str, prompt: &str) {
    let folder = home.path(folder);
    let user = json!({"type": "message", "id": "1", "parentId": null, "message": {"role": "user", "content": prompt}});
    let answer = json!({"type": "message", "id": "2", "parentId": "1", "message": {
        "role": "assistant", "content": [{"type": "text", "text": "Done."}]}});
    let head = json!({"type": "session", "version": 3, "id": id, "cwd": folder});
    let text = [head, user, answer].map(|line| line.to_string()).join("\n") + "\n";
    home.lay(&format!(".pi/agent/sessions/x/2026-01-02T03-04-05_{id}.jsonl"), &text);
}

fn two() -> Home {
    let home = Home::new();
    lay(&home, IDS[0], "project", "Fix the checkout of the shop");
    lay(&home, IDS[1], "elsewhere", "Write the checkout page");
    home
}

fn file(home: &Home, words: &str) -> String {
    let weighed = home.json(words);
    let file = weighed["file"].as_str().unwrap();
    Path::new(file).file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_session_is_found_by_id_by_title_and_by_its_folder() {
    let home = two();
    for words in ["weigh", "plan", "audit", "validate", "doctor", "compare", "weigh 0a1b2c3d-0", "weigh shop"]
    {
        assert!(file(&home, words).ends_with(IDS[0]), "{words}");
    }
    assert!(file(&home, "weigh 0a1b2c3d-11").ends_with(IDS[1]));
}

#[test]
fn two_matches_and_no_match_list_what_may_be_meant() {
    let home = two();
    let error = home.refused_words(&["undo", "checkout"]);
    assert!(error.starts_with("error: `checkout` names 2 sessions\n  0a1b2c3d-0  pi  "), "{error}");
    assert!(error.contains("Write the checkout page\nhint: type the id of one"), "{error}");
    assert!(home.refused_words(&["plan", "0a1b2c"]).contains("names 2 sessions"));
    let error = home.refused_words(&["plan", "nothing like it"]);
    assert!(error.contains("no session is named `nothing like it`\n  0a1b2c3d-0  pi"), "{error}");
    let found = home.run("weigh checkout --json");
    let error: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((found.code, error["error"]["candidates"].as_array().unwrap().len()), (1, 2));
}

#[test]
fn the_start_of_an_id_may_be_short_and_is_never_one_of_several() {
    let home = two();
    lay(&home, "f1b2c3d4-0000-7000-8000-000000000003", "other", "Fix the shop again");
    assert!(file(&home, "weigh f1").ends_with("000000000003"));
    assert!(home.refused_words(&["weigh", "0a"]).contains("`0a` names 2 sessions"));
    lay(&home, "aadd0000-0000-7000-8000-000000000004", "other", "Say whether feed is a word");
    lay(&home, "feed0000-0000-7000-8000-000000000005", "other", "Say nothing");
    let error = home.refused_words(&["weigh", "feed"]);
    assert!(error.contains("`feed` names 2 sessions"), "the start of an id and a word: {error}");
    for n in 0..4 {
        lay(&home, &format!("0a1b2c3d-000{n}-7000-8000-00000000001{n}"), "mill", "Grind");
    }
    assert!(home.refused_words(&["weigh", "mill"]).contains("names 4 sessions"), "the folder is shown too");
    let error = home.refused_words(&["weigh", "0a1b2c3d"]);
    assert_eq!(error.matches("  pi  ").count(), 5, "{error}");
    assert!(error.contains("is first in its line; `wb --all` also lists the other 1\n"), "{error}");
}

#[test]
fn the_tree_and_the_view_of_a_session_take_its_id() {
    let home = two();
    assert!(home.done("session tree 0a1b2c3d-0").contains("Fix the checkout"));
    assert!(home.done("session context 0a1b2c3d-0").contains("Fix the checkout"));
    home.done("view 0a1b2c3d-0 --html page.html");
}

#[test]
fn a_long_id_leaves_room_for_the_title_on_a_narrow_screen() {
    let home = two();
    for n in 1..3 {
        lay(&home, &format!("number-{n}"), "project", "Fix the shop");
    }
    let list = home.run_at("60", "--all").stdout;
    assert!(list.lines().any(|line| line.contains("  2026-01-0…  pi  now  Fix the shop ")), "{list}");
    assert!(list.lines().all(|line| line.chars().count() <= 60), "{list}");
}

#[test]
fn a_command_that_changes_a_session_prints_which() {
    let home = two();
    let answer = home.run("compact --in-place --force --allow-open");
    assert!(answer.stderr.starts_with("session: 0a1b2c3d-0  pi  now  Fix the checkout"), "{}", answer.stderr);
    assert!(home.run("undo").stderr.starts_with("session: 0a1b2c3d-0  pi"));
    assert!(!home.run("plan").stderr.contains("session:"));
}

#[test]
fn a_number_alone_is_an_operation_on_the_newest_session() {
    let home = two();
    assert!(home.run("undo 7").stderr.contains("there is no operation 7"));
}

#[test]
fn the_list_has_this_folder_first_and_a_damaged_cache_is_written_again() {
    let home = two();
    let here = |home: &Home| -> Vec<(bool, String)> {
        let list = home.json("");
        let row = |row: &Value| (row["here"] == true, row["prompt"].as_str().unwrap().to_owned());
        list["sessions"].as_array().unwrap().iter().map(row).collect()
    };
    let expected =
        [(true, "Fix the checkout of the shop".to_owned()), (false, "Write the checkout page".to_owned())];
    assert_eq!(here(&home), expected);
    let cache = home.path(".cache/wb/sessions-1.jsonl");
    let whole = fs::read_to_string(&cache).unwrap();
    assert!(whole.contains("checkout"), "{whole}");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&cache).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    fs::write(&cache, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(here(&home), expected);
    assert_eq!(fs::read_to_string(&cache).unwrap(), whole);
    lay(&home, IDS[0], "project", "Fix something longer than before");
    assert_eq!(here(&home)[0].1, "Fix something longer than before");
}

#[test]
fn each_session_of_a_database_is_a_session() {
    let home = Home::new();
    fs::create_dir_all(home.path(".local/share/opencode")).unwrap();
    let database = home.path(".local/share/opencode/opencode.db");
    let host = Connection::open(&database).unwrap();
    host.execute_batch(
        "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, revert text, time_updated integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
            time_updated integer, data text);",
    )
    .unwrap();
    let folder = home.path("project").canonicalize().unwrap();
    for (at, (id, title)) in [("ses_one", "First task"), ("ses_two", "Second task")].into_iter().enumerate() {
        let row = params![id, folder.to_str(), title, 1_000 + i64::try_from(at).unwrap()];
        host.execute("INSERT INTO session VALUES (?1, NULL, ?2, ?3, NULL, ?4)", row).unwrap();
        let message = format!("msg_{at}");
        let info = json!({"role": "user", "time": {"created": 1}, "agent": "build"});
        let row = params![message, id, info.to_string()];
        host.execute("INSERT INTO message VALUES (?1, ?2, 1, 1, ?3)", row).unwrap();
        let part = json!({"type": "text", "text": title});
        let row = params![format!("prt_{at}"), message, id, part.to_string()];
        host.execute("INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, ?4)", row).unwrap();
    }
    drop(host);
    let titles: Vec<Value> =
        home.json("")["sessions"].as_array().unwrap().iter().map(|row| row["title"].clone()).collect();
    assert_eq!(titles, ["Second task", "First task"]);
    assert!(home.json("weigh first")["file"].as_str().unwrap().ends_with("opencode.db/ses_one"));
    let shown = home.done(&format!("convert {}/ses_one --to native", database.display()));
    assert!(shown.contains("First task") && !shown.contains("Second task"), "{shown}");
    let error = home.refused_words(&["weigh", &format!("{}/ses_none", database.display())]);
    assert!(error.contains("it has no session \"ses_none\""), "{error}");
}
