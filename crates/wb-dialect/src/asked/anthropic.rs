//! Messages of Anthropic.

use serde_json::Value;

use super::{AskedMessage, Kind, NOTHING, Part, Role, elements, text};

pub(super) fn said<'a>(value: &'a Value, at: &str) -> AskedMessage<'a> {
    let role = match text(value, "role") {
        "user" => Role::User,
        "assistant" => Role::Model,
        _ => Role::Other,
    };
    let parts = match value.get("content") {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Part { at: at.to_owned(), kind: Kind::Text(text), value }],
        _ => elements(value, at, "content").into_iter().map(part).collect(),
    };
    AskedMessage { role, parts, value }
}

fn part((at, value): (String, &Value)) -> Part<'_> {
    let kind = match text(value, "type") {
        "text" => Kind::Text(text(value, "text")),
        "thinking" => Kind::Thinking { is_signed: !text(value, "signature").is_empty() },
        "redacted_thinking" => Kind::Thinking { is_signed: true },
        "tool_use" => Kind::Call {
            id: text(value, "id"),
            name: text(value, "name"),
            arguments: value.get("input").unwrap_or(NOTHING),
        },
        "tool_result" => Kind::Result { id: text(value, "tool_use_id"), name: "" },
        _ => Kind::Other,
    };
    Part { at, kind, value }
}
