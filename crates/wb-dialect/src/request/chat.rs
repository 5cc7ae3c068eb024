//! Reads messages of Chat Completions.

use serde_json::Value;

use super::{Kind, MessageView, NULL, Part, Role, elements, field, text};

pub(super) fn message<'a>(value: &'a Value, at: &str) -> MessageView<'a> {
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
    let calls = elements(value, at, "tool_calls").into_iter().filter(|(_, call)| call.is_object());
    let mut parts: Vec<Part<'a>> = calls.map(call).collect();
    if role == Role::Tool {
        let kind = Kind::Result { id: text(value, "tool_call_id"), name: "" };
        parts.push(Part { at: at.to_owned(), kind, value });
    } else if let Some(text) = field(value, "content").and_then(Value::as_str).filter(|text| !text.is_empty())
    {
        parts.push(Part { at: at.to_owned(), kind: Kind::Text(text), value });
    }
    parts.extend(elements(value, at, "content").into_iter().map(content));
    MessageView { role, parts, value }
}

fn call((at, value): (String, &Value)) -> Part<'_> {
    let function = field(value, "function").unwrap_or(NULL);
    let arguments = field(function, "arguments").unwrap_or(NULL);
    let kind = Kind::Call { id: text(value, "id"), name: text(function, "name"), arguments };
    Part { at, kind, value }
}

fn content((at, value): (String, &Value)) -> Part<'_> {
    let kind = if text(value, "type") == "text" { Kind::Text(text(value, "text")) } else { Kind::Other };
    Part { at, kind, value }
}
