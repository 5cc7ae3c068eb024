//! Messages of the GenAI conventions of OpenTelemetry: a role, and parts that name their type.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::{Block, Content, Message};
use wb_record::json::{elements, get, set};
use wb_record::{ProbedValue, Stamp};

use super::content_value::{content_of, in_users_place, raw_list, result};
use super::parted_record;
use crate::kit::json_text::{arguments, compact, text};
use crate::kit::loose::Text;
use crate::kit::message_list::{Fate, Record, Shape};
use crate::kit::picture::picture;

/// The part of a result.
const RESPONSE: &str = "tool_call_response";

/// One record per message. Results are parts of the type `tool_call_response`, each a message of
/// its own; the other parts next to them are another. A list of parts alone is a system text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtelShape;

/// Recognizes a message by its parts.
pub(crate) fn is_message(message: &ProbedValue) -> bool {
    let is_part = |part: &ProbedValue| match part.r#type.as_str() {
        "tool_call" | RESPONSE | "blob" | "uri" => true,
        "text" | "reasoning" => part.has("content") && !part.has("text"),
        _ => false,
    };
    let parts = message.parts.as_deref().filter(|parts| parts.is_list);
    !message.has("kind") && parts.is_some_and(|parts| parts.elements().any(is_part))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OtelRecord<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    parts: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OtelPart<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    content: Option<&'a RawValue>,
    id: Text<'a>,
    name: Text<'a>,
    arguments: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    mime_type: Text<'a>,
    uri: Text<'a>,
}

impl Shape for OtelShape {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        if record.starts_with('[') {
            let parts: Vec<&RawValue> = serde_json::from_str(record)?;
            let blocks: Vec<Block> = parts.into_iter().map(block).collect();
            into.messages.extend((!blocks.is_empty()).then(|| Message::custom("system", content_of(blocks))));
            return Ok(());
        }
        let OtelRecord { role, parts } = serde_json::from_str(record)?;
        let parts = raw_list(parts);
        match role.as_str() {
            Some("assistant") => {
                into.messages.push(Message::assistant_blocks(parts.into_iter().map(block).collect()));
            }
            Some("system" | "developer") => {
                let blocks = parts.into_iter().map(block).collect();
                into.messages.push(Message::custom(role.into_string(), content_of(blocks)));
            }
            Some("user" | "tool") => into.messages.extend(users(parts)),
            _ => into.is_of_nobody = true,
        }
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        let parts = |blocks: &[Block]| blocks.iter().map(part).collect::<Result<Vec<_>, _>>();
        let said = |content: &Content| match content {
            Content::Text(text) => parts(&[Block::text(text.as_str())]),
            Content::Blocks(blocks) => parts(blocks),
        };
        let value = match message {
            Message::Assistant { content, .. } => {
                json!({ "role": "assistant", "parts": parts(content)?, "finish_reason": "stop" })
            }
            Message::ToolResult { tool_call_id, content, .. } => {
                let response =
                    json!({ "type": RESPONSE, "id": tool_call_id, "response": result(content, part)? });
                json!({ "role": "tool", "parts": [response] })
            }
            Message::Custom { custom_type, content } if matches!(&**custom_type, "system" | "developer") => {
                json!({ "role": custom_type, "parts": said(content)? })
            }
            message => json!({ "role": "user", "parts": said(&in_users_place(message)?)? }),
        };
        Ok(value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let n_parts = |message: &Message, rest: &[&[u8]]| match message {
            Message::ToolResult { .. } => 1,
            Message::User { .. } => rest.iter().take_while(|part| !is_response(part)).count(),
            _ => rest.len(),
        };
        let parted = parted_record::rewrite(record, "parts", messages, fates, n_parts, rewritten);
        parted.unwrap_or_else(|| Err("a record without parts".to_owned()))
    }
}

fn is_response(part: &[u8]) -> bool {
    get(part, "type").is_some_and(|kind| kind == b"\"tool_call_response\"")
}

/// Returns the messages of a record on the user's side: each result, and what is between them.
fn users(parts: Vec<&RawValue>) -> Vec<Message> {
    let (mut messages, mut said) = (Vec::new(), Vec::new());
    let is_empty = parts.is_empty();
    for part in parts {
        if is_response(part.get().as_bytes()) {
            messages.extend((!said.is_empty()).then(|| Message::user(content_of(std::mem::take(&mut said)))));
            messages.push(result_message(part));
        } else {
            said.push(block(part));
        }
    }
    messages.extend((is_empty || !said.is_empty()).then(|| Message::user(content_of(said))));
    messages
}

fn result_message(json: &RawValue) -> Message {
    let part: OtelPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    let response = part.response.or(part.result).map_or("\"\"", RawValue::get);
    let content = match text(response) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
        None if is_list_of_parts(response) => {
            let parts: Vec<&RawValue> = serde_json::from_str(response).unwrap_or_default();
            parts.into_iter().map(block).collect()
        }
        None => vec![Block::text(compact(response))],
    };
    Message::ToolResult {
        tool_call_id: part.id.into_string(),
        tool_name: part.name.into_string(),
        content,
        is_error: false,
        is_refusal: false,
    }
}

/// Returns whether a response is a list of parts as messages have them.
fn is_list_of_parts(response: &str) -> bool {
    let places = elements(response.as_bytes()).unwrap_or_default();
    let is_part = |part: &[u8]| get(part, "type").is_some() && get(part, "content").is_some();
    !places.is_empty() && places.into_iter().all(|place| is_part(&response.as_bytes()[place]))
}

/// Reads a part; one without a matching block becomes a text with its JSON.
fn block(json: &RawValue) -> Block {
    let part: OtelPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    let said = part.content.and_then(|said| text(said.get()));
    let kind = part.mime_type.as_str().unwrap_or_default();
    let known = match part.r#type.as_str() {
        Some("text") => said.map(Block::text),
        Some("reasoning") => said.map(|text| Block::Thinking { text, signature: None }),
        Some("tool_call") => Some(Block::ToolCall {
            id: part.id.into_string(),
            name: part.name.into_string(),
            input: part.arguments.map_or_else(|| json!({}), |json| arguments(json.get())),
        }),
        Some("blob") if kind.starts_with("image/") => said.map(|data| Block::image(kind, data)),
        Some("blob") => Some(Block::text(format!("[file: {kind}]"))),
        Some("uri") => part.uri.as_str().map(picture),
        _ => None,
    };
    known.unwrap_or_else(|| Block::text(compact(json.get())))
}

/// Returns a block as a part.
fn part(block: &Block) -> Result<Value, String> {
    Ok(match block {
        Block::Text { text } => json!({ "type": "text", "content": text }),
        Block::Thinking { text, signature: None } => json!({ "type": "reasoning", "content": text }),
        Block::Image { media_type, data_base64 } => {
            json!({ "type": "blob", "modality": "image", "mime_type": media_type, "content": data_base64 })
        }
        Block::ToolCall { id, name, input } => {
            json!({ "type": "tool_call", "id": id, "name": name, "arguments": input })
        }
        _ => return Err("a new part of this kind".to_owned()),
    })
}

/// Returns the parts of a message with another body; those of blocks that stay are kept.
fn rewritten(old: &[&[u8]], message: &Message, after: &[Block]) -> Result<Vec<Vec<u8>>, String> {
    if let (Message::ToolResult { .. }, [old]) = (message, old) {
        let key = if get(old, "response").is_none() && get(old, "result").is_some() {
            "result"
        } else {
            "response"
        };
        return Ok(vec![set(old, key, result(after, part)?.to_string().as_bytes())]);
    }
    let before = message.blocks();
    let new = |(at, block): (usize, &Block)| {
        let same = before.iter().position(|it| it == block).and_then(|at| old.get(at));
        match (same, block, before.get(at), old.get(at)) {
            (Some(part), ..) => Ok(part.to_vec()),
            (_, Block::Text { text }, Some(Block::Text { .. }), Some(part))
                if get(part, "content").is_some() =>
            {
                Ok(set(part, "content", Value::from(text.as_str()).to_string().as_bytes()))
            }
            _ => part(block).map(|value| value.to_string().into_bytes()),
        }
    };
    after.iter().enumerate().map(new).collect()
}
