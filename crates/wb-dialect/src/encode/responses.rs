//! The Responses API, where each thing that is said is an item.

use std::collections::HashSet;

use serde_json::{Value, json};
use wb_message::{Block, ToolDescriptor};

use super::Body;
use super::common::{Entry, data_url, result_text, with_tools};
use crate::arguments::as_object;
use crate::call_ids::call_id;
use crate::dialect::Dialect;
use crate::piece::{Piece, Round, Said};
use crate::thinking_signature::is_of_openai;

pub(super) fn head(system: Option<&str>, tools: &[ToolDescriptor]) -> Body {
    let tool = |ToolDescriptor { name, description, parameters }: &ToolDescriptor| json!({ "type": "function", "name": name, "description": description, "parameters": parameters });
    let mut body = with_tools(tools, |tools| tools.iter().map(tool).collect());
    body.extend(system.map(|text| ("instructions".to_owned(), text.into())));
    body
}

pub(super) fn entries(rounds: &[Round<'_>]) -> Vec<Entry> {
    let pieces = || rounds.iter().flat_map(|round| &round.pieces);
    // Calls of tools that take free text, which are items of their own kind.
    let free = pieces().filter_map(|piece| match piece.said {
        Said::Call { id, input: Value::String(_), .. } => Some(id),
        _ => None,
    });
    let free: HashSet<&str> = free.collect();
    let mut items: Vec<Entry> = Vec::new();
    for round in rounds {
        for piece in &round.pieces {
            let part = match &piece.said {
                Said::Text(text) if round.is_model => json!({ "type": "output_text", "text": text }),
                Said::Text(text) => json!({ "type": "input_text", "text": text }),
                Said::Image { media_type, data } => image(media_type, data),
                _ => {
                    let item = item(piece, round.is_model, &free);
                    items.extend(item.map(|item| Entry::of(piece.from, item)));
                    continue;
                }
            };
            push_part(&mut items, piece.from, round.is_model, part);
        }
    }
    items
}

/// Puts a part into the message before it if that comes from the same place, else into a message of its own.
fn push_part(items: &mut Vec<Entry>, from: usize, is_model: bool, part: Value) {
    let role = if is_model { "assistant" } else { "user" };
    if let Some(last) = items.last_mut()
        && last.from.last() == Some(&from)
        && last.value["role"] == role
        && let Some(parts) = last.value["content"].as_array_mut()
    {
        parts.push(part);
        last.from.push(from);
        return;
    }
    items.push(Entry::of(from, json!({ "type": "message", "role": role, "content": [part] })));
}

fn item(piece: &Piece<'_>, is_model: bool, free: &HashSet<&str>) -> Option<Value> {
    Some(match &piece.said {
        Said::Thinking { text, signature } => return thinking(text, (*signature)?, is_model),
        Said::Call { id, name, input: Value::String(text) } => {
            let id = call_id(id, Dialect::OpenaiResponses);
            json!({ "type": "custom_tool_call", "call_id": id, "name": name, "input": text })
        }
        Said::Call { id, name, input } => {
            let (id, arguments) = (call_id(id, Dialect::OpenaiResponses), as_object(input).to_string());
            json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments })
        }
        Said::Result { id, content, .. } => {
            let kind = if free.contains(id) { "custom_tool_call_output" } else { "function_call_output" };
            let call_id = call_id(id, Dialect::OpenaiResponses);
            json!({ "type": kind, "call_id": call_id, "output": output(content) })
        }
        Said::Text(_) | Said::Image { .. } => return None,
    })
}

/// Reasoning of the model, or of the provider its own compaction, which stands in the user's place.
fn thinking(text: &str, signature: &str, is_model: bool) -> Option<Value> {
    if !is_of_openai(signature) {
        return None;
    }
    if let Ok(item @ Value::Object(_)) = serde_json::from_str::<Value>(signature) {
        return (item["type"] == "reasoning").then_some(item);
    }
    if !is_model {
        return Some(json!({ "type": "compaction", "encrypted_content": signature }));
    }
    let summary = (!text.is_empty()).then(|| json!({ "type": "summary_text", "text": text }));
    let summary: Vec<Value> = summary.into_iter().collect();
    Some(json!({ "type": "reasoning", "summary": summary, "encrypted_content": signature }))
}

fn output(content: &[Block]) -> Value {
    if !content.iter().any(|block| matches!(block, Block::Image { .. })) {
        return result_text(content).into();
    }
    let part = |block: &Block| match block {
        Block::Text { text } => Some(json!({ "type": "input_text", "text": text })),
        Block::Image { media_type, data_base64 } => Some(image(media_type, data_base64)),
        _ => None,
    };
    content.iter().filter_map(part).collect()
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "input_image", "image_url": data_url(media_type, data) })
}
