//! `wb pin` and `wb unpin`: texts that stay verbatim across compactions.

use std::fs;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::{root, wb_in};

fn home() -> Home {
    let home = Home::new();
    let session = fs::read_to_string(root().join("fixtures/sessions/flaky-checkout.jsonl")).unwrap();
    home.lay("project/s.jsonl", &session);
    home
}

/// Returns what the model sees.
fn visible_text(home: &Home) -> String {
    home.done("convert s.jsonl --to native")
}

#[test]
fn pinned_texts_are_in_every_later_digest_once() {
    let home = home();
    let pinned = home.json("pin s.jsonl 0 --text Port-8080-stays");
    assert_eq!((&pinned["added"], &pinned["most_tokens"]), (&json!([1, 2]), &json!(2_000)));
    for _ in 0..3 {
        home.done("compact s.jsonl --in-place --force --allow-open");
        let shown = visible_text(&home);
        assert_eq!(shown.matches("Pinned by the user: Port-8080-stays").count(), 1, "{shown}");
        let line = "> Please find the real cause. I do not want a retry, a sleep or a looser assertion.";
        assert_eq!(shown.matches(line).count(), 1, "{shown}");
    }
    assert_eq!(home.json("plan s.jsonl --force")["pins"], json!(2));
    let left = home.json("unpin s.jsonl 2");
    assert_eq!((&left["removed"], left["pins"].as_array().unwrap().len()), (&json!([2]), 1));
    home.done("unpin s.jsonl --all");
    assert!(!home.path("project/s.jsonl.wb-pins").exists());
    assert!(home.refused("unpin s.jsonl 2").contains("there is no pin 2"));
}

#[test]
fn an_agent_gets_them_by_the_hook() {
    let home = home();
    home.done("pin s.jsonl --text Port-8080-stays");
    let file = home.path("project/s.jsonl");
    let question =
        json!({"version": 1, "host": "claude-code", "session_file": file, "session": {"path": file}});
    let answer = wb_in(home.folder.path(), &[], &["hook"], question.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    let digest = answer["digest"].as_str().unwrap();
    assert!(digest.contains("\nPinned by the user: Port-8080-stays\n"), "{digest}");
    let notice = answer["notice"].as_str().unwrap();
    assert!(notice.starts_with("wb compacted ") && notice.ends_with(" ms; to undo: wb undo"), "{notice}");
}

#[test]
fn what_cannot_be_pinned_is_refused() {
    let home = home();
    for (line, reason) in [
        ("pin s.jsonl 500", "there is no message 500"),
        ("pin s.jsonl x", "`x` is not a number"),
        ("pin -", "standard input cannot have pins"),
        ("pin none.jsonl --text a", "no such file"),
    ] {
        assert!(home.refused(line).contains(reason), "{line}");
    }
    home.lay(
        "project/long.jsonl",
        &format!(
            "{}\n{}\n",
            json!({"role": "user", "content": "word ".repeat(9_000)}),
            json!({"role": "user", "content": "b"})
        ),
    );
    assert!(home.refused("pin long.jsonl 0").contains("do not fit: 0 of 2,000"));
    home.lay("project/s.jsonl.wb-pins", "{");
    assert!(home.refused("compact s.jsonl").contains("is no list of pins"));
}

#[test]
fn a_session_that_pins_would_make_heavier_is_left_alone() {
    let home = Home::new();
    let session = fs::read_to_string(root().join("fixtures/sessions/hello.jsonl")).unwrap();
    home.lay("project/s.jsonl", &session);
    home.done(&format!("pin s.jsonl --text {}", "word-".repeat(300)));
    let done = home.json("compact s.jsonl --force --in-place --allow-open");
    assert_eq!(
        (&done["changed"], &done["reason"]),
        (&json!(false), &json!("the result would not be lighter"))
    );
    assert_eq!(home.text("project/s.jsonl"), session);
}

#[test]
fn the_outline_of_a_compacted_session_shows_the_numbers_that_pin_takes() {
    let home = home();
    home.done("compact s.jsonl --in-place --force --allow-open");
    let outline = home.done("plan s.jsonl --outline");
    let line = outline.lines().rfind(|line| line.contains(" assistant \"")).unwrap();
    let number = line.split_whitespace().next().unwrap();
    let words = line.split('"').nth(1).unwrap().trim_end_matches('…');
    let pinned = home.json(&format!("pin s.jsonl {number}"));
    let pin = &pinned["pins"][0];
    assert_eq!(pin["from"], json!(format!("message {number}, assistant")), "{outline}");
    assert!(pin["text"].as_str().unwrap().starts_with(words), "{pin}");
    assert!(number.parse::<u64>().unwrap() > 100, "it counts the folded messages: {outline}");
    assert!(outline.contains("\n          digest "), "a digest has no number: {outline}");
    let found = home.json(&format!("recall s.jsonl --message {number}"));
    assert_eq!(found["sessions"][0]["excerpts"][0]["message"].to_string(), number);
}
