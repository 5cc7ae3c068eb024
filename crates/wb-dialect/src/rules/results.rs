//! Rules on results: one per call, in the right place.

use serde_json::{Value, json};
use wb_message::markers::INTERRUPTED;

use super::Finding;
use super::interrupted_items::interrupted_item;
use crate::dialect::Dialect;
use crate::pointer::message_and_part;
use crate::request::{Kind, RequestView, Role, Spot};
use crate::request_edit::{RequestEdit, is_removed};

pub(super) fn unanswered_calls(view: &RequestView<'_>) -> Vec<Finding> {
    let found = view.pairs().unanswered.iter().map(|spot| finding(view, *spot, "has no result"));
    found.collect()
}

/// Finds calls with an unmatched result next to them that does not name them.
pub(super) fn nameless_results(view: &RequestView<'_>) -> Vec<Finding> {
    let pairs = view.pairs().nameless.iter();
    let found = |(call, result): &(Spot, Spot)| {
        let result = view.part(*result).at.into();
        finding(view, *call, "is not named by the result next to it").with_repair_value(Some(result))
    };
    pairs.map(found).collect()
}

pub(super) fn orphans(view: &RequestView<'_>) -> Vec<Finding> {
    if view.continues_on_server() {
        return Vec::new();
    }
    view.pairs().orphans.iter().map(|spot| finding(view, *spot, "answers no call")).collect()
}

pub(super) fn misplaced_results(view: &RequestView<'_>) -> Vec<Finding> {
    let wants = match view.dialect {
        Dialect::OpenaiResponses => "comes before its call",
        Dialect::OpenaiChat => "does not directly follow its call",
        _ => "is not in the message after its call",
    };
    let found = |(call, result): &(Spot, Spot)| {
        finding(view, *result, wants).with_repair_value(Some(view.part(*call).at.into()))
    };
    view.pairs().misplaced.iter().map(found).collect()
}

pub(super) fn repeated_results(view: &RequestView<'_>) -> Vec<Finding> {
    view.pairs().repeated.iter().map(|spot| finding(view, *spot, "answers an answered call")).collect()
}

fn finding(view: &RequestView<'_>, spot: Spot, what: &str) -> Finding {
    let part = view.part(spot);
    let named = |id: &str, name: &str| if id.is_empty() { name.to_owned() } else { id.to_owned() };
    let what = match part.kind {
        Kind::Call { id, name: "", .. } => format!("call `{id}` {what}"),
        Kind::Call { id, name, .. } => format!("call `{}` of `{name}` {what}", named(id, name)),
        Kind::Result { id, name } => format!("result `{}` {what}", named(id, name)),
        _ => what.to_owned(),
    };
    Finding::new(part.at, what)
}

/// Finds results that follow other content of the user.
pub(super) fn late_results(view: &RequestView<'_>) -> Vec<Finding> {
    let is_result = |kind: &Kind<'_>| matches!(kind, Kind::Result { .. });
    let mixed = |at: &usize| {
        let message = &view.messages[*at];
        let kinds = message.parts.iter().map(|part| &part.kind);
        message.role == Role::User && kinds.skip_while(|kind| is_result(kind)).any(is_result)
    };
    let what = "a result follows other content";
    (0..view.messages.len()).filter(mixed).map(|at| Finding::new(view.message_pointer(at), what)).collect()
}

/// Finds outputs of Gemini that are not objects.
pub(super) fn non_object_responses(view: &RequestView<'_>) -> Vec<Finding> {
    let is_bad = |value: &Value| response(value).is_some_and(|response| !response.is_object());
    let bad = view.parts().filter(|(_, part)| is_bad(part.value));
    bad.map(|(_, part)| Finding::new(part.at, "the response is not an object")).collect()
}

fn response(part: &Value) -> Option<&Value> {
    part.get("functionResponse").or_else(|| part.get("function_response"))?.get("response")
}

pub(super) fn answer_call(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let result = edit.value(&found.at).map(|call| interrupted_result(call, edit.dialect));
    result.is_some_and(|result| insert_result(edit, &found.at, result))
}

/// Builds the result of an interrupted call.
fn interrupted_result(call: &Value, dialect: Dialect) -> Value {
    match dialect {
        Dialect::Anthropic => {
            json!({ "type": "tool_result", "tool_use_id": call["id"], "content": INTERRUPTED, "is_error": true })
        }
        Dialect::OpenaiChat => {
            json!({ "role": "tool", "tool_call_id": call["id"], "content": INTERRUPTED })
        }
        Dialect::OpenaiResponses => interrupted_item(call),
        Dialect::Gemini => {
            let call = call.get("functionCall").or_else(|| call.get("function_call")).unwrap_or(&Value::Null);
            let mut response = json!({ "name": call["name"], "response": { "error": INTERRUPTED } });
            if let Some(id) = call.get("id") {
                response["id"] = id.clone();
            }
            json!({ "functionResponse": response })
        }
    }
}

/// Inserts a result where its call expects it.
fn insert_result(edit: &mut RequestEdit<'_>, call: &str, result: Value) -> bool {
    let (Some(message), _) = message_and_part(call) else { return false };
    let next = |edit: &RequestEdit<'_>, is_skipped: fn(&Value) -> bool| {
        let following = edit.messages().iter().skip(message + 1);
        message + 1 + following.take_while(|each| is_removed(each) || is_skipped(each)).count()
    };
    match edit.dialect {
        Dialect::OpenaiChat => {
            let nth = next(edit, |each| each["role"] == "tool");
            edit.insert_message(nth, result)
        }
        Dialect::OpenaiResponses => {
            let nth = next(edit, is_call_or_output);
            edit.insert_message(nth, result)
        }
        Dialect::Anthropic => insert_in_message(edit, message + 1, "content", result),
        Dialect::Gemini => insert_in_message(edit, message + 1, "parts", result),
    }
}

fn is_call_or_output(item: &Value) -> bool {
    let is_search = |kind: &str| kind == "tool_search_output";
    item["type"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("_call") || kind.ends_with("_call_output") || is_search(kind))
}

/// Inserts a result after the results at the start of the user's message, or in a new message.
fn insert_in_message(edit: &mut RequestEdit<'_>, at: usize, key: &str, result: Value) -> bool {
    let is_user = edit.messages().get(at).is_some_and(|message| message["role"] == "user");
    let message = if is_user {
        edit.value_mut(&format!("/{}/{at}", edit.dialect.messages_key()))
    } else {
        edit.inserted_mut(at)
    };
    let Some(message) = message else {
        return edit.insert_message(at, json!({ "role": "user", key: [result] }));
    };
    if let Some(text) = message[key].as_str() {
        message[key] = json!([{ "type": "text", "text": text }]);
    }
    let Some(parts) = message[key].as_array_mut() else { return false };
    let is_result =
        |part: &&Value| is_removed(part) || part["type"] == "tool_result" || response(part).is_some();
    let nth = parts.iter().take_while(is_result).count();
    parts.insert(nth, result);
    true
}

/// Moves a result to its call.
pub(super) fn move_to_call(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let Some(call) = &found.repair_value else { return false };
    edit.remove(&found.at).is_some_and(|result| insert_result(edit, call, result))
}

pub(super) fn move_results_first(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let parts = edit.value_mut(&found.at).and_then(|message| message.get_mut("content")?.as_array_mut());
    let Some(parts) = parts else { return false };
    parts.sort_by_key(|part| part["type"] != "tool_result");
    true
}

pub(super) fn wrap_response(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let at = &found.at;
    let key = if edit.value(at).is_some_and(|part| part.get("functionResponse").is_some()) {
        "functionResponse"
    } else {
        "function_response"
    };
    let at = format!("{at}/{key}");
    let Some(response) = edit.value(&at).and_then(|result| result.get("response")).cloned() else {
        return false;
    };
    edit.set(&at, "response", json!({ "output": response }))
}
