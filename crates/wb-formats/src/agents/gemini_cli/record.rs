//! One message of a session: a user message, or an answer with its calls and their results.

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::markers::ENVIRONMENT_TYPE;
use wb_message::{Block, Content, Message};
use wb_record::json::set;
use wb_record::lines::repair_surrogates;
use wb_record::{NotExpressible, Numbers, Span, Stamp};
use wb_session::{iso_ms, parse_iso_ms};

use super::NAME;
use crate::kit::draft::Draft;
use crate::kit::fields::{Fields, take_text};
use crate::kit::json_text::value;
use crate::kit::loose::{Key, LooseValue, Text, loose_value};
use crate::kit::records::Writer;
use crate::kit::usage::usage_with_cache;
use crate::shapes::content_value::{content_of, digest_text};
use crate::shapes::gemini_part::{GeminiPart, part_of_result, parts, parts_of, with_body};

/// The start of the host's text about the place where it runs.
const CONTEXT_START: &str = "<session_context>";

/// Adds a message to those before it; returns whether it could be read. Its usage counts if the
/// host sent all that is before it.
pub(crate) fn add(draft: &mut Draft, bytes: &[u8], record: Span, is_counted: bool) -> bool {
    let Some(fields) = Fields::parse(bytes) else { return false };
    match fields.text("type").as_deref() {
        Some("user") => user(draft, &fields, &record),
        Some("gemini") => {
            answer(draft, &fields, &record, is_counted);
        }
        _ => draft.hide(record),
    }
    true
}

/// Returns whether a record holds results of calls and nothing else.
pub(crate) fn is_of_results(bytes: &[u8]) -> bool {
    let content = Fields::parse(bytes).and_then(|fields| fields.value("content")).unwrap_or_default();
    let parts = parts(content);
    !parts.is_empty() && parts.iter().all(|part| matches!(part, GeminiPart::Result { .. }))
}

/// Adds a user message. Results that are also in the call are added once.
fn user(draft: &mut Draft, fields: &Fields<'_>, record: &Span) {
    let timestamp = fields.text("timestamp").and_then(|text| parse_iso_ms(&text)).unwrap_or(0);
    let mut said = Vec::new();
    let mut n_results = 0;
    for part in parts(fields.value("content").unwrap_or_default()) {
        match part {
            GeminiPart::Blocks(blocks) => said.extend(blocks),
            GeminiPart::Result { id, content, is_error, .. } => {
                n_results += 1;
                let id = id.unwrap_or_default();
                if !is_answered(draft, &id) {
                    draft.result(record.clone(), id, content, is_error);
                }
            }
        }
    }
    if said.is_empty() && n_results == 0 {
        draft.hide(record.clone());
    } else if !said.is_empty() {
        let is_context =
            matches!(said.first(), Some(Block::Text { text }) if text.starts_with(CONTEXT_START));
        let content = content_of(said);
        let message = if is_context {
            Message::custom(ENVIRONMENT_TYPE, content)
        } else {
            Message::User { content, timestamp }
        };
        draft.add(record.clone(), message);
    }
}

fn is_answered(draft: &Draft, id: &str) -> bool {
    let results = draft.messages().iter().rev().take_while(|it| matches!(it, Message::ToolResult { .. }));
    results.flat_map(Message::answered_ids).any(|answered| answered == id)
}

/// Adds an answer and the results in its calls. Its thoughts are not sent again.
fn answer(draft: &mut Draft, fields: &Fields<'_>, record: &Span, is_counted: bool) {
    let calls: Vec<CallWithResult> = calls(fields).into_iter().flatten().collect();
    let said = parts(fields.value("content").unwrap_or_default());
    let said = said.into_iter().flat_map(|part| match part {
        GeminiPart::Blocks(blocks) => blocks,
        GeminiPart::Result { .. } => Vec::new(),
    });
    let is_in_calls = |block: &Block| match block {
        Block::ToolCall { id, .. } => calls.iter().any(|call| call.id == *id),
        Block::Thinking { signature, .. } => signature.is_none(),
        _ => false,
    };
    let mut blocks: Vec<Block> = said.filter(|block| !is_in_calls(block)).collect();
    blocks.extend(calls.iter().map(|it| Block::call(it.id.as_str(), it.name.as_str(), it.input.clone())));
    if blocks.is_empty() {
        return draft.hide(record.clone());
    }
    draft.add(record.clone(), Message::assistant_blocks(blocks));
    if let Some(usage) = usage(fields).filter(|_| is_counted) {
        draft.count(usage, fields.string("model"));
    }
    for CallWithResult { id, result, is_error, is_refusal, .. } in calls {
        if let Some(content) = result {
            draft.result(record.clone(), id, content, is_error);
            if is_refusal {
                draft.mark_refusal();
            }
        }
    }
}

/// A call with its result in it.
#[derive(Debug)]
struct CallWithResult {
    id: String,
    name: String,
    input: Value,
    result: Option<Vec<Block>>,
    is_error: bool,
    is_refusal: bool,
}

/// A call in its list.
#[derive(Default)]
struct CallJson<'a> {
    id: Text<'a>,
    name: Text<'a>,
    status: Text<'a>,
    args: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
}

impl<'de> LooseValue<'de> for CallJson<'de> {
    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut call = Self::default();
        while let Some(Key(key)) = object.next_key()? {
            match &*key {
                "id" => call.id = object.next_value()?,
                "name" => call.name = object.next_value()?,
                "status" => call.status = object.next_value()?,
                "args" => call.args = object.next_value()?,
                "result" => call.result = object.next_value()?,
                _ => _ = object.next_value::<IgnoredAny>()?,
            }
        }
        Ok(call)
    }
}

impl<'de> Deserialize<'de> for CallJson<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        loose_value(from)
    }
}

impl CallJson<'_> {
    fn into_call(self) -> Option<CallWithResult> {
        let value = |raw: &RawValue| value(raw.get().as_bytes());
        let input = self.args.and_then(value).filter(Value::is_object).unwrap_or_else(|| json!({}));
        let is_error = self.status.as_str().is_some_and(|status| status != "success");
        let is_refusal = self.status.as_str() == Some("cancelled");
        let id = self.id.0?.into_owned();
        let result = self.result.and_then(value).map(|result| result_blocks(result, &id));
        Some(CallWithResult { id, name: self.name.0?.into_owned(), input, result, is_error, is_refusal })
    }
}

fn calls(fields: &Fields<'_>) -> Option<Vec<CallWithResult>> {
    let json = fields.get("toolCalls")?;
    let read = |json: &[u8]| {
        let calls: Vec<CallJson<'_>> = serde_json::from_slice(json).ok()?;
        Some(calls.into_iter().filter_map(CallJson::into_call).collect())
    };
    // A text may contain half of a surrogate pair.
    read(json).or_else(|| read(&repair_surrogates(json)))
}

/// Returns the blocks of a result: its responses and the parts next to them. A host that resumes a
/// session may list the responses of all calls of an answer in each of them.
fn result_blocks(result: Value, call: &str) -> Vec<Block> {
    let is_own = |part: &GeminiPart| matches!(part, GeminiPart::Result { id: Some(id), .. } if id == call);
    let parts = parts(result);
    let has_own = parts.iter().any(is_own);
    let blocks = |part| match part {
        GeminiPart::Result { id: Some(id), .. } if has_own && id != call => Vec::new(),
        GeminiPart::Blocks(blocks) => blocks,
        GeminiPart::Result { content, .. } => content,
    };
    parts.into_iter().flat_map(blocks).collect()
}

fn usage(fields: &Fields<'_>) -> Option<Usage> {
    let tokens = fields.inner("tokens")?;
    let of = |key: &str| tokens.number(key).unwrap_or(0);
    let (prompt, cached) = (of("input"), of("cached"));
    let answer = of("output").saturating_add(of("thoughts"));
    usage_with_cache(Some(prompt), Some(answer), (cached > 0).then_some(cached.min(prompt)), None)
}

/// Writes messages of a session.
#[derive(Debug)]
pub(crate) struct RecordWriter<'a> {
    pub(crate) messages: &'a [Message],
    pub(crate) stamp: &'a Stamp,
    pub(crate) ids: Numbers,
}

impl Writer for RecordWriter<'_> {
    fn format(&self) -> &'static str {
        NAME
    }

    fn new_record(&mut self, message: &Message) -> Result<Vec<u8>, NotExpressible> {
        let (kind, parts) = match message {
            Message::User { content: Content::Text(text), .. } => {
                ("user", Some(vec![json!({ "text": text })]))
            }
            Message::User { content: Content::Blocks(blocks), .. } => ("user", parts_of(blocks)),
            Message::Assistant { content, .. } => ("gemini", parts_of(content)),
            Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => {
                let texts: Option<Vec<&str>> = content.iter().map(Block::as_text).collect();
                let id = Some(tool_call_id.as_str()).filter(|id| !id.is_empty());
                let part = |text: String| part_of_result(id, tool_name, &text, *is_error);
                ("user", texts.map(|texts| vec![part(texts.join("\n"))]))
            }
            _ => {
                let text = digest_text(message).ok();
                ("user", text.map(|text| vec![json!({ "text": text })]))
            }
        };
        let Some(parts) = parts else {
            return Err(self.refused("a new message with more than texts and pictures"));
        };
        let (id, time) = (self.ids.uuid(), iso_ms(self.stamp.now_ms));
        Ok(json!({ "id": id, "timestamp": time, "type": kind, "content": parts }).to_string().into_bytes())
    }

    fn with_body(&mut self, record: &[u8], at: usize, body: &[Block]) -> Result<Vec<u8>, NotExpressible> {
        let Message::ToolResult { tool_call_id, tool_name, is_error, .. } = &self.messages[at] else {
            let key = matches!(self.messages[at], Message::User { .. } | Message::Custom { .. });
            let parts = key.then(|| parts_of(body)).flatten();
            let parts = parts.ok_or_else(|| self.refused(format!("another body for message {at}")))?;
            return Ok(set(record, "content", Value::from(parts).to_string().as_bytes()));
        };
        let texts: Option<Vec<&str>> = body.iter().map(Block::as_text).collect();
        let text = texts.ok_or_else(|| self.refused("a result with more than texts"))?.join("\n");
        let new = || json!({ "functionResponse": { "id": tool_call_id, "name": tool_name } }).to_string();
        let changed = in_call(record, tool_call_id, |call| {
            let old = Fields::parse(call).and_then(|call| Some(call.elements("result")?.first()?.clone()));
            let part = old.map_or_else(|| new().into_bytes(), |place| call[place].to_vec());
            set(call, "result", &[b"[", with_body(&part, &text, *is_error).as_slice(), b"]"].concat())
        });
        let changed = changed.or_else(|| in_part(record, tool_call_id, &text, *is_error));
        changed.ok_or_else(|| self.refused(format!("another body for message {at}, whose call is not known")))
    }
}

/// Changes the call of an id in an answer.
fn in_call(record: &[u8], id: &str, change: impl Fn(&[u8]) -> Vec<u8>) -> Option<Vec<u8>> {
    let has_id =
        |json: &[u8]| Fields::parse(json).and_then(|it| it.text("id").map(|it| it == id)) == Some(true);
    let place =
        Fields::parse(record)?.elements("toolCalls")?.into_iter().find(|it| has_id(&record[it.clone()]))?;
    Some([&record[..place.start], &change(&record[place.clone()]), &record[place.end..]].concat())
}

/// Changes the response with an id in a record in the user's place.
fn in_part(record: &[u8], id: &str, text: &str, is_error: bool) -> Option<Vec<u8>> {
    let has_id = |json: &[u8]| {
        let mut part = value(json).unwrap_or_default();
        part.get_mut("functionResponse").and_then(|it| take_text(it, "id")).as_deref() == Some(id)
    };
    let place =
        Fields::parse(record)?.elements("content")?.into_iter().find(|it| has_id(&record[it.clone()]))?;
    let part = with_body(&record[place.clone()], text, is_error);
    Some([&record[..place.start], &part, &record[place.end..]].concat())
}
