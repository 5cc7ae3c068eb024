//! Lists of `ModelMessage`s of the AI SDK of Vercel.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::{Block, Content, Message};
use wb_record::json::{find, get, remove, set};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};

use crate::kit::json_text::{compact, input, text};
use crate::kit::list_document::open;
use crate::kit::loose::Text;
use crate::kit::message_list::{Fate, Layout, Record, Shape};
use crate::kit::picture::picture;
use crate::kit::request_probe::{has_part, is_request, messages_of};
use crate::shapes::content_value::{SpeakerRecord, changed_parts, content, in_users_place, raw_list, result};
use crate::shapes::otel_message;
use crate::shapes::parted_record::rewrite_content;

/// Messages of the AI SDK, versions 4 to 6: a list of them, or an object that holds one under
/// `messages`.
///
/// System texts are pinned. Each result is a message of its own, also if one record holds several.
/// Messages for the screen (`UIMessage`) are not read. There is no usage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AiSdk;

impl Format for AiSdk {
    fn name(&self) -> &'static str {
        "ai-sdk"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_own = |first: &ProbedValue| has_part(&messages_of(first), &["tool-call", "tool-result"]);
        match probe.values.as_slice() {
            [first] if is_request(first) && is_own(first) => Confidence::Sure,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

/// Recognizes AI SDK messages for the screen, which have calls and results in parts next to the
/// text.
pub(crate) fn is_for_screen(probe: &Probe) -> bool {
    let is_part = |part: &ProbedValue| match part.r#type.as_str() {
        "" => false,
        "text" | "reasoning" => part.has("text"),
        _ => true,
    };
    let is_one = |message: &ProbedValue| {
        let is_parted =
            !message.has("kind") && message.parts.as_deref().is_some_and(|it| it.elements().any(is_part));
        match message.role.as_str() {
            "assistant" | "system" => is_parted || message.has("toolInvocations"),
            "user" => is_parted && message.has("id"),
            _ => false,
        }
    };
    let are_shown = |messages: &[&ProbedValue]| {
        let is_other = messages.iter().any(|message| otel_message::is_message(message));
        messages.iter().any(|message| is_one(message)) && !is_other
    };
    let in_document = |first: &ProbedValue| are_shown(&messages_of(first));
    probe.first().is_some_and(in_document) || are_shown(&probe.values.iter().collect::<Vec<_>>())
}

impl Layout for AiSdk {
    fn shape(&self) -> &dyn Shape {
        self
    }
}

impl Shape for AiSdk {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        let SpeakerRecord { role, content } = serde_json::from_str(record)?;
        let plain = content.and_then(|content| text(content.get()));
        let parts = || raw_list(content).into_iter().map(block).collect::<Vec<_>>();
        let said = &mut into.messages;
        match role.as_str() {
            Some("system") => said.push(Message::custom("system", plain.unwrap_or_default())),
            Some("user") => {
                said.push(Message::user(plain.map_or_else(|| Content::Blocks(parts()), Content::Text)));
            }
            Some("assistant") => {
                let blocks = plain.map_or_else(parts, |text| vec![Block::text(text)]);
                said.push(Message::assistant_blocks(blocks));
            }
            Some("tool") => said.extend(raw_list(content).into_iter().map(result_message)),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        let value = match message {
            Message::Assistant { content, .. } => {
                let parts = content.iter().map(part).collect::<Result<Vec<_>, _>>()?;
                json!({ "role": "assistant", "content": parts })
            }
            Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => {
                let output = output(content, *is_error)?;
                let result = json!({ "type": "tool-result", "toolCallId": tool_call_id, "toolName": tool_name, "output": output });
                json!({ "role": "tool", "content": [result] })
            }
            Message::Custom { custom_type, content: body } if custom_type == "system" => {
                json!({ "role": "system", "content": body.texts().collect::<Vec<_>>().join("\n") })
            }
            message => json!({ "role": "user", "content": content(&in_users_place(message)?, part)? }),
        };
        Ok(value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let n_parts = |message: &Message, _: &[&[u8]]| match message {
            Message::ToolResult { .. } => 1,
            message => message.blocks().len(),
        };
        rewrite_content(record, messages, fates, n_parts, rewritten, part)
    }
}

fn rewritten(old: &[&[u8]], message: &Message, after: &[Block]) -> Result<Vec<Vec<u8>>, String> {
    let (Message::ToolResult { is_error, .. }, [answer]) = (message, old) else {
        return changed_parts(old, message.blocks(), after, part);
    };
    // Version 4 has the result itself, and next to it the part of it that is sent.
    if get(answer, "output").is_none() {
        let body = result(after, part)?.to_string();
        return Ok(vec![remove(&set(answer, "result", body.as_bytes()), "content")]);
    }
    Ok(vec![set(answer, "output", output(after, *is_error)?.to_string().as_bytes())])
}

/// Returns the output of a result.
fn output(blocks: &[Block], is_error: bool) -> Result<Value, String> {
    let media = |block: &Block| match block {
        Block::Image { media_type, data_base64 } => {
            Ok(json!({ "type": "media", "mediaType": media_type, "data": data_base64 }))
        }
        block => part(block),
    };
    let value = result(blocks, media)?;
    let kind = match value {
        Value::String(_) if is_error => "error-text",
        Value::String(_) => "text",
        _ => "content",
    };
    Ok(json!({ "type": kind, "value": value }))
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AiSdkPart<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    text: Option<&'a RawValue>,
    image: Text<'a>,
    data: Text<'a>,
    media_type: Text<'a>,
    tool_call_id: Text<'a>,
    tool_name: Text<'a>,
    input: Option<&'a RawValue>,
    args: Option<&'a RawValue>,
}

/// Reads a part; one without a matching block becomes a text with its JSON.
fn block(json: &RawValue) -> Block {
    let part: AiSdkPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    let said = part.text.and_then(|said| text(said.get()));
    let known = match part.r#type.as_str() {
        Some("text") => said.map(Block::text),
        Some("reasoning") => {
            let place = find(json.get().as_bytes(), &["providerOptions", "anthropic", "signature"]);
            let signature = place.and_then(|place| text(&json.get()[place]));
            Some(Block::Thinking { text: said.unwrap_or_default(), signature })
        }
        Some("tool-call") => Some(Block::ToolCall {
            id: part.tool_call_id.into_string(),
            name: part.tool_name.into_string(),
            input: part.input.or(part.args).map_or_else(|| json!({}), |json| input(json.get())),
        }),
        Some("image" | "file") => picture_of(part),
        _ => None,
    };
    known.unwrap_or_else(|| Block::text(compact(json.get())))
}

/// Reads a picture: an address, or base64 with its type next to it.
fn picture_of(part: AiSdkPart<'_>) -> Option<Block> {
    let data = part.image.0.or(part.data.0)?;
    let kind = part.media_type.0.unwrap_or_else(|| "image/png".into());
    match () {
        () if data.starts_with("data:image/") || data.starts_with("http") => Some(picture(&data)),
        () if kind.starts_with("image/") => Some(Block::image(kind, data)),
        () => Some(Block::text(format!("[file: {kind}]"))),
    }
}

/// Reads a result, as it was sent.
fn result_message(json: &RawValue) -> Message {
    let part: AiSdkPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    let bytes = json.get().as_bytes();
    let kind =
        find(bytes, &["output", "type"]).and_then(|place| text(&json.get()[place])).unwrap_or_default();
    let value = find(bytes, &["output", "value"]).or_else(|| find(bytes, &["result"]));
    let value = value.map_or("\"\"", |place| &json.get()[place]);
    let is_error = kind.starts_with("error") || get(bytes, "isError") == Some(b"true");
    let content = match text(value) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
        None if kind == "content" => {
            let parts: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
            parts.into_iter().map(result_block).collect()
        }
        None => vec![Block::text(compact(value))],
    };
    let (tool_call_id, tool_name) = (part.tool_call_id.into_string(), part.tool_name.into_string());
    let is_refusal = kind == "execution-denied";
    Message::ToolResult { tool_call_id, tool_name, content, is_error: is_error || is_refusal, is_refusal }
}

/// Reads a part of a result.
fn result_block(json: &RawValue) -> Block {
    let part: AiSdkPart<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    match part.r#type.as_str() {
        Some("media" | "image-data") => picture_of(part).unwrap_or_else(|| Block::text(compact(json.get()))),
        _ => block(json),
    }
}

/// Returns a block as a part.
fn part(block: &Block) -> Result<Value, String> {
    Ok(match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Image { media_type, data_base64 } => {
            json!({ "type": "image", "image": data_base64, "mediaType": media_type })
        }
        Block::ToolCall { id, name, input } => {
            json!({ "type": "tool-call", "toolCallId": id, "toolName": name, "input": input })
        }
        Block::Thinking { .. } => return Err("new reasoning".to_owned()),
        Block::ToolResult { .. } | Block::Command { .. } => return Err("a new part of this kind".to_owned()),
    })
}
