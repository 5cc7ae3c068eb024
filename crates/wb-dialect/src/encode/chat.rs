//! Encoding for Chat Completions.

use serde_json::{Value, json};
use wb_message::ToolDescriptor;

use super::Body;
use super::common::{Entry, data_url, images, object, result_text, with_tools};
use crate::arguments::arguments_text;
use crate::call_ids::call_id;
use crate::dialect::Dialect;
use crate::piece::{Piece, PieceKind, Round, results_first};

pub(super) fn head(tools: &[ToolDescriptor]) -> Body {
    let tool = |ToolDescriptor { name, description, parameters }: &ToolDescriptor| {
        let function = json!({ "name": name, "description": description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    with_tools(tools, |tools| tools.iter().map(tool).collect())
}

/// Returns the messages; the results of a user's round come first unless `keeps_order`.
pub(super) fn entries(system: Option<&str>, rounds: &[Round<'_>], keeps_order: bool) -> Vec<Entry> {
    let system =
        system.map(|text| Entry { value: json!({ "role": "system", "content": text }), from: vec![] });
    let mut entries: Vec<Entry> = system.into_iter().collect();
    for round in rounds {
        match round.is_model {
            true => entries.extend(answer(round)),
            false if keeps_order => split_at_results(round).iter().for_each(|part| user(part, &mut entries)),
            false => user(round, &mut entries),
        }
    }
    entries
}

/// Returns one message for a round of the model, without its reasoning.
fn answer(round: &Round<'_>) -> Option<Entry> {
    let (mut texts, mut calls, mut from) = (Vec::new(), Vec::new(), Vec::new());
    for piece in &round.pieces {
        match &piece.kind {
            PieceKind::Text(text) => texts.push(text.as_ref()),
            PieceKind::Call { id, name, input } => {
                let arguments = arguments_text(input).into();
                let function = object([("name", name.as_ref().into()), ("arguments", arguments)]);
                let id = call_id(id, Dialect::OpenaiChat).into();
                calls.push(object([("id", id), ("type", "function".into()), ("function", function)]));
                from.push(piece.from);
            }
            PieceKind::Thinking { .. } | PieceKind::Result { .. } | PieceKind::Image { .. } => {}
        }
    }
    let content = if texts.is_empty() { Value::Null } else { texts.join("\n").into() };
    let mut value = object([("role", "assistant".into()), ("content", content)]);
    if calls.is_empty() {
        from.push(round.pieces.first()?.from);
    } else {
        value["tool_calls"] = calls.into();
    }
    (!texts.is_empty() || value.get("tool_calls").is_some()).then_some(Entry { value, from })
}

/// Splits a round before each result that follows something else.
fn split_at_results<'a>(round: &Round<'a>) -> Vec<Round<'a>> {
    let parts = round.pieces.chunk_by(|piece, next| piece.is_result() || !next.is_result());
    parts.map(|pieces| Round { is_model: false, pieces: pieces.to_vec() }).collect()
}

/// Appends the results of a round, then the user's text with the pictures of the results.
fn user(round: &Round<'_>, entries: &mut Vec<Entry>) {
    let (mut parts, mut from) = (Vec::new(), Vec::new());
    for piece in results_first(round) {
        let new = match &piece.kind {
            PieceKind::Result { id, content, .. } => {
                let (id, content_text) = (call_id(id, Dialect::OpenaiChat), result_text(content));
                let id = ("tool_call_id", id.into());
                let tool = object([("role", "tool".into()), id, ("content", content_text.into())]);
                entries.push(Entry::new(piece.from, tool));
                images(content).map(|(media_type, data)| image(media_type, data)).collect()
            }
            _ => content_parts(piece),
        };
        from.extend(new.iter().map(|_| piece.from));
        parts.extend(new);
    }
    let content = match parts.as_slice() {
        [] => return,
        [only] => only.get("text").cloned().unwrap_or_else(|| parts.clone().into()),
        _ => parts.into(),
    };
    entries.push(Entry { value: object([("role", "user".into()), ("content", content)]), from });
}

fn content_parts(piece: &Piece<'_>) -> Vec<Value> {
    match &piece.kind {
        PieceKind::Text(text) => vec![object([("type", "text".into()), ("text", text.as_ref().into())])],
        PieceKind::Image { media_type, data } => vec![image(media_type, data)],
        PieceKind::Thinking { .. } | PieceKind::Call { .. } | PieceKind::Result { .. } => Vec::new(),
    }
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": data_url(media_type, data) } })
}
