//! The blocks of Anthropic messages, in requests and as agents store them.

use std::fmt;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;
use wb_message::block::shown_text;
use wb_message::{Block, Content};
use wb_record::json::elements;

use super::server_block::server_text;
use crate::kit::json_text::{compact, input, text, value};
use crate::kit::loose::{Flag, Text};

/// A part of a user message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UserPart {
    /// The result of a tool.
    Result { call_id: String, content: Vec<Block>, is_error: bool },
    /// A part of another kind.
    Block(Block),
}

/// The body of a user message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UserBody {
    Text(String),
    Parts(Vec<UserPart>),
}

/// Returns the body of a user message: a text or a list.
pub(crate) fn user_body(content: &str) -> UserBody {
    match text(content) {
        Some(text) => UserBody::Text(text),
        None => UserBody::Parts(parts(content)),
    }
}

/// Returns the blocks of a body: of a text one, of an empty text none.
pub(crate) fn blocks(content: &str) -> Vec<Block> {
    match text(content) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
        None => parts(content).into_iter().map(into_block).collect(),
    }
}

/// Returns a body verbatim: a text or blocks; `None` if it is empty.
pub(crate) fn content(body: &str) -> Option<Content> {
    match text(body) {
        Some(text) => (!text.is_empty()).then_some(Content::Text(text)),
        None => Some(blocks(body)).filter(|blocks| !blocks.is_empty()).map(Content::Blocks),
    }
}

/// Turns a part into a block; a result, which no answer should contain, becomes its text.
fn into_block(part: UserPart) -> Block {
    match part {
        UserPart::Block(block) => block,
        UserPart::Result { content, .. } => Block::text(shown_text(&content)),
    }
}

/// Returns the parts of a list: in one pass, or one by one if any of them is unusual.
fn parts(list: &str) -> Vec<UserPart> {
    if let Ok(Parts(parts)) = serde_json::from_str(list) {
        return parts;
    }
    let places = elements(list.as_bytes()).unwrap_or_default();
    places.into_iter().map(|place| part(&list[place])).collect()
}

/// Reads one part; one without a matching block becomes a text.
fn part(json: &str) -> UserPart {
    let known = serde_json::from_str::<BlockFields<'_>>(json).ok().and_then(BlockFields::part);
    let shown = || value(json.as_bytes()).as_ref().and_then(server_text);
    known.unwrap_or_else(|| {
        UserPart::Block(Block::text(text(json).or_else(shown).unwrap_or_else(|| compact(json))))
    })
}

/// The fields of all kinds of blocks; potentially long ones are read on demand.
#[derive(Default, Deserialize)]
#[serde(default)]
struct BlockFields<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    tool_use_id: Text<'a>,
    path: Text<'a>,
    is_error: Flag,
    text: Option<&'a RawValue>,
    thinking: Option<&'a RawValue>,
    signature: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    source: Option<MediaSource<'a>>,
}

impl BlockFields<'_> {
    fn part(self) -> Option<UserPart> {
        if self.r#type.as_str() != Some("tool_result") {
            return self.block().map(UserPart::Block);
        }
        Some(UserPart::Result {
            call_id: self.tool_use_id.into_string(),
            is_error: self.is_error.0,
            content: self.content.map(|content| blocks(content.get())).unwrap_or_default(),
        })
    }

    fn block(self) -> Option<Block> {
        let read = |raw: Option<&RawValue>| raw.and_then(|raw| text(raw.get()));
        match self.r#type.as_str()? {
            "text" => read(self.text).map(Block::text),
            "thinking" => {
                let text = read(self.thinking).unwrap_or_default();
                Some(Block::Thinking { text, signature: read(self.signature) })
            }
            "redacted_thinking" => read(self.data).map(Block::redacted_thinking),
            "tool_use" => {
                let input = self.input.map(|json| input(json.get())).unwrap_or_default();
                Some(Block::ToolCall { id: self.id.into_string(), name: self.name.into_string(), input })
            }
            // A failed compaction, which the provider passes over.
            "compaction" if read(self.content).is_none_or(|summary| summary.is_empty()) => {
                Some(Block::Thinking { text: String::new(), signature: None })
            }
            "file" => {
                read(self.content).map(|content| attached(&format!("{}\n{content}", self.path.into_string())))
            }
            "image" => self.source?.image(),
            "document" => self.source?.document(),
            _ => None,
        }
    }
}

/// The source of a picture or a document.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MediaSource<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    media_type: Text<'a>,
    data: Text<'a>,
}

impl MediaSource<'_> {
    fn image(self) -> Option<Block> {
        let is_base64 = self.r#type.as_str().is_none_or(|kind| kind == "base64");
        let data = self.data.0.filter(|_| is_base64)?;
        Some(Block::image(self.media_type.into_string(), data))
    }

    /// Returns the text of a document, or the type of any other.
    fn document(self) -> Option<Block> {
        let data = self.data.0?;
        match self.r#type.as_str() {
            Some("text") => Some(attached(&data)),
            Some("base64") | None => {
                Some(Block::text(format!("[document: {}]", self.media_type.into_string())))
            }
            Some(_) => None,
        }
    }
}

/// Returns an attached text, which is not what the user says.
fn attached(text: &str) -> Block {
    Block::text(["<attached_files>\n", text, "\n</attached_files>"].concat())
}

/// A list of parts of which each is known.
struct Parts(Vec<UserPart>);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(KnownParts).map(Self)
    }
}

struct KnownParts;

impl<'de> Visitor<'de> for KnownParts {
    type Value = Vec<UserPart>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of known blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(fields) = seq.next_element::<BlockFields<'_>>()? {
            parts.push(fields.part().ok_or_else(|| serde::de::Error::custom("an unknown block"))?);
        }
        Ok(parts)
    }
}
