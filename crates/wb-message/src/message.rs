//! The message: one item of a transcript.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::{Block, joined_text};

/// The body of a user or custom message: plain text or a list of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A list of blocks.
    Blocks(Vec<Block>),
}

impl Content {
    /// Returns the blocks; plain text has none.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// Builds an edited body; plain text stays plain text if the new blocks are all text.
    pub(crate) fn with_blocks(&self, blocks: Vec<Block>) -> Self {
        match self {
            Self::Text(_) if blocks.iter().all(|block| block.as_text().is_some()) => {
                Self::Text(joined_text(&blocks).into_owned())
            }
            _ => Self::Blocks(blocks),
        }
    }

    /// Visits each piece of text in order.
    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &str> {
        let plain = match self {
            Self::Text(text) => Some(text.as_str()),
            Self::Blocks(_) => None,
        };
        plain.into_iter().chain(self.blocks().iter().filter_map(Block::as_text))
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self::Blocks(blocks)
    }
}

/// One message of an agent's transcript, in seven variants.
///
/// Tool results and shell executions are separate messages, not nested in a turn. On the wire the
/// tag is `role` and the fields are camelCase; a snapshot pins the shape.
///
/// ```
/// use wb_message::{Message, json};
///
/// let wire = json!({
///     "role": "toolResult",
///     "toolCallId": "c1",
///     "toolName": "read",
///     "content": [{"kind": "text", "text": "fn main() {}"}],
///     "isError": false,
/// });
/// assert_eq!(json!(Message::tool_result("c1", "read", "fn main() {}")), wire);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// A message of the user, or of the host in the user's role.
    User {
        /// The body.
        content: Content,
        /// Milliseconds since the Unix epoch; 0 if unknown.
        #[serde(default)]
        timestamp: i64,
    },
    /// A reply of the model: text, reasoning and tool calls.
    Assistant {
        /// The blocks in order; a plain string is read as one text block.
        #[serde(deserialize_with = "crate::transcript_json::blocks_or_text")]
        content: Vec<Block>,
        /// The provider's error, if the request failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A tool's answer to one call.
    ToolResult {
        /// The id of the answered call.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// Text and images; a plain string is read as one text block.
        #[serde(deserialize_with = "crate::transcript_json::blocks_or_text")]
        content: Vec<Block>,
        /// True if the tool failed.
        #[serde(default)]
        is_error: bool,
        /// True if the host itself records that the user refused the call; a text that says so is
        /// the tool's.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_refusal: bool,
    },
    /// A shell command run by the user.
    BashExecution {
        /// The command line.
        command: String,
        /// The printed output.
        output: String,
        /// The exit code; `None` while running or when killed.
        #[serde(default)]
        exit_code: Option<i32>,
    },
    /// A message of the host; the types of [`crate::markers::PINNED_TYPES`] are never folded.
    Custom {
        /// The host's name for the kind of message.
        custom_type: String,
        /// The body.
        content: Content,
    },
    /// A digest of an abandoned branch.
    BranchSummary {
        /// The digest.
        summary: String,
        /// The entry where the branch started.
        from_id: String,
    },
    /// A digest of older messages.
    CompactionSummary {
        /// The digest.
        summary: String,
        /// The transcript's weight before the compaction, in tokens.
        #[serde(default)]
        tokens_before: u64,
    },
}

impl Message {
    /// Builds a user message with timestamp 0.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::User { content: content.into(), timestamp: 0 }
    }

    /// Builds an assistant message of one text block.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::assistant_blocks(vec![Block::text(text)])
    }

    /// Builds an assistant message of the given blocks.
    pub fn assistant_blocks(content: Vec<Block>) -> Self {
        Self::Assistant { content, error_message: None }
    }

    /// Builds a successful tool result of one text block.
    pub fn tool_result(call_id: impl Into<String>, tool: impl Into<String>, text: impl Into<String>) -> Self {
        Self::ToolResult {
            tool_call_id: call_id.into(),
            tool_name: tool.into(),
            content: vec![Block::text(text)],
            is_error: false,
            is_refusal: false,
        }
    }

    /// Builds a failed tool result of one text block.
    pub fn tool_error(call_id: impl Into<String>, tool: impl Into<String>, text: impl Into<String>) -> Self {
        Self::ToolResult {
            tool_call_id: call_id.into(),
            tool_name: tool.into(),
            content: vec![Block::text(text)],
            is_error: true,
            is_refusal: false,
        }
    }

    /// Builds a shell execution.
    pub fn bash(command: impl Into<String>, output: impl Into<String>, exit_code: Option<i32>) -> Self {
        Self::BashExecution { command: command.into(), output: output.into(), exit_code }
    }

    /// Builds a message of the host.
    pub fn custom(custom_type: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::Custom { custom_type: custom_type.into(), content: content.into() }
    }

    /// Returns the blocks of the body; a string has none.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Self::User { content, .. } | Self::Custom { content, .. } => content.blocks(),
            Self::Assistant { content, .. } | Self::ToolResult { content, .. } => content,
            Self::BashExecution { .. } | Self::BranchSummary { .. } | Self::CompactionSummary { .. } => &[],
        }
    }

    /// Visits the tool calls of an assistant message as (id, name, input); other messages have
    /// none.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = (&str, &str, &Value)> {
        let blocks: &[Block] = match self {
            Self::Assistant { content, .. } => content,
            _ => &[],
        };
        blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, name, input } => Some((id.as_str(), name.as_str(), input)),
            _ => None,
        })
    }

    /// Visits the ids of the calls that this message answers: the id of a tool result, or those of
    /// the result blocks in a user message.
    pub fn answered_ids(&self) -> impl Iterator<Item = &str> {
        let (direct, nested): (Option<&str>, &[Block]) = match self {
            Self::ToolResult { tool_call_id, .. } => (Some(tool_call_id), &[]),
            Self::User { content: Content::Blocks(blocks), .. } => (None, blocks),
            _ => (None, &[]),
        };
        direct.into_iter().chain(nested.iter().filter_map(|block| match block {
            Block::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        }))
    }

    /// Builds the message with another body, as [`Edit::Body`](crate::Edit::Body) would leave it;
    /// the old body is not copied.
    #[must_use]
    pub fn with_body(&self, content: Vec<Block>) -> Self {
        match self {
            Self::User { content: old, timestamp } => {
                Self::User { content: old.with_blocks(content), timestamp: *timestamp }
            }
            Self::Assistant { error_message, .. } => {
                Self::Assistant { content, error_message: error_message.clone() }
            }
            Self::ToolResult { tool_call_id, tool_name, is_error, is_refusal, .. } => Self::ToolResult {
                tool_call_id: tool_call_id.clone(),
                tool_name: tool_name.clone(),
                content,
                is_error: *is_error,
                is_refusal: *is_refusal,
            },
            Self::BashExecution { command, exit_code, .. } => {
                Self::bash(command.as_str(), joined_text(&content).into_owned(), *exit_code)
            }
            Self::Custom { custom_type, content: old } => {
                Self::Custom { custom_type: custom_type.clone(), content: old.with_blocks(content) }
            }
            Self::BranchSummary { from_id, .. } => {
                Self::BranchSummary { summary: joined_text(&content).into_owned(), from_id: from_id.clone() }
            }
            Self::CompactionSummary { tokens_before, .. } => Self::CompactionSummary {
                summary: joined_text(&content).into_owned(),
                tokens_before: *tokens_before,
            },
        }
    }

    /// Returns the timestamp in milliseconds since the Unix epoch, `None` if there is none or it is
    /// 0.
    pub fn timestamp(&self) -> Option<i64> {
        match self {
            Self::User { timestamp, .. } if *timestamp != 0 => Some(*timestamp),
            _ => None,
        }
    }
}

/// Words of the user that no message has, and so no request repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// The number of messages before it.
    pub n_before: usize,
    /// The words.
    pub words: String,
}
