//! The text of a message, for finding names, comparing lines and measuring sizes.

use std::borrow::Cow;

use wb_message::text::json_into;
use wb_message::{Block, Content, Message};

use serde_json::Value;

/// The part of [`size`] for the message itself.
const FRAME: f64 = 12.0;
/// The bytes of text per unit of [`size`].
const BYTES_PER_UNIT: f64 = 3.0;

/// Returns the text of a message: its texts, reasoning, calls and results, one per line.
pub fn body(message: &Message) -> String {
    parts(message).join("\n")
}

/// Returns the lines of a [`body`].
fn parts(message: &Message) -> Vec<Cow<'_, str>> {
    match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. }
        | Message::BranchSummary { summary: text, .. }
        | Message::CompactionSummary { summary: text, .. } => vec![Cow::Borrowed(text)],
        Message::BashExecution { command, output, .. } => vec![Cow::Borrowed(command), Cow::Borrowed(output)],
        _ => message.blocks().iter().filter_map(block_text).collect(),
    }
}

/// Returns the text of a message for finding names: its [`body`], with calls reduced to the texts
/// of their arguments.
pub(crate) fn texts(message: &Message) -> String {
    let Message::Assistant { content, .. } = message else { return body(message) };
    let mut all = Vec::new();
    for block in content {
        match block {
            Block::ToolCall { input, .. } => each_text(input, &mut |text| all.push(Cow::Borrowed(text))),
            block => all.extend(block_text(block)),
        }
    }
    all.join("\n")
}

/// Returns the bodies of a context as one text.
pub(crate) fn context_text(messages: &[Message]) -> String {
    messages.iter().map(body).collect::<Vec<_>>().join("\n")
}

/// Returns the size of a message: a third of the bytes of its [`body`], plus 12.
///
/// The measure is coarser than the engine's tokens and the same for all strategies.
pub fn size(message: &Message) -> f64 {
    let parts = parts(message);
    size_from_bytes(parts.iter().map(|part| part.len()).sum::<usize>() + parts.len().saturating_sub(1))
}

/// Returns the size of a message whose body has `n_bytes`.
pub(crate) fn size_from_bytes(n_bytes: usize) -> f64 {
    n_bytes as f64 / BYTES_PER_UNIT + FRAME
}

/// Returns the size of a context; see [`size`].
pub fn total_size(messages: &[Message]) -> f64 {
    messages.iter().map(size).sum()
}

fn block_text(block: &Block) -> Option<Cow<'_, str>> {
    Some(match block {
        Block::Text { text } | Block::Thinking { text, .. } => Cow::Borrowed(text),
        Block::ToolCall { name, input, .. } => Cow::Owned(format!("{name} {}", spaced_json(input))),
        Block::ToolResult { output, .. } => Cow::Owned(spaced_json(output)),
        Block::Image { .. } => Cow::Borrowed("[image]"),
        Block::Command { .. } => return None,
    })
}

/// Returns JSON with blanks after commas and colons, which separate names, and with raw texts.
pub(crate) fn spaced_json(value: &Value) -> String {
    let mut out = String::new();
    spaced_json_into(&mut out, value);
    out
}

fn spaced_json_into(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "[" } else { ", " });
                spaced_json_into(out, item);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(map) => {
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at == 0 { "{" } else { ", " });
                json_into(out, &Value::from(key.as_str()));
                out.push_str(": ");
                spaced_json_into(out, value);
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }
        // Line breaks of a text stay line breaks.
        Value::String(text) => out.extend(["\"", text, "\""]),
        plain => json_into(out, plain),
    }
}

/// Visits the texts in the arguments of a call; keys belong to the tool.
pub(crate) fn each_text<'v>(value: &'v Value, visit: &mut dyn FnMut(&'v str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(map) => map.values().for_each(|value| each_text(value, visit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_body_of_a_call_separates_arguments_and_keeps_lines() {
        let call =
            Block::call("c", "Edit", json!({"path": "a.rs", "lines": [1, 2], "none": {}, "text": "x\ny"}));
        let message = Message::assistant_blocks(vec![Block::text("I edit."), call]);
        let expected =
            "I edit.\nEdit {\"path\": \"a.rs\", \"lines\": [1, 2], \"none\": {}, \"text\": \"x\ny\"}";
        assert_eq!(body(&message), expected);
    }

    #[test]
    fn a_size_is_a_third_of_the_bytes_plus_a_constant() {
        assert!(
            (total_size(&[Message::user("abc"), Message::bash("ls", "a", Some(0))]) - 26.333_333).abs()
                < 1e-5
        );
    }
    #[test]
    fn a_size_is_that_of_the_body() {
        let blocks = vec![Block::text("I edit."), Block::call("c", "Edit", json!({"path": "ä.rs"}))];
        for message in
            [Message::assistant_blocks(blocks), Message::assistant_blocks(vec![]), Message::user("ä")]
        {
            assert!((size(&message) - size_from_bytes(body(&message).len())).abs() < 1e-9);
        }
    }
}
