//! Bodies as JSON: a text, or a list of parts of which those that stay are kept byte for byte.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER, digest_body};
use wb_message::{Block, Content, Message};
use wb_record::json::{elements, get, set};

use crate::kit::json_text::text;
use crate::kit::loose::Text;

/// A record with a role and a content.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SpeakerRecord<'a> {
    #[serde(borrow)]
    pub(crate) role: Text<'a>,
    pub(crate) content: Option<&'a RawValue>,
}

/// A function that writes a block as a part, or returns the reason why it cannot.
pub(crate) type Write = fn(&Block) -> Result<Value, String>;

/// A function that reads a part.
pub(crate) type Read = fn(&str) -> Block;

/// Returns a body as JSON: a text if it is one.
pub(crate) fn content(body: &Content, write: Write) -> Result<Value, String> {
    match body {
        Content::Text(text) => Ok(Value::from(text.as_str())),
        Content::Blocks(blocks) => blocks.iter().map(write).collect(),
    }
}

/// Returns blocks as a body; a single text is plain.
pub(crate) fn content_of(mut blocks: Vec<Block>) -> Content {
    match blocks.as_mut_slice() {
        [Block::Text { text }] => Content::Text(std::mem::take(text)),
        _ => Content::Blocks(blocks),
    }
}

/// Returns the blocks of a result as JSON: a text if they are one.
pub(crate) fn result(blocks: &[Block], write: Write) -> Result<Value, String> {
    match blocks {
        [] => Ok(Value::from("")),
        [Block::Text { text }] => Ok(Value::from(text.as_str())),
        blocks => blocks.iter().map(write).collect(),
    }
}

/// Returns a body that replaces another: a text stays a text if possible, and in a list the parts
/// of blocks that stay are kept.
pub(crate) fn changed(
    old: Option<&[u8]>,
    before: &[Block],
    after: &[Block],
    write: Write,
) -> Result<Vec<u8>, String> {
    let old = old.unwrap_or_default();
    match elements(old) {
        Some(places) if old.starts_with(b"[") => {
            let parts: Vec<&[u8]> = places.into_iter().map(|place| &old[place]).collect();
            Ok(list(&changed_parts(&parts, before, after, write)?))
        }
        _ => result(after, write).map(|value| value.to_string().into_bytes()),
    }
}

/// Returns parts that replace others: unchanged for a block that stays, with the new text for a
/// text.
pub(crate) fn changed_parts(
    old: &[&[u8]],
    before: &[Block],
    after: &[Block],
    write: Write,
) -> Result<Vec<Vec<u8>>, String> {
    let old_of = |block: &Block| before.iter().position(|it| it == block).and_then(|at| old.get(at));
    let part = |(at, block): (usize, &Block)| match (old_of(block), block, before.get(at), old.get(at)) {
        (Some(part), ..) => Ok(part.to_vec()),
        // A part of another kind is shown as its JSON, which is not a text in it.
        (_, Block::Text { text }, Some(Block::Text { text: was }), Some(part)) if says(part, was) => {
            Ok(set(part, "text", Value::from(text.as_str()).to_string().as_bytes()))
        }
        _ => write(block).map(|value| value.to_string().into_bytes()),
    };
    after.iter().enumerate().map(part).collect()
}

/// Returns whether a part has that text.
fn says(part: &[u8], text: &str) -> bool {
    let said = get(part, "text").and_then(|it| serde_json::from_slice::<String>(it).ok());
    said.as_deref() == Some(text)
}

/// Joins values to a list.
pub(crate) fn list(values: &[Vec<u8>]) -> Vec<u8> {
    [b"[", values.join(&b","[..]).as_slice(), b"]"].concat()
}

/// Returns the content of a message in the user's place: the user's own, or a digest with its
/// header.
pub(crate) fn in_users_place(message: &Message) -> Result<Content, String> {
    if let Message::User { content, .. } = message {
        return Ok(content.clone());
    }
    digest_text(message).map(Content::Text)
}

/// Returns the text of a digest with its header.
pub(crate) fn digest_text(message: &Message) -> Result<String, String> {
    let header = if matches!(message, Message::BranchSummary { .. }) { BRANCH_HEADER } else { DIGEST_HEADER };
    digest_body(message)
        .map(|body| format!("{header}\n{body}"))
        .ok_or_else(|| format!("a new message of the kind {}", wb_message::outline::role(message)))
}

/// Reads a body: a text, or parts.
pub(crate) fn body_of(json: Option<&RawValue>, read: Read) -> Content {
    let plain = json.and_then(|json| text(json.get()));
    plain.map_or_else(|| Content::Blocks(parts_of(json, read)), Content::Text)
}

/// Reads the blocks of a body; an empty text has none.
pub(crate) fn blocks_of(json: Option<&RawValue>, read: Read) -> Vec<Block> {
    match json.and_then(|json| text(json.get())) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
        None => parts_of(json, read),
    }
}

fn parts_of(json: Option<&RawValue>, read: Read) -> Vec<Block> {
    raw_list(json).into_iter().map(|part| read(part.get())).collect()
}

/// Returns the JSON of the elements of a list; none if it is not a list.
pub(crate) fn raw_list(list: Option<&RawValue>) -> Vec<&RawValue> {
    list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default()
}
