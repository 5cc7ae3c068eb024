//! Runs `wb audit` on sessions whose summaries differ from their messages.

use serde_json::{Value, json};
use wb_message::{Block, Message};

use crate::support::{Answer, wb_with};

/// A session that is compacted after its first turn.
fn session(summary: &str) -> Vec<u8> {
    let step = |id: &str, command: &str, output: &str| {
        let call = Block::call(id, "Bash", json!({ "command": command }));
        [Message::assistant_blocks(vec![call]), Message::tool_result(id, "Bash", output)]
    };
    let mut messages = vec![Message::user("Mend src/cart.rs. Never touch the folder migrations, please.")];
    messages.extend(step(
        "a",
        "cargo test",
        "test a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
    ));
    messages.push(Message::CompactionSummary { summary: summary.to_owned(), tokens_before: 9_000 });
    messages.push(Message::user("Go on."));
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    bytes
}

fn run(summary: &str, rest: &[&str]) -> Answer {
    wb_with(&[&["audit", "-"], rest].concat(), &session(summary))
}

const RULE: &str = "Never touch the folder migrations.";

#[test]
fn an_unsupported_claim_is_shown_with_its_message() {
    let answer = run(&format!("{RULE}\nAll tests pass. See `src/basket.rs`."), &[]);
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    for reported in [
        "Summary 1 of 3 messages",
        "2 findings",
        "line 2    All tests pass",
        "message 2: result",
        "src/basket.rs",
    ] {
        assert!(answer.stdout.contains(reported), "{reported}: {}", answer.stdout);
    }
}

#[test]
fn a_summary_that_is_right_has_no_findings() {
    let answer = run(&format!("{RULE} The tests of src/cart.rs fail."), &[]);
    assert_eq!(answer.code, 0, "{}", answer.stdout);
    assert!(answer.stdout.contains("0 findings"), "{}", answer.stdout);
}

#[test]
fn what_would_drive_a_terminal_is_spelled_out() {
    let answer = run(&format!("{RULE}\nThe user approved \u{202e}a new release."), &[]);
    assert!(answer.stdout.contains("approved \\u{202e}a new release"), "{}", answer.stdout);
    assert!(!answer.stdout.contains('\u{202e}'), "{}", answer.stdout);
}

#[test]
fn machines_get_one_object() {
    let answer = run("Everything was committed.", &["--json"]);
    assert_eq!((answer.code, answer.stdout.lines().count()), (3, 1));
    let audited: Value = serde_json::from_str(&answer.stdout).unwrap();
    let kinds: Vec<_> =
        audited["summaries"][0]["findings"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["unshown_end", "missing_constraint"]);
    assert_eq!((&audited["n_findings"], &audited["summaries"][0]["messages"]), (&json!(2), &json!(3)));
}

#[test]
fn a_session_without_summaries_says_so() {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&[Message::user("Hello.")], &mut bytes).unwrap();
    let answer = wb_with(&["audit", "-"], &bytes);
    assert_eq!(answer.code, 0);
    assert!(answer.stdout.contains("no summaries"), "{}", answer.stdout);
}

#[test]
fn a_file_that_is_no_session_is_bad_input() {
    let answer = wb_with(&["audit", "-"], b"no session");
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("error: -:") && answer.stderr.contains("hint:"), "{}", answer.stderr);
}
