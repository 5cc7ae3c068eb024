//! Encoding for Anthropic Messages.

use serde_json::{Value, json};
use wb_message::{Block, ToolDescriptor};

use super::Body;
use super::common::{Entry, object, with_tools};
use crate::arguments::arguments_object;
use crate::call_ids::call_id;
use crate::dialect::Dialect;
use crate::piece::{Piece, PieceKind, Round, results_first};
use crate::thinking_signature::anthropic_block;

pub(super) fn head(system: Option<&str>, tools: &[ToolDescriptor]) -> Body {
    let tool = |ToolDescriptor { name, description, parameters }: &ToolDescriptor| json!({ "name": name, "description": description, "input_schema": parameters });
    let mut body = with_tools(tools, |tools| tools.iter().map(tool).collect());
    body.extend(system.map(|text| ("system".to_owned(), text.into())));
    body
}

/// Returns one message per round, results first; empty rounds are dropped. `keeps_empty` keeps
/// empty texts in results.
pub(super) fn entries(rounds: &[Round<'_>], keeps_empty: bool) -> Vec<Entry> {
    let mut messages: Vec<(&str, Vec<Value>, Vec<usize>)> = Vec::new();
    for round in rounds {
        let role = if round.is_model { "assistant" } else { "user" };
        for piece in in_order(round) {
            // The user's side may hold another provider's compaction, but no reasoning.
            let is_misplaced = !round.is_model && matches!(piece.kind, PieceKind::Thinking { .. });
            let Some(part) = part(&piece.kind, keeps_empty).filter(|_| !is_misplaced) else { continue };
            match messages.last_mut() {
                Some((last, parts, from)) if *last == role => {
                    parts.push(part);
                    from.push(piece.from);
                }
                _ => messages.push((role, vec![part], vec![piece.from])),
            }
        }
    }
    let entry = |(role, content, from): (&str, Vec<Value>, _)| {
        let value = object([("role", role.into()), ("content", content.into())]);
        Entry { value, from }
    };
    messages.into_iter().map(entry).collect()
}

/// Returns the pieces in the order that Anthropic accepts: results first, no text after a call.
fn in_order<'r, 'a>(round: &'r Round<'a>) -> impl Iterator<Item = &'r Piece<'a>> {
    let mut pieces: Vec<&Piece<'_>> = results_first(round).collect();
    let first = pieces.iter().position(|piece| matches!(piece.kind, PieceKind::Call { .. }));
    let is_later = |piece: &&Piece<'_>| !matches!(piece.kind, PieceKind::Text(_));
    let first = first.unwrap_or(pieces.len());
    pieces[first..].sort_by_key(is_later);
    pieces.into_iter()
}

fn part(kind: &PieceKind<'_>, keeps_empty: bool) -> Option<Value> {
    Some(match kind {
        PieceKind::Text(text) => self::text(text),
        PieceKind::Thinking { text, signature } => return anthropic_block(text, (*signature)?),
        PieceKind::Call { id, name, input } => {
            let id = call_id(id, Dialect::Anthropic);
            let name = name.as_ref().into();
            let input = arguments_object(input);
            object([("type", "tool_use".into()), ("id", id.into()), ("name", name), ("input", input)])
        }
        PieceKind::Result { id, content, is_error } => result(id, content, *is_error, keeps_empty),
        PieceKind::Image { media_type, data } => image(media_type, data),
    })
}

fn result(id: &str, content: &[Block], is_error: bool, keeps_empty: bool) -> Value {
    let is_sent = |text: &str| !text.trim().is_empty() || keeps_empty && text.is_empty();
    let parts = content.iter().filter_map(|block| match block {
        Block::Text { text } if is_sent(text) => Some(self::text(text)),
        Block::Image { media_type, data_base64 } => Some(image(media_type, data_base64)),
        _ => None,
    });
    let parts: Vec<Value> = parts.collect();
    let id = call_id(id, Dialect::Anthropic);
    let mut result = object([("type", "tool_result".into()), ("tool_use_id", id.into())]);
    if !parts.is_empty() {
        result["content"] = parts.into();
    }
    if is_error {
        result["is_error"] = true.into();
    }
    result
}

fn text(text: &str) -> Value {
    object([("type", "text".into()), ("text", text.into())])
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
}
