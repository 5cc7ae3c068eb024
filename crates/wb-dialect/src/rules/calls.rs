//! Rules on calls: ids, types, arguments and places.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Finding;
use crate::arguments::arguments_object;
use crate::call_ids::{call_id, is_good_id, max_id_chars};
use crate::dialect::Dialect;
use crate::pointer::set;
use crate::request::{Kind, Part, RequestView, Role};

/// Finds calls that share an id with an earlier call: of the request, in chat of the same message.
pub(super) fn repeated_ids(view: &RequestView<'_>) -> Vec<Finding> {
    let mut seen: HashSet<(usize, &str)> = HashSet::new();
    let is_new = |seen: &mut HashSet<_>, message: usize, id| {
        let message = if view.dialect == Dialect::OpenaiChat { message } else { 0 };
        seen.insert((message, id))
    };
    let again = view.calls().filter(|(spot, id, ..)| !is_new(&mut seen, spot.message, *id));
    let what = |id: &str| format!("the id `{id}` is used twice");
    again.map(|(spot, id, ..)| Finding::new(view.part(spot).at.as_str(), what(id))).collect()
}

/// Finds calls with ids of a refused shape.
pub(super) fn malformed_ids(view: &RequestView<'_>) -> Vec<Finding> {
    let bad = view.calls().filter(|(_, id, ..)| !is_good_id(id, view.dialect));
    let expected = match max_id_chars(view.dialect) {
        usize::MAX => "letters, digits, `_` and `-`".to_owned(),
        n => format!("1 to {n} characters"),
    };
    let found =
        |at: &str, id: &str| Finding::new(at, format!("the id `{id}` does not consist of {expected}"));
    bad.map(|(spot, id, ..)| found(&view.part(spot).at, id)).collect()
}

/// Finds texts after a call in the same message.
pub(super) fn texts_after_calls(view: &RequestView<'_>) -> Vec<Finding> {
    let has_text_after_call = |parts: &[Part<'_>]| {
        let mut rest = parts.iter().skip_while(|part| !matches!(part.kind, Kind::Call { .. }));
        rest.any(|part| matches!(part.kind, Kind::Text(_)))
    };
    let is_found = |at: &usize| {
        let message = &view.messages[*at];
        message.role == Role::Model && has_text_after_call(&message.parts)
    };
    let found = (0..view.messages.len()).filter(is_found);
    found.map(|at| Finding::new(view.message_pointer(at), "a text follows a call")).collect()
}

/// Finds arguments of the wrong JSON type.
pub(super) fn mistyped_arguments(view: &RequestView<'_>) -> Vec<Finding> {
    let wanted = |value: &Value, arguments: &Value| match view.dialect {
        Dialect::Anthropic => (!arguments.is_object()).then_some("not an object"),
        Dialect::Gemini => (!arguments.is_object() && !arguments.is_null()).then_some("not an object"),
        Dialect::OpenaiChat => {
            (value.get("function").is_some() && !arguments.is_string()).then_some("not a string")
        }
        Dialect::OpenaiResponses => {
            (value["type"] == "function_call" && !arguments.is_string()).then_some("not a string")
        }
    };
    let found = view.calls().filter_map(|(spot, _, name, arguments)| {
        let part = view.part(spot);
        let what = wanted(part.value, arguments)?;
        Some(Finding::new(part.at.as_str(), format!("the arguments of `{name}` are {what}")))
    });
    found.collect()
}

/// Finds chat calls without a type.
pub(super) fn untyped_calls(view: &RequestView<'_>) -> Vec<Finding> {
    let is_bare =
        |call: &Value| call.get("type").is_none_or(Value::is_null) && call.get("function").is_some();
    let found = view.calls().map(|(spot, ..)| view.part(spot)).filter(|part| is_bare(part.value));
    found.map(|part| Finding::new(part.at.as_str(), "the call has no type")).collect()
}

/// Sets the type of a function call.
pub(super) fn add_type(body: &mut Value, _: Dialect, at: &str) -> bool {
    set(body, at, "type", "function".into())
}

/// Gives a call and its result a unique id.
pub(super) fn rename_id(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let renamed = {
        let view = RequestView::new(body, dialect);
        let known: HashSet<&str> = view.calls().map(|(_, id, ..)| id).collect();
        let call = view.calls().find(|(spot, ..)| view.part(*spot).at == at);
        call.and_then(|(spot, id, ..)| {
            let pair = view.pairs().answered.iter().find(|(call, _)| *call == spot);
            let result = pair.map(|(_, result)| view.part(*result).at.clone());
            let new = (2..known.len() + 3)
                .map(|n| format!("{id}_{n}"))
                .find(|new| !known.contains(new.as_str()))?;
            Some((new, result))
        })
    };
    let Some((id, result)) = renamed else { return false };
    if let Some(result) = result {
        set_id(body, dialect, &result, &id);
    }
    set_id(body, dialect, at, &id)
}

/// Gives a call and the adjacent result one id, and with Gemini one name.
pub(super) fn link_result(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let found = {
        let view = RequestView::new(body, dialect);
        let pair = view.pairs().nameless.iter().find(|(call, _)| view.part(*call).at == at);
        pair.map(|(call, result)| {
            let (call, result) = (view.part(*call), view.part(*result));
            let name = call_name_in(call).filter(|_| dialect == Dialect::Gemini).map(str::to_owned);
            (result.at.clone(), shared_id(&view, call, result, name.is_some()), name)
        })
    };
    let Some((result, id, name)) = found else { return false };
    let is_named = name.is_none_or(|name| {
        let at = gemini_object(body, &result);
        set(body, &at, "name", name.into())
    });
    is_named && id.is_none_or(|id| set_id(body, dialect, at, &id) && set_id(body, dialect, &result, &id))
}

fn call_name_in<'a>(call: &Part<'a>) -> Option<&'a str> {
    match call.kind {
        Kind::Call { name, .. } => Some(name).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// Returns an id for a call and its result: the id of either if no other call has it, else a new
/// one, unless the name suffices.
fn shared_id(
    view: &RequestView<'_>,
    call: &Part<'_>,
    result: &Part<'_>,
    name_suffices: bool,
) -> Option<String> {
    let others: HashSet<&str> =
        view.calls().filter(|it| view.part(it.0).at != call.at).map(|it| it.1).collect();
    let (Kind::Call { id, .. }, Kind::Result { id: result_id, .. }) = (call.kind, result.kind) else {
        return None;
    };
    let is_free = |id: &&str| !id.is_empty() && !others.contains(id);
    if let Some(id) = [id, result_id].into_iter().find(is_free) {
        return Some(id.to_owned());
    }
    let mut new = (1..).map(|n| format!("call_{n}"));
    if name_suffices { None } else { new.find(|id| is_free(&id.as_str())) }
}

/// Reshapes an id everywhere in the request.
pub(super) fn reshape_id(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let (places, new) = {
        let view = RequestView::new(body, dialect);
        let Some((_, id, ..)) = view.calls().find(|(spot, ..)| view.part(*spot).at == at) else {
            return false;
        };
        let has_id = |part: &Part<'_>| match part.kind {
            Kind::Call { id: other, .. } | Kind::Result { id: other, .. } => other == id,
            _ => false,
        };
        let places: Vec<String> =
            view.parts().filter(|(_, part)| has_id(part)).map(|(_, part)| part.at.clone()).collect();
        (places, call_id(id, dialect).into_owned())
    };
    places.iter().all(|place| set_id(body, dialect, place, &new))
}

/// Sets the id of a call or of a result.
fn set_id(body: &mut Value, dialect: Dialect, at: &str, id: &str) -> bool {
    let Some(part) = body.pointer(at) else { return false };
    let (at, key) = match dialect {
        Dialect::Anthropic if part["type"] == "tool_result" => (at.to_owned(), "tool_use_id"),
        Dialect::OpenaiChat if part["role"] == "tool" => (at.to_owned(), "tool_call_id"),
        Dialect::Anthropic | Dialect::OpenaiChat => (at.to_owned(), "id"),
        Dialect::OpenaiResponses => (at.to_owned(), "call_id"),
        Dialect::Gemini => (gemini_object(body, at), "id"),
    };
    set(body, &at, key, id.into())
}

/// Returns the pointer to the call or response inside a part of Gemini.
fn gemini_object(body: &Value, at: &str) -> String {
    let keys = ["functionCall", "function_call", "functionResponse", "function_response"];
    let is_present = |key: &&str| body.pointer(at).is_some_and(|part| part.get(*key).is_some());
    format!("{at}/{}", keys.into_iter().find(is_present).unwrap_or_default())
}

/// Moves texts before the first call of their message.
pub(super) fn move_texts_first(body: &mut Value, _: Dialect, at: &str) -> bool {
    let parts = body.pointer_mut(at).and_then(|message| message.get_mut("content")?.as_array_mut());
    let Some(parts) = parts else { return false };
    let Some(first) = parts.iter().position(|part| part["type"] == "tool_use") else { return false };
    parts[first..].sort_by_key(|part| part["type"] != "text");
    true
}

/// Converts arguments to the type that the dialect wants.
pub(super) fn fix_arguments(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let (place, key) = match dialect {
        Dialect::Anthropic => (at.to_owned(), "input"),
        Dialect::OpenaiChat => (format!("{at}/function"), "arguments"),
        Dialect::OpenaiResponses => (at.to_owned(), "arguments"),
        Dialect::Gemini => (gemini_object(body, at), "args"),
    };
    let object =
        arguments_object(body.pointer(&place).and_then(|call| call.get(key)).unwrap_or(&Value::Null));
    let is_text = matches!(dialect, Dialect::OpenaiChat | Dialect::OpenaiResponses);
    set(body, &place, key, if is_text { json!(object.to_string()) } else { object })
}
