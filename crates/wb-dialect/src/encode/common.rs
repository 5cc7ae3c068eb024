//! What more than one dialect does.

use serde_json::{Map, Value};
use wb_message::block::joined_text;
use wb_message::{Block, ToolDescriptor};

use super::Body;

/// A message of a request, and where its parts come from.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) from: Vec<usize>,
}

impl Entry {
    pub(super) fn of(from: usize, value: Value) -> Self {
        Self { value, from: vec![from] }
    }
}

/// Starts a body with the tools, unless there are none.
pub(super) fn with_tools(tools: &[ToolDescriptor], all: impl FnOnce(&[ToolDescriptor]) -> Value) -> Body {
    let mut body = Map::new();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), all(tools));
    }
    body
}

/// Returns the text of a result that cannot hold pictures beside it.
pub(super) fn result_text(content: &[Block]) -> String {
    joined_text(content).into_owned()
}

/// Visits the pictures of a result.
pub(super) fn images(content: &[Block]) -> impl Iterator<Item = (&str, &str)> {
    content.iter().filter_map(|block| match block {
        Block::Image { media_type, data_base64 } => Some((media_type.as_str(), data_base64.as_str())),
        _ => None,
    })
}

/// Returns a picture as an address that holds it.
pub(super) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}
