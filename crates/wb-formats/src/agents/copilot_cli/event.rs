//! One event, and its meaning in a conversation.

use std::borrow::Cow;

use serde_json::{Value, json};
use wb_message::{Block, Content, Message};
use wb_record::Span;
use wb_session::parse_iso_ms;

use crate::kit::draft::Draft;
use crate::kit::fields::{Fields, take_text};
use crate::kit::json_text::arguments_in;

/// The custom type of host messages to the model.
const HOST_TYPE: &str = "meta";

/// The kinds of events in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    System,
    User,
    Notice,
    Answer,
    Result,
    /// An event that belongs to its neighbour.
    Silent,
    Compaction,
}

impl Kind {
    /// Returns the kind of an event; `None` if it is not part of the conversation.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "system.message" => Self::System,
            "user.message" => Self::User,
            "system.notification" => Self::Notice,
            "assistant.message" => Self::Answer,
            "tool.execution_complete" => Self::Result,
            "assistant.turn_start" | "assistant.turn_end" | "tool.execution_start" => Self::Silent,
            "session.compaction_complete" => Self::Compaction,
            _ => return None,
        })
    }
}

/// Adds an event to the messages before it; returns whether it could be read.
pub(crate) fn add(draft: &mut Draft, kind: Kind, bytes: &[u8], record: Span) -> bool {
    let Some(fields) = Fields::with_inner(bytes, "data") else { return false };
    let Some(data) = fields.inner("data") else { return false };
    let text = |key: &str| data.string(key);
    match kind {
        Kind::System => {
            draft.add_apart(Message::custom("system", text("content").unwrap_or_default()));
        }
        Kind::User => {
            let said = text("transformedContent").or_else(|| text("content")).unwrap_or_default();
            let timestamp = fields.text("timestamp").and_then(|it| parse_iso_ms(&it)).unwrap_or(0);
            draft.add(record, Message::User { content: Content::Text(said), timestamp });
        }
        Kind::Notice => draft.add(record, Message::custom(HOST_TYPE, text("content").unwrap_or_default())),
        Kind::Answer => answer(draft, &data, record),
        Kind::Result => result(draft, &data, record),
        Kind::Silent => draft.hide(record),
        Kind::Compaction => {
            let summary = text("summaryContent").unwrap_or_default();
            let tokens_before = data.number("preCompactionTokens").unwrap_or(0);
            draft.add(record, Message::CompactionSummary { summary, tokens_before });
        }
    }
    true
}

fn answer(draft: &mut Draft, data: &Fields<'_>, record: Span) {
    let text = |key: &str| data.text(key).filter(|text| !text.is_empty()).map(Cow::into_owned);
    let signature = text("reasoningOpaque").or_else(|| text("encryptedContent"));
    let thinking = match (text("reasoningText"), signature) {
        (None, None) => None,
        (text, signature) => Some(Block::Thinking { text: text.unwrap_or_default(), signature }),
    };
    let calls = data.value("toolRequests").and_then(|calls| match calls {
        Value::Array(calls) => Some(calls),
        _ => None,
    });
    let calls = calls.into_iter().flatten().filter_map(call);
    let blocks: Vec<Block> =
        thinking.into_iter().chain(text("content").map(Block::text)).chain(calls).collect();
    if blocks.is_empty() {
        return draft.hide(record);
    }
    draft.add(record, Message::assistant_blocks(blocks));
}

fn call(mut request: Value) -> Option<Block> {
    let input = match request.get_mut("arguments").map(Value::take).unwrap_or_default() {
        Value::String(text) => arguments_in(text),
        Value::Null => json!({}),
        input => input,
    };
    let (id, name) = (take_text(&mut request, "toolCallId")?, take_text(&mut request, "name")?);
    Some(Block::ToolCall { id, name, input })
}

fn result(draft: &mut Draft, data: &Fields<'_>, record: Span) {
    let is_error = data.is("success", "false");
    let inner = |key: &str, of: &str| data.inner(key).and_then(|it| it.string(of));
    let text = inner("result", "content").or_else(|| inner("error", "message"));
    let content = text.filter(|text| !text.is_empty()).map(Block::text).into_iter().collect();
    let call_id = data.string("toolCallId").unwrap_or_default();
    draft.result(record, call_id, content, is_error);
}
