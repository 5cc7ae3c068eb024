//! The rule that items of the Responses API have unique ids.

use std::collections::HashSet;

use super::Finding;
use crate::request::RequestView;
use crate::request_edit::RequestEdit;

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
pub(super) fn remove_id(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let at = &found.at;
    let Some(item) = edit.value(at) else { return false };
    let has_content = ["role", "call_id"].iter().any(|key| item.get(key).is_some());
    if has_content { edit.remove_key(at, "id") } else { edit.remove(at).is_some() }
}
