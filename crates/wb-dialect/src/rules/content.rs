//! Rules on blank texts and empty messages.

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::request::{Kind, MessageView, RequestView, Role, field, text};
use crate::request_edit::RequestEdit;

/// Finds blank texts, including those in results and in the system text.
pub(super) fn blank_texts(view: &RequestView<'_>) -> Vec<Finding> {
    let blank =
        view.parts().filter(|(_, part)| matches!(part.kind, Kind::Text(text) if text.trim().is_empty()));
    let mut places: Vec<String> = blank.map(|(_, part)| part.at.into()).collect();
    let lists = view.parts().filter(|(_, part)| matches!(part.kind, Kind::Result { .. }));
    for (_, part) in lists {
        places.extend(blank_places(field(part.value, "content"), || format!("{}/content", part.at)));
    }
    places.extend(blank_places(view.body.get("system"), || "/system".to_owned()));
    places.into_iter().map(|at| Finding::new(at, "a text is blank")).collect()
}

fn blank_places(list: Option<&Value>, at: impl Fn() -> String) -> Vec<String> {
    let is_blank = |part: &Value| {
        let said = field(part, "text").and_then(Value::as_str);
        text(part, "type") == "text" && said.is_some_and(|text| text.trim().is_empty())
    };
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let blank = list.iter().enumerate().filter(|(_, part)| is_blank(part));
    blank.map(|(nth, _)| format!("{}/{nth}", at())).collect()
}

/// Finds messages without content.
pub(super) fn empty_messages(view: &RequestView<'_>) -> Vec<Finding> {
    let last = view.messages.len().wrapping_sub(1);
    let is_empty = |at: &usize| {
        let message = &view.messages[*at];
        match view.dialect {
            Dialect::Anthropic => message.parts.is_empty() && !(*at == last && message.role == Role::Model),
            Dialect::OpenaiChat => is_empty_in_chat(message),
            Dialect::OpenaiResponses => false,
            Dialect::Gemini => message.parts.is_empty(),
        }
    };
    let found = (0..view.messages.len()).filter(is_empty);
    found.map(|at| Finding::new(view.message_pointer(at), "the message has no content")).collect()
}

/// Returns whether a chat message has an empty list, or neither text nor calls; an answer may not
/// have an empty text either.
fn is_empty_in_chat(message: &MessageView<'_>) -> bool {
    if is_empty_answer(message.value) {
        return true;
    }
    let is_empty_list = |key| field(message.value, key).and_then(Value::as_array).is_some_and(Vec::is_empty);
    let is_missing = field(message.value, "content").is_none_or(Value::is_null);
    let others = ["tool_calls", "function_call", "refusal", "audio"];
    let has_other_content =
        others.iter().any(|key| field(message.value, key).is_some_and(|value| !value.is_null()));
    is_empty_list("content") || is_empty_list("tool_calls") || is_missing && !has_other_content
}

/// Returns whether an answer of chat has neither a text nor anything else.
fn is_empty_answer(message: &Value) -> bool {
    let is_empty_text = |text: &Value| text.as_str().is_some_and(str::is_empty);
    if text(message, "role") != "assistant" {
        return false;
    }
    let is_empty_part = |part: &Value| part["type"] == "text" && is_empty_text(&part["text"]);
    let content = field(message, "content").unwrap_or(&Value::Null);
    let is_blank = content.is_null()
        || is_empty_text(content)
        || content.as_array().is_some_and(|list| list.iter().all(is_empty_part));
    let is_nothing = |value: &Value| {
        value.is_null() || is_empty_text(value) || value.as_array().is_some_and(Vec::is_empty)
    };
    let others = ["tool_calls", "function_call", "refusal", "audio", "reasoning_content"];
    is_blank && others.iter().all(|key| field(message, key).is_none_or(is_nothing))
}

pub(super) fn remove_part(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.remove(&found.at).is_some()
}

/// Removes an empty message; in chat, gives one that is no answer an empty text.
pub(super) fn remove_or_fill(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let at = &found.at;
    if edit.dialect != Dialect::OpenaiChat {
        return edit.remove(at).is_some();
    }
    let is_empty = |message: &Value, key: &str| message[key].as_array().is_some_and(Vec::is_empty);
    let Some(message) = edit.value(at) else { return false };
    if is_empty_answer(message) {
        return edit.remove(at).is_some();
    }
    let (has_no_calls, has_content) =
        (is_empty(message, "tool_calls"), !message["content"].is_null() && !is_empty(message, "content"));
    let is_done = has_no_calls && edit.remove_key(at, "tool_calls");
    if has_content { is_done } else { edit.set(at, "content", "".into()) }
}
