//! The names of tools, on offer and in calls.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::set;
use crate::request::{Asked, Kind, Part};
use crate::tool_names::{Named, call_name, is_good_name, shaped_name, with_own_mark};

/// Visits the tools that have names of the host's own, with the places of the objects that hold the names.
fn tools(body: &Value, dialect: Dialect) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for (nth, tool) in list(body.get("tools")).iter().enumerate() {
        let at = format!("/tools/{nth}");
        match dialect {
            Dialect::Anthropic => found.push((at, tool)),
            Dialect::OpenaiChat => {
                found.extend(tool.get("function").map(|it| (format!("{at}/function"), it)));
            }
            Dialect::OpenaiResponses => found.extend((tool["type"] == "function").then_some((at, tool))),
            Dialect::Gemini => {
                for key in ["functionDeclarations", "function_declarations"] {
                    let all = list(tool.get(key)).iter().enumerate();
                    found.extend(all.map(|(nth, it)| (format!("{at}/{key}/{nth}"), it)));
                }
            }
        }
    }
    found.into_iter().filter_map(|(at, tool)| Some((at, tool.get("name")?.as_str()?))).collect()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Finds names that are refused; those of calls of a tool on offer follow the tool.
pub(super) fn misnamed(asked: &Asked<'_>) -> Vec<Finding> {
    let offered = tools(asked.body, asked.dialect);
    let is_bad = |name: &str, named| !is_good_name(name, asked.dialect, named);
    let bad = offered.iter().filter(|(_, name)| is_bad(name, Named::OnOffer));
    let mut found: Vec<Finding> = bad
        .map(|(at, name)| Finding::new(at.as_str(), format!("no tool may have the name `{name}`")))
        .collect();
    let known: HashSet<&str> = offered.iter().map(|(_, name)| *name).collect();
    for (_, part) in asked.parts().filter(|(_, part)| matches!(part.kind, Kind::Call { .. })) {
        let Some((_, name)) = named_in(part, asked.dialect) else { continue };
        if is_bad(name, Named::InCall) && !known.contains(name) {
            found.push(Finding::new(part.at.as_str(), format!("no call may have the name `{name}`")));
        }
    }
    found
}

/// Gives a tool on offer, or a call of one that is not, a name that is taken, and all its calls and their results too.
pub(super) fn rename(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let all = tools(body, dialect);
    let Some((_, old)) = all.iter().find(|(place, _)| place == at) else {
        return rename_call(body, dialect, at);
    };
    let old = (*old).to_owned();
    let taken: HashSet<&str> = all.iter().map(|(_, name)| *name).collect();
    let mut new = shaped_name(&old, dialect, Named::OnOffer).into_owned();
    if taken.contains(new.as_str()) {
        new = with_own_mark(&new, &old, dialect);
    }
    rename_uses(body, dialect, &old, &new) && set(body, at, "name", new.as_str().into())
}

fn rename_call(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let old = {
        let asked = Asked::of(body, dialect);
        let call = asked.parts().find(|(_, part)| part.at == at);
        call.and_then(|(_, call)| named_in(call, dialect)).map(|(_, name)| name.to_owned())
    };
    old.is_some_and(|old| rename_uses(body, dialect, &old, &call_name(&old, dialect)))
}

fn rename_uses(body: &mut Value, dialect: Dialect, old: &str, new: &str) -> bool {
    let places = uses(body, dialect, old);
    places.iter().all(|place| set(body, place, "name", new.into()))
}

/// Returns the places of the objects in which calls and results name a tool.
fn uses(body: &Value, dialect: Dialect, name: &str) -> Vec<String> {
    let asked = Asked::of(body, dialect);
    let named = asked.parts().filter_map(|(_, part)| named_in(part, dialect));
    named.filter(|(_, it)| *it == name).map(|(at, _)| at).collect()
}

/// Returns the name that a call or a result has for its tool, with the place of the object that holds it.
fn named_in<'a>(part: &Part<'a>, dialect: Dialect) -> Option<(String, &'a str)> {
    let keys: &[&str] = match dialect {
        Dialect::Anthropic | Dialect::OpenaiResponses => &[""],
        Dialect::OpenaiChat => &["/function"],
        Dialect::Gemini => &["/functionCall", "/function_call", "/functionResponse", "/function_response"],
    };
    let named = |key: &&str| {
        Some((format!("{}{key}", part.at), part.value.pointer(&format!("{key}/name"))?.as_str()?))
    };
    keys.iter().find_map(named)
}
