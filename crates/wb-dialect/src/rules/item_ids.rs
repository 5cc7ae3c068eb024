//! The rule that items of the Responses API have unique ids.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{remove, remove_key};
use crate::request::RequestView;

/// Finds items that share an id with an earlier one.
pub(super) fn repeated_ids(view: &RequestView<'_>) -> Vec<Finding> {
    let mut seen: HashSet<&str> = HashSet::new();
    let ids = view.messages.iter().enumerate();
    let ids = ids.filter_map(|(at, message)| Some((at, message.value.get("id")?.as_str()?)));
    let again = ids.filter(|(_, id)| !seen.insert(id));
    again
        .map(|(at, id)| Finding::new(view.message_pointer(at), format!("the id `{id}` is used twice")))
        .collect()
}

/// Removes an item's id, or a repeated item that consists of no more, such as reasoning.
pub(super) fn remove_id(body: &mut Value, _: Dialect, at: &str) -> bool {
    let Some(item) = body.pointer(at) else { return false };
    let has_content = ["role", "call_id"].iter().any(|key| item.get(key).is_some());
    if has_content { remove_key(body, at, "id") } else { remove(body, at).is_some() }
}
