//! The values in a value of a record, among which repairs look for ids, names and calls.

use std::borrow::Cow;
use std::ops::Range;

use wb_record::json::{elements, members};

/// Keys under which a tool and its user say what they like.
pub(super) const FREE: [&str; 7] =
    ["input", "args", "arguments", "parameters", "output", "result", "response"];

/// Returns the members of an object or the elements of a list, each with its key and its place; the
/// key of an element is empty.
pub(super) fn children(value: &[u8]) -> Vec<(Cow<'_, str>, Range<usize>)> {
    if let Some(members) = members(value) {
        return members.into_iter().map(|member| (member.key, member.value)).collect();
    }
    let places = if value.starts_with(b"[") { elements(value) } else { None };
    places.unwrap_or_default().into_iter().map(|place| (Cow::Borrowed(""), place)).collect()
}
