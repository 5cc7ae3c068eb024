//! The entries of a session log, and the messages that they hold.
//!
//! [`decode`] turns the lines of a file into entries, [`encode`] turns entries into lines.

pub(crate) mod timestamp;
pub(crate) mod lenient;
pub(crate) mod decode;
pub(crate) mod encode;

use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_message::{Content, Message};

use crate::id::EntryId;
use encode::body;
use lenient::{content, count, no_content, or_default};

pub use encode::NewSession;
pub use timestamp::{iso_ms, parse_iso_ms};

/// One entry of a session log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The entry's name.
    pub id: EntryId,
    /// The entry that it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// The time of writing, in milliseconds since the Unix epoch; 0 if unknown.
    pub timestamp: i64,
    /// The number of its line, counted from 1.
    pub line: usize,
    /// The content of the entry.
    pub kind: EntryKind,
}

/// The content of an entry.
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
    /// Any other entry: the line verbatim. It has a place in the tree and gives no message.
    Other(Map<String, Value>),
}

/// The kind of an entry, without its content.
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
    pub(crate) fn from_line(r#type: &str, role: Option<&str>) -> Self {
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

/// A message and the log's data about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// The message.
    pub message: Message,
    /// The request that it answers, for a message of the model.
    pub request: Option<Request>,
    /// Keeps the command from the model (`!!` commands).
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
    /// The usage that the provider counted.
    pub usage: Option<Usage>,
    /// The reason why the answer ended.
    pub stop_reason: StopReason,
}

impl From<Message> for EntryKind {
    /// Wraps a message without further data.
    fn from(message: Message) -> Self {
        Self::Message(Logged { message, request: None, is_excluded: false })
    }
}

/// The reason why an answer ended.
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
    /// Returns whether the answer was cut off by an error or by the user, so that it may be
    /// incomplete.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The notes of the digest's maker, such as the files that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Marks a digest that an extension made.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub from_hook: bool,
}

/// A branch was left and condensed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummary {
    /// The entry that the branch was left from; some writers name the one that was gone to.
    #[serde(deserialize_with = "or_default")]
    pub from_id: String,
    /// The digest.
    #[serde(deserialize_with = "or_default")]
    pub summary: String,
    /// The notes of the digest's maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Marks a digest that an extension made.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub from_hook: bool,
}

/// An extension's message that the model sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension's name for the kind of message.
    #[serde(default, deserialize_with = "or_default")]
    pub custom_type: String,
    /// The body.
    #[serde(default = "no_content", deserialize_with = "content", serialize_with = "body")]
    pub content: Content,
    /// Shows the message to the user; the model sees it either way.
    #[serde(default, deserialize_with = "or_default")]
    pub display: bool,
    /// The notes of the extension next to the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEdit {
    /// The entry whose content it is.
    pub target_id: EntryId,
    /// The replacement from now on; none hides the entry.
    #[serde(default)]
    pub replacement: Option<Replacement>,
}

/// The content that replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// The new body.
    #[serde(default = "no_content", deserialize_with = "content", serialize_with = "body")]
    pub content: Content,
}

/// Returns the entries that change a context of the entries `before`: its digest, and an edit for
/// each entry that has another body or is hidden.
///
/// `kept` are the places of the messages that stay, ascending, each with its new body if it has
/// one. A digest replaces all before the first of them.
pub fn compaction_entries(
    before: &[EntryId],
    kept: &[(usize, Option<Content>)],
    digest: Option<Compaction>,
) -> Vec<EntryKind> {
    let edit = |at: usize, replacement| {
        EntryKind::ContextEdit(ContextEdit { target_id: before[at].clone(), replacement })
    };
    let first = kept.first().map(|(at, _)| *at);
    let mut next = if digest.is_some() { first.unwrap_or(before.len()) } else { 0 };
    let first_kept_entry_id = first.map(|at| before[at].clone());
    let digest = digest.map(|digest| EntryKind::Compaction(Compaction { first_kept_entry_id, ..digest }));
    let mut entries = Vec::from_iter(digest);
    for (at, body) in kept {
        entries.extend((next..*at).map(|gone| edit(gone, None)));
        entries.extend(body.clone().map(|content| edit(*at, Some(Replacement { content }))));
        next = at + 1;
    }
    entries.extend((next..before.len()).map(|gone| edit(gone, None)));
    entries
}
