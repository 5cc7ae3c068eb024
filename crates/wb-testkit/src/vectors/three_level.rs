//! The recorded answers of the three-level compaction.

use serde_json::Value;
use wb_message::{Block, Content, Message};

use super::{all_rows, items, text};

/// One recorded answer.
#[derive(Debug)]
pub struct Case {
    /// The row's id.
    pub id: String,
    /// The configuration; missing keys had the defaults.
    pub config: Value,
    /// The input.
    pub messages: Vec<Message>,
    /// The whole request, for the fields of a single operation.
    pub request: Value,
    /// The recorded answer.
    pub expect: Value,
}

/// Reads the recorded answers to one operation, generated and hand-written ones.
///
/// # Panics
/// Panics if a fixture is missing or malformed.
pub fn cases(op: &str) -> Vec<Case> {
    let rows = all_rows("three-level.jsonl").chain(all_rows("three-level-edges.jsonl"));
    rows.filter(|row| row["case"]["op"] == op).map(case).collect()
}

fn case(mut row: Value) -> Case {
    let request = row["case"].take();
    Case {
        id: text(&request["id"]),
        config: request["config"].clone(),
        messages: messages(&request["messages"]),
        expect: row["expect"].take(),
        request,
    }
}

impl Case {
    /// Returns a number of the configuration: `"max"` is the largest number, a missing key is
    /// `default`.
    ///
    /// # Panics
    /// Panics if it is neither a count nor `"max"`.
    pub fn number(&self, key: &str, default: usize) -> usize {
        match &self.config[key] {
            Value::Null => default,
            Value::String(_) => usize::MAX,
            number => number.as_u64().and_then(|n| usize::try_from(n).ok()).expect("a count"),
        }
    }

    /// Returns the recorded output as messages.
    pub fn expected(&self) -> Vec<Message> {
        items(&self.expect["messages"]).iter().map(|value| output(value, &self.messages)).collect()
    }
}

/// Reads a message of a recorded output: one of the input, possibly with other content, or a
/// synthetic one.
///
/// # Panics
/// Panics if it is malformed.
pub fn output(value: &Value, input: &[Message]) -> Message {
    let Some(src) = value["src"].as_u64().and_then(|src| usize::try_from(src).ok()) else {
        return Message::user(text(&value["text"]));
    };
    let mut message = input[src].clone();
    if let (Message::ToolResult { content, .. }, Value::Array(blocks)) = (&mut message, &value["content"]) {
        *content = blocks.iter().map(block).collect();
    }
    message
}

/// Reads the messages of an input.
///
/// # Panics
/// Panics if one is malformed.
pub fn messages(list: &Value) -> Vec<Message> {
    items(list).iter().map(message).collect()
}

fn message(value: &Value) -> Message {
    match value["kind"].as_str() {
        Some("user") => Message::user(Content::Blocks(body(value))),
        Some("assistant") => Message::assistant_blocks(body(value)),
        Some("tool_result") => Message::ToolResult {
            tool_call_id: text(&value["call_id"]),
            tool_name: text(&value["tool"]),
            content: body(value),
            is_error: value["is_error"].as_bool().unwrap_or(false),
            is_refusal: false,
        },
        Some("extension") => Message::custom(text(&value["ext_kind"]), value["data"].to_string()),
        other => panic!("unknown kind {other:?}"),
    }
}

fn body(value: &Value) -> Vec<Block> {
    if let Some(text) = value["text"].as_str() {
        return vec![Block::text(text)];
    }
    if let Some((piece, n)) = value["repeat"][0].as_str().zip(value["repeat"][1].as_u64()) {
        return vec![Block::text(piece.repeat(usize::try_from(n).expect("a count")))];
    }
    items(&value["content"]).iter().map(block).collect()
}

fn block(value: &Value) -> Block {
    match value["t"].as_str() {
        Some("text") => Block::text(text(&value["text"])),
        Some("thinking") => Block::Thinking { text: text(&value["text"]), signature: None },
        Some("image") => Block::image(value["mime"].as_str().unwrap_or("image/png"), image_data(value)),
        Some("call") => Block::call(text(&value["id"]), text(&value["name"]), value["args"].clone()),
        other => panic!("unknown block {other:?}"),
    }
}

fn image_data(value: &Value) -> String {
    match value["data_len"].as_u64() {
        Some(n) => "A".repeat(usize::try_from(n).expect("a count")),
        None => text(&value["data"]),
    }
}
