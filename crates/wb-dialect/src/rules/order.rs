//! Rules on the order of speakers.

use serde_json::{Value, json};
use wb_message::markers::DROPPED_MARK;

use super::Finding;
use super::server_tools::{begins_with_compaction, is_paused};
use crate::dialect::Dialect;
use crate::request::{Kind, MessageView, RequestView, Role};
use crate::request_edit::RequestEdit;

/// The user's text at the end of a request that ended with the model.
const CONTINUE: &str = "Continue.";

fn has_calls(message: &MessageView<'_>) -> bool {
    message.parts.iter().any(|part| matches!(part.kind, Kind::Call { .. }))
}

/// Finds a request without messages. A prompt or an earlier response may replace them.
pub(super) fn empty_request(view: &RequestView<'_>) -> Vec<Finding> {
    let key = view.dialect.messages_key();
    let is_empty = view.body.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty);
    let is_found =
        is_empty && !view.continues_on_server() && view.body.get("prompt").is_none_or(Value::is_null);
    is_found.then(|| Finding::new(format!("/{key}"), "the request has no message")).into_iter().collect()
}

/// Finds messages of the side that spoke just before.
pub(super) fn repeated_sides(view: &RequestView<'_>) -> Vec<Finding> {
    let is_repeated = |at: &usize| view.messages[*at].role == view.messages[*at - 1].role;
    let found = (1..view.messages.len()).filter(is_repeated);
    found.map(|at| Finding::new(view.message_pointer(at), "the same side speaks twice in a row")).collect()
}

/// Finds a model that speaks first; with Gemini, one that begins with a call.
pub(super) fn model_first(view: &RequestView<'_>) -> Vec<Finding> {
    let is_found = view.messages.first().is_some_and(|message| {
        message.role == Role::Model && (view.dialect != Dialect::Gemini || has_calls(message))
    });
    let is_found = is_found && !begins_with_compaction(view);
    is_found
        .then(|| Finding::new(view.message_pointer(0), "the first message is from the assistant"))
        .into_iter()
        .collect()
}

/// Finds a model that speaks last, unless it is an older Claude that continues its answer. Calls
/// without results are another rule's.
pub(super) fn model_last(view: &RequestView<'_>) -> Vec<Finding> {
    let last = view.messages.len().wrapping_sub(1);
    let model = view.body["model"].as_str().unwrap_or_default();
    // A request for a compaction ends with what there is, and a paused answer is sent back.
    let is_accepted = || accepts_prefill(model) || view.body["compaction"].is_object() || is_paused(view);
    let is_prefill = view.dialect == Dialect::Anthropic && is_accepted();
    let is_found = view
        .messages
        .last()
        .is_some_and(|message| message.role == Role::Model && !has_calls(message) && !is_prefill);
    is_found
        .then(|| Finding::new(view.message_pointer(last), "the last message is from the assistant"))
        .into_iter()
        .collect()
}

/// Returns whether a Claude model continues a started answer; Opus 4.6 is the first to refuse it.
fn accepts_prefill(model: &str) -> bool {
    const FIRST_TO_REFUSE: [u32; 2] = [4, 6];
    let Some((_, version)) = model.split_once("claude-") else { return false };
    let digits = version.split(|char: char| !char.is_ascii_digit()).filter(|digits| !digits.is_empty());
    // A date has more digits than a version.
    let mut numbers = digits.take_while(|digits| digits.len() < 3).filter_map(|digits| digits.parse().ok());
    let Some(major) = numbers.next() else { return false };
    [major, numbers.next().unwrap_or(0)] < FIRST_TO_REFUSE
}

/// Merges a message into the one before it.
pub(super) fn merge(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let (at, key) = (&found.at, parts_key(edit.dialect));
    let before = at.rsplit_once('/').and_then(|(list, nth)| {
        let nth = nth.parse::<usize>().ok()?.checked_sub(1)?;
        Some(format!("{list}/{nth}/{key}"))
    });
    let Some(before) = before.filter(|before| edit.value(before).is_some_and(Value::is_array)) else {
        return false;
    };
    let removed = edit.remove(at);
    let Some(Value::Array(new)) = removed.and_then(|mut message| Some(message.get_mut(key)?.take())) else {
        return false;
    };
    edit.value_mut(&before).and_then(Value::as_array_mut).map(|parts| parts.extend(new)).is_some()
}

pub(super) fn prepend_user(edit: &mut RequestEdit<'_>, _: &Finding) -> bool {
    edit.insert_message(0, user_message(edit.dialect, DROPPED_MARK))
}

pub(super) fn append_user(edit: &mut RequestEdit<'_>, _: &Finding) -> bool {
    edit.insert_message(usize::MAX, user_message(edit.dialect, CONTINUE))
}

fn parts_key(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Gemini { "parts" } else { "content" }
}

fn user_message(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
        Dialect::OpenaiResponses => {
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
        }
        _ => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefill_depends_on_the_model_version() {
        for (model, expected) in [
            ("claude-3-5-haiku-20241022", true),
            ("claude-2.1", true),
            ("claude-sonnet-4-20250514", true),
            ("anthropic/claude-sonnet-4.5", true),
            ("us.anthropic.claude-opus-4-1-20250805-v1:0", true),
            ("claude-opus-4-6", false),
            ("claude-sonnet-5", false),
            ("claude-next", false),
            ("gpt-4.1", false),
            ("", false),
        ] {
            assert_eq!(accepts_prefill(model), expected, "{model}");
        }
    }
}
