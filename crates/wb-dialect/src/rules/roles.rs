//! Rules on the roles of messages.

use serde_json::{Value, json};
use wb_message::inferred_role::{Side, infer_role};

use super::Finding;
use crate::dialect::Dialect;
use crate::request::{Kind, MessageView, RequestView, Role, field, is_chat_tool_message};
use crate::request_edit::RequestEdit;

/// Finds messages without a role. With Gemini they are the user's; in the Responses API, only items
/// of type `message` have a role.
pub(super) fn missing_roles(view: &RequestView<'_>) -> Vec<Finding> {
    let mut sides: Vec<Option<Side>> = view.messages.iter().map(side).collect();
    let mut found = Vec::new();
    // A role that is restored helps to infer the one before it.
    let mut after = None;
    for at in (0..view.messages.len()).rev() {
        let said = view.messages[at].value;
        if lacks_role(said) {
            let before = sides[..at].iter().rev().find_map(|side| *side);
            let role = infer_role(said, before, after);
            sides[at] = role.map_or(Some(Side::Lost), |role| {
                let speaker = if role == "assistant" { Role::Model } else { Role::User };
                side_of(speaker, &view.messages[at])
            });
            let what = "the message does not say who speaks";
            found.push(
                Finding::new(view.message_pointer(at), what).with_repair_value(role.map(str::to_owned)),
            );
        }
        after = sides[at].or(after);
    }
    found.reverse();
    found
}

fn lacks_role(said: &Value) -> bool {
    let is_message = || field(said, "type").is_none_or(|kind| kind == "message");
    said.is_object() && field(said, "role").is_none_or(Value::is_null) && is_message()
}

fn side(said: &MessageView<'_>) -> Option<Side> {
    if lacks_role(said.value) { Some(Side::Lost) } else { side_of(said.role, said) }
}

fn side_of(speaker: Role, said: &MessageView<'_>) -> Option<Side> {
    let calls = said.parts.iter().any(|part| matches!(part.kind, Kind::Call { .. }));
    match speaker {
        Role::Model if calls => Some(Side::Calls),
        Role::Model => Some(Side::Model),
        Role::User | Role::Tool => Some(Side::User),
        Role::Other => None,
    }
}

/// Restores the role of a message if it could be inferred.
pub(super) fn restore_role(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    found.repair_value.as_ref().is_some_and(|role| edit.set(&found.at, "role", role.as_str().into()))
}

/// Returns the roles that a dialect has.
fn known_roles(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Anthropic => &["user", "assistant"],
        Dialect::OpenaiChat => &["user", "assistant", "system", "developer", "tool", "function"],
        Dialect::OpenaiResponses => &["user", "assistant", "system", "developer"],
        Dialect::Gemini => &["user", "model", "function"],
    }
}

/// Finds messages with a role that the provider does not know.
pub(super) fn unknown_roles(view: &RequestView<'_>) -> Vec<Finding> {
    let is_other_item = |said: &Value| {
        let is_item = || field(said, "type").is_some_and(|kind| kind != "message");
        view.dialect == Dialect::OpenaiResponses && is_item()
    };
    let message = |at: usize| Some(view.messages[at].value).filter(|said| !is_other_item(said));
    let role = |at: usize| field(message(at)?, "role").and_then(Value::as_str);
    let unknown_role =
        |at: usize| role(at).filter(|role| !known_roles(view.dialect).contains(role)).map(|role| (at, role));
    let found = (0..view.messages.len()).filter_map(unknown_role);
    found
        .map(|(at, role)| Finding::new(view.message_pointer(at), format!("the role `{role}` is not known")))
        .collect()
}

/// The keys of a message's content.
const CONTENT_KEYS: [&str; 5] = ["content", "parts", "tool_calls", "function_call", "refusal"];

/// The model's role in other APIs.
const MODEL_ROLES: [&str; 8] =
    ["assistant", "model", "ai", "bot", "gpt", "chatbot", "agent", "function_call"];

/// Gives a message a known role, turns a tool's message into a result, and removes a message
/// without content.
pub(super) fn replace_role(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let (dialect, at) = (edit.dialect, &found.at);
    let Some(said) = edit.value_mut(at) else { return false };
    if CONTENT_KEYS.iter().all(|key| said.get(*key).is_none_or(Value::is_null)) {
        return edit.remove(at).is_some();
    }
    let role = said["role"].as_str().unwrap_or_default().to_lowercase();
    let has_id = said["tool_call_id"].is_string();
    let is_result = match dialect {
        Dialect::Anthropic => is_chat_tool_message(said),
        Dialect::OpenaiChat | Dialect::OpenaiResponses => has_id,
        Dialect::Gemini => false,
    };
    let same = known_roles(dialect).iter().find(|known| **known == role);
    said["role"] = match (same, dialect) {
        _ if is_result && dialect == Dialect::OpenaiChat => json!("tool"),
        (Some(same), _) => json!(same),
        _ if !MODEL_ROLES.contains(&role.as_str()) => json!("user"),
        (None, Dialect::Gemini) => json!("model"),
        (None, _) => json!("assistant"),
    };
    if is_result && dialect != Dialect::OpenaiChat {
        let (id, content) = (said["tool_call_id"].take(), said["content"].take());
        *said = result(dialect, id.as_str().unwrap_or_default(), &content);
    }
    true
}

fn result(dialect: Dialect, id: &str, content: &Value) -> Value {
    if dialect == Dialect::OpenaiResponses {
        return json!({ "type": "function_call_output", "call_id": id, "output": content });
    }
    json!({
        "role": "user",
        "content": [{ "type": "tool_result", "tool_use_id": id, "content": content }],
    })
}
