//! The pictures of a request, including those in results.

use serde_json::Value;

use super::{Rare, RequestView, field, text};

/// A picture in a request.
#[derive(Clone, Debug)]
pub(crate) struct Picture<'a> {
    /// The JSON pointer to the part.
    pub(crate) at: String,
    /// The content; `None` for a picture named by its URL or by the id of a file.
    pub(crate) content: Option<PictureContent<'a>>,
}

/// The content of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureContent<'a> {
    pub(crate) media_type: &'a str,
    /// The bytes in base64.
    pub(crate) data: &'a str,
    /// The size of the value that contains the bytes.
    pub(crate) n_bytes: usize,
}

impl Picture<'_> {
    /// Returns the size in base64; zero for a picture named by its URL.
    pub(crate) fn n_bytes(&self) -> usize {
        self.content.map_or(0, |content| content.n_bytes)
    }
}

/// The keys of lists of parts.
const LISTS: [&str; 3] = ["content", "parts", "output"];

pub(super) fn pictures<'a>(view: &RequestView<'a>) -> Vec<Picture<'a>> {
    let mut found = Vec::new();
    if !view.contents().may_have(Rare::Picture) {
        return found;
    }
    for (index, message) in view.messages.iter().enumerate() {
        walk(message.value, &mut Vec::new(), &mut |path, value| {
            let mut at = view.message_pointer(index).to_string();
            for (key, nth) in path {
                at.extend(["/", key, "/", &nth.to_string()]);
            }
            found.push(Picture { at, content: content(value) });
        });
    }
    found
}

/// Passes each picture in a value with the keys and indices that lead to it.
fn walk<'a>(
    value: &'a Value,
    path: &mut Vec<(&'static str, usize)>,
    pass: &mut impl FnMut(&[(&'static str, usize)], &'a Value),
) {
    if is_picture(value) {
        return pass(path, value);
    }
    for key in LISTS {
        for (nth, each) in field(value, key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            path.push((key, nth));
            walk(each, path, pass);
            path.pop();
        }
    }
}

fn is_picture(value: &Value) -> bool {
    // Data may be a document or a sound.
    let is_image = |data: &Value| {
        let media_type = media_type(data);
        media_type.is_empty() || media_type.starts_with("image/")
    };
    matches!(text(value, "type"), "image" | "image_url" | "input_image")
        || inline_data(value).is_some_and(is_image)
}

/// Returns the data in a part of Gemini.
fn inline_data(value: &Value) -> Option<&Value> {
    value.get("inlineData").or_else(|| value.get("inline_data"))
}

fn content(picture: &Value) -> Option<PictureContent<'_>> {
    match text(picture, "type") {
        "image" => inline(picture.get("source")?),
        "image_url" => in_url(text(picture.get("image_url")?, "url")),
        "input_image" => in_url(text(picture, "image_url")),
        _ => inline(inline_data(picture)?),
    }
}

/// Returns the content of an object with data.
fn inline(value: &Value) -> Option<PictureContent<'_>> {
    let data = value.get("data")?.as_str()?;
    Some(PictureContent { media_type: media_type(value), data, n_bytes: data.len() })
}

/// The keys of a media type.
pub(crate) const MEDIA_TYPE_KEYS: [&str; 3] = ["media_type", "mimeType", "mime_type"];

/// Returns the media type of an object with data; empty if it has none.
fn media_type(value: &Value) -> &str {
    let found = MEDIA_TYPE_KEYS.into_iter().map(|key| text(value, key)).find(|text| !text.is_empty());
    found.unwrap_or_default()
}

/// Returns the content of a `data:` URL.
fn in_url(url: &str) -> Option<PictureContent<'_>> {
    let (head, data) = url.split_once(',').unwrap_or((url, ""));
    let head = head.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).map(|_| &head[5..])?;
    let media_type = head.split(';').next().unwrap_or_default();
    Some(PictureContent { media_type, data, n_bytes: url.len() })
}
