//! Rules on calls: ids, types, arguments and places.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::Finding;
use crate::arguments::arguments_object;
use crate::call_ids::{call_id, is_good_id, max_id_chars};
use crate::dialect::Dialect;
use crate::pointer::Pointer;
use crate::request::{Kind, Part, RequestView, Role, Spot, field, text};
use crate::request_edit::{RequestEdit, Uses};
use crate::tool_names::named_object;

/// Finds calls that share an id with an earlier call: of the request, in chat of the same message.
pub(super) fn repeated_ids(view: &RequestView<'_>) -> Vec<Finding> {
    let mut seen: HashSet<(usize, &str)> = HashSet::new();
    let is_new = |seen: &mut HashSet<_>, message: usize, id| {
        let message = if view.dialect == Dialect::OpenaiChat { message } else { 0 };
        seen.insert((message, id))
    };
    let again = view.calls().filter(|(spot, id, ..)| !is_new(&mut seen, spot.message, *id));
    let again: Vec<(Spot, &str)> = again.map(|(spot, id, ..)| (spot, id)).collect();
    if again.is_empty() {
        return Vec::new();
    }
    let results: HashMap<Spot, Spot> = view.pairs().answered.iter().copied().collect();
    let found = |(spot, id): (Spot, &str)| {
        let result = results.get(&spot).map(|result| view.part(*result).at.into());
        Finding::new(view.part(spot).at, format!("the id `{id}` is used twice")).with_repair_value(result)
    };
    again.into_iter().map(found).collect()
}

/// Finds calls with ids of a refused shape.
pub(super) fn malformed_ids(view: &RequestView<'_>) -> Vec<Finding> {
    let bad = view.calls().filter(|(_, id, ..)| !is_good_id(id, view.dialect));
    let expected = match max_id_chars(view.dialect) {
        usize::MAX => "letters, digits, `_` and `-`".to_owned(),
        n => format!("1 to {n} characters"),
    };
    let found =
        |at: Pointer, id: &str| Finding::new(at, format!("the id `{id}` does not consist of {expected}"));
    bad.map(|(spot, id, ..)| found(view.part(spot).at, id)).collect()
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
            (field(value, "function").is_some() && !arguments.is_string()).then_some("not a string")
        }
        Dialect::OpenaiResponses => {
            (text(value, "type") == "function_call" && !arguments.is_string()).then_some("not a string")
        }
    };
    let found = view.calls().filter_map(|(spot, _, name, arguments)| {
        let part = view.part(spot);
        let what = wanted(part.value, arguments)?;
        Some(Finding::new(part.at, format!("the arguments of `{name}` are {what}")))
    });
    found.collect()
}

/// Finds chat calls without a type.
pub(super) fn untyped_calls(view: &RequestView<'_>) -> Vec<Finding> {
    let is_bare =
        |call: &Value| field(call, "type").is_none_or(Value::is_null) && field(call, "function").is_some();
    let found = view.calls().map(|(spot, ..)| view.part(spot)).filter(|part| is_bare(part.value));
    found.map(|part| Finding::new(part.at, "the call has no type")).collect()
}

/// Sets the type of a function call.
pub(super) fn add_type(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.set(&found.at, "type", "function".into())
}

/// Gives a call and its result a unique id.
pub(super) fn rename_id(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let id = id_at(edit, &found.at);
    let uses = edit.uses();
    let suffix = uses.suffixes.entry(id.clone()).or_insert(2);
    let new = loop {
        let new = format!("{id}_{suffix}");
        *suffix += 1;
        if !uses.n_calls.contains_key(&new) {
            break new;
        }
    };
    uses.n_calls.insert(new.clone(), 1);
    if let Some(result) = &found.repair_value {
        set_id(edit, result, &new);
    }
    set_id(edit, &found.at, &new)
}

/// Gives a call and the adjacent result one id, and with Gemini one name.
pub(super) fn link_result(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let Some(result) = &found.repair_value else { return false };
    let name = edit.value(&found.at).and_then(|call| named_object(&found.at, call, edit.dialect));
    let name = name.filter(|(_, name)| edit.dialect == Dialect::Gemini && !name.is_empty());
    let name = name.map(|(_, name)| name.to_owned());
    let id = shared_id(edit, &found.at, result, name.is_some());
    let is_named = name.is_none_or(|name| {
        let at = gemini_object(edit.body(), result);
        edit.set(&at, "name", name.into())
    });
    is_named && id.is_none_or(|id| set_id(edit, &found.at, &id) && set_id(edit, result, &id))
}

/// Returns an id for a call and its result: the id of either if no other call has it, else a new
/// one, unless the name suffices.
fn shared_id(edit: &mut RequestEdit<'_>, call: &str, result: &str, name_suffices: bool) -> Option<String> {
    let (id, result_id) = (id_at(edit, call), id_at(edit, result));
    let uses = edit.uses();
    if let Some(n_calls) = uses.n_calls.get_mut(&id) {
        *n_calls -= 1;
    }
    let is_free = |uses: &Uses, id: &str| !id.is_empty() && uses.n_calls.get(id).is_none_or(|n| *n == 0);
    let mut new = [&id, &result_id].into_iter().find(|id| is_free(uses, id)).cloned();
    while new.is_none() && !name_suffices {
        new = Some(format!("call_{}", uses.next_id)).filter(|new| is_free(uses, new));
        uses.next_id += 1;
    }
    *uses.n_calls.entry(new.clone().unwrap_or(id)).or_default() += 1;
    new
}

/// Reshapes an id everywhere in the request.
pub(super) fn reshape_id(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let id = id_at(edit, &found.at);
    let new = call_id(&id, edit.dialect).into_owned();
    // Once reshaped, no place has it.
    let places = edit.uses().by_id.remove(&id).unwrap_or_default();
    places.iter().all(|place| set_id(edit, place, &new))
}

/// Returns the id of a call or of a result, empty if it has none.
fn id_at(edit: &RequestEdit<'_>, at: &str) -> String {
    let id = id_place(edit, at).and_then(|(at, key)| edit.value(&at)?.get(key)?.as_str());
    id.unwrap_or_default().to_owned()
}

/// Sets the id of a call or of a result.
fn set_id(edit: &mut RequestEdit<'_>, at: &str, id: &str) -> bool {
    id_place(edit, at).is_some_and(|(at, key)| edit.set(&at, key, id.into()))
}

/// Returns the object and the key of the id of a call or of a result.
fn id_place(edit: &RequestEdit<'_>, at: &str) -> Option<(String, &'static str)> {
    let part = edit.value(at)?;
    Some(match edit.dialect {
        Dialect::Anthropic if part["type"] == "tool_result" => (at.to_owned(), "tool_use_id"),
        Dialect::OpenaiChat if part["role"] == "tool" => (at.to_owned(), "tool_call_id"),
        Dialect::Anthropic | Dialect::OpenaiChat => (at.to_owned(), "id"),
        Dialect::OpenaiResponses => (at.to_owned(), "call_id"),
        Dialect::Gemini => (gemini_object(edit.body(), at), "id"),
    })
}

/// Returns the pointer to the call or response inside a part of Gemini.
fn gemini_object(body: &Value, at: &str) -> String {
    let keys = ["functionCall", "function_call", "functionResponse", "function_response"];
    let is_present = |key: &&str| body.pointer(at).is_some_and(|part| part.get(*key).is_some());
    format!("{at}/{}", keys.into_iter().find(is_present).unwrap_or_default())
}

/// Moves texts before the first call of their message.
pub(super) fn move_texts_first(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let parts = edit.value_mut(&found.at).and_then(|message| message.get_mut("content")?.as_array_mut());
    let Some(parts) = parts else { return false };
    let Some(first) = parts.iter().position(|part| part["type"] == "tool_use") else { return false };
    parts[first..].sort_by_key(|part| part["type"] != "text");
    true
}

/// Converts arguments to the type that the dialect wants.
pub(super) fn fix_arguments(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let at = &found.at;
    let (place, key) = match edit.dialect {
        Dialect::Anthropic => (at.to_owned(), "input"),
        Dialect::OpenaiChat => (format!("{at}/function"), "arguments"),
        Dialect::OpenaiResponses => (at.to_owned(), "arguments"),
        Dialect::Gemini => (gemini_object(edit.body(), at), "args"),
    };
    let object = arguments_object(edit.value(&place).and_then(|call| call.get(key)).unwrap_or(&Value::Null));
    let is_text = matches!(edit.dialect, Dialect::OpenaiChat | Dialect::OpenaiResponses);
    edit.set(&place, key, if is_text { json!(object.to_string()) } else { object })
}
