//! The parts that a message is made of.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One part of a message's content: text, reasoning, a tool call, a tool result, an image or a
/// slash command.
///
/// On the wire the tag is `kind` in `snake_case` and the fields are camelCase; an unknown kind is
/// an error.
///
/// ```
/// use wb_message::{Block, json};
///
/// let image = json!({"kind": "image", "mediaType": "image/png", "dataBase64": "QUJD"});
/// assert_eq!(json!(Block::image("image/png", "QUJD")), image);
/// let result = json!({"kind": "tool_result", "callId": "c1", "output": "ok", "isError": false});
/// assert!(serde_json::from_value::<Block>(result).unwrap().is_tool_result());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// The model's visible reasoning.
    Thinking {
        /// The reasoning; empty if only the signature is known.
        text: String,
        /// The provider's opaque signature, sent back byte for byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The model's request to run a tool.
    ToolCall {
        /// The id that the result carries; some providers repeat ids within a session.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments, usually an object; the feature `preserve_order` of `serde_json` keeps
        /// the order of its keys.
        input: Value,
    },
    /// A tool's answer nested in a turn.
    ToolResult {
        /// The id of the answered call.
        call_id: String,
        /// The output: a string, an array of blocks or any JSON.
        output: Value,
        /// True if the tool failed, `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    /// A picture.
    Image {
        /// The MIME type, such as `image/png`.
        media_type: String,
        /// The picture's bytes in base64.
        data_base64: String,
    },
    /// A slash command of the host.
    Command {
        /// The command's name.
        command: String,
        /// Its arguments, if it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Vec<String>>,
    },
}

impl Block {
    /// Builds a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Builds a tool call.
    pub fn call(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self::ToolCall { id: id.into(), name: name.into(), input }
    }

    /// Builds a picture from base64.
    pub fn image(media_type: impl Into<String>, data_base64: impl Into<String>) -> Self {
        Self::Image { media_type: media_type.into(), data_base64: data_base64.into() }
    }

    /// Builds reasoning that only Anthropic can read: its signature is the whole block to send
    /// back.
    pub fn redacted_thinking(data: impl AsRef<str>) -> Self {
        let whole = serde_json::json!({ "type": REDACTED_THINKING, "data": data.as_ref() });
        Self::Thinking { text: String::new(), signature: Some(whole.to_string()) }
    }

    /// Returns whether it is a text without a character.
    pub fn is_empty_text(&self) -> bool {
        self.as_text().is_some_and(str::is_empty)
    }

    /// Returns the text of a text block, `None` for other kinds.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Returns whether this block answers a tool call.
    pub fn is_tool_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }
}

/// The wire name of reasoning that only Anthropic can read.
const REDACTED_THINKING: &str = "redacted_thinking";

/// Returns the opaque data of a signature that is a whole block of redacted reasoning.
pub fn redacted_data(signature: &str) -> Option<String> {
    let mut whole: Value = serde_json::from_str(signature).ok().filter(|_| signature.starts_with('{'))?;
    match (whole["type"] == REDACTED_THINKING, whole["data"].take()) {
        (true, Value::String(data)) => Some(data),
        _ => None,
    }
}

/// The placeholder for an image where only text is shown.
const IMAGE_MARK: &str = "[image]";

/// Joins the texts of blocks, one per line; other blocks are left out.
pub fn joined_text(blocks: &[Block]) -> Cow<'_, str> {
    joined(blocks.iter().filter_map(Block::as_text))
}

/// Joins the texts of blocks, one per line, with `[image]` for each image.
pub fn shown_text(blocks: &[Block]) -> Cow<'_, str> {
    joined(blocks.iter().filter_map(|block| match block {
        Block::Image { .. } => Some(IMAGE_MARK),
        _ => block.as_text(),
    }))
}

fn joined<'a>(mut texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let Some(first) = texts.next() else { return Cow::Borrowed("") };
    let Some(second) = texts.next() else { return Cow::Borrowed(first) };
    Cow::Owned([first, second].into_iter().chain(texts).collect::<Vec<_>>().join("\n"))
}

/// Returns the blocks that a model sees of a non-string output: its texts and images if its shape
/// is known, else its JSON.
pub fn output_blocks(output: &Value) -> Vec<Block> {
    let items = output.get("content").unwrap_or(output).as_array();
    let known = items.and_then(|items| items.iter().map(text_or_image).collect::<Option<Vec<_>>>());
    match known {
        Some(blocks) => blocks,
        None if output.is_null() => Vec::new(),
        None => vec![Block::text(output.to_string())],
    }
}

fn text_or_image(item: &Value) -> Option<Block> {
    let tag = item.get("kind").or_else(|| item.get("type"))?.as_str()?;
    match tag {
        "text" => Some(Block::text(item.get("text")?.as_str()?)),
        "image" => {
            let source = item.get("source").unwrap_or(item);
            let field = |names: [&str; 3]| names.iter().find_map(|name| source.get(name)?.as_str());
            let data = field(["dataBase64", "data_base64", "data"])?;
            Some(Block::image(field(["mediaType", "media_type", "mimeType"]).unwrap_or_default(), data))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_reasoning_survives_a_round_trip() {
        let Block::Thinking { text, signature: Some(signature) } = Block::redacted_thinking("a\"b+/=") else {
            panic!("no signature")
        };
        assert_eq!((text.as_str(), redacted_data(&signature).as_deref()), ("", Some("a\"b+/=")));
        for other in
            ["gAAAA", "{", "[]", r#"{"type":"reasoning","data":"a"}"#, r#"{"type":"redacted_thinking"}"#]
        {
            assert_eq!(redacted_data(other), None, "{other}");
        }
    }
}
