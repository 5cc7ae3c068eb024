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

/// A session of Claude Code whose user typed while the model worked, with a summary at its end.
fn session_with_queued_prompt(summary: &str) -> Vec<u8> {
    let row = |kind: &str, id: &str, parent: Option<&str>, message: Value| {
        json!({ "type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00.000Z", "message": message })
    };
    let answer = json!({ "id": "m1", "role": "assistant", "content": [{ "type": "text", "text": "Painted.\n".repeat(4_000) }] });
    let mut lines = vec![
        row("user", "u1", None, json!({ "role": "user", "content": "Paint the shed." })),
        json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": "s",
            "content": "You may commit and push it, but never paint the north wall." }),
        json!({ "type": "queue-operation", "operation": "remove", "sessionId": "s" }),
        row("assistant", "a1", Some("u1"), answer),
        row("user", "u2", Some("a1"), json!({ "role": "user", "content": "And the door?" })),
    ];
    if !summary.is_empty() {
        let mut boundary = row("system", "b1", None, Value::Null);
        boundary["subtype"] = "compact_boundary".into();
        let mut digest = row("user", "d1", Some("b1"), json!({ "role": "user", "content": summary }));
        digest["isCompactSummary"] = true.into();
        lines.extend([boundary, digest]);
    }
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[test]
fn a_prompt_that_was_queued_is_said_by_the_user() {
    let rule = "Never paint the north wall.";
    let audit = |summary: &str| wb_with(&["audit", "-"], &session_with_queued_prompt(summary));
    let answer = audit(&format!("{rule} The user approved the commit."));
    assert_eq!(answer.code, 0, "{}", answer.stdout);
    assert!(audit("The shed is painted.").stdout.contains("never paint the north wall"));
    for summary in ["", "The shed is painted."] {
        let found = wb_with(&["recall", "-", "north", "wall"], &session_with_queued_prompt(summary));
        let quoted = "before #1 the user, while the agent worked · turn 2\n     1| You may commit and push it, but never paint the north wall.\n";
        assert!(found.stdout.contains(quoted), "{}{}", found.stdout, found.stderr);
    }
    let digest = wb_with(&["compact", "-", "--force", "-v"], &session_with_queued_prompt(""));
    assert!(digest.stdout.contains("never paint the north wall"), "{}{}", digest.stdout, digest.stderr);
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
