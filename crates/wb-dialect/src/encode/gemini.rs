//! Encoding for Gemini's `generateContent`.

use std::collections::HashMap;

use serde_json::{Value, json};
use wb_message::{Block, ToolDescriptor};

use super::Body;
use super::common::{Entry, images, object, result_text, with_tools};
use crate::arguments::arguments_object;
use crate::piece::{Piece, PieceKind, Round, results_first};
use crate::thinking_signature::is_gemini;

pub(super) fn head(system: Option<&str>, tools: &[ToolDescriptor]) -> Body {
    let tool = |ToolDescriptor { name, description, parameters }: &ToolDescriptor| json!({ "name": name, "description": description, "parametersJsonSchema": parameters });
    let all = |tools: &[ToolDescriptor]| json!([{ "functionDeclarations": tools.iter().map(tool).collect::<Vec<_>>() }]);
    let mut body = with_tools(tools, all);
    body.extend(system.map(|text| ("systemInstruction".to_owned(), json!({ "parts": [{ "text": text }] }))));
    body
}

/// Returns one content per round, results first; empty rounds are dropped.
pub(super) fn entries(rounds: &[Round<'_>]) -> Vec<Entry> {
    let mut contents: Vec<(&str, Vec<Value>, Vec<usize>)> = Vec::new();
    let mut names = HashMap::new();
    for round in rounds {
        let role = if round.is_model { "model" } else { "user" };
        for (part, from) in parts(round, &mut names) {
            match contents.last_mut() {
                Some((last, parts, origins)) if *last == role => {
                    parts.push(part);
                    origins.push(from);
                }
                _ => contents.push((role, vec![part], vec![from])),
            }
        }
    }
    let entry = |(role, parts, from): (&str, Vec<Value>, _)| {
        let value = object([("role", role.into()), ("parts", parts.into())]);
        Entry { value, from }
    };
    contents.into_iter().map(entry).collect()
}

/// Returns the parts of a round. A signed thought is a separate part; a signature alone belongs to
/// the part after it, or to an empty one. Pictures of results follow all results.
fn parts<'a>(round: &'a Round<'_>, names: &mut HashMap<&'a str, &'a str>) -> Vec<(Value, usize)> {
    let (mut parts, mut pictures) = (Vec::new(), Vec::new());
    let mut signature = None;
    for piece in results_first(round) {
        if let PieceKind::Thinking { text, signature: new } = piece.kind {
            let Some(new) = new.filter(|new| round.is_model && is_gemini(new)) else { continue };
            if text.is_empty() {
                parts.extend(signature.replace((new, piece.from)).map(signature_part));
            } else {
                parts.push((json!({ "text": text, "thought": true, "thoughtSignature": new }), piece.from));
            }
            continue;
        }
        if let PieceKind::Call { id, name, .. } = &piece.kind {
            names.insert(*id, name.as_ref());
        }
        if let PieceKind::Result { content, .. } = &piece.kind {
            pictures.extend(images(content).map(|(kind, data)| (image(kind, data), piece.from)));
        } else if !pictures.is_empty() {
            parts.append(&mut pictures);
        }
        let Some(mut part) = part(piece, names) else { continue };
        if let Some((signature, _)) = signature.take() {
            part["thoughtSignature"] = signature.into();
        }
        parts.push((part, piece.from));
    }
    parts.extend(signature.map(signature_part));
    parts.append(&mut pictures);
    parts
}

/// Returns an empty part that carries a signature.
fn signature_part((signature, from): (&str, usize)) -> (Value, usize) {
    (json!({ "text": "", "thoughtSignature": signature }), from)
}

fn part(piece: &Piece<'_>, names: &HashMap<&str, &str>) -> Option<Value> {
    Some(match &piece.kind {
        PieceKind::Text(text) => object([("text", text.as_ref().into())]),
        PieceKind::Call { id, name, input } => {
            let (id, name) = (("id", (*id).into()), ("name", name.as_ref().into()));
            object([("functionCall", object([id, name, ("args", arguments_object(input))]))])
        }
        PieceKind::Result { id, content, is_error } => {
            let name = names.get(id).copied().unwrap_or_default();
            let (id, name) = (("id", (*id).into()), ("name", name.into()));
            object([("functionResponse", object([id, name, ("response", response(content, *is_error))]))])
        }
        PieceKind::Image { media_type, data } => image(media_type, data),
        PieceKind::Thinking { .. } => return None,
    })
}

fn response(content: &[Block], is_error: bool) -> Value {
    let key = if is_error { "error" } else { "output" };
    object([(key, result_text(content).into())])
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": media_type, "data": data } })
}
