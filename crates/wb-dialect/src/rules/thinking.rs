//! Rules on reasoning and its signatures.

use serde_json::Value;

use super::Finding;
use crate::request::{Kind, MessageView, RequestView, Role};
use crate::request_edit::RequestEdit;

/// Gemini's documented placeholder for a missing signature.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Finds reasoning without a signature.
pub(super) fn unsigned_thinking(view: &RequestView<'_>) -> Vec<Finding> {
    let bare = view.parts().filter(|(_, part)| matches!(part.kind, Kind::Thinking { is_signed: false }));
    bare.map(|(_, part)| Finding::new(part.at, "reasoning has no signature")).collect()
}

/// Finds reasoning without a text field; the text may be empty.
pub(super) fn textless_thinking(view: &RequestView<'_>) -> Vec<Finding> {
    let is_bare = |block: &Value| block["type"] == "thinking" && !block["thinking"].is_string();
    let thinking = view.parts().filter(|(_, part)| matches!(part.kind, Kind::Thinking { .. }));
    let bare = thinking.filter(|(_, part)| is_bare(part.value));
    bare.map(|(_, part)| Finding::new(part.at, "reasoning has no `thinking`")).collect()
}

/// Adds an empty text to reasoning.
pub(super) fn add_text(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.set(&found.at, "thinking", "".into())
}

/// Finds a running tool loop that lacks the leading reasoning that the request asks for.
pub(super) fn missing_leading_thinking(view: &RequestView<'_>) -> Vec<Finding> {
    let is_asked_for = view.body.pointer("/thinking/type").and_then(Value::as_str) == Some("enabled");
    let [.., answer, results] = view.messages.as_slice() else { return Vec::new() };
    let is_running = results.parts.iter().any(|part| matches!(part.kind, Kind::Result { .. }));
    let begins = answer.parts.first().is_some_and(|part| matches!(part.kind, Kind::Thinking { .. }));
    let is_missing = is_asked_for && is_running && answer.role == Role::Model && !begins;
    let at = view.messages.len() - 2;
    let what = "the answer with the last calls does not begin with reasoning";
    is_missing.then(|| Finding::new(view.message_pointer(at), what)).into_iter().collect()
}

/// Finds reasoning items that nothing of the model follows.
pub(super) fn lone_reasoning(view: &RequestView<'_>) -> Vec<Finding> {
    let is_reasoning = |message: &MessageView<'_>| message.value["type"] == "reasoning";
    let is_followed = |at: usize| {
        view.messages.get(at + 1).is_some_and(|next| next.role == Role::Model && !is_reasoning(next))
    };
    let has_id = |message: &MessageView<'_>| message.value.get("id").is_some_and(Value::is_string);
    let found = view
        .messages
        .iter()
        .enumerate()
        .filter(|(at, message)| is_reasoning(message) && has_id(message) && !is_followed(*at));
    found.map(|(at, _)| Finding::new(view.message_pointer(at), "nothing follows the reasoning")).collect()
}

/// Finds steps of the running turn whose first call is unsigned, if the model signs calls.
pub(super) fn unsigned_calls(view: &RequestView<'_>) -> Vec<Finding> {
    if !signs_calls(view) {
        return Vec::new();
    }
    let is_prompt = |message: &MessageView<'_>| {
        message.role == Role::User
            && !message.parts.iter().any(|part| matches!(part.kind, Kind::Result { .. }))
    };
    let start = view.messages.iter().rposition(is_prompt).map_or(0, |at| at + 1);
    let first_calls = view.messages[start..]
        .iter()
        .filter_map(|message| message.parts.iter().find(|part| matches!(part.kind, Kind::Call { .. })));
    let bare = first_calls.filter(|part| !is_signed(part.value));
    bare.map(|part| Finding::new(part.at, "the first call has no thought signature")).collect()
}

fn is_signed(part: &Value) -> bool {
    part.get("thoughtSignature").or_else(|| part.get("thought_signature")).is_some()
}

/// Returns whether the model signs its calls, by its name or by another call.
fn signs_calls(view: &RequestView<'_>) -> bool {
    let model = view.body.get("model").and_then(Value::as_str).unwrap_or_default();
    let version = model.split_once("gemini-").and_then(|(_, rest)| rest.chars().next()?.to_digit(10));
    version.is_some_and(|version| version >= 3)
        || view.calls().any(|(spot, ..)| is_signed(view.part(spot).value))
}

/// Turns off `thinking`, which requires leading reasoning.
pub(super) fn turn_off(edit: &mut RequestEdit<'_>, _: &Finding) -> bool {
    edit.remove_key("", "thinking")
}

pub(super) fn sign(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.set(&found.at, "thoughtSignature", NO_SIGNATURE.into())
}
