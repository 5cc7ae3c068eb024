//! Reasoning goes back as it came.

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{set, unset};
use crate::request::{Asked, AskedMessage, Kind, Role};

/// What Gemini takes in place of a signature that nobody has.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Finds reasoning without a signature.
pub(super) fn unsigned(asked: &Asked<'_>) -> Vec<Finding> {
    let bare = asked.parts().filter(|(_, part)| matches!(part.kind, Kind::Thinking { is_signed: false }));
    bare.map(|(_, part)| Finding::new(part.at.as_str(), "reasoning has no signature")).collect()
}

/// Finds reasoning without the field of its text, which may be empty.
pub(super) fn textless(asked: &Asked<'_>) -> Vec<Finding> {
    let is_bare = |block: &Value| block["type"] == "thinking" && !block["thinking"].is_string();
    let bare = asked.parts().filter(|(_, part)| is_bare(part.value));
    bare.map(|(_, part)| Finding::new(part.at.as_str(), "reasoning has no `thinking`")).collect()
}

/// Gives reasoning an empty text.
pub(super) fn give_text(body: &mut Value, _: Dialect, at: &str) -> bool {
    set(body, at, "thinking", "".into())
}

/// Finds a running tool loop that does not begin with reasoning although the request asks for it.
pub(super) fn not_first(asked: &Asked<'_>) -> Vec<Finding> {
    let is_asked_for = asked.body.pointer("/thinking/type").and_then(Value::as_str) == Some("enabled");
    let [.., answer, results] = asked.messages.as_slice() else { return Vec::new() };
    let is_running = results.parts.iter().any(|part| matches!(part.kind, Kind::Result { .. }));
    let begins = answer.parts.first().is_some_and(|part| matches!(part.kind, Kind::Thinking { .. }));
    let is_so = is_asked_for && is_running && answer.role == Role::Model && !begins;
    let at = asked.messages.len() - 2;
    let what = "the answer with the last calls does not begin with reasoning";
    is_so.then(|| Finding::new(asked.at(at), what)).into_iter().collect()
}

/// Finds reasoning items that are not followed by what was reasoned about.
pub(super) fn alone(asked: &Asked<'_>) -> Vec<Finding> {
    let is_reasoning = |said: &AskedMessage<'_>| said.value["type"] == "reasoning";
    let is_followed = |at: usize| {
        asked.messages.get(at + 1).is_some_and(|next| next.role == Role::Model && !is_reasoning(next))
    };
    let with_id = |said: &AskedMessage<'_>| said.value.get("id").is_some_and(Value::is_string);
    let found = asked
        .messages
        .iter()
        .enumerate()
        .filter(|(at, said)| is_reasoning(said) && with_id(said) && !is_followed(*at));
    found.map(|(at, _)| Finding::new(asked.at(at), "nothing follows the reasoning")).collect()
}

/// Finds first calls of the running turn without a signature, where the model is one that signs.
pub(super) fn unsigned_calls(asked: &Asked<'_>) -> Vec<Finding> {
    if !signs(asked) {
        return Vec::new();
    }
    let is_prompt = |said: &AskedMessage<'_>| {
        said.role == Role::User && !said.parts.iter().any(|part| matches!(part.kind, Kind::Result { .. }))
    };
    let start = asked.messages.iter().rposition(is_prompt).map_or(0, |at| at + 1);
    let first_calls = asked.messages[start..]
        .iter()
        .filter_map(|said| said.parts.iter().find(|part| matches!(part.kind, Kind::Call { .. })));
    let bare = first_calls.filter(|part| !is_signed(part.value));
    bare.map(|part| Finding::new(part.at.as_str(), "the first call has no thought signature")).collect()
}

fn is_signed(part: &Value) -> bool {
    part.get("thoughtSignature").or_else(|| part.get("thought_signature")).is_some()
}

/// Returns whether a model signs its calls: its name says so, or another call is signed.
fn signs(asked: &Asked<'_>) -> bool {
    let model = asked.body.get("model").and_then(Value::as_str).unwrap_or_default();
    let version = model.split_once("gemini-").and_then(|(_, rest)| rest.chars().next()?.to_digit(10));
    version.is_some_and(|version| version >= 3)
        || asked.calls().any(|(spot, ..)| is_signed(asked.part(spot).value))
}

/// Turns off what asks for reasoning in front.
pub(super) fn turn_off(body: &mut Value, _: Dialect, _: &str) -> bool {
    unset(body, "", "thinking")
}

pub(super) fn sign(body: &mut Value, _: Dialect, at: &str) -> bool {
    set(body, at, "thoughtSignature", NO_SIGNATURE.into())
}
