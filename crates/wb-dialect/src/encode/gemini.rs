//! `generateContent` of Gemini.

use std::collections::HashMap;

use serde_json::{Value, json};
use wb_message::{Block, ToolDescriptor};

use super::Body;
use super::common::{Entry, images, result_text, with_tools};
use crate::arguments::as_object;
use crate::piece::{Piece, Round, Said, results_first};
use crate::thinking_signature::is_of_gemini;

pub(super) fn head(system: Option<&str>, tools: &[ToolDescriptor]) -> Body {
    let tool = |ToolDescriptor { name, description, parameters }: &ToolDescriptor| json!({ "name": name, "description": description, "parametersJsonSchema": parameters });
    let all = |tools: &[ToolDescriptor]| json!([{ "functionDeclarations": tools.iter().map(tool).collect::<Vec<_>>() }]);
    let mut body = with_tools(tools, all);
    body.extend(system.map(|text| ("systemInstruction".to_owned(), json!({ "parts": [{ "text": text }] }))));
    body
}

/// One content for each round, results first; rounds of which nothing is left are left out.
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
    let entry = |(role, parts, from)| Entry { value: json!({ "role": role, "parts": parts }), from };
    contents.into_iter().map(|(role, parts, from): (_, Vec<Value>, _)| entry((role, parts, from))).collect()
}

/// Returns the parts of a round. A signed thought is a part of its own; a signature alone belongs to the part behind it,
/// or to an empty one. Pictures of results follow all results.
fn parts<'a>(round: &'a Round<'_>, names: &mut HashMap<&'a str, &'a str>) -> Vec<(Value, usize)> {
    let (mut parts, mut pictures) = (Vec::new(), Vec::new());
    let mut signature = None;
    for piece in results_first(round) {
        if let Said::Thinking { text, signature: new } = piece.said {
            let Some(new) = new.filter(|new| round.is_model && is_of_gemini(new)) else { continue };
            if text.is_empty() {
                parts.extend(signature.replace((new, piece.from)).map(unattached));
            } else {
                parts.push((json!({ "text": text, "thought": true, "thoughtSignature": new }), piece.from));
            }
            continue;
        }
        if let Said::Call { id, name, .. } = &piece.said {
            names.insert(*id, name.as_ref());
        }
        if let Said::Result { content, .. } = &piece.said {
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
    parts.extend(signature.map(unattached));
    parts.append(&mut pictures);
    parts
}

/// Returns a signature with no part behind it.
fn unattached((signature, from): (&str, usize)) -> (Value, usize) {
    (json!({ "text": "", "thoughtSignature": signature }), from)
}

fn part(piece: &Piece<'_>, names: &HashMap<&str, &str>) -> Option<Value> {
    Some(match &piece.said {
        Said::Text(text) => json!({ "text": text }),
        Said::Call { id, name, input } => {
            json!({ "functionCall": { "id": id, "name": name, "args": as_object(input) } })
        }
        Said::Result { id, content, is_error } => {
            let name = names.get(id).copied().unwrap_or_default();
            json!({ "functionResponse": { "id": id, "name": name, "response": response(content, *is_error) } })
        }
        Said::Image { media_type, data } => image(media_type, data),
        Said::Thinking { .. } => return None,
    })
}

fn response(content: &[Block], is_error: bool) -> Value {
    let key = if is_error { "error" } else { "output" };
    json!({ key: result_text(content) })
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": media_type, "data": data } })
}
