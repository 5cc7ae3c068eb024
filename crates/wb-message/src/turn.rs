//! The gateway's neutral form: turns, and the conversation sent to a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::Block;

/// One turn of a conversation as gateways exchange it; tool results are blocks of a tool turn.
///
/// On the wire the tag is `role` in lowercase.
///
/// ```
/// use wb_message::{Block, Turn, json};
///
/// let turn = Turn::Assistant { blocks: vec![Block::call("c1", "read", json!({"path": "a.rs"}))] };
/// let wire = json!({
///     "role": "assistant",
///     "blocks": [{"kind": "tool_call", "id": "c1", "name": "read", "input": {"path": "a.rs"}}],
/// });
/// assert_eq!(serde_json::to_value(turn).unwrap(), wire);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Turn {
    /// The user's turn.
    User {
        /// Its blocks.
        #[serde(deserialize_with = "crate::transcript_json::blocks")]
        blocks: Vec<Block>,
    },
    /// The model's turn.
    Assistant {
        /// Its blocks.
        #[serde(deserialize_with = "crate::transcript_json::blocks")]
        blocks: Vec<Block>,
    },
    /// The tools' turn: one or more results.
    Tool {
        /// Its blocks.
        #[serde(deserialize_with = "crate::transcript_json::blocks")]
        blocks: Vec<Block>,
    },
}

impl Turn {
    /// Builds a user turn of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { blocks: vec![Block::text(text)] }
    }

    /// Builds an assistant turn of one text block.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { blocks: vec![Block::text(text)] }
    }

    /// Returns the blocks of any turn.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Self::User { blocks } | Self::Assistant { blocks } | Self::Tool { blocks } => blocks,
        }
    }
}

/// A tool that a conversation offers to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolDescriptor {
    /// The tool's name.
    pub name: String,
    /// The description that the model reads.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// A request to a model: a system text, turns and tools.
///
/// ```
/// use wb_message::{Conversation, Turn, json};
///
/// let turns = vec![Turn::user("hi")];
/// let sent = Conversation { system: Some("Be brief.".into()), turns, tools: None };
/// let turn = json!({"role": "user", "blocks": [{"kind": "text", "text": "hi"}]});
/// assert_eq!(json!(sent), json!({"system": "Be brief.", "turns": [turn]}));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conversation {
    /// The system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The turns in order.
    pub turns: Vec<Turn>,
    /// The available tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDescriptor>>,
}
