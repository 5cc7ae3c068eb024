//! Rules on the content of pictures: bytes, media type and sides.

use serde_json::Value;

use super::Finding;
use super::sizes::replace_picture;
use crate::dialect::Dialect;
use crate::picture_header::{MEDIA_TYPES, media_type, sides};
use crate::request::{MEDIA_TYPE_KEYS, RequestView};
use crate::request_edit::RequestEdit;

/// Anthropic's limit for a side of a picture, in pixels.
const MAX_SIDE: usize = 8000;
/// The limit in a request with more than [`MANY_PICTURES`].
const MAX_SIDE_OF_MANY: usize = 2000;
const MANY_PICTURES: usize = 20;

/// Finds pictures without bytes.
pub(super) fn empty_pictures(view: &RequestView<'_>) -> Vec<Finding> {
    let is_empty = |data: &str| data.trim().is_empty();
    let all = view.pictures().iter();
    let empty = all.filter(|picture| picture.content.is_some_and(|content| is_empty(content.data)));
    empty.map(|picture| Finding::new(picture.at.as_str(), "the picture is empty")).collect()
}

/// Returns the media types of the pictures that a provider accepts.
fn accepted(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Gemini => &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
        _ => &MEDIA_TYPES,
    }
}

/// Finds pictures of a format that is not accepted, and media types that are not accepted for their
/// bytes: with Anthropic any but that of the bytes, with `OpenAI` any of no picture.
pub(super) fn mistyped_pictures(view: &RequestView<'_>) -> Vec<Finding> {
    let accepted = accepted(view.dialect);
    let found = view.pictures().iter().filter_map(|picture| {
        let content = picture.content.filter(|content| !content.data.trim().is_empty())?;
        let said = content.media_type;
        let is_said_accepted = match view.dialect {
            Dialect::Anthropic => media_type(content.data).is_none_or(|actual| said == actual),
            Dialect::OpenaiChat | Dialect::OpenaiResponses => said.starts_with("image/"),
            Dialect::Gemini => accepted.contains(&said),
        };
        match media_type(content.data) {
            Some(actual) if !accepted.contains(&actual) => Some(Finding::new(
                picture.at.as_str(),
                format!("the picture is {actual}, which is not accepted"),
            )),
            Some(actual) if !is_said_accepted => {
                let what = format!("the media type of the picture is `{said}`, its bytes are {actual}");
                Some(Finding::new(picture.at.as_str(), what).with_repair_value(Some(actual.to_owned())))
            }
            None if !said.is_empty() && !accepted.contains(&said) => {
                Some(Finding::new(picture.at.as_str(), format!("the media type `{said}` is not accepted")))
            }
            _ => None,
        }
    });
    found.collect()
}

/// Corrects the media type of a picture; replaces a picture of an unknown format with a text.
pub(super) fn correct_type(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let Some(actual) = &found.repair_value else { return replace_picture(edit, found) };
    let with_type = |url: &str| url.split_once(',').map(|(_, data)| format!("data:{actual};base64,{data}"));
    let Some(picture) = edit.value_mut(&found.at) else { return false };
    let url = ["/image_url/url", "/image_url"]
        .into_iter()
        .find(|at| picture.pointer(at).is_some_and(Value::is_string));
    if let Some(url) = url.and_then(|at| picture.pointer_mut(at)) {
        let new = url.as_str().and_then(with_type);
        return new.map(|new| *url = new.into()).is_some();
    }
    let keys = ["source", "inlineData", "inline_data"];
    let Some(key) = keys.into_iter().find(|key| picture.get(key).is_some()) else { return false };
    let has = |media_type: &&str| picture[key].get(media_type).is_some();
    let media_type = MEDIA_TYPE_KEYS.into_iter().find(has).unwrap_or("mimeType");
    edit.set(&format!("{}/{key}", found.at), media_type, actual.as_str().into())
}

/// Finds pictures with a side above the limit.
pub(super) fn large_sides(view: &RequestView<'_>) -> Vec<Finding> {
    let pictures = view.pictures();
    let (max, where_many) = if pictures.len() > MANY_PICTURES {
        (MAX_SIDE_OF_MANY, format!(" with more than {MANY_PICTURES} pictures"))
    } else {
        (MAX_SIDE, String::new())
    };
    let found = pictures.iter().filter_map(|picture| {
        let (width, height) = sides(picture.content?.data)?;
        let what =
            format!("the picture has {width} x {height} pixels, the limit of a side is {max}{where_many}");
        (width.max(height) > max).then(|| Finding::new(picture.at.as_str(), what))
    });
    found.collect()
}
