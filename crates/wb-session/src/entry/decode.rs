//! Reading entries, in the forms of pi's files.
//!
//! A message is converted to a [`Message`] while its line is read, so that a log holds each body
//! once: pi's `toolCall` becomes [`Block::ToolCall`], `thinkingSignature` a signature, `data` and
//! `mimeType` of a picture a [`Block::Image`]. `details`, which only the screen shows, are dropped
//! from messages. The writers of files do not validate them: a body that is null or missing is
//! empty, a part of an unknown kind becomes a text with its JSON.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Map;
use wb_budget::Usage;
use wb_message::{Block, Content, Message};

use super::lenient::{Tokens, content, count, exit_code, no_content, or_default, timestamp};
use super::{EntryKind, EntryTag, Logged, Request, StopReason};
use crate::error::SessionError;
use crate::id::EntryId;
use wb_record::lines::Line;

/// The members of every line, and those of a message; files of version 1 have no ids.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<M> {
    pub(crate) r#type: String,
    pub(crate) id: Option<EntryId>,
    pub(crate) parent_id: Option<EntryId>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) timestamp: i64,
    message: Option<M>,
}

/// The place of an entry, its content, and the fault if only its place can be read.
pub(crate) type Read = (Envelope<IgnoredAny>, EntryKind, Option<String>);

/// Reads an entry; a message in one go.
pub(crate) fn read(line: Line<'_>) -> Result<Read, SessionError> {
    let of_json = |error| SessionError::of_json(line.number, &error);
    let Ok(whole) = line.parse::<Envelope<PiMessage>>() else {
        let place: Envelope<IgnoredAny> = line.parse().map_err(of_json)?;
        let (kind, bad) =
            read_kind_or_nothing(line, EntryTag::from_line(&place.r#type, None), place.timestamp);
        return Ok((place, kind, bad));
    };
    let Envelope { r#type, id, parent_id, timestamp, message } = whole;
    let (kind, bad) = match (EntryTag::from_line(&r#type, None), message) {
        (EntryTag::Message, Some(message)) => {
            or_nothing(message_kind(line, message, timestamp).map_err(of_json))
        }
        (tag, _) => read_kind_or_nothing(line, tag, timestamp),
    };
    Ok((Envelope { r#type, id, parent_id, timestamp, message: None }, kind, bad))
}

/// Reads the content of an entry of a kind from its line; `timestamp` is the entry's.
pub(crate) fn read_kind(line: Line<'_>, tag: EntryTag, timestamp: i64) -> Result<EntryKind, SessionError> {
    let kind = match tag {
        EntryTag::Answer | EntryTag::Message => {
            line.parse().and_then(|PiMessageLine { message }| message_kind(line, message, timestamp))
        }
        EntryTag::ModelChange => or_other(line, EntryKind::ModelChange),
        EntryTag::ThinkingLevelChange => or_other(line, EntryKind::ThinkingLevelChange),
        EntryTag::Compaction => line.parse().map(EntryKind::Compaction),
        EntryTag::BranchSummary => line.parse().map(EntryKind::BranchSummary),
        EntryTag::CustomMessage => line.parse().map(EntryKind::CustomMessage),
        EntryTag::ContextEdit => line.parse().map(EntryKind::ContextEdit),
        EntryTag::Custom => or_other(line, EntryKind::Custom),
        EntryTag::Label => or_other(line, EntryKind::Label),
        EntryTag::SessionInfo => or_other(line, EntryKind::SessionInfo),
        EntryTag::Other => line.parse().map(EntryKind::Other),
    };
    kind.map_err(|error| SessionError::of_json(line.number, &error))
}

/// Reads the content of an entry; if it cannot be read, reports the fault and returns no content.
pub(crate) fn read_kind_or_nothing(
    line: Line<'_>,
    tag: EntryTag,
    timestamp: i64,
) -> (EntryKind, Option<String>) {
    or_nothing(read_kind(line, tag, timestamp))
}

fn or_nothing(kind: Result<EntryKind, SessionError>) -> (EntryKind, Option<String>) {
    match kind {
        Ok(kind) => (kind, None),
        Err(error) => (EntryKind::Other(Map::new()), Some(error.what())),
    }
}

/// Reads an entry that gives no message; one that is not as it should be stays what it is.
fn or_other<T: DeserializeOwned>(
    line: Line<'_>,
    kind: fn(T) -> EntryKind,
) -> Result<EntryKind, serde_json::Error> {
    line.parse().map(kind).or_else(|_| line.parse().map(EntryKind::Other))
}

#[derive(Deserialize)]
struct PiMessageLine {
    message: PiMessage,
}

/// Returns the content of a line with a message; a message of an unknown role stays unchanged.
fn message_kind(line: Line<'_>, message: PiMessage, timestamp: i64) -> Result<EntryKind, serde_json::Error> {
    match message.into_logged(timestamp) {
        Some(logged) => Ok(EntryKind::Message(logged)),
        None => line.parse().map(EntryKind::Other),
    }
}

/// The speaker of a message in pi's files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Role {
    User,
    Assistant,
    ToolResult,
    BashExecution,
    #[serde(alias = "hookMessage")]
    Custom,
    #[serde(other)]
    Other,
}

/// A message in pi's files: the members of all roles in one struct, since the role may come last.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PiMessage {
    role: Role,
    #[serde(default = "no_content", deserialize_with = "content")]
    content: Content,
    #[serde(default, deserialize_with = "timestamp")]
    timestamp: i64,
    api: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    usage: Option<ReadUsage>,
    #[serde(default, deserialize_with = "or_default")]
    stop_reason: StopReason,
    error_message: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    tool_call_id: String,
    #[serde(default, deserialize_with = "or_default")]
    tool_name: String,
    #[serde(default, deserialize_with = "or_default")]
    is_error: bool,
    #[serde(default, deserialize_with = "or_default")]
    command: String,
    #[serde(default, deserialize_with = "or_default")]
    output: String,
    #[serde(default, deserialize_with = "exit_code")]
    exit_code: Option<i32>,
    #[serde(default, deserialize_with = "or_default")]
    exclude_from_context: bool,
    #[serde(default, deserialize_with = "or_default")]
    custom_type: String,
}

impl PiMessage {
    /// Returns the message in our own form, nothing for a role that is not known.
    fn into_logged(self, entry_timestamp: i64) -> Option<Logged> {
        let Self { role, content, timestamp, api, provider, model, stop_reason, error_message, .. } = self;
        let (mut request, mut is_excluded) = (None, false);
        let message = match role {
            Role::User => {
                let timestamp = if timestamp == 0 { entry_timestamp } else { timestamp };
                Message::User { content, timestamp }
            }
            Role::Assistant => {
                let usage = self.usage.map(ReadUsage::into_usage);
                request = Some(Request { api, provider, model, usage, stop_reason });
                Message::Assistant { content: blocks(content), error_message }
            }
            Role::ToolResult => {
                let Self { tool_call_id, tool_name, is_error, .. } = self;
                Message::ToolResult {
                    tool_call_id,
                    tool_name,
                    content: blocks(content),
                    is_error,
                    is_refusal: false,
                }
            }
            Role::BashExecution => {
                let Self { command, output, exit_code, exclude_from_context, .. } = self;
                is_excluded = exclude_from_context;
                Message::BashExecution { command, output, exit_code }
            }
            Role::Custom => Message::Custom { custom_type: self.custom_type, content },
            Role::Other => return None,
        };
        Some(Logged { message, request, is_excluded })
    }
}

/// Returns the blocks of a body, a text as one.
fn blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ReadUsage {
    #[serde(deserialize_with = "count")]
    input: u64,
    #[serde(deserialize_with = "count")]
    output: u64,
    cache_read: Option<Tokens>,
    cache_write: Option<Tokens>,
}

impl ReadUsage {
    fn into_usage(self) -> Usage {
        Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: self.cache_read.map(|tokens| tokens.0),
            cache_write_tokens: self.cache_write.map(|tokens| tokens.0),
        }
    }
}
