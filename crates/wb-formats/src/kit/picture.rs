//! Pictures by their address.

use serde_json::{Value, json};
use wb_message::Block;

/// Turns the address of a picture into a block: one with its bytes in it, or a text.
pub(crate) fn picture(url: &str) -> Block {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((media_type, data)) => Block::image(media_type, data),
        None if url.is_empty() => Block::text("[image]"),
        None => Block::text(format!("[image: {url}]")),
    }
}

/// Returns a picture as the part of a body that names its address.
pub(crate) fn image_url(media_type: &str, data_base64: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{data_base64}") } })
}
