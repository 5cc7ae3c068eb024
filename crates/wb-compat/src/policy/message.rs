//! The message of the published crate: ours with an id, a visibility and a mark.

use serde::{Deserialize, Serialize};
use wb_message::{Block, Content, Message};

pub use wb_message::markers::Visibility;
pub(super) use wb_message::markers::{SUMMARY_CLOSE, SUMMARY_OPEN, SUMMARY_TYPE, visibility};

/// The records of the log that a stored summary replaces, counted from 1, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompactionMark {
    /// The first record.
    pub from_seq: u64,
    /// The last record.
    pub to_seq: u64,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The host: a `Custom`, or a summary.
    System,
    /// The user, or a shell execution.
    User,
    /// The model.
    Assistant,
    /// A tool: a `ToolResult`.
    Tool,
}

impl Role {
    /// Returns the role's name in a transcript.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::Tool => "Tool",
        }
    }
}

/// A message of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMessage {
    /// The id; a message without one cannot be a boundary.
    pub id: Option<String>,
    /// The audience; an internal message of a tool retracts the call that it answers.
    pub visibility: Visibility,
    /// The range of a stored summary.
    pub mark: Option<CompactionMark>,
    /// The message itself.
    pub message: Message,
}

impl From<Message> for ThreadMessage {
    /// Wraps a message without an id; it is internal if its kind is.
    fn from(message: Message) -> Self {
        Self { id: None, visibility: visibility(&message), mark: None, message }
    }
}

impl ThreadMessage {
    /// Wraps a message with an id.
    pub fn new(id: impl Into<String>, message: Message) -> Self {
        Self { id: Some(id.into()), ..message.into() }
    }

    /// Returns the speaker.
    pub fn role(&self) -> Role {
        match self.message {
            Message::User { .. } | Message::BashExecution { .. } => Role::User,
            Message::Assistant { .. } => Role::Assistant,
            Message::ToolResult { .. } => Role::Tool,
            Message::Custom { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {
                Role::System
            }
        }
    }

    /// Returns the text blocks, joined without a separator.
    ///
    /// Of the kinds that the published crate does not know, a shell execution gives its command
    /// line and its output, and a summary gives its text.
    pub fn text(&self) -> String {
        match &self.message {
            Message::User { content: Content::Text(text), .. }
            | Message::Custom { content: Content::Text(text), .. } => text.clone(),
            Message::BashExecution { command, output, .. } => format!("$ {command}\n{output}"),
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                summary.clone()
            }
            message => message.blocks().iter().filter_map(Block::as_text).collect(),
        }
    }

    pub(super) fn is_internal(&self) -> bool {
        self.visibility == Visibility::Internal
    }

    pub(super) fn is_tool(&self) -> bool {
        self.role() == Role::Tool
    }

    /// Returns the id of the call that a tool's message answers.
    pub(super) fn answers(&self) -> Option<&str> {
        match &self.message {
            Message::ToolResult { tool_call_id, .. } => Some(tool_call_id),
            _ => None,
        }
    }

    pub(super) fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.message.calls().map(|(id, _, _)| id)
    }
}
