//! Documents that are one JSON value or lines of objects.

use std::borrow::Cow;
use std::io;

use serde::de::IgnoredAny;
use wb_record::Parts;

use super::json_text::body_of;

/// Returns the whole document.
pub(crate) fn whole(parts: &dyn Parts) -> io::Result<Cow<'_, [u8]>> {
    parts.held("").map_or_else(|| parts.whole("").map(Cow::Owned), |held| Ok(Cow::Borrowed(held)))
}

/// Returns whether a document is no JSON value, but has lines that are objects.
pub(crate) fn is_lines(parts: &dyn Parts) -> io::Result<bool> {
    let document = whole(parts)?;
    let (_, json) = body_of(&document);
    let is_value = |json: &[u8]| serde_json::from_slice::<IgnoredAny>(json).is_ok();
    let is_object = |line: &[u8]| line.starts_with(b"{") && is_value(line);
    Ok(!is_value(json) && json.split(|byte| *byte == b'\n').any(is_object))
}
