//! What a message says, as one text; by it names are found, lines are compared and sizes are told.

use std::borrow::Cow;

use wb_message::text::json_into;
use wb_message::{Block, Content, Message};

use serde_json::Value;

/// What a message weighs beside its text, in [`size`].
const FRAME: f64 = 12.0;
/// How many bytes of text are one unit of [`size`].
const BYTES_PER_UNIT: f64 = 3.0;

/// Returns what a message says: its texts, reasoning, calls and results, one per line.
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
        _ => message.blocks().iter().filter_map(said).collect(),
    }
}

/// Returns the texts of a message in which names are looked for: its [`body`], of calls the texts of their arguments alone.
pub(crate) fn texts(message: &Message) -> String {
    let Message::Assistant { content, .. } = message else { return body(message) };
    let mut all = Vec::new();
    for block in content {
        match block {
            Block::ToolCall { input, .. } => each_text(input, &mut |text| all.push(Cow::Borrowed(text))),
            block => all.extend(said(block)),
        }
    }
    all.join("\n")
}

/// Returns the bodies of a context as one text.
pub(crate) fn context_text(messages: &[Message]) -> String {
    messages.iter().map(body).collect::<Vec<_>>().join("\n")
}

/// Returns the size of a message: a third of the bytes of its [`body`], and 12 for what frames it.
///
/// It is coarser than the tokens of the engine and the same for everybody, so that sizes of all strategies compare.
pub fn size(message: &Message) -> f64 {
    let parts = parts(message);
    size_of_bytes(parts.iter().map(|part| part.len()).sum::<usize>() + parts.len().saturating_sub(1))
}

/// Returns the size of a message whose body has so many bytes.
pub(crate) fn size_of_bytes(n_bytes: usize) -> f64 {
    n_bytes as f64 / BYTES_PER_UNIT + FRAME
}

/// Returns the size of a context; see [`size`].
pub fn total_size(messages: &[Message]) -> f64 {
    messages.iter().map(size).sum()
}

fn said(block: &Block) -> Option<Cow<'_, str>> {
    Some(match block {
        Block::Text { text } | Block::Thinking { text, .. } => Cow::Borrowed(text),
        Block::ToolCall { name, input, .. } => Cow::Owned(format!("{name} {}", spaced_json(input))),
        Block::ToolResult { output, .. } => Cow::Owned(spaced_json(output)),
        Block::Image { .. } => Cow::Borrowed("[image]"),
        Block::Command { .. } => return None,
    })
}

/// Returns JSON with a blank after each comma and colon, so that names in it stand apart; texts stand in it as they are.
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
        // A text is what a tool gets: with its line breaks, so that its lines are lines.
        Value::String(text) => out.extend(["\"", text, "\""]),
        plain => json_into(out, plain),
    }
}

/// Visits the texts in the arguments of a call; keys are the tool's words, not the model's.
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
    fn a_call_has_blanks_between_its_arguments_and_the_lines_of_its_texts() {
        let call =
            Block::call("c", "Edit", json!({"path": "a.rs", "lines": [1, 2], "none": {}, "text": "x\ny"}));
        let message = Message::assistant_blocks(vec![Block::text("I edit."), call]);
        let said = "I edit.\nEdit {\"path\": \"a.rs\", \"lines\": [1, 2], \"none\": {}, \"text\": \"x\ny\"}";
        assert_eq!(body(&message), said);
    }

    #[test]
    fn a_size_is_a_third_of_the_bytes_and_a_frame() {
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
            assert!((size(&message) - size_of_bytes(body(&message).len())).abs() < 1e-9);
        }
    }
}
