//! Session files of goose until its version 1.9: JSON lines, a header and one message per line.

use std::io;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::block::{joined_text, output_blocks};
use wb_message::{Block, Message, ToolRole, ToolVocabulary};
use wb_record::json::{elements, set_in};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};

use crate::kit::fields::{take_text, text_of};
use crate::kit::json_text::value;
use crate::kit::list_document::open;
use crate::kit::loose::{Count, Text};
use crate::kit::message_list::{Fate, Layout, Record, Shape};
use crate::shapes::content_value::{content, content_of, in_users_place, list, raw_list};

/// The tools of goose.
const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("developer__shell", ToolRole::Run),
        ("developer__text_editor", ToolRole::Edit),
        ("developer__list_windows", ToolRole::Search),
        ("platform__search_available_extensions", ToolRole::Search),
        ("shell", ToolRole::Run),
        ("text_editor", ToolRole::Edit),
    ],
    path_keys: &["path"],
    part_keys: &["view_range"],
};
/// Kinds of parts that are for the screen.
const SILENT_KINDS: [&str; 4] =
    ["toolConfirmationRequest", "contextLengthExceeded", "summarizationRequested", "conversationCompacted"];
/// The name of a call that the model wrote in an unreadable form.
const UNREADABLE_CALL: &str = "unreadable";

/// Session files of goose until its version 1.9; later ones are in a database.
///
/// Results are in the user's place, each a message of its own here; they count as failed by their
/// status. What only the user sees is left out. There is no usage per request in the file. A digest
/// is a prompt of the user in place of the lines that it replaces, as goose writes its own
/// summaries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Goose;

impl Format for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_line = |it: &ProbedValue| {
            let is_list = it.inner.as_deref().is_some_and(|content| content.is_list);
            it.has("role") && it.has("created") && it.has("content") && is_list && it.r#type.is_empty()
        };
        let is_header = |it: &ProbedValue| it.has("working_dir") && it.has("message_count");
        if probe.values.iter().any(is_line) || probe.first().is_some_and(is_header) {
            Confidence::Sure
        } else {
            Confidence::No
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for Goose {
    fn is_lines(&self, _: &dyn Parts) -> io::Result<bool> {
        Ok(true)
    }

    fn shape(&self) -> &dyn Shape {
        self
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GooseLine<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    created: Count,
    content: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
}

impl Shape for Goose {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        let fields: GooseLine<'_> = serde_json::from_str(record)?;
        let metadata = fields.metadata.and_then(|it| value(it.get().as_bytes())).unwrap_or_default();
        if metadata.get("agentVisible") == Some(&Value::Bool(false)) {
            return Ok(());
        }
        let parts = raw_list(fields.content)
            .into_iter()
            .filter_map(|part| value(part.get().as_bytes()))
            .filter_map(part);
        let created = fields.created.0.and_then(|it| i64::try_from(it).ok()).unwrap_or(0);
        match fields.role.as_str() {
            Some("user") => into.messages = of_user(parts, created.saturating_mul(1000)),
            Some("assistant") => {
                let blocks = parts.filter_map(|part| match part {
                    GoosePart::Block(block) => Some(block),
                    GoosePart::Result { .. } => None,
                });
                into.messages.push(Message::assistant_blocks(blocks.collect()));
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String> {
        let (role, parts) = match message {
            Message::Assistant { content, .. } => {
                ("assistant", content.iter().map(written).collect::<Result<Value, _>>()?)
            }
            Message::ToolResult { tool_call_id, content, is_error, .. } => {
                ("user", json!([answer(tool_call_id, content, *is_error)?]))
            }
            message => match content(&in_users_place(message)?, written)? {
                Value::String(text) => ("user", json!([{ "type": "text", "text": text }])),
                parts => ("user", parts),
            },
        };
        let created = stamp.now_ms.div_euclid(1000);
        Ok(json!({ "role": role, "created": created, "content": parts }).to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let content = wb_record::json::find(record, &["content"]).ok_or("a line without content")?;
        let parts = &record[content.clone()];
        let is_result = |message: &Message| matches!(message, Message::ToolResult { .. });
        let (results, said): (Vec<_>, Vec<_>) =
            messages.iter().zip(fates).partition(|(message, _)| is_result(message));
        let (mut results, said) = (results.into_iter(), said.first());
        let mut kept = Vec::new();
        for place in elements(parts).ok_or("a content that is no list")? {
            let bytes = &parts[place];
            let read = value(bytes).and_then(part);
            let is_result = matches!(read, Some(GoosePart::Result { .. }));
            let fate = if is_result { results.next() } else { said.copied() };
            match fate.map(|(_, fate)| *fate) {
                Some(Fate::Goes) => {}
                Some(Fate::Body(body)) if is_result => kept.push(with_body(bytes, body)?),
                Some(Fate::Body(_)) => return Err("another body for what is no result".to_owned()),
                Some(Fate::Stays) | None => kept.push(bytes.to_vec()),
            }
        }
        Ok([&record[..content.start], &list(&kept), &record[content.end..]].concat())
    }
}

enum GoosePart {
    Block(Block),
    Result { call_id: String, content: Vec<Block>, is_error: bool },
}

fn of_user(parts: impl Iterator<Item = GoosePart>, timestamp: i64) -> Vec<Message> {
    let (mut messages, mut said) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            GoosePart::Block(block) => said.push(block),
            GoosePart::Result { call_id: tool_call_id, content, is_error } => {
                let tool_name = String::new();
                messages.push(Message::ToolResult {
                    tool_call_id,
                    tool_name,
                    content,
                    is_error,
                    is_refusal: false,
                });
            }
        }
    }
    if !said.is_empty() || messages.is_empty() {
        messages.push(Message::User { content: content_of(said), timestamp });
    }
    messages
}

/// Reads a part; `None` if it is for the screen alone.
fn part(mut part: Value) -> Option<GoosePart> {
    let text = |part: &mut Value, key: &str| take_text(part, key).unwrap_or_default();
    let kind = text(&mut part, "type");
    Some(GoosePart::Block(match kind.as_str() {
        "text" => Block::Text { text: text(&mut part, "text") },
        "image" => Block::image(text(&mut part, "mimeType"), text(&mut part, "data")),
        "thinking" => Block::Thinking {
            text: text(&mut part, "thinking"),
            signature: take_text(&mut part, "signature"),
        },
        "redactedThinking" => Block::redacted_thinking(text(&mut part, "data")),
        "toolRequest" | "frontendToolRequest" => call(part),
        "toolResponse" => return Some(result(part)),
        kind if SILENT_KINDS.contains(&kind) => return None,
        _ => Block::text(part.to_string()),
    }))
}

fn call(mut request: Value) -> Block {
    let id = take_text(&mut request, "id").unwrap_or_default();
    let mut call = request.get_mut("toolCall").map(Value::take).unwrap_or_default();
    let mut value = call.get_mut("value").map(Value::take).unwrap_or_default();
    let name = take_text(&mut value, "name").unwrap_or_else(|| UNREADABLE_CALL.to_owned());
    let input = value.get_mut("arguments").map(Value::take).filter(|it| !it.is_null());
    Block::ToolCall { id, name, input: input.unwrap_or_else(|| json!({})) }
}

fn result(mut response: Value) -> GoosePart {
    let call_id = take_text(&mut response, "id").unwrap_or_default();
    let mut result = response.get_mut("toolResult").map(Value::take).unwrap_or_default();
    let is_failed = text_of(result.get("status")) == "error";
    let mut value =
        result.get_mut(if is_failed { "error" } else { "value" }).map(Value::take).unwrap_or_default();
    let is_error = is_failed || value.get("isError") == Some(&Value::Bool(true));
    let parts = if value.is_array() { Some(&mut value) } else { value.get_mut("content") };
    if let Some(parts) = parts.and_then(Value::as_array_mut) {
        parts.retain(is_for_model);
    }
    let content = match value {
        Value::String(text) => vec![Block::Text { text }],
        value => output_blocks(&value),
    };
    GoosePart::Result { call_id, content, is_error }
}

/// Returns whether a part of a result is for the model too.
fn is_for_model(part: &Value) -> bool {
    let audience = part.pointer("/annotations/audience").and_then(Value::as_array);
    audience.is_none_or(|audience| audience.is_empty() || audience.iter().any(|it| it == "assistant"))
}

/// Returns a result with another body.
fn with_body(part: &[u8], body: &[Block]) -> Result<Vec<u8>, String> {
    let is_failed = wb_record::json::text(part, &["toolResult", "status"]).is_some_and(|it| it == "error");
    if is_failed {
        let text = Value::from(joined_text(body)).to_string();
        return Ok(set_in(part, &["toolResult", "error"], text.as_bytes()));
    }
    let parts = body.iter().map(written).collect::<Result<Value, _>>()?.to_string();
    let value = wb_record::json::find(part, &["toolResult", "value"]).map_or(&b""[..], |it| &part[it]);
    let path: &[&str] =
        if value.starts_with(b"{") { &["toolResult", "value", "content"] } else { &["toolResult", "value"] };
    Ok(set_in(part, path, parts.as_bytes()))
}

/// Returns a new result as a part.
fn answer(id: &str, body: &[Block], is_error: bool) -> Result<Value, String> {
    let result = if is_error {
        json!({ "status": "error", "error": joined_text(body) })
    } else {
        json!({ "status": "success", "value": body.iter().map(written).collect::<Result<Value, _>>()? })
    };
    Ok(json!({ "type": "toolResponse", "id": id, "toolResult": result }))
}

/// Returns a block as a part.
fn written(block: &Block) -> Result<Value, String> {
    match block {
        Block::Text { text } => Ok(json!({ "type": "text", "text": text })),
        Block::Image { media_type, data_base64: data } => {
            Ok(json!({ "type": "image", "data": data, "mimeType": media_type }))
        }
        _ => Err("a new message with more than texts and pictures".to_owned()),
    }
}
