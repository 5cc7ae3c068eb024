//! Nothing is said by saying nothing.

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{set, take, unset};
use crate::request::{Asked, AskedMessage, Kind, Role};

/// Finds texts of nothing but blanks, also those in results and in the system text.
pub(super) fn blank_texts(asked: &Asked<'_>) -> Vec<Finding> {
    let own =
        asked.parts().filter(|(_, part)| matches!(part.kind, Kind::Text(text) if text.trim().is_empty()));
    let mut places: Vec<String> = own.map(|(_, part)| part.at.clone()).collect();
    let lists = asked.parts().filter(|(_, part)| matches!(part.kind, Kind::Result { .. }));
    for (_, part) in lists {
        places.extend(blanks(part.value.get("content"), &format!("{}/content", part.at)));
    }
    places.extend(blanks(asked.body.get("system"), "/system"));
    places.into_iter().map(|at| Finding::new(at, "a text is blank")).collect()
}

fn blanks(list: Option<&Value>, at: &str) -> Vec<String> {
    let is_blank = |part: &Value| {
        part["type"] == "text" && part["text"].as_str().is_some_and(|text| text.trim().is_empty())
    };
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let blank = list.iter().enumerate().filter(|(_, part)| is_blank(part));
    blank.map(|(nth, _)| format!("{at}/{nth}")).collect()
}

/// Finds messages without content.
pub(super) fn empty_messages(asked: &Asked<'_>) -> Vec<Finding> {
    let last = asked.messages.len().wrapping_sub(1);
    let is_empty = |at: &usize| {
        let said = &asked.messages[*at];
        match asked.dialect {
            Dialect::Anthropic => said.parts.is_empty() && !(*at == last && said.role == Role::Model),
            Dialect::OpenaiChat => is_empty_in_chat(said),
            Dialect::OpenaiResponses => false,
            Dialect::Gemini => said.parts.is_empty(),
        }
    };
    let found = (0..asked.messages.len()).filter(is_empty);
    found.map(|at| Finding::new(asked.at(at), "the message has no content")).collect()
}

/// Calls may stand without a text, but no list may be empty.
fn is_empty_in_chat(said: &AskedMessage<'_>) -> bool {
    let is_empty_list = |key| said.value.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty);
    let is_missing = said.value.get("content").is_none_or(Value::is_null);
    let others = ["tool_calls", "function_call", "refusal", "audio"];
    let is_said_otherwise =
        others.iter().any(|key| said.value.get(key).is_some_and(|value| !value.is_null()));
    is_empty_list("content") || is_empty_list("tool_calls") || is_missing && !is_said_otherwise
}

pub(super) fn drop_it(body: &mut Value, _: Dialect, at: &str) -> bool {
    take(body, at).is_some()
}

/// Drops an empty message; in chat, gives it an empty text.
pub(super) fn drop_or_fill(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    if dialect != Dialect::OpenaiChat {
        return take(body, at).is_some();
    }
    let is_empty = |message: &Value, key: &str| message[key].as_array().is_some_and(Vec::is_empty);
    let Some(message) = body.pointer(at) else { return false };
    let (has_no_calls, has_content) =
        (is_empty(message, "tool_calls"), !message["content"].is_null() && !is_empty(message, "content"));
    let is_done = has_no_calls && unset(body, at, "tool_calls");
    if has_content { is_done } else { set(body, at, "content", "".into()) }
}
