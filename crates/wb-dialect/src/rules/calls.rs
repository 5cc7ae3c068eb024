//! Calls: their ids, arguments and places.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Finding;
use crate::arguments::as_object;
use crate::call_ids::{call_id, is_good_id, max_id_chars};
use crate::dialect::Dialect;
use crate::pointer::set;
use crate::request::{Asked, Kind, Part, Role};

/// Finds calls under an id that another call has: in the whole request, in chat in the same message.
pub(super) fn repeated(asked: &Asked<'_>) -> Vec<Finding> {
    let mut seen: HashSet<(usize, &str)> = HashSet::new();
    let is_new = |seen: &mut HashSet<_>, message: usize, id| {
        let message = if asked.dialect == Dialect::OpenaiChat { message } else { 0 };
        seen.insert((message, id))
    };
    let again = asked.calls().filter(|(spot, id, ..)| !is_new(&mut seen, spot.message, *id));
    let what = |id: &str| format!("the id `{id}` stands twice");
    again.map(|(spot, id, ..)| Finding::new(asked.part(spot).at.as_str(), what(id))).collect()
}

/// Finds ids of a shape that is refused; those of results follow their calls.
pub(super) fn misshapen(asked: &Asked<'_>) -> Vec<Finding> {
    let bad = asked.calls().filter(|(_, id, ..)| !is_good_id(id, asked.dialect));
    let wants = match max_id_chars(asked.dialect) {
        usize::MAX => "letters, digits, `_` and `-`".to_owned(),
        n => format!("1 to {n} characters"),
    };
    let found = |at: &str, id: &str| Finding::new(at, format!("the id `{id}` does not consist of {wants}"));
    bad.map(|(spot, id, ..)| found(&asked.part(spot).at, id)).collect()
}

/// Finds texts behind a call in the same message.
pub(super) fn not_last(asked: &Asked<'_>) -> Vec<Finding> {
    let is_text_behind = |parts: &[Part<'_>]| {
        let mut rest = parts.iter().skip_while(|part| !matches!(part.kind, Kind::Call { .. }));
        rest.any(|part| matches!(part.kind, Kind::Text(_)))
    };
    let is_so = |at: &usize| {
        let said = &asked.messages[*at];
        said.role == Role::Model && is_text_behind(&said.parts)
    };
    let found = (0..asked.messages.len()).filter(is_so);
    found.map(|at| Finding::new(asked.at(at), "a text stands behind a call")).collect()
}

/// Finds arguments that are not of the type which is wanted.
pub(super) fn bad_arguments(asked: &Asked<'_>) -> Vec<Finding> {
    let wanted = |value: &Value, arguments: &Value| match asked.dialect {
        Dialect::Anthropic => (!arguments.is_object()).then_some("no object"),
        Dialect::Gemini => (!arguments.is_object() && !arguments.is_null()).then_some("no object"),
        Dialect::OpenaiChat => {
            (value.get("function").is_some() && !arguments.is_string()).then_some("no string")
        }
        Dialect::OpenaiResponses => {
            (value["type"] == "function_call" && !arguments.is_string()).then_some("no string")
        }
    };
    let found = asked.calls().filter_map(|(spot, _, name, arguments)| {
        let part = asked.part(spot);
        let what = wanted(part.value, arguments)?;
        Some(Finding::new(part.at.as_str(), format!("the arguments of `{name}` are {what}")))
    });
    found.collect()
}

/// Finds calls of chat that do not say their type.
pub(super) fn untyped(asked: &Asked<'_>) -> Vec<Finding> {
    let is_bare =
        |call: &Value| call.get("type").is_none_or(Value::is_null) && call.get("function").is_some();
    let found = asked.calls().map(|(spot, ..)| asked.part(spot)).filter(|part| is_bare(part.value));
    found.map(|part| Finding::new(part.at.as_str(), "the call has no type")).collect()
}

/// Gives a call the type that it has where it names a function.
pub(super) fn give_type(body: &mut Value, _: Dialect, at: &str) -> bool {
    set(body, at, "type", "function".into())
}

/// Gives a call an id of its own, and its result too.
pub(super) fn rename(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let renamed = {
        let asked = Asked::of(body, dialect);
        let known: HashSet<&str> = asked.calls().map(|(_, id, ..)| id).collect();
        let call = asked.calls().find(|(spot, ..)| asked.part(*spot).at == at);
        call.and_then(|(spot, id, ..)| {
            let pair = asked.pairs().answered.iter().find(|(call, _)| *call == spot);
            let result = pair.map(|(_, result)| asked.part(*result).at.clone());
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

/// Gives a call and the result next to it one id, and the result the name of the call where results have names.
pub(super) fn name_result(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let found = {
        let asked = Asked::of(body, dialect);
        let pair = asked.pairs().nameless.iter().find(|(call, _)| asked.part(*call).at == at);
        pair.map(|(call, result)| {
            let (call, result) = (asked.part(*call), asked.part(*result));
            let name = name_in(call).filter(|_| dialect == Dialect::Gemini).map(str::to_owned);
            (result.at.clone(), shared_id(&asked, call, result, name.is_some()), name)
        })
    };
    let Some((result, id, name)) = found else { return false };
    let is_named = name.is_none_or(|name| {
        let at = holder(body, &result);
        set(body, &at, "name", name.into())
    });
    is_named && id.is_none_or(|id| set_id(body, dialect, at, &id) && set_id(body, dialect, &result, &id))
}

/// Returns the name that a call has.
fn name_in<'a>(call: &Part<'a>) -> Option<&'a str> {
    match call.kind {
        Kind::Call { name, .. } => Some(name).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// Returns the id for a call and its result: that of one of them which no other call has, else a new one; none where the
/// name is enough.
fn shared_id(asked: &Asked<'_>, call: &Part<'_>, result: &Part<'_>, is_by_name: bool) -> Option<String> {
    let others: HashSet<&str> =
        asked.calls().filter(|it| asked.part(it.0).at != call.at).map(|it| it.1).collect();
    let (Kind::Call { id, .. }, Kind::Result { id: of, .. }) = (call.kind, result.kind) else { return None };
    let is_free = |id: &&str| !id.is_empty() && !others.contains(id);
    if let Some(id) = [id, of].into_iter().find(is_free) {
        return Some(id.to_owned());
    }
    let mut new = (1..).map(|n| format!("call_{n}"));
    if is_by_name { None } else { new.find(|id| is_free(&id.as_str())) }
}

/// Gives an id the shape that is taken, wherever it stands.
pub(super) fn reshape(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let (places, new) = {
        let asked = Asked::of(body, dialect);
        let Some((_, id, ..)) = asked.calls().find(|(spot, ..)| asked.part(*spot).at == at) else {
            return false;
        };
        let is_it = |part: &Part<'_>| match part.kind {
            Kind::Call { id: other, .. } | Kind::Result { id: other, .. } => other == id,
            _ => false,
        };
        let places: Vec<String> =
            asked.parts().filter(|(_, part)| is_it(part)).map(|(_, part)| part.at.clone()).collect();
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
        Dialect::Gemini => (holder(body, at), "id"),
    };
    set(body, &at, key, id.into())
}

/// Returns the place of what a part of Gemini holds: a call or a response, whichever way its key is written.
fn holder(body: &Value, at: &str) -> String {
    let keys = ["functionCall", "function_call", "functionResponse", "function_response"];
    let is_held = |key: &&str| body.pointer(at).is_some_and(|part| part.get(*key).is_some());
    format!("{at}/{}", keys.into_iter().find(is_held).unwrap_or_default())
}

/// Moves texts in front of the first call of their message.
pub(super) fn to_the_end(body: &mut Value, _: Dialect, at: &str) -> bool {
    let parts = body.pointer_mut(at).and_then(|message| message.get_mut("content")?.as_array_mut());
    let Some(parts) = parts else { return false };
    let Some(first) = parts.iter().position(|part| part["type"] == "tool_use") else { return false };
    parts[first..].sort_by_key(|part| part["type"] != "text");
    true
}

/// Gives arguments the type that is wanted.
pub(super) fn fix_arguments(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let (place, key) = match dialect {
        Dialect::Anthropic => (at.to_owned(), "input"),
        Dialect::OpenaiChat => (format!("{at}/function"), "arguments"),
        Dialect::OpenaiResponses => (at.to_owned(), "arguments"),
        Dialect::Gemini => (holder(body, at), "args"),
    };
    let object = as_object(body.pointer(&place).and_then(|call| call.get(key)).unwrap_or(&Value::Null));
    let is_text = matches!(dialect, Dialect::OpenaiChat | Dialect::OpenaiResponses);
    set(body, &place, key, if is_text { json!(object.to_string()) } else { object })
}
