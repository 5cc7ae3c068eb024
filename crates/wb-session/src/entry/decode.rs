//! Reading entries, in the forms of pi's files.
//!
//! A message is turned into a [`Message`] while its line is read, so that a log holds each body once: what pi calls
//! `toolCall` becomes [`Block::ToolCall`], `thinkingSignature` a signature, `data` and `mimeType` of a picture a
//! [`Block::Image`]. `details`, which only the screen shows, are not kept with messages. Files are not validated by
//! those who write them: a body that is null or missing is empty, a part of a kind that is not known becomes a text
//! with its JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_message::{Block, Content, Message};

use super::lenient::{blocks, content, count, exit_code, no_content, or_default, timestamp, tokens};
use super::{CustomMessage, EntryKind, EntryTag, Logged, Request, StopReason};
use crate::error::SessionError;
use crate::id::EntryId;
use wb_record::lines::Line;

/// What every line has; ids are missing in files of version 1.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    pub(crate) r#type: String,
    pub(crate) id: Option<EntryId>,
    pub(crate) parent_id: Option<EntryId>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) timestamp: i64,
}

/// Reads what an entry of a kind says from its line; `timestamp` is the entry's own.
pub(crate) fn read_kind(line: Line<'_>, tag: EntryTag, timestamp: i64) -> Result<EntryKind, SessionError> {
    let kind = match tag {
        EntryTag::Answer | EntryTag::Message => match line.parse::<MessageLine>() {
            Ok(read) => match read.message.into_logged(timestamp) {
                Some(logged) => Ok(EntryKind::Message(logged)),
                None => line.parse().map(EntryKind::Other),
            },
            Err(error) => Err(error),
        },
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

/// Reads what an entry says; one that cannot be read says nothing, and what is wrong is told.
pub(crate) fn read_kind_or_nothing(
    line: Line<'_>,
    tag: EntryTag,
    timestamp: i64,
) -> (EntryKind, Option<String>) {
    match read_kind(line, tag, timestamp) {
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
struct MessageLine {
    message: PiMessage,
}

/// The forms of a message in pi's files.
#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum PiMessage {
    User {
        #[serde(default = "no_content", deserialize_with = "content")]
        content: Content,
        #[serde(default, deserialize_with = "timestamp")]
        timestamp: i64,
    },
    Assistant {
        #[serde(default, deserialize_with = "blocks")]
        content: Vec<Block>,
        api: Option<String>,
        provider: Option<String>,
        model: Option<String>,
        usage: Option<PiUsage>,
        #[serde(default, deserialize_with = "or_default")]
        stop_reason: StopReason,
        error_message: Option<String>,
    },
    ToolResult {
        #[serde(default, deserialize_with = "or_default")]
        tool_call_id: String,
        #[serde(default, deserialize_with = "or_default")]
        tool_name: String,
        #[serde(default, deserialize_with = "blocks")]
        content: Vec<Block>,
        #[serde(default, deserialize_with = "or_default")]
        is_error: bool,
    },
    BashExecution {
        #[serde(default, deserialize_with = "or_default")]
        command: String,
        #[serde(default, deserialize_with = "or_default")]
        output: String,
        #[serde(default, deserialize_with = "exit_code")]
        exit_code: Option<i32>,
        #[serde(default, deserialize_with = "or_default")]
        exclude_from_context: bool,
    },
    #[serde(alias = "hookMessage")]
    Custom(CustomMessage),
    #[serde(other)]
    Other,
}

impl PiMessage {
    /// Returns the message in our own form, nothing for a role that is not known.
    fn into_logged(self, entry_timestamp: i64) -> Option<Logged> {
        let (mut request, mut is_excluded) = (None, false);
        let message = match self {
            Self::User { content, timestamp } => {
                let timestamp = if timestamp == 0 { entry_timestamp } else { timestamp };
                Message::User { content, timestamp }
            }
            Self::Assistant { content, api, provider, model, usage, stop_reason, error_message } => {
                let usage = usage.map(PiUsage::into_usage);
                request = Some(Request { api, provider, model, usage, stop_reason });
                Message::Assistant { content, error_message }
            }
            Self::ToolResult { tool_call_id, tool_name, content, is_error } => {
                Message::ToolResult { tool_call_id, tool_name, content, is_error }
            }
            Self::BashExecution { command, output, exit_code, exclude_from_context } => {
                is_excluded = exclude_from_context;
                Message::BashExecution { command, output, exit_code }
            }
            Self::Custom(CustomMessage { custom_type, content, .. }) => {
                Message::Custom { custom_type, content }
            }
            Self::Other => return None,
        };
        Some(Logged { message, request, is_excluded })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct PiUsage {
    #[serde(deserialize_with = "count")]
    input: u64,
    #[serde(deserialize_with = "count")]
    output: u64,
    cache_read: Option<Value>,
    cache_write: Option<Value>,
}

impl PiUsage {
    fn into_usage(self) -> Usage {
        Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: self.cache_read.as_ref().map(tokens),
            cache_write_tokens: self.cache_write.as_ref().map(tokens),
        }
    }
}
