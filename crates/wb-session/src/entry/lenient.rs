//! The forms that values have in files of pi, read whatever stands there.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use wb_message::{Block, Content};

use super::timestamp::parse_iso_ms;

/// Reads null as the default.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads a number of tokens from any JSON: a fraction is cut off, what is no number counts nothing.
pub(crate) fn tokens(value: &Value) -> u64 {
    // A float becomes the nearest integer that fits, NaN and negative ones become 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let rounded = |number: f64| number as u64;
    value.as_u64().or_else(|| value.as_f64().map(rounded)).unwrap_or(0)
}

/// Reads the exit code of a command; one of Windows that is counted without a sign gets its sign.
pub(crate) fn exit_code<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    let code = Value::deserialize(from)?.as_i64();
    Ok(code.and_then(|code| i32::try_from(code).ok().or(u32::try_from(code).ok().map(u32::cast_signed))))
}

pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(tokens(&Value::deserialize(from)?))
}

/// Reads ISO text or milliseconds since the Unix epoch; 0 for anything else.
pub(crate) fn timestamp<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => parse_iso_ms(&text).unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    })
}

pub(crate) fn no_content() -> Content {
    Content::Blocks(Vec::new())
}

pub(crate) fn content<'de, D: Deserializer<'de>>(from: D) -> Result<Content, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => Content::Text(text),
        Value::Array(parts) => Content::Blocks(parts.into_iter().map(block).collect()),
        _ => no_content(),
    })
}

pub(crate) fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Block>, D::Error> {
    Ok(match content(from)? {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    })
}

fn block(mut part: Value) -> Block {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut take = |key| part.get_mut(key).map(Value::take);
    let block = match kind.as_str() {
        "text" => take("text").and_then(into_text).map(Block::text),
        "thinking" => take("thinking").map(|text| Block::Thinking {
            text: into_text(text).unwrap_or_default(),
            signature: take("thinkingSignature").and_then(into_text),
        }),
        "image" => take("data")
            .and_then(into_text)
            .map(|data| Block::image(take("mimeType").and_then(into_text).unwrap_or_default(), data)),
        "toolCall" => take("name").and_then(into_text).map(|name| {
            let id = take("id").and_then(into_text).unwrap_or_default();
            Block::call(id, name, take("arguments").unwrap_or_default())
        }),
        _ => None,
    };
    block.unwrap_or_else(|| Block::text(part.to_string()))
}

fn into_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
