//! The rule on tool names, in definitions and in calls.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::request::{Kind, RequestView};
use crate::request_edit::RequestEdit;
use crate::tool_names::{NameUse, call_name, is_good_name, named_object, shaped_name, tool_name, with_hash};

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
        let Some((_, name)) = tool_name(part.value, view.dialect) else { continue };
        if is_bad(name, NameUse::Call) && !known.contains(name) {
            found.push(Finding::new(part.at, format!("no call may have the name `{name}`")));
        }
    }
    found
}

/// Renames a defined tool, or an undefined one in a call, with all its calls and results.
pub(super) fn rename_tool(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let (at, dialect) = (&found.at, edit.dialect);
    let all = tools(edit.body(), dialect);
    let Some((_, old)) = all.iter().find(|(place, _)| place == at) else {
        return rename_call(edit, at);
    };
    let old = (*old).to_owned();
    let taken: HashSet<&str> = all.iter().map(|(_, name)| *name).collect();
    let mut new = shaped_name(&old, dialect, NameUse::Definition).into_owned();
    if taken.contains(new.as_str()) {
        new = with_hash(&new, &old, dialect);
    }
    rename_uses(edit, &old, &new) && edit.set(at, "name", new.as_str().into())
}

fn rename_call(edit: &mut RequestEdit<'_>, at: &str) -> bool {
    let call = edit.value(at).and_then(|call| named_object(at, call, edit.dialect));
    let Some(old) = call.map(|(_, name)| name.to_owned()) else { return false };
    rename_uses(edit, &old, &call_name(&old, edit.dialect))
}

/// Renames a tool in all calls and results; once renamed, no place is left.
fn rename_uses(edit: &mut RequestEdit<'_>, old: &str, new: &str) -> bool {
    let places = edit.uses().by_name.remove(old).unwrap_or_default();
    places.iter().all(|place| edit.set(place, "name", new.into()))
}
