//! The text of a message that can be looked up.

use std::borrow::Cow;

use wb_message::block::{output_blocks, shown_text};
use wb_message::markers::{Visibility, is_pinned, is_synthetic, visibility};
use wb_message::text::json_into;
use wb_message::{Block, Content, Message, Value};

/// Returns whether a message was said: not a system text, a digest, a restored file or an internal
/// note.
pub(crate) fn is_said(message: &Message) -> bool {
    !is_pinned(message) && !is_synthetic(message) && visibility(message) == Visibility::All
}

/// Returns the text of a message: its texts and reasoning, the arguments of its calls, its results.
pub fn body(message: &Message) -> Cow<'_, str> {
    match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => Cow::Borrowed(text),
        Message::BashExecution { command, output, .. } => Cow::Owned(["$ ", command, "\n", output].concat()),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            Cow::Borrowed(summary)
        }
        _ => match message.blocks() {
            [Block::Text { text }] => Cow::Borrowed(text),
            blocks => Cow::Owned(joined(blocks)),
        },
    }
}

fn joined(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => out.push_str(text),
            Block::ToolCall { name, input, .. } => write_call(&mut out, name, input),
            Block::ToolResult { output, .. } => write_output(&mut out, output),
            Block::Image { .. } => out.push_str("[image]"),
            Block::Command { command, args } => {
                out.extend(["/", command]);
                args.iter().flatten().for_each(|arg| out.extend([" ", arg]));
            }
        }
    }
    out
}

/// Writes the name of a tool on a line and each argument behind its name, texts as they are.
fn write_call(out: &mut String, name: &str, input: &Value) {
    out.extend(["call ", name]);
    let Some(arguments) = input.as_object() else {
        out.push('\n');
        return write_value(out, input);
    };
    for (key, value) in arguments {
        out.extend(["\n", key, ": "]);
        write_value(out, value);
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_string()) => {
            for item in items {
                out.push('\n');
                write_value(out, item);
            }
        }
        Value::Object(fields) => {
            for (nth, (key, value)) in fields.iter().enumerate() {
                out.extend([if nth > 0 { "\n" } else { "" }, key, ": "]);
                write_value(out, value);
            }
        }
        leaf => json_into(out, leaf),
    }
}

fn write_output(out: &mut String, output: &Value) {
    match output {
        Value::String(text) => out.push_str(text),
        _ => out.push_str(&shown_text(&output_blocks(output))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_message::json;

    #[test]
    fn the_text_of_a_call_has_its_arguments_as_they_are() {
        let input = json!({"edits": [{"new": "z", "old": "x\ny"}], "n": 3, "path": "a.rs"});
        let message = Message::assistant_blocks(vec![Block::text("Now."), Block::call("1", "Edit", input)]);
        assert_eq!(body(&message), "Now.\ncall Edit\nedits: \nnew: z\nold: x\ny\nn: 3\npath: a.rs");
    }

    #[test]
    fn digests_and_system_texts_were_not_said() {
        let digest = Message::CompactionSummary { summary: "x".into(), tokens_before: 1 };
        assert!(!is_said(&digest) && !is_said(&Message::custom("system", "Be brief.")));
        assert!(is_said(&Message::user("hello")) && is_said(&Message::custom("note", "a note")));
    }
}
