//! Past sessions replayed, as a user runs it.

use std::path::Path;

use serde_json::json;
use wb_message::{Block, Message};

use crate::support::place::json_of;
use crate::support::{Answer, wb, wb_with};

const STRATEGIES: [&str; 8] = [
    "window-budget",
    "three-level",
    "policy",
    "ladder",
    "sliding-window",
    "masked-window",
    "mask-last-10",
    "everything",
];

/// A session that fills a 16k window more than once and reads files repeatedly.
fn session() -> String {
    let mut messages = vec![Message::user("Speed up the importer. Never touch db/schema.sql, please.")];
    for step in 0..120 {
        let (id, file) = (format!("c{step}"), format!("src/part_{}.rs", step * 7 % 60));
        let body = format!("// {file}\nfn read_part_{step}() {{}}\n").repeat(12);
        messages.push(Message::assistant_blocks(vec![Block::call(&id, "Read", json!({"file_path": file}))]));
        messages.push(Message::tool_result(&id, "Read", body));
    }
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    std::fs::write(folder.path().join("below/b.jsonl"), session()).unwrap();
    std::fs::write(folder.path().join("a.jsonl"), session()).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no session").unwrap();
    folder
}

fn run(path: &Path, rest: &[&str]) -> Answer {
    wb(&[&["replay", path.to_str().unwrap(), "--window", "16k"], rest].concat())
}

#[test]
fn every_strategy_is_measured_with_its_rivals() {
    let folder = folder();
    let replayed = json_of(&run(folder.path(), &["--json"]));
    let names: Vec<_> = replayed["summary"].as_array().unwrap().iter().map(|row| &row["strategy"]).collect();
    assert_eq!(names, STRATEGIES);
    assert_eq!(replayed["sessions"].as_array().unwrap().len(), 2, "the folder below counts too");
    assert_eq!(replayed["skipped"], json!([]), "a text file is no session");
    let everything = &replayed["summary"][7];
    let whole = json!({"mean": 1.0, "range": [1.0, 1.0]});
    for share in ["size", "names", "lines", "user_words", "constraints"] {
        assert_eq!(everything[share], whole, "{share}");
    }
    let ours = &replayed["summary"][0];
    assert_eq!((&ours["changed"], &ours["broken"]), (&ours["trials"], &json!(0)));
    assert!(ours["size"]["mean"].as_f64() < Some(0.9), "{ours}");
    assert!(replayed["caveat"].as_str().unwrap().contains("necessary, not sufficient"));
}

#[test]
fn the_same_sessions_give_the_same_answer() {
    let folder = folder();
    assert_eq!(run(folder.path(), &["--json"]).stdout, run(folder.path(), &["--json"]).stdout);
}

#[test]
fn tables_come_with_their_caveats() {
    let folder = folder();
    let answer = run(&folder.path().join("a.jsonl"), &[]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    let mut lines = answer.stdout.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("1 session, ") && first.ends_with(" in 1 of them  window 16,000"), "{first}");
    assert!(answer.stdout.contains("containing it is necessary,"), "{}", answer.stdout);
    for name in STRATEGIES {
        let rows = answer.stdout.lines().filter(|line| line.trim_start().starts_with(name)).count();
        assert_eq!(rows, 2, "{name} has a row in both tables:\n{}", answer.stdout);
    }
    let titles = lines.find(|line| line.contains("requests")).unwrap();
    assert!(titles.ends_with("largest"), "without prices there is no money:\n{}", answer.stdout);
}

#[test]
fn prices_turn_tokens_into_money() {
    let folder = folder();
    let replayed = json_of(&run(folder.path(), &["--json", "--price", "input=0,output=10"]));
    for row in replayed["costs"].as_array().unwrap() {
        let output = row["output_tokens"].as_f64().unwrap();
        assert!((row["cost"].as_f64().unwrap() - output / 1e5).abs() < 1e-9, "{row}");
        assert_eq!(row["requests"], 240, "{row}");
    }
    let refused = run(folder.path(), &["--price", "outputs=1"]);
    assert_eq!(refused.code, 2, "a usage error");
    assert!(refused.stderr.contains("unknown price `outputs`"), "{}", refused.stderr);
}

#[test]
fn a_page_is_written_in_addition_to_the_table() {
    let folder = folder();
    let out = folder.path().join("replay.html");
    let answer = run(folder.path(), &["--html", out.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let page = std::fs::read_to_string(out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && !page.contains("<script"));
}

#[test]
fn a_page_is_written_over_only_if_that_is_asked_for_and_never_through_a_link() {
    let folder = folder();
    let [out, link] = ["replay.html", "link.html"].map(|name| folder.path().join(name));
    std::fs::write(&out, "precious").unwrap();
    let words = ["--html", out.to_str().unwrap(), "--overwrite"];
    let refused = run(folder.path(), &words[..2]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(
        refused.stderr.ends_with("already exists\nhint: name a new file, or add --overwrite\n"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&out, &link).unwrap();
        let refused = run(folder.path(), &["--html", link.to_str().unwrap(), "--overwrite"]);
        assert!(refused.code == 1 && refused.stderr.contains("is a link to "), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious");
    }
    assert_eq!(run(folder.path(), &words).code, 0);
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_replayed() {
    let folder = folder();
    std::fs::write(folder.path().join("broken.json"), "{\"a\": 1}").unwrap();
    let answer = run(folder.path(), &["--json"]);
    assert!(answer.stderr.contains("broken.json: unrecognized format"), "{}", answer.stderr);
    let replayed = json_of(&answer);
    assert_eq!(replayed["sessions"].as_array().unwrap().len(), 2);
    assert!(replayed["skipped"][0]["file"].as_str().unwrap().ends_with("broken.json"));
}

#[test]
fn only_if_nothing_can_be_replayed_the_command_fails() {
    let answer = wb(&["replay", "no/such/file.jsonl"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""));
    assert!(answer.stderr.starts_with("error: no/such/file.jsonl: its folder does not exist\nhint: "));
    let empty = tempfile::tempdir().unwrap();
    let name = empty.path().to_str().unwrap();
    let answer = wb(&["replay", name]);
    assert!(
        answer.stderr.starts_with(&format!("error: {name}: no session files found")),
        "{}",
        answer.stderr
    );
    let several = wb(&["replay", "no/such/file.jsonl", "no/other"]);
    assert!(several.stderr.contains("skipped: no/such/file.jsonl: "), "{}", several.stderr);
    assert!(several.stderr.contains("error: no session could be replayed\nhint: "), "{}", several.stderr);
}

#[test]
fn a_short_session_from_standard_input_has_costs_and_a_hint() {
    let session = "{\"role\":\"user\",\"content\":\"Hi.\"}\n{\"role\":\"assistant\",\"content\":\"Yes?\"}\n";
    let answer = wb_with(&["replay", "-"], session.as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.starts_with("1 session, 0 places in 0 of them"), "{}", answer.stdout);
    assert!(answer.stdout.contains("hint: no place is full enough"), "{}", answer.stdout);
    assert!(answer.stdout.contains("fewer than five names were needed"), "{}", answer.stdout);
    assert!(answer.stdout.contains("\n\nCost with a window of 32,000"), "{}", answer.stdout);
}

#[test]
fn the_page_never_takes_the_place_of_a_session() {
    let folder = folder();
    let (file, below) = (folder.path().join("a.jsonl"), folder.path().join("below/b.jsonl"));
    for (named, page) in [(file.as_path(), &file), (folder.path(), &below)] {
        let answer = run(named, &["--html", page.to_str().unwrap()]);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""));
        assert!(answer.stderr.contains("is the session itself\nhint: "), "{}", answer.stderr);
        assert!(answer.stderr.contains("with --html"), "{}", answer.stderr);
        assert_eq!(std::fs::read_to_string(page).unwrap(), session());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_comes_through_standard_input_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    std::fs::write(&file, session()).unwrap();
    for words in [["replay", "-", "--html"], ["compact", "-", "-o"]] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wb"));
        command.args(words).arg(&file).stdin(std::fs::File::open(&file).unwrap());
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{words:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), session(), "{words:?}");
    }
}

#[test]
fn a_page_to_standard_output_leaves_the_tables_to_the_other_stream() {
    let session = "{\"role\":\"user\",\"content\":\"Hi.\"}\n{\"role\":\"assistant\",\"content\":\"Yes?\"}\n";
    let answer = wb_with(&["replay", "-", "--html", "-"], session.as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.starts_with("<!DOCTYPE html>") && answer.stdout.ends_with("</html>\n"));
    assert!(answer.stderr.contains("Cost with a window of 32,000"), "{}", answer.stderr);
    let both = wb_with(&["replay", "-", "--html", "-", "--json"], session.as_bytes());
    assert_eq!((both.code, both.stderr.as_str()), (1, ""));
    assert!(both.stdout.contains("\"hint\":\"name a file with --html\""), "{}", both.stdout);
}

#[test]
fn a_file_that_is_named_twice_counts_once() {
    let folder = folder();
    let file = folder.path().join("below/../a.jsonl");
    let replayed = json_of(&run(folder.path(), &[file.to_str().unwrap(), "--json"]));
    assert_eq!(replayed["sessions"].as_array().unwrap().len(), 2);
}
