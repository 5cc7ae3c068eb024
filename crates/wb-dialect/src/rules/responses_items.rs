//! Rules on encrypted content and reasoning of the Responses API.

use serde_json::{Value, json};

use super::Finding;
use crate::request::RequestView;
use crate::request_edit::RequestEdit;

const ENCRYPTED: &str = "encrypted_content";

/// Finds items whose encrypted content is not a string.
pub(super) fn mistyped_encryption(view: &RequestView<'_>) -> Vec<Finding> {
    let is_bad = |item: &Value| item.get(ENCRYPTED).is_some_and(|it| !it.is_string() && !it.is_null());
    find(view, is_bad, "the encrypted content is not a string")
}

/// Removes the encrypted content of reasoning; removes any other item, which consists of no more.
pub(super) fn remove_encryption(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let is_reasoning = edit.value(&found.at).is_some_and(|item| item["type"] == "reasoning");
    if is_reasoning {
        return edit.remove_key(&found.at, ENCRYPTED);
    }
    edit.remove(&found.at).is_some()
}

/// Finds reasoning with readable content next to its encrypted content.
pub(super) fn readable_reasoning(view: &RequestView<'_>) -> Vec<Finding> {
    let has_content = |item: &Value| item["content"].as_array().is_some_and(|list| !list.is_empty());
    let is_bad =
        |item: &Value| item["type"] == "reasoning" && item.get(ENCRYPTED).is_some() && has_content(item);
    find(view, is_bad, "the reasoning has readable content next to the encrypted content")
}

/// Empties the readable content of reasoning.
pub(super) fn empty_content(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.set(&found.at, "content", json!([]))
}

fn find(view: &RequestView<'_>, is_bad: impl Fn(&Value) -> bool, what: &str) -> Vec<Finding> {
    let bad = view.messages.iter().enumerate().filter(|(_, message)| is_bad(message.value));
    bad.map(|(at, _)| Finding::new(view.message_pointer(at), what)).collect()
}
