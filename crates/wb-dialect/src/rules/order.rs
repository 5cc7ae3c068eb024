//! Who speaks first, last, and after whom.

use serde_json::{Value, json};
use wb_message::markers::DROPPED_MARK;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{insert, take};
use crate::request::{Asked, AskedMessage, Kind, Role};

/// What the user says at the end of a request that the model had ended.
const CONTINUE: &str = "Continue.";

fn calls(said: &AskedMessage<'_>) -> bool {
    said.parts.iter().any(|part| matches!(part.kind, Kind::Call { .. }))
}

/// Finds messages of the side that has spoken just before.
pub(super) fn same_twice(asked: &Asked<'_>) -> Vec<Finding> {
    let is_so = |at: &usize| asked.messages[*at].role == asked.messages[*at - 1].role;
    let found = (1..asked.messages.len()).filter(is_so);
    found.map(|at| Finding::new(asked.at(at), "the same side speaks twice in a row")).collect()
}

/// Finds a model that speaks first; with Gemini, one that calls a tool first.
pub(super) fn model_first(asked: &Asked<'_>) -> Vec<Finding> {
    let is_so = asked
        .messages
        .first()
        .is_some_and(|said| said.role == Role::Model && (asked.dialect != Dialect::Gemini || calls(said)));
    is_so.then(|| Finding::new(asked.at(0), "the model speaks first")).into_iter().collect()
}

/// Finds a model that speaks last, which older models of Anthropic go on with; calls without results are another finding.
pub(super) fn model_last(asked: &Asked<'_>) -> Vec<Finding> {
    let last = asked.messages.len().wrapping_sub(1);
    let model = asked.body["model"].as_str().unwrap_or_default();
    let goes_on = asked.dialect == Dialect::Anthropic && goes_on_with_an_answer(model);
    let is_so =
        asked.messages.last().is_some_and(|said| said.role == Role::Model && !calls(said) && !goes_on);
    is_so.then(|| Finding::new(asked.at(last), "the model speaks last")).into_iter().collect()
}

/// Returns whether a model of Anthropic goes on with an answer that is begun: the first that refuses it is Claude Opus 4.6.
fn goes_on_with_an_answer(model: &str) -> bool {
    const FIRST_TO_REFUSE: [u32; 2] = [4, 6];
    let Some((_, version)) = model.split_once("claude-") else { return false };
    let digits = version.split(|char: char| !char.is_ascii_digit()).filter(|digits| !digits.is_empty());
    // Dates have more digits.
    let mut numbers = digits.take_while(|digits| digits.len() < 3).filter_map(|digits| digits.parse().ok());
    let Some(major) = numbers.next() else { return false };
    [major, numbers.next().unwrap_or(0)] < FIRST_TO_REFUSE
}

/// Puts a message into the one before.
pub(super) fn merge(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let before = at.rsplit_once('/').and_then(|(list, nth)| {
        let nth = nth.parse::<usize>().ok()?.checked_sub(1)?;
        Some(format!("{list}/{nth}/{}", key(dialect)))
    });
    let Some(before) = before.filter(|before| body.pointer(before).is_some_and(Value::is_array)) else {
        return false;
    };
    let Some(Value::Array(new)) =
        take(body, at).as_mut().and_then(|message| message.get_mut(key(dialect))).map(Value::take)
    else {
        return false;
    };
    body.pointer_mut(&before).and_then(Value::as_array_mut).map(|parts| parts.extend(new)).is_some()
}

pub(super) fn user_before(body: &mut Value, dialect: Dialect, _: &str) -> bool {
    insert(body, &format!("/{}", dialect.messages_key()), 0, user(dialect, DROPPED_MARK))
}

pub(super) fn user_behind(body: &mut Value, dialect: Dialect, _: &str) -> bool {
    insert(body, &format!("/{}", dialect.messages_key()), usize::MAX, user(dialect, CONTINUE))
}

fn key(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Gemini { "parts" } else { "content" }
}

fn user(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
        _ => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_model_tells_whether_it_goes_on_with_an_answer() {
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
            assert_eq!(goes_on_with_an_answer(model), expected, "{model}");
        }
    }
}
