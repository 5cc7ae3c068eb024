//! Reads messages of Anthropic.

use serde_json::Value;

use super::{Kind, MessageView, NULL, Part, Role, field, listed_parts, text};
use crate::pointer::Pointer;

pub(super) fn message(value: &Value, at: Pointer) -> MessageView<'_> {
    if is_chat_tool_message(value) {
        let kind = Kind::Result { id: text(value, "tool_call_id"), name: "" };
        let parts = vec![Part { at, kind, value }];
        return MessageView { role: Role::User, parts, value };
    }
    let role = match text(value, "role") {
        "user" => Role::User,
        "assistant" => Role::Model,
        _ => Role::Other,
    };
    let parts = match field(value, "content") {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Part { at, kind: Kind::Text(text), value }],
        _ => listed_parts(value, at, "content").map(part).collect(),
    };
    MessageView { role, parts, value }
}

/// Returns whether a message is a tool result in the form of chat, which Anthropic refuses.
pub(crate) fn is_chat_tool_message(message: &Value) -> bool {
    let is_result = |block: &Value| block["type"] == "tool_result";
    let has_result = || message["content"].as_array().is_some_and(|blocks| blocks.iter().any(is_result));
    text(message, "role") == "tool" && !has_result()
}

fn part((at, value): (Pointer, &Value)) -> Part<'_> {
    let kind = match text(value, "type") {
        "text" => Kind::Text(text(value, "text")),
        "thinking" => Kind::Thinking { is_signed: !text(value, "signature").is_empty() },
        "redacted_thinking" => Kind::Thinking { is_signed: true },
        "tool_use" => Kind::Call {
            id: text(value, "id"),
            name: text(value, "name"),
            arguments: field(value, "input").unwrap_or(NULL),
        },
        "tool_result" => Kind::Result { id: text(value, "tool_use_id"), name: "" },
        _ => Kind::Other,
    };
    Part { at, kind, value }
}
