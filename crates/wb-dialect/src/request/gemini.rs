//! Reads contents of Gemini.

use serde_json::Value;

use super::{Kind, MessageView, NULL, Part, Role, field, listed_parts, text};
use crate::pointer::Pointer;

pub(super) fn message(value: &Value, at: Pointer) -> MessageView<'_> {
    let role = match text(value, "role") {
        "model" | "assistant" => Role::Model,
        _ => Role::User,
    };
    MessageView { role, parts: listed_parts(value, at, "parts").map(part).collect(), value }
}

fn part((at, value): (Pointer, &Value)) -> Part<'_> {
    // Gemini also accepts the field names of Protocol Buffers.
    let either = |camel, snake| field(value, camel).or_else(|| field(value, snake));
    let object = |camel, snake| either(camel, snake).filter(|it| it.is_object());
    let kind = if let Some(call) = object("functionCall", "function_call") {
        let arguments = call.get("args").unwrap_or(NULL);
        Kind::Call { id: text(call, "id"), name: text(call, "name"), arguments }
    } else if let Some(result) = object("functionResponse", "function_response") {
        Kind::Result { id: text(result, "id"), name: text(result, "name") }
    } else if field(value, "thought") == Some(&Value::Bool(true)) {
        Kind::Thinking { is_signed: value.get("thoughtSignature").is_some() }
    } else if field(value, "text").is_some() {
        Kind::Text(text(value, "text"))
    } else {
        Kind::Other
    };
    Part { at, kind, value }
}
