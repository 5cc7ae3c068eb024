//! The rule on tool names, in definitions and in calls.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::set;
use crate::request::{Kind, Part, RequestView};
use crate::tool_names::{NameUse, call_name, is_good_name, shaped_name, with_hash};

/// Returns the names of the host's tools with pointers to the objects that contain them.
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

/// Finds refused names; calls of a defined tool are renamed with it.
pub(super) fn bad_names(view: &RequestView<'_>) -> Vec<Finding> {
    let offered = tools(view.body, view.dialect);
    let is_bad = |name: &str, named| !is_good_name(name, view.dialect, named);
    let bad = offered.iter().filter(|(_, name)| is_bad(name, NameUse::Definition));
    let mut found: Vec<Finding> = bad
        .map(|(at, name)| Finding::new(at.as_str(), format!("no tool may have the name `{name}`")))
        .collect();
    let known: HashSet<&str> = offered.iter().map(|(_, name)| *name).collect();
    for (_, part) in view.parts().filter(|(_, part)| matches!(part.kind, Kind::Call { .. })) {
        let Some((_, name)) = named_part(part, view.dialect) else { continue };
        if is_bad(name, NameUse::Call) && !known.contains(name) {
            found.push(Finding::new(part.at.as_str(), format!("no call may have the name `{name}`")));
        }
    }
    found
}

/// Renames a defined tool, or an undefined one in a call, with all its calls and results.
pub(super) fn rename_tool(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let all = tools(body, dialect);
    let Some((_, old)) = all.iter().find(|(place, _)| place == at) else {
        return rename_call(body, dialect, at);
    };
    let old = (*old).to_owned();
    let taken: HashSet<&str> = all.iter().map(|(_, name)| *name).collect();
    let mut new = shaped_name(&old, dialect, NameUse::Definition).into_owned();
    if taken.contains(new.as_str()) {
        new = with_hash(&new, &old, dialect);
    }
    rename_uses(body, dialect, &old, &new) && set(body, at, "name", new.as_str().into())
}

fn rename_call(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let old = {
        let view = RequestView::new(body, dialect);
        let call = view.parts().find(|(_, part)| part.at == at);
        call.and_then(|(_, call)| named_part(call, dialect)).map(|(_, name)| name.to_owned())
    };
    old.is_some_and(|old| rename_uses(body, dialect, &old, &call_name(&old, dialect)))
}

fn rename_uses(body: &mut Value, dialect: Dialect, old: &str, new: &str) -> bool {
    let places = uses(body, dialect, old);
    places.iter().all(|place| set(body, place, "name", new.into()))
}

/// Returns pointers to the objects that name a tool in calls and results.
fn uses(body: &Value, dialect: Dialect, name: &str) -> Vec<String> {
    let view = RequestView::new(body, dialect);
    let named = view.parts().filter_map(|(_, part)| named_part(part, dialect));
    named.filter(|(_, it)| *it == name).map(|(at, _)| at).collect()
}

/// Returns the tool name of a call or result with a pointer to the object that contains it.
fn named_part<'a>(part: &Part<'a>, dialect: Dialect) -> Option<(String, &'a str)> {
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
