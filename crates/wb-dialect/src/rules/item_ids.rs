//! Items of the Responses API, each with an id of its own.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::dialect::Dialect;
use crate::pointer::{take, unset};
use crate::request::Asked;

/// Finds items under an id that an earlier one has.
pub(super) fn repeated(asked: &Asked<'_>) -> Vec<Finding> {
    let mut seen: HashSet<&str> = HashSet::new();
    let ids = asked.messages.iter().enumerate();
    let ids = ids.filter_map(|(at, said)| Some((at, said.value.get("id")?.as_str()?)));
    let again = ids.filter(|(_, id)| !seen.insert(id));
    again.map(|(at, id)| Finding::new(asked.at(at), format!("the id `{id}` stands twice"))).collect()
}

/// Takes the id off an item; one that is nothing without it, such as reasoning, is there already and goes.
pub(super) fn take_id(body: &mut Value, _: Dialect, at: &str) -> bool {
    let Some(item) = body.pointer(at) else { return false };
    let says_more = ["role", "call_id"].iter().any(|key| item.get(key).is_some());
    if says_more { unset(body, at, "id") } else { take(body, at).is_some() }
}
