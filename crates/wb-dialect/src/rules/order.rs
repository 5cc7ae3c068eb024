//! Who speaks first, last, and after whom.

use serde_json::{Value, json};
use wb_message::markers::DROPPED_MARK;

use super::Finding;
use crate::asked::{Asked, AskedMessage, Kind, Role};
use crate::dialect::Dialect;
use crate::place::{insert, take};

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

/// Finds a model that speaks last; calls without results are another finding.
pub(super) fn model_last(asked: &Asked<'_>) -> Vec<Finding> {
    let last = asked.messages.len().wrapping_sub(1);
    let is_so = asked.messages.last().is_some_and(|said| said.role == Role::Model && !calls(said));
    is_so.then(|| Finding::new(asked.at(last), "the model speaks last")).into_iter().collect()
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
