//! Messages that do not say who speaks, or name somebody who does not.

use serde_json::{Value, json};
use wb_message::inferred_role::{Side, role_of};

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::take;
use crate::request::{Asked, AskedMessage, Kind, Role, is_of_tool};

/// Finds messages without a role. With Gemini they are the user's; an item of the Responses API has a role only if it is a
/// message.
pub(super) fn lost(asked: &Asked<'_>) -> Vec<Finding> {
    let is_so = |at: &usize| is_lost(asked.messages[*at].value);
    let found = (0..asked.messages.len()).filter(is_so);
    found.map(|at| Finding::new(asked.at(at), "the message does not say who speaks")).collect()
}

fn is_lost(said: &Value) -> bool {
    let is_message = said.get("type").is_none_or(|kind| kind == "message");
    said.is_object() && is_message && said.get("role").is_none_or(Value::is_null)
}

fn side(said: &AskedMessage<'_>) -> Option<Side> {
    let calls = said.parts.iter().any(|part| matches!(part.kind, Kind::Call { .. }));
    match said.role {
        _ if is_lost(said.value) => Some(Side::Lost),
        Role::Model if calls => Some(Side::Calls),
        Role::Model => Some(Side::Model),
        Role::User | Role::Tool => Some(Side::User),
        Role::Other => None,
    }
}

/// Gives a message the role that it had, where that is known.
pub(super) fn give(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let nth = at.rsplit_once('/').and_then(|(_, nth)| nth.parse::<usize>().ok());
    let role = nth.and_then(|nth| {
        let asked = Asked::of(body, dialect);
        let before = asked.messages[..nth].iter().rev().find_map(side);
        let behind = asked.messages.get(nth + 1..)?.iter().find_map(side);
        role_of(asked.messages.get(nth)?.value, before, behind)
    });
    let said = body.pointer_mut(at).and_then(Value::as_object_mut);
    let Some((role, said)) = role.zip(said) else { return false };
    said.remove("role");
    let rest = std::mem::take(said);
    // It stands first, as others write it.
    said.insert("role".to_owned(), role.into());
    said.extend(rest);
    true
}

/// Returns the roles that messages of a dialect have.
fn known(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Anthropic => &["user", "assistant"],
        Dialect::OpenaiChat => &["user", "assistant", "system", "developer", "tool", "function"],
        Dialect::OpenaiResponses => &["user", "assistant", "system", "developer"],
        Dialect::Gemini => &["user", "model", "function"],
    }
}

/// Finds messages of somebody whom the provider does not know; an item of the Responses API of another type has no role.
pub(super) fn unknown(asked: &Asked<'_>) -> Vec<Finding> {
    let is_other_item = |said: &Value| {
        let is_item = said.get("type").is_some_and(|kind| kind != "message");
        asked.dialect == Dialect::OpenaiResponses && is_item
    };
    let of = |at: usize| Some(asked.messages[at].value).filter(|said| !is_other_item(said));
    let role = |at: usize| of(at)?.get("role").and_then(Value::as_str);
    let unknown =
        |at: usize| role(at).filter(|role| !known(asked.dialect).contains(role)).map(|role| (at, role));
    let found = (0..asked.messages.len()).filter_map(unknown);
    found.map(|(at, role)| Finding::new(asked.at(at), format!("the role `{role}` is not known"))).collect()
}

/// The keys under which a message says something.
const SAYINGS: [&str; 5] = ["content", "parts", "tool_calls", "function_call", "refusal"];

/// Roles that others give the model.
const OF_MODEL: [&str; 8] = ["assistant", "model", "ai", "bot", "gpt", "chatbot", "agent", "function_call"];

/// Makes a message the model's or the user's; of what a tool said, a result. A note of a host that says nothing goes.
pub(super) fn rename(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let Some(said) = body.pointer_mut(at) else { return false };
    if SAYINGS.iter().all(|key| said.get(*key).is_none_or(Value::is_null)) {
        return take(body, at).is_some();
    }
    let role = said["role"].as_str().unwrap_or_default().to_lowercase();
    let has_id = said["tool_call_id"].is_string();
    let is_result = match dialect {
        Dialect::Anthropic => is_of_tool(said),
        Dialect::OpenaiChat | Dialect::OpenaiResponses => has_id,
        Dialect::Gemini => false,
    };
    let same = known(dialect).iter().find(|known| **known == role);
    said["role"] = match (same, dialect) {
        _ if is_result && dialect == Dialect::OpenaiChat => json!("tool"),
        (Some(same), _) => json!(same),
        _ if !OF_MODEL.contains(&role.as_str()) => json!("user"),
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
