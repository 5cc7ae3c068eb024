//! Helpers that several dialects share.

use serde_json::{Map, Value};
use wb_message::block::joined_text;
use wb_message::{Block, ToolDescriptor};

use super::Body;

/// A message of a request with the sources of its parts.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) from: Vec<usize>,
}

impl Entry {
    pub(super) fn new(from: usize, value: Value) -> Self {
        Self { value, from: vec![from] }
    }
}

/// Creates an object of fields, which are moved into it; `json!` would copy them.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Creates a body that contains the tools, if there are any.
pub(super) fn with_tools(tools: &[ToolDescriptor], all: impl FnOnce(&[ToolDescriptor]) -> Value) -> Body {
    let mut body = Map::new();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), all(tools));
    }
    body
}

/// Returns the text of a result, without pictures.
pub(super) fn result_text(content: &[Block]) -> String {
    joined_text(content).into_owned()
}

/// Returns the pictures of a result as (media type, data).
pub(super) fn images(content: &[Block]) -> impl Iterator<Item = (&str, &str)> {
    content.iter().filter_map(|block| match block {
        Block::Image { media_type, data_base64 } => Some((media_type.as_str(), data_base64.as_str())),
        _ => None,
    })
}

/// Returns a picture as a `data:` URL.
pub(super) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}
