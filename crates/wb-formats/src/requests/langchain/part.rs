//! Parts of the content of a LangChain message.

use serde_json::{Value, json};
use wb_message::Block;
use wb_record::json::text;

use crate::kit::picture::{image_url, picture};
use crate::shapes::chat_message;

/// Reads a part of any provider; one without a matching block becomes a text with its JSON.
pub(crate) fn block(json: &str) -> Block {
    let image = || picture_of(json.as_bytes());
    match text(json.as_bytes(), &["type"]).as_deref() {
        Some("image") => image().unwrap_or_else(|| chat_message::part(json)),
        _ => chat_message::part(json),
    }
}

/// Reads a picture: its address, or base64 with its type next to it.
fn picture_of(part: &[u8]) -> Option<Block> {
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| text(part, path));
    if let Some(data) = first(&[&["base64"], &["data"], &["source", "data"]]) {
        let kind = first(&[&["mime_type"], &["source", "media_type"]]);
        return Some(Block::image(kind.unwrap_or_else(|| "image/png".to_owned()), data));
    }
    first(&[&["url"], &["source", "url"]]).map(|url| picture(&url))
}

/// Returns a block as a part.
pub(crate) fn part(block: &Block) -> Result<Value, String> {
    match block {
        Block::Text { text } => Ok(json!({ "type": "text", "text": text })),
        Block::Image { media_type, data_base64 } => Ok(image_url(media_type, data_base64)),
        Block::Thinking { .. } => Err("new reasoning".to_owned()),
        _ => Err("a new part of this kind".to_owned()),
    }
}
