//! Fingerprints are stored: they never change, and they detect every change of a message.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;
use wb_message::{Block, Message, fingerprint, prefix_fingerprint, quick_fingerprint};
use wb_testkit::strategies;

/// Returns a message of each kind, with each kind of block and of JSON.
fn every_kind() -> Vec<Message> {
    let input = json!({"z": [0, -1, u64::MAX, 0.5, "é"], "a": {"flag": true, "none": null}});
    let answer = |is_error| Block::ToolResult { call_id: "c".into(), output: json!("ok"), is_error };
    vec![
        Message::User { content: "Port the parser.".into(), timestamp: -1 },
        Message::Assistant {
            content: vec![
                Block::Thinking { text: "hm".into(), signature: Some("s".into()) },
                Block::text("x".repeat(5_000)),
                Block::call("c", "read", input),
            ],
            error_message: Some("overloaded".into()),
        },
        Message::tool_error("c", "read", "no such file"),
        Message::user(vec![answer(None), answer(Some(true)), Block::image("image/png", "AAAA")]),
        Message::bash("ls", "a\nb", Some(-1)),
        Message::custom("note", vec![Block::Command { command: "go".into(), args: Some(vec!["a".into()]) }]),
        Message::BranchSummary { summary: "s".into(), from_id: "e".into() },
        Message::CompactionSummary { summary: "s".into(), tokens_before: 9 },
    ]
}

#[test]
fn stored_fingerprints_never_change() {
    let hashes: Vec<String> =
        every_kind().iter().map(|message| format!("{:016x}", fingerprint(0, message))).collect();
    let stored = [
        "4e9fc393104dd6be",
        "fcde5fad6e936eef",
        "40ee13d5ba9a6750",
        "09ec3a4d2fab1a82",
        "d52965478b89a772",
        "b6e378e509fb9aef",
        "6dac3de0caa82fee",
        "b7838d78e9bfc346",
    ];
    assert_eq!(hashes, stored);
    assert_eq!(format!("{:016x}", prefix_fingerprint(&every_kind())), "d59745e9c7a872ad");
    assert_eq!(prefix_fingerprint::<Message>(&[]), 0);
}

#[test]
fn fingerprints_separate_fields_and_count_the_order_of_keys() {
    let call = |input| Message::assistant_blocks(vec![Block::call("c", "run", input)]);
    let args = |args: Option<Vec<String>>| Message::user(vec![Block::Command { command: "go".into(), args }]);
    let messages = [
        call(json!({"a": 1, "b": 2})),
        call(json!({"b": 2, "a": 1})),
        call(json!({"a": 1, "b": [2]})),
        call(json!([["a"], "b"])),
        call(json!([["a", "b"]])),
        call(json!(1.0)),
        call(json!(1)),
        call(json!("1")),
        Message::user("ab"),
        Message::assistant("ab"),
        Message::user(vec![Block::text("ab")]),
        Message::user(vec![Block::text("a"), Block::text("b")]),
        Message::tool_result("a", "bc", "d"),
        Message::tool_result("ab", "c", "d"),
        Message::tool_error("ab", "c", "d"),
        Message::bash("a", "b", None),
        Message::bash("a", "b", Some(0)),
        Message::bash("a", "b", Some(-1)),
        args(None),
        args(Some(vec![])),
        args(Some(vec![String::new()])),
    ];
    let hashes: std::collections::HashSet<u64> =
        messages.iter().map(|message| fingerprint(0, message)).collect();
    assert_eq!(hashes.len(), messages.len());
}

proptest! {
    #[test]
    fn different_messages_have_different_fingerprints(messages in strategies::transcript()) {
        let mut known: HashMap<u64, String> = HashMap::new();
        let mut chain = 0;
        for (at, message) in messages.iter().enumerate() {
            let json = serde_json::to_string(message).expect("JSON");
            let same = known.entry(fingerprint(0, message)).or_insert_with(|| json.clone());
            prop_assert_eq!(same.as_str(), json);
            chain = fingerprint(chain, message);
            prop_assert_eq!(chain, prefix_fingerprint(&messages[..=at]));
        }
    }
}

#[test]
fn a_quick_fingerprint_depends_on_kinds_and_lengths_alone() {
    let every = every_kind();
    let hashes: Vec<u64> = every.iter().map(quick_fingerprint).collect();
    for (at, hash) in hashes.iter().enumerate() {
        assert!(!hashes[..at].contains(hash), "{:?}", every[at]);
    }
    let call = |id: &str, path: &str| {
        quick_fingerprint(&Message::assistant_blocks(vec![Block::call(id, "read", json!({"path": path}))]))
    };
    assert_eq!(call("c1", "a.rs"), call("c2", "b.rs"));
    assert_ne!(call("c1", "a.rs"), call("c12", "a.rs"));
    assert_ne!(call("c1", "a.rs"), call("c1", "a.toml"));
}
