//! The pictures of a request, also those in results.

use serde_json::Value;

use super::{Asked, text};

/// A picture in a request.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// The place of the part that is the picture.
    pub(crate) at: String,
    /// How many bytes it takes in base64; none for one that is named by its address.
    pub(crate) n_bytes: usize,
}

/// The keys under which parts stand.
const LISTS: [&str; 3] = ["content", "parts", "output"];

pub(super) fn pictures(asked: &Asked<'_>) -> Vec<Picture> {
    let mut found = Vec::new();
    for (message, said) in asked.messages.iter().enumerate() {
        walk(said.value, asked.at(message), &mut |at, n_bytes| found.push(Picture { at, n_bytes }));
    }
    found
}

fn walk(value: &Value, at: String, tell: &mut impl FnMut(String, usize)) {
    if let Some(data) = picture(value) {
        return tell(at, data);
    }
    for key in LISTS {
        let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
        list.enumerate().for_each(|(nth, each)| walk(each, format!("{at}/{key}/{nth}"), tell));
    }
}

/// Returns the size of a picture; nothing for what is none.
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
