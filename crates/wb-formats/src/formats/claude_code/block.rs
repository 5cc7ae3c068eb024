//! The parts of an Anthropic message, as Claude Code stores them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use wb_message::{Block, Content};
use wb_record::json::elements;
use wb_record::lines::mended;

/// Stands for reasoning that only the provider can read.
const REDACTED_THINKING: &str = "[redacted thinking]";

/// A part of a user line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// What a tool answered.
    Result { call_id: String, content: Vec<Block>, is_error: bool },
    /// Anything else.
    Said(Block),
}

/// The body of a user line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    Text(String),
    Parts(Vec<Part>),
}

/// Returns what a user line says: a text or a list.
pub(super) fn said(content: &str) -> Said {
    match text(content) {
        Some(text) => Said::Text(text),
        None => Said::Parts(parts(content)),
    }
}

/// Returns the blocks of a body: of a text one, of an empty text none.
pub(super) fn blocks(content: &str) -> Vec<Block> {
    match text(content) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
        None => parts(content).into_iter().map(into_block).collect(),
    }
}

/// Returns a body as it stands: a text or blocks; nothing if it says nothing.
pub(super) fn content(body: &str) -> Option<Content> {
    match text(body) {
        Some(text) => (!text.is_empty()).then_some(Content::Text(text)),
        None => Some(blocks(body)).filter(|blocks| !blocks.is_empty()).map(Content::Blocks),
    }
}

/// A result inside of an answer is unheard of; its text is shown.
fn into_block(part: Part) -> Block {
    match part {
        Part::Said(block) => block,
        Part::Result { content, .. } => Block::text(wb_message::block::shown_text(&content)),
    }
}

fn text(json: &str) -> Option<String> {
    if !json.starts_with('"') {
        return None;
    }
    serde_json::from_str(json).or_else(|_| serde_json::from_slice(&mended(json.as_bytes()))).ok()
}

/// Returns the parts of a list: in one go, or one by one if there is something odd among them.
fn parts(list: &str) -> Vec<Part> {
    if let Ok(Parts(parts)) = serde_json::from_str(list) {
        return parts;
    }
    let mended = mended(list.as_bytes());
    let places = elements(&mended).unwrap_or_default();
    let text = |place| std::str::from_utf8(&mended[place]).unwrap_or_default();
    places.into_iter().map(|place| part(text(place))).collect()
}

/// Reads one part; what we have no block for becomes a text with its JSON.
fn part(json: &str) -> Part {
    let known = serde_json::from_str::<Fields<'_>>(json).ok().and_then(Fields::part);
    let known = known.or_else(|| serde_json::from_str::<OddFields<'_>>(json).ok().and_then(OddFields::part));
    known.unwrap_or_else(|| {
        Part::Said(match serde_json::from_str(json) {
            Ok(Value::String(text)) => Block::Text { text },
            Ok(value) => Block::text(value.to_string()),
            Err(_) => Block::text(json),
        })
    })
}

/// The fields of all kinds of blocks.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
    content: Option<ResultBody>,
    is_error: Option<Value>,
    #[serde(borrow)]
    source: Option<Source<'a>>,
}

impl Fields<'_> {
    fn part(self) -> Option<Part> {
        if self.r#type.as_deref() != Some("tool_result") {
            return self.block().map(Part::Said);
        }
        Some(Part::Result {
            call_id: self.tool_use_id.unwrap_or_default(),
            is_error: self.is_error == Some(Value::Bool(true)),
            content: self.content.unwrap_or_default().0,
        })
    }

    fn block(self) -> Option<Block> {
        match self.r#type.as_deref()? {
            "text" => self.text.map(Block::text),
            "thinking" => {
                Some(Block::Thinking { text: self.thinking.unwrap_or_default(), signature: self.signature })
            }
            "redacted_thinking" => Some(Block::text(REDACTED_THINKING)),
            "tool_use" => Some(Block::ToolCall {
                id: self.id.unwrap_or_default(),
                name: self.name.unwrap_or_default(),
                input: self.input.unwrap_or_default(),
            }),
            "image" => self.source?.image(),
            "document" => self.source?.document(),
            _ => None,
        }
    }
}

/// The fields of a block that holds something odd: a result with it, or arguments that are nested too deep.
#[derive(Deserialize)]
struct OddFields<'a> {
    r#type: String,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<Value>,
}

impl OddFields<'_> {
    fn part(self) -> Option<Part> {
        match self.r#type.as_str() {
            "tool_result" => Some(Part::Result {
                call_id: self.tool_use_id.unwrap_or_default(),
                is_error: self.is_error == Some(Value::Bool(true)),
                content: self.content.map(|content| blocks(content.get())).unwrap_or_default(),
            }),
            "tool_use" => Some(Part::Said(Block::ToolCall {
                id: self.id.unwrap_or_default(),
                name: self.name.unwrap_or_default(),
                input: self.input.map(|input| Value::from(input.get())).unwrap_or_default(),
            })),
            _ => None,
        }
    }
}

/// Where a picture or a document comes from.
#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    media_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
}

impl Source<'_> {
    fn image(self) -> Option<Block> {
        let is_base64 = self.r#type.is_none_or(|kind| kind == "base64");
        let data = self.data.filter(|_| is_base64)?;
        Some(Block::image(self.media_type.unwrap_or_default(), data))
    }

    /// A document of text is shown, of any other its type is told.
    fn document(self) -> Option<Block> {
        let data = self.data?;
        match self.r#type.as_deref() {
            Some("text") => Some(Block::text(data)),
            Some("base64") | None => {
                Some(Block::text(format!("[document: {}]", self.media_type.unwrap_or_default())))
            }
            Some(_) => None,
        }
    }
}

/// A list of parts of which each is known.
struct Parts(Vec<Part>);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(KnownParts).map(Self)
    }
}

struct KnownParts;

impl<'de> Visitor<'de> for KnownParts {
    type Value = Vec<Part>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of known blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(fields) = seq.next_element::<Fields<'_>>()? {
            parts.push(fields.part().ok_or_else(|| serde::de::Error::custom("an unknown block"))?);
        }
        Ok(parts)
    }
}

/// The body of a result: a text or a list of blocks; anything else says nothing.
#[derive(Default)]
struct ResultBody(Vec<Block>);

impl<'de> Deserialize<'de> for ResultBody {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyBody).map(Self)
    }
}

struct AnyBody;

impl<'de> Visitor<'de> for AnyBody {
    type Value = Vec<Block>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of blocks")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(if text.is_empty() { Vec::new() } else { vec![Block::text(text)] })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Ok(KnownParts.visit_seq(seq)?.into_iter().map(into_block).collect())
    }
}
