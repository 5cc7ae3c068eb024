//! The parts of an Anthropic message, as Claude Code stores them.

use serde_json::Value;
use wb_message::{Block, Content};

/// A part of a user line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// What a tool answered.
    Result { call_id: String, content: Vec<Block>, is_error: bool },
    /// Anything else.
    Said(Block),
}

/// Takes a text out of an object.
pub(super) fn take_text(from: &mut Value, key: &str) -> Option<String> {
    match from.get_mut(key).map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns the parts of a body that is a list.
pub(super) fn parts(body: Vec<Value>) -> Vec<Part> {
    body.into_iter().map(part).collect()
}

fn part(mut value: Value) -> Part {
    if value.get("type").is_some_and(|kind| kind == "tool_result") {
        return Part::Result {
            call_id: take_text(&mut value, "tool_use_id").unwrap_or_default(),
            is_error: value.get("is_error").is_some_and(|flag| flag == true),
            content: blocks(value.get_mut("content").map(Value::take).unwrap_or_default()),
        };
    }
    Part::Said(block(value))
}

/// Returns the blocks of a body: of a text one, of an empty text none.
pub(super) fn blocks(body: Value) -> Vec<Block> {
    match body {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Block::Text { text }],
        Value::Array(values) => values.into_iter().map(block).collect(),
        _ => Vec::new(),
    }
}

/// Returns a body as it stands: a text or blocks; nothing if it says nothing.
pub(super) fn content(body: Value) -> Option<Content> {
    match body {
        Value::String(text) if !text.is_empty() => Some(Content::Text(text)),
        Value::Array(values) if !values.is_empty() => {
            Some(Content::Blocks(values.into_iter().map(block).collect()))
        }
        _ => None,
    }
}

/// Turns one block into ours; what we have no block for becomes a text with its JSON.
fn block(mut value: Value) -> Block {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known = match kind.as_str() {
        "text" => take_text(&mut value, "text").map(Block::text),
        "thinking" => Some(Block::Thinking {
            text: take_text(&mut value, "thinking").unwrap_or_default(),
            signature: take_text(&mut value, "signature"),
        }),
        "redacted_thinking" => {
            Some(Block::Thinking { text: String::new(), signature: take_text(&mut value, "data") })
        }
        "tool_use" => Some(Block::ToolCall {
            id: take_text(&mut value, "id").unwrap_or_default(),
            name: take_text(&mut value, "name").unwrap_or_default(),
            input: value.get_mut("input").map(Value::take).unwrap_or_default(),
        }),
        "image" | "document" => value.get_mut("source").and_then(source),
        _ => None,
    };
    known.unwrap_or_else(|| match value {
        Value::String(text) => Block::Text { text },
        value => Block::text(value.to_string()),
    })
}

/// Turns the source of a picture or a document into a block: base64 stays, a text is shown.
fn source(source: &mut Value) -> Option<Block> {
    let is_text = source.get("type").is_some_and(|kind| kind == "text");
    if !is_text && source.get("type").is_some_and(|kind| kind != "base64") {
        return None;
    }
    let data = take_text(source, "data")?;
    if is_text {
        return Some(Block::Text { text: data });
    }
    Some(Block::image(take_text(source, "media_type").unwrap_or_default(), data))
}
