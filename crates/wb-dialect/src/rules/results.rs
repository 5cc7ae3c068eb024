//! Rules on results: one per call, in the right place.

use serde_json::{Value, json};
use wb_message::markers::INTERRUPTED;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{insert, message_and_part, remove, set};
use crate::request::{Kind, RequestView, Role, Spot};

pub(super) fn unanswered_calls(view: &RequestView<'_>) -> Vec<Finding> {
    let found = view.pairs().unanswered.iter().map(|spot| finding(view, *spot, "has no result"));
    found.collect()
}

/// Finds calls with an unmatched result next to them that does not name them.
pub(super) fn nameless_results(view: &RequestView<'_>) -> Vec<Finding> {
    let pairs = view.pairs().nameless.iter();
    pairs.map(|(call, _)| finding(view, *call, "is not named by the result next to it")).collect()
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
    view.pairs().misplaced.iter().map(|(_, result)| finding(view, *result, wants)).collect()
}

pub(super) fn repeated_results(view: &RequestView<'_>) -> Vec<Finding> {
    view.pairs().repeated.iter().map(|spot| finding(view, *spot, "answers an answered call")).collect()
}

fn finding(view: &RequestView<'_>, spot: Spot, what: &str) -> Finding {
    let part = view.part(spot);
    let named = |id: &str, name: &str| if id.is_empty() { name.to_owned() } else { id.to_owned() };
    let what = match part.kind {
        Kind::Call { id, name, .. } => format!("call `{}` of `{name}` {what}", named(id, name)),
        Kind::Result { id, name } => format!("result `{}` {what}", named(id, name)),
        _ => what.to_owned(),
    };
    Finding::new(part.at.as_str(), what)
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
    bad.map(|(_, part)| Finding::new(part.at.as_str(), "the response is not an object")).collect()
}

fn response(part: &Value) -> Option<&Value> {
    part.get("functionResponse").or_else(|| part.get("function_response"))?.get("response")
}

pub(super) fn answer_call(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let Some(result) = body.pointer(at).map(|call| interrupted_result(call, dialect)) else { return false };
    insert_result(body, dialect, at, result)
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
        Dialect::OpenaiResponses => {
            let kind = format!("{}_output", call["type"].as_str().unwrap_or("function_call"));
            json!({ "type": kind, "call_id": call["call_id"], "output": INTERRUPTED })
        }
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
fn insert_result(body: &mut Value, dialect: Dialect, call: &str, result: Value) -> bool {
    let (Some(message), _) = message_and_part(call) else { return false };
    let messages = format!("/{}", dialect.messages_key());
    let next = |body: &Value, is_skipped: fn(&Value) -> bool| {
        let list = body.pointer(&messages).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        message + 1 + list.iter().skip(message + 1).take_while(|each| is_skipped(each)).count()
    };
    match dialect {
        Dialect::OpenaiChat => {
            let nth = next(body, |each| each["role"] == "tool");
            insert(body, &messages, nth, result)
        }
        Dialect::OpenaiResponses => {
            let nth = next(body, is_call_or_output);
            insert(body, &messages, nth, result)
        }
        Dialect::Anthropic => insert_in_message(body, &messages, message + 1, "content", result),
        Dialect::Gemini => insert_in_message(body, &messages, message + 1, "parts", result),
    }
}

fn is_call_or_output(item: &Value) -> bool {
    item["type"].as_str().is_some_and(|kind| kind.ends_with("_call") || kind.ends_with("_call_output"))
}

/// Inserts a result after the results at the start of the user's message, or in a new message.
fn insert_in_message(body: &mut Value, messages: &str, at: usize, key: &str, result: Value) -> bool {
    let message = body.pointer_mut(&format!("{messages}/{at}"));
    let Some(message) = message.filter(|message| message["role"] == "user") else {
        return insert(body, messages, at, json!({ "role": "user", key: [result] }));
    };
    if let Some(text) = message[key].as_str() {
        message[key] = json!([{ "type": "text", "text": text }]);
    }
    let Some(parts) = message[key].as_array_mut() else { return false };
    let is_result = |part: &&Value| part["type"] == "tool_result" || response(part).is_some();
    let nth = parts.iter().take_while(is_result).count();
    parts.insert(nth, result);
    true
}

/// Moves a result to its call.
pub(super) fn move_to_call(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let call = {
        let view = RequestView::new(body, dialect);
        let pairs = view.pairs().misplaced.iter();
        let pairs = pairs.map(|(call, result)| (view.part(*call).at.clone(), view.part(*result).at.as_str()));
        pairs.filter(|(_, result)| *result == at).map(|(call, _)| call).next()
    };
    let Some(call) = call else { return false };
    let Some(result) = remove(body, at) else { return false };
    // Removing an earlier message shifts the call.
    let call = shifted(&call, at);
    insert_result(body, dialect, &call, result)
}

/// Returns a pointer adjusted for a removed message.
fn shifted(place: &str, removed: &str) -> String {
    let (Some(message), _) = message_and_part(place) else { return place.to_owned() };
    match message_and_part(removed) {
        (Some(before), None) if before < message => {
            let key = place.split('/').nth(1).unwrap_or_default();
            let rest = place.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap_or_default();
            format!("/{key}/{}{rest}", message - 1)
        }
        _ => place.to_owned(),
    }
}

pub(super) fn move_results_first(body: &mut Value, _: Dialect, at: &str) -> bool {
    let parts = body.pointer_mut(at).and_then(|message| message.get_mut("content")?.as_array_mut());
    let Some(parts) = parts else { return false };
    parts.sort_by_key(|part| part["type"] != "tool_result");
    true
}

pub(super) fn wrap_response(body: &mut Value, _: Dialect, at: &str) -> bool {
    let key = if body.pointer(at).is_some_and(|part| part.get("functionResponse").is_some()) {
        "functionResponse"
    } else {
        "function_response"
    };
    let at = format!("{at}/{key}");
    let Some(response) = body.pointer(&at).and_then(|result| result.get("response")).cloned() else {
        return false;
    };
    set(body, &at, "response", json!({ "output": response }))
}
