//! Messages that do not say who speaks, or name somebody who does not.

use serde_json::{Value, json};
use wb_message::inferred_role::{Side, role_of};

use super::Finding;
use crate::asked::{Asked, AskedMessage, Kind, Role, is_of_tool};
use crate::dialect::Dialect;

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

/// Finds messages of somebody whom the provider does not know.
pub(super) fn unknown(asked: &Asked<'_>) -> Vec<Finding> {
    let known = if asked.dialect == Dialect::Gemini {
        &["user", "model", "function"][..]
    } else {
        &["user", "assistant"]
    };
    let role = |at: usize| asked.messages[at].value.get("role").and_then(Value::as_str);
    let unknown = |at: usize| role(at).filter(|role| !known.contains(role)).map(|role| (at, role));
    let found = (0..asked.messages.len()).filter_map(unknown);
    found.map(|(at, role)| Finding::new(asked.at(at), format!("the role `{role}` is not known"))).collect()
}

/// Makes a message the model's or the user's; of what a tool said, a result.
pub(super) fn rename(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let Some(said) = body.pointer_mut(at) else { return false };
    let role = said["role"].as_str().unwrap_or_default().to_lowercase();
    let is_model = ["assistant", "model", "ai", "bot"].contains(&role.as_str());
    let is_result = dialect == Dialect::Anthropic && is_of_tool(said);
    said["role"] = match dialect {
        _ if !is_model => json!("user"),
        Dialect::Gemini => json!("model"),
        _ => json!("assistant"),
    };
    if is_result {
        let (id, content) = (said["tool_call_id"].take(), said["content"].take());
        *said = json!({
            "role": "user",
            "content": [{ "type": "tool_result", "tool_use_id": id.as_str().unwrap_or_default(), "content": content }],
        });
    }
    true
}
