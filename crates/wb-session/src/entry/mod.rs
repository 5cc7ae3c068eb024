//! The entries of a session log, and the messages that they hold.
//!
//! The forms are those of pi's files. A message is turned into a [`Message`] while its line is read, so that a
//! log holds each body once: what pi calls `toolCall` becomes [`Block::ToolCall`], `thinkingSignature` a
//! signature, `data` and `mimeType` of a picture a [`Block::Image`]. `details`, which only the screen shows, are
//! not kept with messages. What is written stands in [`encode`]. Files are not validated by those
//! who write them: a body that is null or missing is empty, a part of a kind that is not known becomes a text with
//! its JSON.

pub(crate) mod timestamp;
pub(crate) mod lenient;
pub(crate) mod encode;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_message::{Block, Content, Message};

use crate::error::SessionError;
use crate::id::EntryId;
use lenient::{blocks, content, count, exit_code, no_content, or_default, timestamp, tokens};
use wb_record::lines::Line;

pub use encode::NewSession;
pub use timestamp::{iso_ms, parse_iso_ms};

/// One entry of a session log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The entry's name.
    pub id: EntryId,
    /// The entry that it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// When it was written, in milliseconds since the Unix epoch; 0 if unknown.
    pub timestamp: i64,
    /// The line that it stands on, counted from 1.
    pub line: usize,
    /// What it says.
    pub kind: EntryKind,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A message of the conversation.
    Message(Logged),
    /// The user chose another model.
    ModelChange(ModelChange),
    /// The user chose another thinking level.
    ThinkingLevelChange(ThinkingLevelChange),
    /// Older entries were condensed.
    Compaction(Compaction),
    /// A branch was left and condensed.
    BranchSummary(BranchSummary),
    /// An extension added a message to the context.
    CustomMessage(CustomMessage),
    /// The content of an earlier entry is hidden or replaced.
    ContextEdit(ContextEdit),
    /// An extension noted something for itself.
    Custom(Custom),
    /// An entry got a label or lost it.
    Label(Label),
    /// The session got another name.
    SessionInfo(SessionInfo),
    /// Anything else: the line as it is. It has its place in the tree and gives no message.
    Other(Map<String, Value>),
}

/// Which kind of entry it is, without what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryTag {
    /// A message of the model.
    Answer,
    /// Any other message.
    Message,
    /// See [`EntryKind::ModelChange`].
    ModelChange,
    /// See [`EntryKind::ThinkingLevelChange`].
    ThinkingLevelChange,
    /// See [`EntryKind::Compaction`].
    Compaction,
    /// See [`EntryKind::BranchSummary`].
    BranchSummary,
    /// See [`EntryKind::CustomMessage`].
    CustomMessage,
    /// See [`EntryKind::ContextEdit`].
    ContextEdit,
    /// See [`EntryKind::Custom`].
    Custom,
    /// See [`EntryKind::Label`].
    Label,
    /// See [`EntryKind::SessionInfo`].
    SessionInfo,
    /// See [`EntryKind::Other`].
    Other,
}

impl EntryTag {
    /// Returns the tag of a line by its type and, for a message, its role.
    pub(crate) fn of(r#type: &str, role: Option<&str>) -> Self {
        match r#type {
            "message" if role == Some("assistant") => Self::Answer,
            "message" => Self::Message,
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "custom_message" => Self::CustomMessage,
            "context_edit" => Self::ContextEdit,
            "custom" => Self::Custom,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            _ => Self::Other,
        }
    }

    /// Returns whether an entry of this kind can give the context a message.
    pub fn is_visible(self) -> bool {
        matches!(
            self,
            Self::Answer | Self::Message | Self::Compaction | Self::BranchSummary | Self::CustomMessage
        )
    }

    /// Returns whether the prompts before an entry of this kind were others than those after it.
    pub(crate) fn changes_prompt(self) -> bool {
        matches!(self, Self::Compaction | Self::ContextEdit)
    }
}

impl EntryKind {
    /// Returns which kind it is.
    pub fn tag(&self) -> EntryTag {
        match self {
            Self::Message(Logged { message: Message::Assistant { .. }, .. }) => EntryTag::Answer,
            Self::Message(_) => EntryTag::Message,
            Self::ModelChange(_) => EntryTag::ModelChange,
            Self::ThinkingLevelChange(_) => EntryTag::ThinkingLevelChange,
            Self::Compaction(_) => EntryTag::Compaction,
            Self::BranchSummary(_) => EntryTag::BranchSummary,
            Self::CustomMessage(_) => EntryTag::CustomMessage,
            Self::ContextEdit(_) => EntryTag::ContextEdit,
            Self::Custom(_) => EntryTag::Custom,
            Self::Label(_) => EntryTag::Label,
            Self::SessionInfo(_) => EntryTag::SessionInfo,
            Self::Other(_) => EntryTag::Other,
        }
    }
}

/// A message and what the log says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// The message.
    pub message: Message,
    /// The request that it answers, for a message of the model.
    pub request: Option<Request>,
    /// Whether the user kept it from the model (`!!` commands).
    pub is_excluded: bool,
}

/// The request that an assistant message answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The name of the provider's interface, such as `anthropic-messages`.
    pub api: Option<String>,
    /// The provider's name.
    pub provider: Option<String>,
    /// The model's id.
    pub model: Option<String>,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// Why the answer ended.
    pub stop_reason: StopReason,
}

impl From<Message> for EntryKind {
    /// Takes a message of which no more is known.
    fn from(message: Message) -> Self {
        Self::Message(Logged { message, request: None, is_excluded: false })
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// The answer reached its size limit.
    Length,
    /// The model asked for tools.
    ToolUse,
    /// The request failed.
    Error,
    /// The user stopped it.
    Aborted,
    /// Something else, or unknown.
    #[default]
    #[serde(other)]
    Other,
}

impl StopReason {
    /// Returns whether the answer was cut off by an error or by the user, so that it may be incomplete.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}

/// Another model was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelChange {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model_id: String,
}

/// Another thinking level was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThinkingLevelChange {
    /// The level's name.
    pub thinking_level: String,
}

/// Older entries were condensed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compaction {
    /// The digest.
    #[serde(deserialize_with = "or_default")]
    pub summary: String,
    /// The first entry before this one that stays; none if nothing does.
    pub first_kept_entry_id: Option<EntryId>,
    /// The tokens that the context had before.
    #[serde(deserialize_with = "count")]
    pub tokens_before: u64,
    /// What the maker of the digest noted, such as the files that were read.
    pub details: Option<Value>,
    /// Whether an extension made the digest.
    #[serde(deserialize_with = "or_default")]
    pub from_hook: bool,
}

/// A branch was left and condensed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummary {
    /// The entry that the branch was left from; some writers name the one that was gone to.
    #[serde(deserialize_with = "or_default")]
    pub from_id: String,
    /// The digest.
    #[serde(deserialize_with = "or_default")]
    pub summary: String,
    /// What the maker of the digest noted.
    pub details: Option<Value>,
    /// Whether an extension made the digest.
    #[serde(deserialize_with = "or_default")]
    pub from_hook: bool,
}

/// An extension's message that the model sees.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension's name for the kind of message.
    #[serde(default, deserialize_with = "or_default")]
    pub custom_type: String,
    /// The body.
    #[serde(default = "no_content", deserialize_with = "content")]
    pub content: Content,
    /// Whether the user is shown it; the model sees it either way.
    #[serde(default, deserialize_with = "or_default")]
    pub display: bool,
    /// What the extension noted next to the body.
    #[serde(default)]
    pub details: Option<Value>,
}

/// An extension noted something for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Custom {
    /// The extension's name for the kind of note.
    #[serde(deserialize_with = "or_default")]
    pub custom_type: String,
    /// The note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// An entry got a label or lost it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// The entry.
    pub target_id: EntryId,
    /// The label; nothing or an empty one clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The session got another name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionInfo {
    /// The name; nothing or an empty one clears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The content of an earlier entry is hidden or replaced.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEdit {
    /// The entry whose content it is.
    pub target_id: EntryId,
    /// What stands there from now on; nothing hides it.
    #[serde(default)]
    pub replacement: Option<Replacement>,
}

/// The content that stands for an earlier one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Replacement {
    /// The new body.
    #[serde(default = "no_content", deserialize_with = "content")]
    pub content: Content,
}

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
