//! `wb` without arguments, as JSON.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{root, wb_in};

fn overview(home: &Path, variables: &[(&str, &str)]) -> Value {
    let answer = wb_in(home, variables, &["--json"], b"");
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    serde_json::from_str(&answer.stdout).unwrap()
}

fn lay(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, fs::read(root().join("fixtures/sessions/rename-flag.jsonl")).unwrap()).unwrap();
}

#[test]
fn json_lists_the_sessions_and_the_searched_folders() {
    let home = tempfile::tempdir().unwrap();
    let nothing = overview(home.path(), &[]);
    assert_eq!((&nothing["version"], &nothing["sessions"]), (&json!(1), &json!([])));
    assert_eq!(nothing["places"].as_array().unwrap().len(), 5);

    lay(&home.path().join(".pi/agent/sessions/a/b/s.jsonl"));
    let one = overview(home.path(), &[]);
    let session = &one["sessions"][0];
    assert_eq!((&session["agent"], &session["format"]), (&json!("pi"), &json!("pi")));
    assert_eq!((&session["tokens"], &session["over_budget"]), (&json!(4_487), &json!(false)));
    assert_eq!((&session["folder"], &session["error"]), (&json!("/home/sam/src/tidybox"), &json!(null)));
}

#[test]
fn a_folder_of_an_agent_that_cannot_be_listed_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    lay(&home.path().join(".pi/agent/sessions/a/s.jsonl"));
    fs::create_dir(home.path().join(".codex")).unwrap();
    fs::write(home.path().join(".codex/sessions"), "no folder").unwrap();
    let reported = wb_in(home.path(), &[], &[""; 0], b"");
    assert_eq!(reported.code, 1, "{}", reported.stdout);
    assert!(reported.stdout.starts_with("1 session "), "{}", reported.stdout);
    assert!(
        reported.stderr.contains(".codex/sessions: ") && reported.stderr.contains("\nhint: "),
        "{}",
        reported.stderr
    );
    let json = wb_in(home.path(), &[], &["--json"], b"");
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let errors: Vec<bool> =
        json["places"].as_array().unwrap().iter().map(|it| it["error"].is_object()).collect();
    assert_eq!(errors, [false, false, true, false, false]);
}

#[test]
fn only_the_five_newest_are_read() {
    let home = tempfile::tempdir().unwrap();
    for n in 0..7 {
        lay(&home.path().join(format!(".claude/projects/-a/{n}.jsonl")));
    }
    let found = overview(home.path(), &[]);
    assert_eq!((found["sessions"].as_array().unwrap().len(), &found["n_found"]), (5, &json!(7)));
}

#[test]
fn agents_that_were_moved_are_found_where_they_are() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    lay(&elsewhere.path().join("projects/-a/1.jsonl"));
    lay(&elsewhere.path().join("sessions/2026/01/02/rollout-1.jsonl"));
    let folder = elsewhere.path().to_str().unwrap();
    let found = overview(home.path(), &[("CLAUDE_CONFIG_DIR", folder), ("CODEX_HOME", folder)]);
    let mut agents: Vec<_> =
        found["sessions"].as_array().unwrap().iter().map(|it| it["agent"].as_str().unwrap()).collect();
    agents.sort_unstable();
    assert_eq!(agents, ["claude-code", "codex"]);
}

#[test]
fn nothing_of_what_is_found_is_changed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-a/1.jsonl");
    lay(&path);
    // A line that was cut off stays as it is.
    let cut = [fs::read(&path).unwrap(), b"{\"type\":\"mess".to_vec()].concat();
    fs::write(&path, &cut).unwrap();
    let shown = wb_in(home.path(), &[], &["-v"], b"");
    assert_eq!((shown.code, fs::read(&path).unwrap()), (0, cut));
    assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
}

#[test]
fn verbose_names_the_file_of_each_session() {
    let home = tempfile::tempdir().unwrap();
    lay(&home.path().join(".pi/agent/sessions/a b/s.jsonl"));
    let plain = wb_in(home.path(), &[], &[""; 0], b"").stdout;
    let verbose = wb_in(home.path(), &[], &["-v"], b"").stdout;
    assert!(!plain.contains("    ~/.pi/agent/sessions/a b/s.jsonl"), "{plain}");
    assert!(verbose.contains("    ~/.pi/agent/sessions/a b/s.jsonl"), "{verbose}");
    assert!(plain.contains("wb weigh s\n"), "{plain}");
}

#[test]
fn what_is_no_regular_file_is_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".pi/agent/sessions/a");
    lay(&folder.join("s.jsonl"));
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("t.jsonl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("u.jsonl")).unwrap();
    assert_eq!(overview(home.path(), &[])["sessions"].as_array().unwrap().len(), 1);

    let session = folder.join("s.jsonl");
    std::os::unix::fs::symlink("/dev/zero", folder.join("s.jsonl.wb-log")).unwrap();
    let answer = wb_in(home.path(), &[], &["log", session.to_str().unwrap()], b"");
    assert!(answer.code == 1 && answer.stderr.contains("is no regular file"), "{}", answer.stderr);
}

#[test]
fn a_word_of_the_command_line_drives_no_terminal() {
    let home = tempfile::tempdir().unwrap();
    for word in ["--\u{202e}x", "\u{9b}31m", "--a\u{1b}[31m", "a\rb"] {
        let answer = wb_in(home.path(), &[], &[word], b"");
        assert_eq!(answer.code, 2);
        let plain = |c: char| !c.is_control() && c != '\u{202e}' || c == '\n';
        assert!(answer.stderr.chars().all(plain), "{:?}", answer.stderr);
    }
}
