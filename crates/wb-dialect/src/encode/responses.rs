//! Encoding for the Responses API, in which each piece is an item.

use std::collections::HashSet;

use serde_json::{Value, json};
use wb_message::{Block, ToolDescriptor};

use super::Body;
use super::common::{Entry, data_url, object, result_text, with_tools};
use crate::arguments::arguments_text;
use crate::call_ids::call_id;
use crate::dialect::Dialect;
use crate::piece::{Piece, PieceKind, Round};
use crate::thinking_signature::is_openai;

pub(super) fn head(system: Option<&str>, tools: &[ToolDescriptor]) -> Body {
    let tool = |ToolDescriptor { name, description, parameters }: &ToolDescriptor| json!({ "type": "function", "name": name, "description": description, "parameters": parameters });
    let mut body = with_tools(tools, |tools| tools.iter().map(tool).collect());
    body.extend(system.map(|text| ("instructions".to_owned(), text.into())));
    body
}

pub(super) fn entries(rounds: &[Round<'_>]) -> Vec<Entry> {
    let pieces = || rounds.iter().flat_map(|round| &round.pieces);
    // Calls with free-text input are items of another type.
    let free = pieces().filter_map(|piece| match piece.kind {
        PieceKind::Call { id, input: Value::String(_), .. } => Some(id),
        _ => None,
    });
    let free: HashSet<&str> = free.collect();
    let mut items: Vec<Entry> = Vec::new();
    for round in rounds {
        for piece in &round.pieces {
            let part = match &piece.kind {
                PieceKind::Text(text) => {
                    let kind = if round.is_model { "output_text" } else { "input_text" };
                    object([("type", kind.into()), ("text", text.as_ref().into())])
                }
                PieceKind::Image { media_type, data } => image(media_type, data),
                _ => {
                    let item = item(piece, round.is_model, &free);
                    items.extend(item.map(|item| Entry::new(piece.from, item)));
                    continue;
                }
            };
            push_part(&mut items, piece.from, round.is_model, part);
        }
    }
    items
}

/// Adds a part to the last message if that has the same source, else to a new message.
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
    let content = vec![part].into();
    let item = object([("type", "message".into()), ("role", role.into()), ("content", content)]);
    items.push(Entry::new(from, item));
}

fn item(piece: &Piece<'_>, is_model: bool, free: &HashSet<&str>) -> Option<Value> {
    Some(match &piece.kind {
        PieceKind::Thinking { text, signature } => return thinking(text, (*signature)?, is_model),
        PieceKind::Call { id, name, input: Value::String(text) } => {
            let id = call_id(id, Dialect::OpenaiResponses);
            call("custom_tool_call", &id, name, ("input", text.as_str().into()))
        }
        PieceKind::Call { id, name, input } => {
            let id = call_id(id, Dialect::OpenaiResponses);
            call("function_call", &id, name, ("arguments", arguments_text(input).into()))
        }
        PieceKind::Result { id, content, .. } => {
            let kind = if free.contains(id) { "custom_tool_call_output" } else { "function_call_output" };
            let call_id = call_id(id, Dialect::OpenaiResponses);
            object([("type", kind.into()), ("call_id", call_id.into()), ("output", output(content))])
        }
        PieceKind::Text(_) | PieceKind::Image { .. } => return None,
    })
}

fn call(kind: &str, id: &str, name: &str, input: (&str, Value)) -> Value {
    object([("type", kind.into()), ("call_id", id.into()), ("name", name.into()), input])
}

/// Returns reasoning of the model, or a compaction by the provider on the user's side.
fn thinking(text: &str, signature: &str, is_model: bool) -> Option<Value> {
    if !is_openai(signature) {
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
