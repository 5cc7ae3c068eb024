//! The recorded answers of documents 3 and 4: the context-window buffer and the context-window
//! policy.

use serde_json::Value;
use wb_budget::TokenCounter;
use wb_message::markers::{INTERNAL_TYPE, SUMMARY_OPEN, SUMMARY_TYPE};
use wb_message::{Block, Content, Message};

use super::{all_rows, fnv1a64, items, text};

/// The tool name of every recorded result, since no name was recorded.
pub const TOOL: &str = "tool";

/// The counter of the recorded policy: bytes / 4 of text and reasoning, rounded down, 50 bytes for
/// any other block, 0 for calls, and 4 tokens for a message.
#[derive(Clone, Copy, Debug)]
pub struct PolicyCounter;

impl TokenCounter for PolicyCounter {
    fn text(&self, text: &str) -> u64 {
        text.len() as u64 / 4
    }

    fn message(&self, message: &Message) -> u64 {
        let n_bytes: u64 = match message {
            Message::User { content: Content::Text(text), .. }
            | Message::Custom { content: Content::Text(text), .. }
            | Message::BranchSummary { summary: text, .. }
            | Message::CompactionSummary { summary: text, .. } => text.len() as u64,
            Message::BashExecution { command, output, .. } => (command.len() + output.len()) as u64,
            other => other.blocks().iter().map(block_bytes).sum(),
        };
        4 + n_bytes / 4
    }
}

fn block_bytes(block: &Block) -> u64 {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => text.len() as u64,
        Block::ToolCall { .. } => 0,
        _ => 50,
    }
}

/// One recorded answer.
#[derive(Debug)]
pub struct PolicyRow {
    /// The row's number.
    pub id: u64,
    /// The subject in words.
    pub tag: String,
    /// The input.
    pub input: Value,
    /// The recorded answer.
    pub output: Value,
}

/// Reads the recorded answers to one operation.
///
/// # Panics
/// Panics if the fixture is missing or malformed.
pub fn rows(op: &str) -> Vec<PolicyRow> {
    let rows = all_rows("context-window-and-policy.jsonl").filter(|row| row["op"] == op);
    let row = |mut row: Value| PolicyRow {
        id: row["id"].as_u64().expect("a number"),
        tag: text(&row["tag"]),
        input: row["in"].take(),
        output: row["out"].take(),
    };
    rows.map(row).collect()
}

impl PolicyRow {
    /// Returns the messages of the input.
    pub fn messages(&self) -> Vec<Message> {
        items(&self.input["msgs"]).iter().map(message).collect()
    }

    /// Returns the ids of the messages of the input, which our messages lack.
    pub fn ids(&self) -> Vec<Option<String>> {
        let id = |message: &Value| message["id"].as_str().map(str::to_owned);
        items(&self.input["msgs"]).iter().map(id).collect()
    }
}

/// Builds a text value: a string, `{rep: [text, n]}`, `{seq: [prefix, suffix, n]}` or a list of
/// these.
///
/// # Panics
/// Panics if it is none of these.
pub fn text_value(value: &Value) -> String {
    let count = |value: &Value| usize::try_from(value.as_u64().expect("a count")).expect("a count");
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_value).collect(),
        Value::Object(map) if map.contains_key("rep") => {
            text_value(&value["rep"][0]).repeat(count(&value["rep"][1]))
        }
        Value::Object(map) if map.contains_key("seq") => {
            let (prefix, suffix) = (text_value(&value["seq"][0]), text_value(&value["seq"][1]));
            (0..count(&value["seq"][2]))
                .flat_map(|n| [prefix.clone(), n.to_string(), suffix.clone()])
                .collect()
        }
        Value::Null => String::new(),
        other => panic!("not a text: {other}"),
    }
}

/// Returns whether a text equals the recorded one; of a long text, lengths and hash are recorded.
pub fn is_text(actual: &str, recorded: &Value) -> bool {
    match recorded.as_str() {
        Some(expected) => actual == expected,
        None => {
            recorded["bytes"].as_u64() == Some(actual.len() as u64)
                && recorded["chars"].as_u64() == Some(actual.chars().count() as u64)
                && recorded["fnv1a64"].as_str() == Some(&format!("{:016x}", fnv1a64(actual.as_bytes())))
        }
    }
}

/// Reads a message: a visible system text is pinned, any other internal text is a host's note to
/// the model.
fn message(value: &Value) -> Message {
    let internal = value["v"] == "i";
    let blocks = blocks(value);
    let joined = || blocks.iter().filter_map(Block::as_text).collect::<String>();
    match value["r"].as_str() {
        Some("s") if !internal => Message::custom("system", joined()),
        Some("s") if joined().starts_with(SUMMARY_OPEN) => Message::custom(SUMMARY_TYPE, joined()),
        Some("s" | "u" | "t") if internal => Message::custom(INTERNAL_TYPE, joined()),
        Some("u") => Message::user(blocks),
        Some("a") => {
            let calls = items(&value["tc"]).iter().map(call);
            Message::assistant_blocks(blocks.into_iter().chain(calls).collect())
        }
        Some("t") => Message::ToolResult {
            tool_call_id: value["for"].as_str().unwrap_or_default().to_owned(),
            tool_name: TOOL.to_owned(),
            content: blocks,
            is_error: false,
            is_refusal: false,
        },
        other => panic!("unknown role {other:?}"),
    }
}

fn blocks(value: &Value) -> Vec<Block> {
    match &value["b"] {
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        _ => vec![Block::text(text_value(&value["t"]))],
    }
}

fn block(value: &Value) -> Block {
    let text = text_value(&value["t"]);
    match value["k"].as_str() {
        Some("text") => Block::text(text),
        Some("thinking") => Block::Thinking { text, signature: None },
        Some("image") => Block::image("image/png", text),
        // A block of fifty units, like any block other than text and reasoning.
        Some("tool_use") => Block::Command { command: text, args: None },
        other => panic!("unknown block {other:?}"),
    }
}

fn call(value: &Value) -> Block {
    if let Some(id) = value.as_str() {
        return Block::call(id, TOOL, serde_json::json!({}));
    }
    let name = value["n"].as_str().unwrap_or(TOOL);
    Block::call(text(&value["id"]), name, serde_json::json!({ "x": text_value(&value["a"]) }))
}
