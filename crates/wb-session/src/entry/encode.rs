//! Writing entries, in the form of pi's version 3.
//!
//! Members are in pi's order, and everything that pi's screens rely on is present: a display flag,
//! the whole usage with its costs. Unknown values are written as zero or an empty text. Nothing is
//! copied on the way to the line.

use std::borrow::Cow;
use std::ops::Not;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_message::block::redacted_data;
use wb_message::{Block, Content, Message};

use super::timestamp::iso_ms;
use super::{Compaction, EntryKind, Logged, StopReason};
use crate::error::{SessionError, WRITTEN_VERSION};
use crate::id::EntryId;

/// The nesting depth of a value that can certainly be read again; the reader takes a little more
/// than a hundred levels in all.
const SURE_LEVELS: usize = 64;

/// The beginning of a new session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// The session's name, by which hosts distinguish sessions.
    pub id: String,
    /// The start, in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// The working directory.
    pub cwd: String,
    /// The file of the session that it was forked from.
    pub parent_session: Option<String>,
}

impl NewSession {
    /// Returns the first line, without its line feed.
    pub(crate) fn line(&self) -> Vec<u8> {
        let Self { id, timestamp, cwd, parent_session } = self;
        let timestamp = iso_ms(*timestamp);
        let line =
            HeaderLine { r#type: "session", version: WRITTEN_VERSION, id, timestamp, cwd, parent_session };
        // Texts and a number are always written.
        serde_json::to_vec(&line).unwrap_or_default()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HeaderLine<'a> {
    r#type: &'a str,
    version: u64,
    id: &'a str,
    timestamp: String,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session: &'a Option<String>,
}

/// The place of a new entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) id: &'a EntryId,
    pub(crate) parent_id: Option<&'a EntryId>,
    /// In milliseconds since the Unix epoch.
    pub(crate) timestamp: i64,
}

/// Returns the line of an entry, without its line feed.
pub(crate) fn line(place: Place<'_>, kind: &EntryKind) -> Result<Vec<u8>, SessionError> {
    let mut line = Vec::new();
    write_line(place, kind, &mut line)?;
    Ok(line)
}

/// Appends the line of an entry to a buffer, without its line feed.
pub(crate) fn write_line(place: Place<'_>, kind: &EntryKind, out: &mut Vec<u8>) -> Result<(), SessionError> {
    match kind {
        EntryKind::Message(it) => {
            let message = spoken(it, place.timestamp)?;
            join(place, "message", &MessageLine { message }, out)
        }
        EntryKind::ModelChange(it) => join(place, "model_change", it, out),
        EntryKind::ThinkingLevelChange(it) => join(place, "thinking_level_change", it, out),
        EntryKind::Compaction(it) => join(place, "compaction", &*naming_itself(it, place.id), out),
        EntryKind::BranchSummary(it) => join(place, "branch_summary", it, out),
        EntryKind::CustomMessage(it) => join(place, "custom_message", it, out),
        EntryKind::ContextEdit(it) => join(place, "context_edit", it, out),
        EntryKind::Custom(it) => join(place, "custom", it, out),
        EntryKind::Label(it) => join(place, "label", it, out),
        EntryKind::SessionInfo(it) => join(place, "session_info", it, out),
        // Entries of a kind that is not known need a type, and not that of the header.
        EntryKind::Other(fields) => match fields.get("type").and_then(Value::as_str) {
            Some("session") => Err(not_writable("a second header")),
            Some(r#type) => join(place, r#type, &OtherFields(fields), out),
            None => Err(not_writable("an entry without a type")),
        },
    }
}

/// Writes the place and the content of an entry, both objects, as one object.
fn join(
    place: Place<'_>,
    r#type: &str,
    said: &impl Serialize,
    out: &mut Vec<u8>,
) -> Result<(), SessionError> {
    let Place { id, parent_id, timestamp } = place;
    let head = EntryHead { r#type, id, parent_id, timestamp: iso_ms(timestamp) };
    let failed = |error: serde_json::Error| not_writable(&error.to_string());
    serde_json::to_writer(&mut *out, &head).map_err(failed)?;
    let end = out.len() - 1;
    out.truncate(end);
    serde_json::to_writer(&mut *out, said).map_err(failed)?;
    if out.len() > end + 2 {
        out[end] = b',';
    } else {
        out.remove(end);
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryHead<'a> {
    r#type: &'a str,
    id: &'a EntryId,
    parent_id: Option<&'a EntryId>,
    timestamp: String,
}

#[derive(Serialize)]
struct MessageLine<'a> {
    message: Spoken<'a>,
}

/// Returns a compaction that names itself where it keeps nothing, which pi reads as that.
fn naming_itself<'a>(compaction: &'a Compaction, id: &EntryId) -> Cow<'a, Compaction> {
    match compaction.first_kept_entry_id {
        Some(_) => Cow::Borrowed(compaction),
        None => Cow::Owned(Compaction { first_kept_entry_id: Some(id.clone()), ..compaction.clone() }),
    }
}

/// Returns whether no value in an entry is nested so deep that its line may not be read again.
pub(crate) fn is_shallow(kind: &EntryKind) -> bool {
    let (blocks, value) = match kind {
        EntryKind::Message(it) => (it.message.blocks(), None),
        EntryKind::Compaction(it) => (&[][..], it.details.as_ref()),
        EntryKind::BranchSummary(it) => (&[][..], it.details.as_ref()),
        EntryKind::CustomMessage(it) => (it.content.blocks(), it.details.as_ref()),
        EntryKind::ContextEdit(it) => {
            (it.replacement.as_ref().map_or(&[][..], |new| new.content.blocks()), None)
        }
        EntryKind::Custom(it) => (&[][..], it.data.as_ref()),
        EntryKind::Other(_) => return false,
        EntryKind::ModelChange(_)
        | EntryKind::ThinkingLevelChange(_)
        | EntryKind::Label(_)
        | EntryKind::SessionInfo(_) => return true,
    };
    let inputs = blocks.iter().filter_map(|block| match block {
        Block::ToolCall { input, .. } => Some(input),
        _ => None,
    });
    inputs.chain(value).all(|value| is_within(value, SURE_LEVELS))
}

fn is_within(value: &Value, n_levels: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if n_levels == 0 => false,
        Value::Array(values) => values.iter().all(|value| is_within(value, n_levels - 1)),
        Value::Object(fields) => fields.values().all(|value| is_within(value, n_levels - 1)),
        _ => true,
    }
}

fn not_writable(what: &str) -> SessionError {
    SessionError::NotWritable { what: what.to_owned() }
}

/// An entry that was taken from another log brings its own place, which is not that of the new one.
struct OtherFields<'a>(&'a Map<String, Value>);

impl Serialize for OtherFields<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        let is_place = |key: &str| matches!(key, "type" | "id" | "parentId" | "timestamp");
        for (key, value) in self.0.iter().filter(|(key, _)| !is_place(key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A message in pi's form.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Spoken<'a> {
    User {
        #[serde(serialize_with = "body")]
        content: &'a Content,
        timestamp: i64,
    },
    Assistant {
        #[serde(serialize_with = "parts")]
        content: &'a [Block],
        api: &'a str,
        provider: &'a str,
        model: &'a str,
        usage: PiUsage,
        stop_reason: StopReason,
        timestamp: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    ToolResult {
        tool_call_id: &'a str,
        tool_name: &'a str,
        #[serde(serialize_with = "parts")]
        content: &'a [Block],
        is_error: bool,
        timestamp: i64,
    },
    BashExecution {
        command: &'a str,
        output: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        cancelled: bool,
        truncated: bool,
        #[serde(skip_serializing_if = "Not::not")]
        exclude_from_context: bool,
        timestamp: i64,
    },
    Custom {
        custom_type: &'a str,
        #[serde(serialize_with = "body")]
        content: &'a Content,
        display: bool,
        timestamp: i64,
    },
}

fn spoken(logged: &Logged, entry_timestamp: i64) -> Result<Spoken<'_>, SessionError> {
    let timestamp = logged.message.timestamp().unwrap_or(entry_timestamp);
    Ok(match &logged.message {
        Message::User { content, .. } => Spoken::User { content, timestamp },
        Message::Assistant { content, error_message } => {
            answer(logged, content, error_message.as_deref(), timestamp)
        }
        Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => {
            Spoken::ToolResult { tool_call_id, tool_name, content, is_error: *is_error, timestamp }
        }
        Message::BashExecution { command, output, exit_code } => Spoken::BashExecution {
            command,
            output,
            exit_code: *exit_code,
            cancelled: false,
            truncated: false,
            exclude_from_context: logged.is_excluded,
            timestamp,
        },
        Message::Custom { custom_type, content } => {
            Spoken::Custom { custom_type, content, display: true, timestamp }
        }
        Message::BranchSummary { .. } => return Err(not_writable("a branch summary as a message")),
        Message::CompactionSummary { .. } => return Err(not_writable("a compaction as a message")),
    })
}

fn answer<'a>(
    logged: &'a Logged,
    content: &'a [Block],
    error_message: Option<&'a str>,
    timestamp: i64,
) -> Spoken<'a> {
    let request = logged.request.as_ref();
    let stop_reason = match request.map_or(StopReason::Other, |request| request.stop_reason) {
        StopReason::Other if content.iter().any(|block| matches!(block, Block::ToolCall { .. })) => {
            StopReason::ToolUse
        }
        StopReason::Other => StopReason::Stop,
        known => known,
    };
    Spoken::Assistant {
        content,
        api: request.and_then(|it| it.api.as_deref()).unwrap_or_default(),
        provider: request.and_then(|it| it.provider.as_deref()).unwrap_or_default(),
        model: request.and_then(|it| it.model.as_deref()).unwrap_or_default(),
        usage: PiUsage::new(request.and_then(|it| it.usage.as_ref()).unwrap_or(&Usage::EMPTY)),
        stop_reason,
        timestamp,
        error_message,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PiUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total_tokens: u64,
    cost: Cost,
}

impl PiUsage {
    fn new(usage: &Usage) -> Self {
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens.unwrap_or(0),
            cache_write: usage.cache_write_tokens.unwrap_or(0),
            total_tokens: usage.context_tokens(),
            cost: Cost::default(),
        }
    }
}

/// Prices are not known here.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total: u64,
}

/// Writes a body in pi's form.
pub(super) fn body<S: Serializer>(content: &Content, to: S) -> Result<S::Ok, S::Error> {
    match content {
        Content::Text(text) => to.serialize_str(text),
        Content::Blocks(blocks) => parts(blocks, to),
    }
}

fn parts<S: Serializer>(blocks: &[Block], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(blocks.iter().map(part))
}

/// The text that pi shows for reasoning that only the provider can read.
const REDACTED: &str = "[Reasoning redacted]";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum PiPart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Not::not")]
        redacted: bool,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        arguments: &'a Value,
    },
    Image {
        data: &'a str,
        mime_type: &'a str,
    },
}

/// Results and commands inside of a message are no parts in files of pi: their JSON is written as
/// text.
fn part(block: &Block) -> PiPart<'_> {
    match block {
        Block::Text { text } => PiPart::Text { text: text.into() },
        Block::Thinking { text, signature } => thinking(text, signature.as_deref()),
        Block::ToolCall { id, name, input } => PiPart::ToolCall { id, name, arguments: input },
        Block::Image { media_type, data_base64 } => {
            PiPart::Image { data: data_base64, mime_type: media_type }
        }
        Block::ToolResult { .. } | Block::Command { .. } => {
            PiPart::Text { text: serde_json::to_string(block).unwrap_or_default().into() }
        }
    }
}

fn thinking<'a>(text: &'a str, signature: Option<&'a str>) -> PiPart<'a> {
    let data = signature.and_then(redacted_data);
    let redacted = data.is_some();
    let thinking = if redacted { REDACTED } else { text };
    PiPart::Thinking {
        thinking,
        thinking_signature: data.map(Cow::Owned).or(signature.map(Cow::Borrowed)),
        redacted,
    }
}
