//! Pictures that a provider refuses for their content: each gets the media type of its bytes, or
//! becomes a text.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use serde_json::json;
use wb_dialect::{RefusedPicture, Rule, Violation};
use wb_message::block::output_blocks;
use wb_message::{Block, Message};
use wb_record::json::{find, text};
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible, View};

use super::SessionRepair;
use super::children::children;
use super::stage::{Current, Next, records_of};

/// A way in which records write a picture.
#[derive(Debug)]
struct PictureShape {
    /// The keys that lead to the bytes in base64, or to a `data:` URL.
    data: &'static [&'static str],
    /// The keys that lead to the media type; empty if it is in the URL.
    media_type: &'static [&'static str],
    /// The key of the kind, its value for a picture and for a text; none if there are no kinds.
    kinds: Option<[&'static str; 3]>,
}

const TYPED: Option<[&str; 3]> = Some(["type", "image", "text"]);

/// The shapes of Anthropic, of MCP and pi, of chat, of Responses, of Gemini and of wb.
const SHAPES: [PictureShape; 7] = [
    PictureShape { data: &["source", "data"], media_type: &["source", "media_type"], kinds: TYPED },
    PictureShape { data: &["data"], media_type: &["mimeType"], kinds: TYPED },
    PictureShape { data: &["image_url", "url"], media_type: &[], kinds: Some(["type", "image_url", "text"]) },
    PictureShape {
        data: &["image_url"],
        media_type: &[],
        kinds: Some(["type", "input_image", "input_text"]),
    },
    PictureShape { data: &["inlineData", "data"], media_type: &["inlineData", "mimeType"], kinds: None },
    PictureShape { data: &["inline_data", "data"], media_type: &["inline_data", "mime_type"], kinds: None },
    PictureShape {
        data: &["dataBase64"],
        media_type: &["mediaType"],
        kinds: Some(["kind", "image", "text"]),
    },
];

/// The accepted media type of each refused picture by its bytes; `None` if it becomes a text.
type Fixes = HashMap<String, Option<String>>;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let n_found = n_refused(current.violations());
    if n_found == 0 {
        return Ok(Next::Nothing);
    }
    if let Some(why) = current.document().abilities().body.why_not() {
        return Ok(Next::Left(current.refused(why)));
    }
    let fixes = fixes(current.sent.refused_pictures(current.messages()));
    let changes = with_fixed_pictures(current.document(), &current.view, &fixes);
    let changes = changes.map_err(NotExpressible::unreadable)?;
    if changes.is_empty() {
        return Ok(Next::Left(current.refused("its pictures are written in another way")));
    }
    let after = match current.read_after(&changes) {
        Ok(read) => read,
        Err(why) => return Ok(Next::Left(why)),
    };
    let is_whole = after.messages().len() == current.messages().len();
    if !is_whole || n_refused(after.violations()) >= n_found {
        return Ok(Next::Left(current.refused("a picture is not in its record as it is sent")));
    }
    let replaced_pictures = fixes.into_keys().collect();
    let done = SessionRepair { replaced_pictures, ..SessionRepair::from_changes(changes) };
    Ok(Next::step_to(done, after))
}

fn n_refused(violations: &[Violation]) -> usize {
    violations.iter().filter(|it| Rule::OF_PICTURES.contains(&it.rule.as_ref())).count()
}

/// Returns one fix for each picture: a text if any rule asks for it.
fn fixes(refused: Vec<RefusedPicture>) -> Fixes {
    let mut fixes = Fixes::new();
    for RefusedPicture { data, media_type, .. } in refused {
        let fix = fixes.entry(data).or_insert_with(|| media_type.clone());
        if media_type.is_none() {
            *fix = None;
        }
    }
    fixes
}

/// Returns the changes that fix pictures; nothing else changes.
fn with_fixed_pictures(document: &dyn Document, view: &View, fixes: &Fixes) -> io::Result<ChangeSet> {
    let records = records_of(view, |message| has_refused(message, fixes));
    let mut set = ChangeSet::default();
    // In reverse order, so that no change moves the position of another.
    for record in records.into_iter().rev() {
        let bytes = document.parts().bytes(record)?;
        let mut found = Vec::new();
        find_pictures(&bytes, 0, fixes, &mut found);
        for (place, new) in found.into_iter().rev() {
            let (at, old) = (record.at + place.start as u64, Bytes(bytes[place].to_vec()));
            set.changes.push((record.part.clone(), Change::Splice { at, old, new: Bytes(new) }));
        }
    }
    Ok(set)
}

fn has_refused(message: &Message, fixes: &Fixes) -> bool {
    message.blocks().iter().any(|block| match block {
        Block::ToolResult { output, .. } => output_blocks(output).iter().any(|it| is_refused(it, fixes)),
        block => is_refused(block, fixes),
    })
}

fn is_refused(block: &Block, fixes: &Fixes) -> bool {
    matches!(block, Block::Image { data_base64, .. } if fixes.contains_key(data_base64))
}

/// Finds the refused pictures in a value that begins at a place, each with the bytes that replace
/// something of it.
fn find_pictures(value: &[u8], from: usize, fixes: &Fixes, found: &mut Vec<(Range<usize>, Vec<u8>)>) {
    let fix = SHAPES.iter().filter(|_| value.starts_with(b"{")).find_map(|shape| shape.fixed(value, fixes));
    if let Some((place, new)) = fix {
        return found.push((from + place.start..from + place.end, new));
    }
    for (_, place) in children(value) {
        find_pictures(&value[place.clone()], from + place.start, fixes, found);
    }
}

impl PictureShape {
    /// Returns the place to replace in a refused picture of this shape, and its new bytes.
    fn fixed(&self, value: &[u8], fixes: &Fixes) -> Option<(Range<usize>, Vec<u8>)> {
        if let Some([key, picture, _]) = self.kinds {
            text(value, &[key]).filter(|kind| kind == picture)?;
        }
        let data = text(value, self.data)?;
        let data = if self.media_type.is_empty() { data.split_once(";base64,")?.1 } else { &data };
        let Some(media_type) = fixes.get(data)? else { return Some((0..value.len(), self.text())) };
        if self.media_type.is_empty() {
            let url = json!(format!("data:{media_type};base64,{data}"));
            return Some((find(value, self.data)?, url.to_string().into_bytes()));
        }
        Some((find(value, self.media_type)?, json!(media_type).to_string().into_bytes()))
    }

    /// Returns the text that replaces a picture.
    fn text(&self) -> Vec<u8> {
        let text = match self.kinds {
            Some([key, _, kind]) => json!({ key: kind, "text": RefusedPicture::TEXT }),
            None => json!({ "text": RefusedPicture::TEXT }),
        };
        text.to_string().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(record: &str) -> String {
        let fixes = [("BAD", None), ("GIF", Some("image/gif".to_owned()))];
        let fixes: Fixes = fixes.into_iter().map(|(data, fix)| (data.to_owned(), fix)).collect();
        let (mut bytes, mut found) = (record.as_bytes().to_vec(), Vec::new());
        find_pictures(&bytes, 0, &fixes, &mut found);
        for (place, new) in found.into_iter().rev() {
            bytes.splice(place, new);
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn pictures_of_each_shape_become_texts_or_get_their_media_type() {
        for (picture, instead) in [
            (
                r#"{"type":"image","source":{"media_type":"<type>","data":"<data>"}}"#,
                r#"{"type":"text","text":"[image]"}"#,
            ),
            (
                r#"{"type":"image","data":"<data>","mimeType":"<type>"}"#,
                r#"{"type":"text","text":"[image]"}"#,
            ),
            (
                r#"{"type":"image_url","image_url":{"url":"data:<type>;base64,<data>"}}"#,
                r#"{"type":"text","text":"[image]"}"#,
            ),
            (
                r#"{"type":"input_image","image_url":"data:<type>;base64,<data>"}"#,
                r#"{"type":"input_text","text":"[image]"}"#,
            ),
            (r#"{"inlineData":{"mimeType":"<type>","data":"<data>"}}"#, r#"{"text":"[image]"}"#),
            (r#"{"inline_data":{"mime_type":"<type>","data":"<data>"}}"#, r#"{"text":"[image]"}"#),
            (
                r#"{"kind":"image","mediaType":"<type>","dataBase64":"<data>"}"#,
                r#"{"kind":"text","text":"[image]"}"#,
            ),
        ] {
            let record = |part: &str| format!(r#"{{"a": [1, {{"output": [ {part} ]}}], "b": "BAD"}}"#);
            let written =
                |data: &str, media_type: &str| picture.replace("<type>", media_type).replace("<data>", data);
            assert_eq!(fixed(&record(&written("BAD", "image/png"))), record(instead));
            assert_eq!(fixed(&record(&written("GIF", "image/png"))), record(&written("GIF", "image/gif")));
            let good = record(&written("QUJD", "image/png"));
            assert_eq!(fixed(&good), good);
        }
    }
}
