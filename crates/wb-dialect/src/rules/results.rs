//! Results stand where their calls want them.

use serde_json::{Value, json};
use wb_message::markers::INTERRUPTED;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{insert, message_and_part, set, take};
use crate::request::{Asked, Kind, Role, Spot};

pub(super) fn unanswered(asked: &Asked<'_>) -> Vec<Finding> {
    let found = asked.pairs().unanswered.iter().map(|spot| found(asked, *spot, "has no result"));
    found.collect()
}

/// Finds calls next to which a result is left over that does not name them.
pub(super) fn nameless(asked: &Asked<'_>) -> Vec<Finding> {
    let pairs = asked.pairs().nameless.iter();
    pairs.map(|(call, _)| found(asked, *call, "is not named by the result next to it")).collect()
}

pub(super) fn orphans(asked: &Asked<'_>) -> Vec<Finding> {
    if asked.goes_on() {
        return Vec::new();
    }
    asked.pairs().orphans.iter().map(|spot| found(asked, *spot, "answers no call")).collect()
}

pub(super) fn misplaced(asked: &Asked<'_>) -> Vec<Finding> {
    let wants = match asked.dialect {
        Dialect::OpenaiResponses => "stands before its call",
        Dialect::OpenaiChat => "does not stand directly behind its call",
        _ => "does not stand in the message behind its call",
    };
    asked.pairs().misplaced.iter().map(|(_, result)| found(asked, *result, wants)).collect()
}

pub(super) fn repeated(asked: &Asked<'_>) -> Vec<Finding> {
    asked.pairs().repeated.iter().map(|spot| found(asked, *spot, "answers a call that is answered")).collect()
}

fn found(asked: &Asked<'_>, spot: Spot, what: &str) -> Finding {
    let part = asked.part(spot);
    let named = |id: &str, name: &str| if id.is_empty() { name.to_owned() } else { id.to_owned() };
    let what = match part.kind {
        Kind::Call { id, name, .. } => format!("call `{}` of `{name}` {what}", named(id, name)),
        Kind::Result { id, name } => format!("result `{}` {what}", named(id, name)),
        _ => what.to_owned(),
    };
    Finding::new(part.at.as_str(), what)
}

/// Finds results behind something else that the user says.
pub(super) fn not_first(asked: &Asked<'_>) -> Vec<Finding> {
    let is_result = |kind: &Kind<'_>| matches!(kind, Kind::Result { .. });
    let mixed = |at: &usize| {
        let said = &asked.messages[*at];
        let kinds = said.parts.iter().map(|part| &part.kind);
        said.role == Role::User && kinds.skip_while(|kind| is_result(kind)).any(is_result)
    };
    let what = "a result stands behind something else";
    (0..asked.messages.len()).filter(mixed).map(|at| Finding::new(asked.at(at), what)).collect()
}

/// Finds outputs of Gemini that are no objects.
pub(super) fn not_objects(asked: &Asked<'_>) -> Vec<Finding> {
    let is_bad = |value: &Value| response(value).is_some_and(|response| !response.is_object());
    let bad = asked.parts().filter(|(_, part)| is_bad(part.value));
    bad.map(|(_, part)| Finding::new(part.at.as_str(), "the response is no object")).collect()
}

fn response(part: &Value) -> Option<&Value> {
    part.get("functionResponse").or_else(|| part.get("function_response"))?.get("response")
}

pub(super) fn answer(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let Some(result) = body.pointer(at).map(|call| result_of(call, dialect)) else { return false };
    place(body, dialect, at, result)
}

/// Builds the result that says that a call was interrupted.
fn result_of(call: &Value, dialect: Dialect) -> Value {
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

/// Puts a result where its call wants it.
fn place(body: &mut Value, dialect: Dialect, call: &str, result: Value) -> bool {
    let (Some(message), _) = message_and_part(call) else { return false };
    let messages = format!("/{}", dialect.messages_key());
    let behind = |body: &Value, is_so: fn(&Value) -> bool| {
        let list = body.pointer(&messages).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        message + 1 + list.iter().skip(message + 1).take_while(|each| is_so(each)).count()
    };
    match dialect {
        Dialect::OpenaiChat => {
            let nth = behind(body, |each| each["role"] == "tool");
            insert(body, &messages, nth, result)
        }
        Dialect::OpenaiResponses => {
            let nth = behind(body, is_call_or_output);
            insert(body, &messages, nth, result)
        }
        Dialect::Anthropic => place_in_message(body, &messages, message + 1, "content", result),
        Dialect::Gemini => place_in_message(body, &messages, message + 1, "parts", result),
    }
}

fn is_call_or_output(item: &Value) -> bool {
    item["type"].as_str().is_some_and(|kind| kind.ends_with("_call") || kind.ends_with("_call_output"))
}

/// Puts a result behind the results at the start of the user's message, or into a message of its own.
fn place_in_message(body: &mut Value, messages: &str, at: usize, key: &str, result: Value) -> bool {
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
pub(super) fn bring_home(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let call = {
        let asked = Asked::of(body, dialect);
        let pairs = asked.pairs().misplaced.iter();
        let own = pairs.map(|(call, result)| (asked.part(*call).at.clone(), asked.part(*result).at.as_str()));
        own.filter(|(_, result)| *result == at).map(|(call, _)| call).next()
    };
    let Some(call) = call else { return false };
    let Some(result) = take(body, at) else { return false };
    // A message that was taken out in front of the call moves it.
    let call = moved(&call, at);
    place(body, dialect, &call, result)
}

/// Returns where a place is after the message at another one was taken out.
fn moved(place: &str, taken: &str) -> String {
    let (Some(message), _) = message_and_part(place) else { return place.to_owned() };
    match message_and_part(taken) {
        (Some(gone), None) if gone < message => {
            let key = place.split('/').nth(1).unwrap_or_default();
            let rest = place.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap_or_default();
            format!("/{key}/{}{rest}", message - 1)
        }
        _ => place.to_owned(),
    }
}

pub(super) fn results_to_front(body: &mut Value, _: Dialect, at: &str) -> bool {
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
