//! Lists of messages of pydantic-ai, as its `ModelMessagesTypeAdapter` writes them.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::block::shown_text;
use wb_message::{Block, Content, Message};
use wb_record::json::{get, set};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};
use wb_session::{iso_ms, parse_iso_ms};

use crate::kit::json_text::{arguments, compact, text};
use crate::kit::list_document::open;
use crate::kit::loose::{Count, Text};
use crate::kit::message_list::{Fate, Layout, List, Record, Shape, held};
use crate::kit::picture::picture;
use crate::kit::usage::usage_with_cache;
use crate::shapes::content_value::{in_users_place, raw_list};
use crate::shapes::parted_record;

/// Lists of messages of pydantic-ai: requests of several parts, and responses with usage.
///
/// Each part of a request is a message of its own: system prompts, which are pinned, prompts,
/// results, and retry requests, which are failed results if they name a tool. A response is one
/// answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PydanticAi;

impl Format for PydanticAi {
    fn name(&self) -> &'static str {
        "pydantic-ai"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_message = |message: &ProbedValue| {
            message.has("parts") && (message.has("kind") || message.has("instructions"))
        };
        match probe.values.as_slice() {
            [first] if first.is_list && first.elements().any(is_message) => Confidence::Sure,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for PydanticAi {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        Ok(vec![List::at_path(held(parts), &[])?])
    }

    fn shape(&self) -> &dyn Shape {
        self
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PydanticRecord<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    parts: Option<&'a RawValue>,
    usage: Option<PydanticUsage>,
    model_name: Text<'a>,
}

/// The reported usage; older versions have other names.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PydanticUsage {
    #[serde(rename = "input_tokens", alias = "request_tokens")]
    prompt: Count,
    #[serde(rename = "output_tokens", alias = "response_tokens")]
    answer: Count,
    #[serde(rename = "cache_read_tokens")]
    read: Count,
    #[serde(rename = "cache_write_tokens")]
    written: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PydanticPart<'a> {
    #[serde(borrow, rename = "part_kind")]
    kind: Text<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    tool_name: Text<'a>,
    tool_call_id: Text<'a>,
    args: Option<&'a RawValue>,
    signature: Text<'a>,
    timestamp: Text<'a>,
    outcome: Text<'a>,
}

impl Shape for PydanticAi {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        let PydanticRecord { kind, parts, usage, model_name } = serde_json::from_str(record)?;
        let parts = raw_list(parts);
        match kind.as_str() {
            Some("request") => into.messages.extend(parts.into_iter().map(request_message)),
            Some("response") => {
                into.messages
                    .push(Message::assistant_blocks(parts.into_iter().map(response_block).collect()));
                into.usage =
                    usage.and_then(|it| usage_with_cache(it.prompt.0, it.answer.0, it.read.0, it.written.0));
                into.model = model_name.0.map(std::borrow::Cow::into_owned);
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String> {
        let time = iso_ms(stamp.now_ms);
        let request = |part: Value| json!({ "parts": [part], "kind": "request" });
        let value = match message {
            Message::Assistant { content, .. } => {
                let parts = content.iter().map(part).collect::<Result<Vec<_>, _>>()?;
                json!({ "parts": parts, "kind": "response", "timestamp": time })
            }
            Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => request(json!({
                "tool_name": tool_name,
                "content": shown_text(content),
                "tool_call_id": tool_call_id,
                "timestamp": time,
                "part_kind": if *is_error { "retry-prompt" } else { "tool-return" },
            })),
            Message::Custom { custom_type, content: body } if custom_type == "system" => {
                let text = body.texts().collect::<Vec<_>>().join("\n");
                request(json!({ "content": text, "timestamp": time, "part_kind": "system-prompt" }))
            }
            message => {
                let content = prompt(&in_users_place(message)?)?;
                request(json!({ "content": content, "timestamp": time, "part_kind": "user-prompt" }))
            }
        };
        Ok(value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let n_parts = |message: &Message, _: &[&[u8]]| match message {
            Message::Assistant { content, .. } => content.len(),
            _ => 1,
        };
        let parted = parted_record::rewrite(record, "parts", messages, fates, n_parts, rewritten);
        parted.unwrap_or_else(|| Err("a record without parts".to_owned()))
    }
}

fn rewritten(old: &[&[u8]], message: &Message, after: &[Block]) -> Result<Vec<Vec<u8>>, String> {
    let with = |part: &[u8], content: &Value| set(part, "content", content.to_string().as_bytes());
    match (message, old) {
        (Message::Assistant { content: before, .. }, old) => {
            let new = |(at, block): (usize, &Block)| {
                let same = before.iter().position(|it| it == block).and_then(|at| old.get(at));
                match (same, block, before.get(at), old.get(at)) {
                    (Some(part), ..) => Ok(part.to_vec()),
                    (_, Block::Text { text }, Some(Block::Text { .. }), Some(part)) => {
                        Ok(with(part, &Value::from(text.as_str())))
                    }
                    _ => part(block).map(|value| value.to_string().into_bytes()),
                }
            };
            after.iter().enumerate().map(new).collect()
        }
        (Message::ToolResult { .. }, [part]) => Ok(vec![with(part, &Value::from(shown_text(after)))]),
        (Message::User { .. } | Message::Custom { .. }, [part]) => {
            let body = message.with_body(after.to_vec());
            let (Message::User { content, .. } | Message::Custom { content, .. }) = &body else {
                return Err("another body".to_owned());
            };
            Ok(vec![with(part, &prompt(content)?)])
        }
        _ => Err("another body".to_owned()),
    }
}

/// Reads a part of a request.
fn request_message(json: &RawValue) -> Message {
    let part: PydanticPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    let timestamp = part.timestamp.as_str().and_then(parse_iso_ms).unwrap_or(0);
    let is_result = part.tool_name.as_str().is_some();
    match part.kind.as_str() {
        Some("system-prompt") => Message::custom("system", body(part.content)),
        Some(kind @ ("tool-return" | "retry-prompt")) if is_result => Message::ToolResult {
            is_error: kind == "retry-prompt" || part.outcome.as_str() == Some("failed"),
            content: returned(part.content),
            tool_call_id: part.tool_call_id.into_string(),
            tool_name: part.tool_name.into_string(),
            is_refusal: false,
        },
        Some("user-prompt" | "retry-prompt") => Message::User { content: body(part.content), timestamp },
        _ => Message::user(vec![Block::text(compact(json.get()))]),
    }
}

/// Returns a body: a text, or texts and pictures.
fn body(json: Option<&RawValue>) -> Content {
    let Some(json) = json else { return Content::Text(String::new()) };
    let parts = || raw_list(Some(json)).into_iter().map(prompt_part).collect();
    text(json.get()).map_or_else(|| Content::Blocks(parts()), Content::Text)
}

fn prompt_part(json: &RawValue) -> Block {
    let bytes = json.get().as_bytes();
    let of = |key: &str| get(bytes, key).and_then(|value| text(std::str::from_utf8(value).ok()?));
    if let Some(text) = text(json.get()) {
        return Block::Text { text };
    }
    match (of("kind").as_deref(), of("url"), of("data"), of("media_type")) {
        (Some("image-url"), Some(url), ..) => picture(&url),
        (Some("binary"), _, Some(data), Some(kind)) if kind.starts_with("image/") => Block::image(kind, data),
        (Some("binary"), _, _, kind) => Block::text(format!("[file: {}]", kind.unwrap_or_default())),
        _ => Block::text(compact(json.get())),
    }
}

/// Returns the result of a tool: a text, or its JSON.
fn returned(json: Option<&RawValue>) -> Vec<Block> {
    match json.map(|json| text(json.get()).unwrap_or_else(|| compact(json.get()))) {
        None => Vec::new(),
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
    }
}

/// Reads a part of a response.
fn response_block(json: &RawValue) -> Block {
    let part: PydanticPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    let words = part.content.and_then(|content| text(content.get()));
    let known = match part.kind.as_str() {
        Some("text") => words.map(Block::text),
        Some("thinking") => Some(Block::Thinking {
            text: words.unwrap_or_default(),
            signature: part.signature.0.map(std::borrow::Cow::into_owned),
        }),
        Some("tool-call") => Some(Block::ToolCall {
            id: part.tool_call_id.into_string(),
            name: part.tool_name.into_string(),
            input: part.args.map_or_else(|| json!({}), |args| arguments(args.get())),
        }),
        _ => None,
    };
    known.unwrap_or_else(|| Block::text(compact(json.get())))
}

/// Returns a body as a prompt has it.
fn prompt(body: &Content) -> Result<Value, String> {
    let part = |block: &Block| match block {
        Block::Text { text } => Ok(Value::from(text.as_str())),
        Block::Image { media_type, data_base64 } => {
            Ok(json!({ "data": data_base64, "media_type": media_type, "kind": "binary" }))
        }
        _ => Err("a prompt with more than texts and pictures".to_owned()),
    };
    match body {
        Content::Text(text) => Ok(Value::from(text.as_str())),
        Content::Blocks(blocks) => blocks.iter().map(part).collect(),
    }
}

/// Returns a block as a part of a response.
fn part(block: &Block) -> Result<Value, String> {
    Ok(match block {
        Block::Text { text } => json!({ "content": text, "part_kind": "text" }),
        Block::Thinking { text, signature } => {
            json!({ "content": text, "signature": signature, "part_kind": "thinking" })
        }
        Block::ToolCall { id, name, input } => {
            json!({ "tool_name": name, "args": input, "tool_call_id": id, "part_kind": "tool-call" })
        }
        _ => return Err("a response with more than texts, reasoning and calls".to_owned()),
    })
}
