//! The pictures of a request, including those in results.

use serde_json::Value;

use super::{RequestView, text};

/// A picture in a request.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// The JSON pointer to the part.
    pub(crate) at: String,
    /// The size in base64; zero for a picture named by its URL.
    pub(crate) n_bytes: usize,
}

/// The keys of lists of parts.
const LISTS: [&str; 3] = ["content", "parts", "output"];

pub(super) fn pictures(view: &RequestView<'_>) -> Vec<Picture> {
    let mut found = Vec::new();
    for (index, message) in view.messages.iter().enumerate() {
        walk(message.value, view.message_pointer(index), &mut |at, n_bytes| {
            found.push(Picture { at, n_bytes });
        });
    }
    found
}

fn walk(value: &Value, at: String, visit: &mut impl FnMut(String, usize)) {
    if let Some(data) = picture(value) {
        return visit(at, data);
    }
    for key in LISTS {
        let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
        list.enumerate().for_each(|(nth, each)| walk(each, format!("{at}/{key}/{nth}"), visit));
    }
}

/// Returns the size in base64 if the value is a picture.
fn picture(value: &Value) -> Option<usize> {
    let in_url = |url: &str| if url.starts_with("data:") { url.len() } else { 0 };
    match text(value, "type") {
        "image" => Some(value.get("source").map_or(0, |source| text(source, "data").len())),
        "image_url" => Some(in_url(value.get("image_url").map_or("", |url| text(url, "url")))),
        "input_image" => Some(in_url(text(value, "image_url"))),
        _ => {
            let inline = value.get("inlineData").or_else(|| value.get("inline_data"))?;
            Some(text(inline, "data").len())
        }
    }
}
