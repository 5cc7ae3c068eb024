//! Limits on the size of a request and of its pictures.

use serde_json::{Value, json};

use super::{Finding, NO_PICTURE};
use crate::dialect::Dialect;
use crate::request::{Rare, RequestView};
use crate::request_edit::RequestEdit;

const MEGABYTE: usize = 1 << 20;
/// Anthropic's limit for a picture, in bytes of base64.
const MAX_PICTURE_BYTES: usize = 5 * MEGABYTE;
/// Anthropic's limit for blocks with `cache_control`.
const MAX_BREAKPOINTS: usize = 4;

fn max_bytes(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Anthropic => 32 * MEGABYTE,
        Dialect::OpenaiChat | Dialect::OpenaiResponses => 512 * MEGABYTE,
        Dialect::Gemini => 100 * MEGABYTE,
    }
}

fn max_pictures(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Anthropic => 100,
        Dialect::OpenaiChat | Dialect::OpenaiResponses => 1500,
        Dialect::Gemini => 3600,
    }
}

/// Finds an oversized request; the place is its first picture, if it has one.
pub(super) fn oversized_request(view: &RequestView<'_>) -> Vec<Finding> {
    larger_than(view, max_bytes(view.dialect))
}

fn larger_than(view: &RequestView<'_>, max: usize) -> Vec<Finding> {
    let n_bytes = view.contents().n_bytes;
    if n_bytes <= max {
        return Vec::new();
    }
    let first = view.pictures().iter().find(|picture| picture.n_bytes() > 0);
    let what = format!("the request has {n_bytes} bytes, the limit is {max}");
    vec![Finding::new(first.map(|picture| picture.at.clone()).unwrap_or_default(), what)]
}

pub(super) fn excess_pictures(view: &RequestView<'_>) -> Vec<Finding> {
    let (pictures, max) = (view.pictures(), max_pictures(view.dialect));
    let n = pictures.len();
    let what = format!("the request has {n} pictures, the limit is {max}");
    let oldest = pictures.iter().take(n.saturating_sub(max));
    oldest.map(|picture| Finding::new(picture.at.as_str(), what.as_str())).collect()
}

pub(super) fn oversized_pictures(view: &RequestView<'_>) -> Vec<Finding> {
    let large = view.pictures().iter().filter(|picture| picture.n_bytes() > MAX_PICTURE_BYTES);
    let what = |n| format!("the picture has {n} bytes in base64, the limit is {MAX_PICTURE_BYTES}");
    large.map(|picture| Finding::new(picture.at.as_str(), what(picture.n_bytes()))).collect()
}

/// Finds blocks with `cache_control` beyond the limit, starting in the messages.
pub(super) fn excess_breakpoints(view: &RequestView<'_>) -> Vec<Finding> {
    if !view.contents().may_have(Rare::Breakpoint) {
        return Vec::new();
    }
    let mut places = Vec::new();
    for key in ["messages", "system", "tools"] {
        collect(view.body.get(key), &mut format!("/{key}"), &mut places);
    }
    let n = places.len();
    let what = format!("{n} blocks have `cache_control`, the limit is {MAX_BREAKPOINTS}");
    let too_many = places.into_iter().take(n.saturating_sub(MAX_BREAKPOINTS));
    too_many.map(|at| Finding::new(at, what.as_str())).collect()
}

/// Collects the blocks with `cache_control` in a list and in the content of its elements.
fn collect(list: Option<&Value>, at: &mut String, places: &mut Vec<String>) {
    let n_bytes = at.len();
    for (nth, each) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
        at.extend(["/", &nth.to_string(), "/content"]);
        collect(each.get("content"), at, places);
        if each.get("cache_control").is_some_and(Value::is_object) {
            places.push(at[..at.len() - "/content".len()].to_owned());
        }
        at.truncate(n_bytes);
    }
}

/// Replaces a picture with a text.
pub(super) fn replace_picture(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let text = match edit.dialect {
        Dialect::OpenaiResponses => json!({ "type": "input_text", "text": NO_PICTURE }),
        Dialect::Gemini => json!({ "text": NO_PICTURE }),
        Dialect::Anthropic | Dialect::OpenaiChat => json!({ "type": "text", "text": NO_PICTURE }),
    };
    let place = edit.value_mut(&found.at).filter(|_| !found.at.is_empty());
    place.map(|place| *place = text).is_some()
}

pub(super) fn remove_breakpoint(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.remove_key(&found.at, "cache_control")
}

#[cfg(test)]
mod tests {
    use wb_message::{Block, Message};

    use super::*;
    use crate::encode::EncodedRequest;

    #[test]
    fn an_oversized_request_names_its_first_picture() {
        let messages = [
            Message::user("Look."),
            Message::user(vec![Block::image("image/png", "iVBORw0K".repeat(40))]),
            Message::user(vec![Block::image("image/png", "iVBORw0K".repeat(40))]),
        ];
        for dialect in Dialect::ALL {
            let mut body = EncodedRequest::from_messages(&messages, dialect).body;
            let found = larger_than(&RequestView::new(&body, dialect), 600);
            assert_eq!(found.len(), 1, "{dialect}");
            assert!(replace_picture(&mut RequestEdit::new(&mut body, dialect), &found[0]), "{dialect}");
            assert_eq!(body.to_string().matches("iVBORw0KiVBORw0K").count(), 20, "{dialect}");
            assert!(larger_than(&RequestView::new(&body, dialect), 700).is_empty(), "{dialect}");
        }
        assert_eq!(Dialect::ALL.map(max_bytes), [32, 512, 512, 100].map(|n| n * MEGABYTE));
    }
}
