//! What can be told of a message without reading its texts.

use serde_json::Value;

use crate::block::Block;
use crate::message::{Content, Message};

/// Returns a number for the kind of a message and the lengths of what it holds; equal messages have the same one.
///
/// Of most changes it tells that they happened, at a cost that does not grow with the texts. A change that leaves every
/// length as it is goes unnoticed; [`fingerprint`](fn@crate::fingerprint) notices that too, and reads every byte.
///
/// ```
/// use wb_message::{Message, shape};
///
/// assert_eq!(shape(&Message::user("run it")), shape(&Message::user("run it")));
/// assert_ne!(shape(&Message::user("run it")), shape(&Message::user("run it twice")));
/// assert_ne!(shape(&Message::user("run it")), shape(&Message::assistant("run it")));
/// ```
pub fn shape(message: &Message) -> u64 {
    match message {
        Message::User { content, .. } => mixed(1, of_content(content)),
        Message::Assistant { content, error_message } => {
            mixed(mixed(2, of_blocks(content)), error_message.as_ref().map_or(0, |text| of_text(text)))
        }
        Message::ToolResult { tool_call_id, tool_name, content, is_error } => {
            let names = mixed(of_text(tool_call_id), of_text(tool_name));
            mixed(mixed(3, names), mixed(of_blocks(content), u64::from(*is_error)))
        }
        Message::BashExecution { command, output, .. } => mixed(mixed(4, of_text(command)), of_text(output)),
        Message::Custom { custom_type, content } => {
            mixed(mixed(5, of_text(custom_type)), of_content(content))
        }
        Message::BranchSummary { summary, from_id } => mixed(mixed(6, of_text(summary)), of_text(from_id)),
        Message::CompactionSummary { summary, .. } => mixed(7, of_text(summary)),
    }
}

fn mixed(shape: u64, next: u64) -> u64 {
    (shape.rotate_left(7) ^ next).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn of_text(text: &str) -> u64 {
    text.len() as u64
}

fn of_content(content: &Content) -> u64 {
    match content {
        Content::Text(text) => of_text(text),
        Content::Blocks(blocks) => of_blocks(blocks),
    }
}

fn of_blocks(blocks: &[Block]) -> u64 {
    blocks.iter().fold(blocks.len() as u64, |shape, block| mixed(shape, of_block(block)))
}

fn of_block(block: &Block) -> u64 {
    match block {
        Block::Text { text } => of_text(text),
        Block::Thinking { text, signature } => {
            mixed(of_text(text), signature.as_ref().map_or(0, |text| of_text(text)))
        }
        Block::ToolCall { id, name, input } => mixed(mixed(of_text(id), of_text(name)), of_value(input)),
        Block::ToolResult { call_id, output, .. } => mixed(of_text(call_id), of_value(output)),
        Block::Image { data_base64, .. } => of_text(data_base64),
        Block::Command { command, args } => {
            mixed(of_text(command), args.iter().flatten().map(|arg| of_text(arg)).sum())
        }
    }
}

/// Looks no deeper than the fields of an object, where tools have their texts.
fn of_value(value: &Value) -> u64 {
    match value {
        Value::String(text) => of_text(text),
        Value::Array(items) => items.len() as u64,
        Value::Object(map) => map.values().fold(map.len() as u64, |shape, value| {
            mixed(shape, value.as_str().map_or_else(|| value.as_array().map_or(0, Vec::len) as u64, of_text))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
