//! Reads items of the Responses API.

use serde_json::Value;

use super::{Kind, MessageView, NULL, Part, Role, field, listed_parts, text};
use crate::pointer::Pointer;

pub(super) fn message(value: &Value, at: Pointer) -> MessageView<'_> {
    let kind = text(value, "type");
    if matches!(kind, "message" | "") {
        return typed_message(value, at);
    }
    let (id, is_host_call) = (text(value, "call_id"), matches!(kind, "function_call" | "custom_tool_call"));
    // Calls that the provider runs have no `call_id`, and its own searches for tools say so.
    let is_of_host = !id.is_empty() && text(value, "execution") != "server";
    let (role, kind) = match kind {
        "reasoning" => (Role::Model, Kind::Thinking { is_signed: true }),
        "tool_search_output" if is_of_host => (Role::Tool, Kind::Result { id, name: "" }),
        // The documented output of a local shell names its call by `id`.
        "local_shell_call_output" if id.is_empty() => {
            (Role::Tool, Kind::Result { id: text(value, "id"), name: "" })
        }
        _ if kind.ends_with("_call_output") => (Role::Tool, Kind::Result { id, name: "" }),
        _ if kind.ends_with("_call") && (is_host_call || is_of_host) => {
            let arguments = field(value, "arguments").unwrap_or(NULL);
            (Role::Model, Kind::Call { id, name: tool_name(value, kind), arguments })
        }
        _ if kind.ends_with("_call") => (Role::Model, Kind::Other),
        _ => (Role::Other, Kind::Other),
    };
    MessageView { role, parts: vec![Part { at, kind, value }], value }
}

/// Returns the name of the called tool; tools of the provider are named by the kind of the item.
fn tool_name<'a>(call: &'a Value, kind: &'a str) -> &'a str {
    let of_kind = if kind == "function_call" { "" } else { kind.trim_end_matches("_call") };
    Some(text(call, "name")).filter(|name| !name.is_empty()).unwrap_or(of_kind)
}

fn typed_message(value: &Value, at: Pointer) -> MessageView<'_> {
    // A tool result in the form of chat, which is refused here.
    if field(value, "tool_call_id").is_some_and(Value::is_string) {
        let kind = Kind::Result { id: text(value, "tool_call_id"), name: "" };
        return MessageView { role: Role::Tool, parts: vec![Part { at, kind, value }], value };
    }
    let role = match text(value, "role") {
        "user" => Role::User,
        "assistant" => Role::Model,
        _ => Role::Other,
    };
    let parts = match field(value, "content").and_then(Value::as_str) {
        Some(text) => vec![Part { at, kind: Kind::Text(text), value }],
        None => listed_parts(value, at, "content").map(content).collect(),
    };
    MessageView { role, parts, value }
}

fn content((at, value): (Pointer, &Value)) -> Part<'_> {
    let is_text = text(value, "type").ends_with("_text");
    let kind = if is_text { Kind::Text(text(value, "text")) } else { Kind::Other };
    Part { at, kind, value }
}
