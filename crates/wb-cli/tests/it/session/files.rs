//! `wb session branch`: the files that it writes, reads and leaves alone.

use std::fs;

use serde_json::{Value, json};
use wb_message::Message;
use wb_session::store::jsonl::JsonlStore;
use wb_session::{Durability, IdSource, Session};

use crate::support::place::{Place, json_of, talk, ten_turns};
use crate::support::{Answer, root, wb_of};

#[test]
fn with_o_the_file_stays_and_the_new_one_has_the_change() {
    let place = ten_turns();
    let (before, out) = (place.bytes(), place.path("it's new.jsonl"));
    let answer = place.run("branch", &["00001003", "-o", &out]);
    assert_eq!((answer.code, place.bytes()), (0, before.clone()), "{}", answer.stderr);
    let new = fs::read(&out).unwrap();
    assert!(new.starts_with(&before) && new.len() > before.len());
    let quoted = format!("  go back        wb session branch '{}' 0000101e\n", out.replace('\'', r"'\''"));
    assert!(answer.stdout.ends_with(&quoted), "{}", answer.stdout);
    assert_eq!(place.json_on("context", &out, &[])["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn o_names_a_new_file_in_a_folder_that_is_there() {
    let place = ten_turns();
    for (out, what) in [
        (place.file.to_str().unwrap(), "already exists"),
        (&place.path("none/out.jsonl"), "none/out.jsonl: "),
        ("-", "standard output has the report"),
        ("/dev/null", "already exists"),
    ] {
        let report = place.refused("branch", &["00001003", "-o", out]);
        assert!(report.contains(what), "{report}");
        assert!(!report.contains(" at path "), "the name of a draft: {report}");
    }
    let dry = place.refused("branch", &["00001003", "--dry-run", "-o", "/dev/null"]);
    assert!(dry.contains("already exists"), "{dry}");
}

#[cfg(unix)]
#[test]
fn a_new_session_is_as_private_as_the_one_that_it_was_made_of() {
    use std::os::unix::fs::PermissionsExt;
    let place = ten_turns();
    for mode in [0o600, 0o640] {
        fs::set_permissions(&place.file, PermissionsExt::from_mode(mode)).unwrap();
        let out = place.path(&format!("{mode:o}.jsonl"));
        place.json("branch", &["00001003", "-o", &out]);
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn an_older_layout_is_brought_to_the_present_one_with_o_alone() {
    for version in ["v1", "v2"] {
        let fixture = root().join(format!("crates/wb-session/tests/fixtures/{version}.jsonl"));
        let place = Place::of_file(&fixture);
        let report =
            place.refused("branch", &["0"].map(|_| first_answer(&place)).each_ref().map(String::as_str));
        assert!(report.contains("only version 3 is appended to\nhint: -o OUT"), "{report}");
        let dry = place.json("branch", &[&first_answer(&place), "--dry-run"]);
        assert!(dry["notes"][0].as_str().unwrap().ends_with("the run needs -o OUT"), "{dry}");
        let out = place.path("out.jsonl");
        let report = place.json("branch", &[&first_answer(&place), "-o", &out]);
        assert_eq!(report["written"], true);
        let tree = place.json_on("tree", &out, &[]);
        assert_eq!((&tree["session_version"], &tree["leaf"]), (&json!(3), &report["entry"]));
        let n = |tree: &Value| tree["n_entries"].as_u64().unwrap();
        assert_eq!(n(&tree), n(&place.json("tree", &[])) + 1);
    }
}

/// Returns the id of the first entry.
fn first_answer(place: &Place) -> String {
    place.json("tree", &[])["entries"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_layout_from_the_future_is_left_alone() {
    let place = Place::with(|cwd| {
        let mut lines = talk(cwd, 10);
        lines[0]["version"] = json!(4);
        lines
    });
    let report = place.refused("branch", &["00001003", "-o", &place.path("out.jsonl")]);
    assert!(report.contains("version 4") && !report.contains("-o OUT"), "{report}");
}

#[test]
fn what_comes_through_a_pipe_needs_o() {
    let place = ten_turns();
    let bytes = place.bytes();
    let refused = place.run_on("branch", "-", &["00001003"], &bytes);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.starts_with("error: -: a pipe can't be appended to"), "{}", refused.stderr);
    assert!(refused.stderr.contains("-o OUT"), "{}", refused.stderr);
    assert_eq!(
        json_of(&place.run_on("branch", "-", &["00001003", "--dry-run", "--json"], &bytes))["moved"],
        true
    );
    let out = place.path("out.jsonl");
    assert_eq!(
        json_of(&place.run_on("branch", "-", &["00001003", "--json", "-o", &out], &bytes))["written"],
        true
    );
    assert!(fs::read(&out).unwrap().starts_with(&bytes));
}

#[test]
fn a_file_that_another_writer_has_is_left_alone() {
    let place = ten_turns();
    let store = JsonlStore::open(&place.file, Durability::Never).unwrap();
    let mut writer = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    let report = place.refused("branch", &["00001003"]);
    assert!(report.starts_with("error: s.jsonl: another writer has the session open\nhint: "), "{report}");
    assert!(report.contains("-o OUT"), "{report}");
    place.json("branch", &["00001003", "--dry-run"]);
    place.json("branch", &["00001003", "-o", &place.path("out.jsonl")]);
    writer.append(&Message::user("still mine").into(), 1).unwrap();
    drop(writer);
    assert_eq!(place.json("branch", &["00001003"])["written"], true);
}

#[test]
fn a_file_that_may_not_be_written_is_left_alone() {
    let place = ten_turns();
    let mut permissions = fs::metadata(&place.file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&place.file, permissions).unwrap();
    let may_write = fs::OpenOptions::new().append(true).open(&place.file).is_ok();
    if may_write {
        // The administrator may write to any file.
        assert_eq!(place.json("branch", &["00001003"])["written"], true);
    } else {
        let report = place.refused("branch", &["00001003"]);
        assert!(report.contains("opening it failed") && report.contains("-o OUT"), "{report}");
    }
    let missing = place.run_on("branch", &place.path("missing.jsonl"), &["a"], b"");
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("missing.jsonl: no such file\nhint: "), "{}", missing.stderr);
    let folder = place.run_on("branch", &place.path(""), &["a"], b"");
    assert_eq!(folder.code, 1);
    assert!(
        folder.stderr.contains("is a folder\nhint: name a session file of pi in it"),
        "{}",
        folder.stderr
    );
}

#[test]
fn a_torn_last_line_is_moved_aside_when_something_is_appended_and_not_before() {
    let place = ten_turns();
    let whole = place.bytes();
    let torn = [&whole[..], b"{\"type\":\"mess"].concat();
    fs::write(&place.file, &torn).unwrap();
    place.refused("branch", &["zzz"]);
    place.json("branch", &["00001003", "--dry-run"]);
    assert_eq!((place.bytes(), place.names()), (torn, vec!["s.jsonl".to_owned()]));

    let report = place.json("branch", &["00001003"]);
    let aside = place.path("s.jsonl.torn");
    assert_eq!(report["notes"][1], json!(format!("the truncated last line was moved to {aside}")));
    assert_eq!(fs::read(&aside).unwrap(), b"{\"type\":\"mess\n");
    assert!(place.bytes().starts_with(&whole));
    assert_eq!(place.messages().as_array().unwrap().len(), 3);
}

#[test]
fn a_last_line_without_its_line_feed_is_kept() {
    let place = ten_turns();
    let whole = place.bytes();
    fs::write(&place.file, &whole[..whole.len() - 1]).unwrap();
    place.json("branch", &["00001003"]);
    assert!(place.bytes().starts_with(&whole));
}

#[test]
fn what_is_no_session_of_pi_is_left_alone() {
    let place = ten_turns();
    for content in ["", "hello\n", "{\"type\":\"user\"}\n{\"type\":\"us", "\n\n"] {
        place.write(content);
        let report = place.refused("branch", &["a"]);
        assert!(report.contains("\nhint: name a session file of pi"), "{report}");
    }
}

#[test]
fn settings_come_from_the_user_and_the_project_and_those_of_pi_are_read_where_others_are_absent() {
    let place = ten_turns();
    let files = |place: &Place| {
        let report = place.json("branch", &["00001003", "--summarize", "--dry-run"]);
        let files = report["settings_files"].as_array().unwrap().clone();
        let name = |file: &Value| file.as_str().unwrap().replace(&place.path(""), "");
        files.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    let settings = json!({"branchSummary": {"reserveTokens": 5}, "theme": "dark"});
    place.settings("home/.pi/agent/settings.json", &settings);
    let project = "project/.indusagi/settings.json";
    assert_eq!(files(&place), format!("home/.pi/agent/settings.json {project}"));
    let user = "home/.indusagi/agent/settings.json";
    place.settings(user, &settings);
    assert_eq!(files(&place), format!("{user} {project}"));
    fs::remove_file(place.path(project)).unwrap();
    assert_eq!(files(&place), user);
    place.settings("project/.pi/settings.json", &settings);
    assert_eq!(files(&place), format!("{user} project/.pi/settings.json"));
}

#[test]
fn odd_settings_are_noted_and_bad_ones_refused() {
    let place = ten_turns();
    let settings = "project/.indusagi/settings.json";
    place.settings(settings, &json!({"branchSummary": {"reserve\u{1b}": 1}}));
    let answer = place.run("branch", &["00001003", "--summarize", "--dry-run"]);
    let said = &answer.stderr;
    assert!(answer.code == 0 && said.starts_with("note: ") && said.contains("reserve\\u{1b}"), "{said}");
    place.settings(settings, &json!({"branchSummary": {"reserveTokens": -1}}));
    let report = place.refused("branch", &["00001003", "--summarize"]);
    assert!(report.contains("branchSummary.reserveTokens: expected a whole number"), "{report}");
    assert_eq!(place.json("branch", &["00001003"])["moved"], true, "no digest, no settings");
}

#[test]
fn what_could_drive_a_terminal_is_spelled_out_by_commands_that_write() {
    let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    let place = Place::with(|cwd| {
        let mut lines = talk(cwd, 10);
        lines[1]["message"]["content"] = json!("never \u{1b}]0;owned\u{7} touch \u{202e}that");
        lines[29]["message"]["model"] = json!("m\u{1b}[2J");
        for at in [2, 29] {
            lines[at]["message"]["content"][1]["arguments"]["path"] = json!("src/\u{1b}[31m.rs");
        }
        lines
    });
    let file = place.file.to_str().unwrap();
    let commands = [
        vec!["compact", file, "--force", "-o", "/dev/null"],
        vec!["weigh", file],
        vec!["session", "branch", file, "00001003", "--summarize"],
        vec!["session", "branch", file, "00001001"],
    ];
    for args in commands {
        let Answer { code, stdout, stderr } = wb_of(&place.folder.path().join("home"), &args, b"");
        assert_eq!(code, 0, "{args:?} {stderr}");
        assert!(!stdout.contains(bad) && !stderr.contains(bad), "{args:?}: {stdout:?} {stderr:?}");
        assert!(stdout.contains("\\u{1b}") || stderr.contains("\\u{1b}"), "{args:?}: {stdout} {stderr}");
    }
}
