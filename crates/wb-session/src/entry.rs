//! The entries of a session log, and the messages that they hold.
//!
//! The forms are those of pi's files. A message is turned into a [`Message`] while its line is read, so that a
//! log holds each body once: what pi calls `toolCall` becomes [`Block::ToolCall`], `thinkingSignature` a
//! signature, `data` and `mimeType` of a picture a [`Block::Image`]. `details`, which only the screen shows, are
//! not kept with messages. Files are not validated by those who write them: a body that is null or missing is
//! empty, a part of a kind that is not known becomes a text with its JSON.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_message::{Block, Content, Message};

use crate::error::SessionError;
use crate::id::EntryId;
use crate::lines::Line;
use crate::stamp::parse_iso_ms;

/// One entry of a session log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The entry's name.
    pub id: EntryId,
    /// The entry that it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// When it was written, in milliseconds since the Unix epoch; 0 where unknown.
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
    /// Anything else: the line as it is. It has its place in the tree and gives no message.
    Other(Map<String, Value>),
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
    /// The provider's name.
    pub provider: Option<String>,
    /// The model's id.
    pub model: Option<String>,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// Why the answer ended.
    pub stop_reason: StopReason,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
    /// Something else, or not told.
    #[default]
    #[serde(other)]
    Other,
}

impl StopReason {
    /// Tells whether the answer was cut off by an error or by the user, so that it may be incomplete.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}

/// Another model was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelChange {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model_id: String,
}

/// Another thinking level was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
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
    /// The first entry before this one that stays; none where nothing does.
    pub first_kept_entry_id: Option<EntryId>,
    /// The same as an index into the records of the file, header included, in files of version 1.
    pub(crate) first_kept_entry_index: Option<Value>,
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
    #[serde(default, deserialize_with = "stamp")]
    pub(crate) timestamp: i64,
}

/// Reads what an entry says from its line; the envelope tells the kind.
pub(crate) fn read_kind(line: Line<'_>, envelope: &Envelope) -> Result<EntryKind, SessionError> {
    let failed = |error| SessionError::of_json(line.number, &error);
    Ok(match envelope.r#type.as_str() {
        "message" => {
            match line.parse::<MessageLine>().map_err(failed)?.message.into_logged(envelope.timestamp) {
                Some(logged) => EntryKind::Message(logged),
                None => EntryKind::Other(line.parse().map_err(failed)?),
            }
        }
        "model_change" => EntryKind::ModelChange(line.parse().map_err(failed)?),
        "thinking_level_change" => EntryKind::ThinkingLevelChange(line.parse().map_err(failed)?),
        "compaction" => EntryKind::Compaction(line.parse().map_err(failed)?),
        "branch_summary" => EntryKind::BranchSummary(line.parse().map_err(failed)?),
        "custom_message" => EntryKind::CustomMessage(line.parse().map_err(failed)?),
        "context_edit" => EntryKind::ContextEdit(line.parse().map_err(failed)?),
        _ => EntryKind::Other(line.parse().map_err(failed)?),
    })
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
        #[serde(default, deserialize_with = "stamp")]
        timestamp: i64,
    },
    Assistant {
        #[serde(default, deserialize_with = "blocks")]
        content: Vec<Block>,
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
            Self::Assistant { content, provider, model, usage, stop_reason, error_message } => {
                let usage = usage.map(PiUsage::into_usage);
                request = Some(Request { provider, model, usage, stop_reason });
                Message::Assistant { content, error_message }
            }
            Self::ToolResult { tool_call_id, tool_name, content, is_error } => {
                Message::ToolResult { tool_call_id, tool_name, content, is_error }
            }
            Self::BashExecution { command, output, exit_code, exclude_from_context } => {
                is_excluded = exclude_from_context;
                Message::BashExecution { command, output, exit_code }
            }
            Self::Custom(CustomMessage { custom_type, content }) => Message::Custom { custom_type, content },
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

/// Reads null as the default.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads a number of tokens from any JSON: a fraction is cut off, what is no number counts nothing.
fn tokens(value: &Value) -> u64 {
    // A float becomes the nearest integer that fits, NaN and negative ones become 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let rounded = |number: f64| number as u64;
    value.as_u64().or_else(|| value.as_f64().map(rounded)).unwrap_or(0)
}

fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(tokens(&Value::deserialize(from)?))
}

/// Reads ISO text or milliseconds since the Unix epoch; 0 for anything else.
pub(crate) fn stamp<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => parse_iso_ms(&text).unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    })
}

fn no_content() -> Content {
    Content::Blocks(Vec::new())
}

fn content<'de, D: Deserializer<'de>>(from: D) -> Result<Content, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => Content::Text(text),
        Value::Array(parts) => Content::Blocks(parts.into_iter().map(block).collect()),
        _ => no_content(),
    })
}

fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Block>, D::Error> {
    Ok(match content(from)? {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    })
}

fn block(mut part: Value) -> Block {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut take = |key| part.get_mut(key).map(Value::take);
    let block = match kind.as_str() {
        "text" => take("text").and_then(into_text).map(Block::text),
        "thinking" => take("thinking").map(|text| Block::Thinking {
            text: into_text(text).unwrap_or_default(),
            signature: take("thinkingSignature").and_then(into_text),
        }),
        "image" => take("data")
            .and_then(into_text)
            .map(|data| Block::image(take("mimeType").and_then(into_text).unwrap_or_default(), data)),
        "toolCall" => take("name").and_then(into_text).map(|name| {
            let id = take("id").and_then(into_text).unwrap_or_default();
            Block::call(id, name, take("arguments").unwrap_or_default())
        }),
        _ => None,
    };
    block.unwrap_or_else(|| Block::text(part.to_string()))
}

fn into_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
