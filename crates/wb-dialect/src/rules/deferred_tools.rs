//! Rules on tools that are loaded on demand.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Finding;
use crate::request::{RequestView, elements};
use crate::request_edit::RequestEdit;

/// The list of references in the result of the provider's own search, which has no texts.
const REFERENCES: &str = "tool_references";

/// Finds references to tools that the request does not offer. Tools of MCP servers are not listed,
/// so that any reference may be one of them.
pub(super) fn unknown_references(view: &RequestView<'_>) -> Vec<Finding> {
    let Some(tools) = view.body.get("tools").and_then(Value::as_array) else { return Vec::new() };
    let names: Option<HashSet<&str>> = tools.iter().map(|tool| tool.get("name")?.as_str()).collect();
    let Some(names) = names else { return Vec::new() };
    let mut references = Vec::new();
    for (at, message) in view.messages.iter().enumerate() {
        collect(message.value, &view.message_pointer(at).to_string(), &mut references);
    }
    let unknown = references.into_iter().filter(|(_, name)| !names.contains(name));
    unknown.map(|(at, name)| Finding::new(at, format!("the tool `{name}` is not in the request"))).collect()
}

/// Collects the references to tools in the content of a message, block or result.
fn collect<'a>(value: &'a Value, at: &str, references: &mut Vec<(String, &'a str)>) {
    if value.get("type").is_some_and(|kind| kind == "tool_reference") {
        let name = value.get("tool_name").and_then(Value::as_str);
        return references.extend(name.map(|name| (at.to_owned(), name)));
    }
    for key in ["content", REFERENCES] {
        for (nth, each) in elements(value, key).iter().enumerate() {
            collect(each, &format!("{at}/{key}/{nth}"), references);
        }
    }
    if let Some(content) = value.get("content").filter(|content| content.is_object()) {
        collect(content, &format!("{at}/content"), references);
    }
}

/// Replaces a reference with a text that names the tool; removes it where no text is allowed.
pub(super) fn replace_reference(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    if found.at.rsplit('/').nth(1) == Some(REFERENCES) {
        return edit.remove(&found.at).is_some();
    }
    let Some(reference) = edit.value_mut(&found.at) else { return false };
    let name = reference.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    *reference = json!({ "type": "text", "text": format!("[tool: {name}]") });
    true
}

/// Finds a request of which all tools are deferred; the place is the tool to load at once: the one
/// that searches, or else the first.
pub(super) fn only_deferred_tools(view: &RequestView<'_>) -> Vec<Finding> {
    let tools = elements(view.body, "tools");
    let is_deferred = |tool: &Value| tool.get("defer_loading") == Some(&Value::Bool(true));
    if !tools.iter().all(is_deferred) {
        return Vec::new();
    }
    let is_search = |tool: &Value| tool["type"].as_str().is_some_and(|it| it.starts_with("tool_search_tool"));
    let search = tools.iter().position(is_search).or_else(|| (!tools.is_empty()).then_some(0));
    search.map(|at| Finding::new(format!("/tools/{at}"), "all tools are deferred")).into_iter().collect()
}

/// Has a tool loaded at once.
pub(super) fn load_tool(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.remove_key(&found.at, "defer_loading")
}
