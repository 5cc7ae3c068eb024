//! Reads messages of Chat Completions.

use serde_json::Value;

use super::{Kind, MessageView, NULL, Part, Role, field, listed_parts, text};
use crate::pointer::Pointer;

pub(super) fn message<'a>(value: &'a Value, at: Pointer) -> MessageView<'a> {
    let role = match text(value, "role") {
        "user" => Role::User,
        "assistant" => Role::Model,
        "tool" => Role::Tool,
        "system" | "developer" | "function" => Role::Other,
        // A `tool_call_id` marks a result under any other role.
        _ if value.get("tool_call_id").is_some_and(Value::is_string) => Role::Tool,
        _ => Role::Other,
    };
    // Only an object can be given an id.
    let calls = listed_parts(value, at, "tool_calls").filter(|(_, call)| call.is_object());
    let mut parts: Vec<Part<'a>> = calls.map(call).collect();
    if role == Role::Tool {
        let kind = Kind::Result { id: text(value, "tool_call_id"), name: "" };
        parts.push(Part { at, kind, value });
    } else if let Some(text) = field(value, "content").and_then(Value::as_str).filter(|text| !text.is_empty())
    {
        parts.push(Part { at, kind: Kind::Text(text), value });
    }
    parts.extend(listed_parts(value, at, "content").map(content));
    MessageView { role, parts, value }
}

fn call((at, value): (Pointer, &Value)) -> Part<'_> {
    let function = field(value, "function").unwrap_or(NULL);
    let arguments = field(function, "arguments").unwrap_or(NULL);
    let kind = Kind::Call { id: text(value, "id"), name: text(function, "name"), arguments };
    Part { at, kind, value }
}

fn content((at, value): (Pointer, &Value)) -> Part<'_> {
    let kind = if text(value, "type") == "text" { Kind::Text(text(value, "text")) } else { Kind::Other };
    Part { at, kind, value }
}
