//! Rules on the content of pictures: bytes, media type and sides.

use super::Finding;
use super::sizes::replace_picture;
use crate::picture_header::{MEDIA_TYPES, media_type, sides};
use crate::request::RequestView;
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

/// Finds pictures whose media type is not that of their bytes, or not accepted.
pub(super) fn mistyped_pictures(view: &RequestView<'_>) -> Vec<Finding> {
    let found = view.pictures().iter().filter_map(|picture| {
        let content = picture.content.filter(|content| !content.data.trim().is_empty())?;
        let said = content.media_type;
        match media_type(content.data) {
            Some(actual) if said != actual => {
                let what = format!("the media type of the picture is `{said}`, its bytes are {actual}");
                Some(Finding::new(picture.at.as_str(), what).with_repair_value(Some(actual.to_owned())))
            }
            None if !said.is_empty() && !MEDIA_TYPES.contains(&said) => {
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
    edit.set(&format!("{}/source", found.at), "media_type", actual.as_str().into())
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
