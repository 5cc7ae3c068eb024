//! The wire form of every type, pinned.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wb_message::{Block, Content, Conversation, Edit, Message, Patch, ToolDescriptor, Turn};

/// Renders values as one JSON document per line, and checks that each survives the round trip.
fn wire<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(values: &[T]) -> String {
    let mut lines = String::new();
    for value in values {
        let line = serde_json::to_string(value).expect("JSON");
        assert_eq!(&serde_json::from_str::<T>(&line).expect("a value"), value);
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

fn blocks() -> Vec<Block> {
    vec![
        Block::text("plain"),
        Block::Thinking { text: "hm".into(), signature: None },
        Block::Thinking { text: String::new(), signature: Some("c2ln".into()) },
        Block::call("c1", "read", json!({"path": "b.rs", "offset": 1, "limit": null})),
        Block::call("c2", "ls", Value::Null),
        Block::ToolResult { call_id: "c1".into(), output: json!("text"), is_error: None },
        Block::ToolResult { call_id: "c2".into(), output: json!([{"any": 1.5}]), is_error: Some(false) },
        Block::image("image/png", "iVBORw0K"),
        Block::Command { command: "compact".into(), args: None },
        Block::Command { command: "model".into(), args: Some(vec!["small".into()]) },
    ]
}

fn messages() -> Vec<Message> {
    vec![
        Message::User { content: "plain".into(), timestamp: 1_760_000_000_000 },
        Message::user(vec![Block::text("in blocks")]),
        Message::assistant_blocks(vec![Block::text("I look"), Block::call("c1", "ls", json!({}))]),
        Message::Assistant { content: vec![], error_message: Some("529".into()) },
        Message::tool_result("c1", "ls", "a.rs"),
        Message::tool_error("c1", "ls", "no such directory"),
        Message::bash("make", "ok", Some(0)),
        Message::bash("make", "", None),
        Message::custom("system", "be kind"),
        Message::custom("note", vec![Block::text("one")]),
        Message::BranchSummary { summary: "tried it".into(), from_id: "1a2b".into() },
        Message::CompactionSummary { summary: "did it".into(), tokens_before: 90_000 },
    ]
}

#[test]
fn the_six_kinds_of_blocks_have_their_form() {
    insta::assert_snapshot!(wire(&blocks()));
}

#[test]
fn the_seven_variants_of_messages_have_their_form() {
    insta::assert_snapshot!(wire(&messages()));
}

#[test]
fn turns_and_conversations_have_their_form() {
    let turns = vec![
        Turn::user("go"),
        Turn::Assistant { blocks: vec![Block::call("c1", "ls", json!({}))] },
        Turn::Tool {
            blocks: vec![Block::ToolResult { call_id: "c1".into(), output: json!(""), is_error: None }],
        },
    ];
    let tool = ToolDescriptor {
        name: "ls".into(),
        description: "Lists files.".into(),
        parameters: json!({"type": "object"}),
    };
    let full = Conversation { system: Some("be kind".into()), turns: turns.clone(), tools: Some(vec![tool]) };
    let lines = wire(&turns) + &wire(&[Conversation::default(), full]);
    insta::assert_snapshot!(lines);
}

#[test]
fn patches_have_their_form() {
    let body = Edit::Body { at: 7, content: vec![Block::text("[Old tool result content cleared]")] };
    let insert = Edit::Fold { range: 9..9, with: vec![Message::tool_error("c", "ls", "lost")] };
    let fold = Edit::Fold { range: 1..5, with: vec![Message::user("[digest]")] };
    insta::assert_snapshot!(wire(&[Patch::new(vec![insert, body, fold])]));
}

#[test]
fn optional_fields_may_be_missing() {
    let read = |json: Value| serde_json::from_value::<Message>(json).expect("a message");
    assert_eq!(read(json!({"role": "user", "content": "hi"})), Message::user("hi"));
    assert_eq!(read(json!({"role": "assistant", "content": "hi"})), Message::assistant("hi"));
    let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "ls", "content": "x"});
    assert_eq!(read(result), Message::tool_result("c", "ls", "x"));
    let shell = json!({"role": "bashExecution", "command": "ls", "output": ""});
    assert_eq!(read(shell), Message::bash("ls", "", None));
    let summary = json!({"role": "compactionSummary", "summary": "s"});
    assert_eq!(read(summary), Message::CompactionSummary { summary: "s".into(), tokens_before: 0 });
}

#[test]
fn inputs_keep_the_order_of_keys_and_long_numbers() {
    let line =
        r#"{"kind":"tool_call","id":"c","name":"n","input":{"z":1,"a":{"y":0.1,"b":18446744073709551615}}}"#;
    let block: Block = serde_json::from_str(line).expect("a block");
    assert_eq!(serde_json::to_string(&block).expect("JSON"), line);
}

#[test]
fn unknown_and_incomplete_values_are_refused() {
    for bad in [
        json!({"role": "system", "content": "x"}),
        json!({"role": "user"}),
        json!({"role": "assistant", "content": [{"kind": "video"}]}),
        json!({"role": "toolResult", "toolName": "ls", "content": []}),
        json!({"content": "no role"}),
    ] {
        assert!(serde_json::from_value::<Message>(bad.clone()).is_err(), "{bad}");
    }
    assert!(serde_json::from_value::<Content>(json!(7)).is_err());
    assert!(serde_json::from_value::<Block>(json!({"type": "text", "text": "x"})).is_err());
}
