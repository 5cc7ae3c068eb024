//! The JSON of messages and turns: where it is wrong, by message and block.

use std::fmt;

use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::block::Block;
use crate::message::{Content, Message};
use crate::turn::Turn;

/// The reason why JSON is no transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptJsonError(String);

impl fmt::Display for TranscriptJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TranscriptJsonError {}

/// Reads a list of messages; an error names the message, the block and the field.
///
/// ```
/// use wb_message::messages_from_json;
///
/// let json = r#"[{"role": "user", "content": "hi"},
///     {"role": "assistant", "content": [{"kind": "tool_call", "id": "1", "name": "ls"}]}]"#;
/// let error = messages_from_json(json).unwrap_err();
/// assert_eq!(error.to_string(), "message 1, block 0: missing field `input`");
/// ```
pub fn messages_from_json(json: &str) -> Result<Vec<Message>, TranscriptJsonError> {
    list(json, "message")
}

/// Reads a list of turns; see [`messages_from_json`].
pub fn turns_from_json(json: &str) -> Result<Vec<Turn>, TranscriptJsonError> {
    list(json, "turn")
}

fn list<T: DeserializeOwned>(json: &str, name: &str) -> Result<Vec<T>, TranscriptJsonError> {
    let items: Vec<Value> =
        serde_json::from_str(json).map_err(|error| TranscriptJsonError(error.to_string()))?;
    let read = |(at, item)| {
        serde_json::from_value(item).map_err(|error| {
            let error = error.to_string();
            let sign = if error.starts_with(BLOCK) { "," } else { ":" };
            TranscriptJsonError(format!("{name} {at}{sign} {error}"))
        })
    };
    items.into_iter().enumerate().map(read).collect()
}

/// The start of an error about a block.
const BLOCK: &str = "block ";

/// Reads a body, or blocks alone.
struct BodyVisitor {
    takes_text: bool,
}

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.takes_text { "a string or a list of blocks" } else { "a list of blocks" })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Content, E> {
        if self.takes_text {
            return Ok(Content::Text(text));
        }
        Err(E::invalid_type(serde::de::Unexpected::Str(&text), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut blocks: Vec<Block> = Vec::new();
        loop {
            match list.next_element() {
                Ok(Some(block)) => blocks.push(block),
                Ok(None) => return Ok(Content::Blocks(blocks)),
                Err(error) => return Err(A::Error::custom(format!("{BLOCK}{}: {error}", blocks.len()))),
            }
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(BodyVisitor { takes_text: true })
    }
}

/// Reads blocks; a plain string is one text block.
pub(crate) fn blocks_or_text<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Block>, D::Error> {
    Ok(match Content::deserialize(from)? {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    })
}

/// Reads blocks and nothing else.
pub(crate) fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Block>, D::Error> {
    Ok(match from.deserialize_any(BodyVisitor { takes_text: false })? {
        Content::Text(_) => Vec::new(),
        Content::Blocks(blocks) => blocks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place() {
        for (json, error) in [
            (
                r#"[{"role":"user","content":3}]"#,
                "message 0: invalid type: integer `3`, expected a string or a list of blocks",
            ),
            (r#"[{"role":"user"}]"#, "message 0: missing field `content`"),
            (
                r#"[{"role":"user","content":[{"kind":"text","text":"a"},{"kind":"text"}]}]"#,
                "message 0, block 1: missing field `text`",
            ),
        ] {
            assert_eq!(messages_from_json(json).unwrap_err().to_string(), error);
        }
        let error = messages_from_json(r#"[{"role":"system","content":"a"}]"#).unwrap_err().to_string();
        assert!(error.starts_with("message 0: unknown variant `system`, expected one of `user`"), "{error}");
        for (json, error) in [
            (
                r#"[{"role":"tool","blocks":[{"kind":"tool_result","output":1}]}]"#,
                "turn 0, block 0: missing field `callId`",
            ),
            (
                r#"[{"role":"user","blocks":"hi"}]"#,
                "turn 0: invalid type: string \"hi\", expected a list of blocks",
            ),
        ] {
            assert_eq!(turns_from_json(json).unwrap_err().to_string(), error);
        }
        assert!(messages_from_json("[").unwrap_err().to_string().contains("line 1"));
    }
}
