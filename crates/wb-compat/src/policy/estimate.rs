//! The estimates that this module uses throughout.

use wb_message::{Block, Content, Message};

use super::message::ThreadMessage;

/// Tokens of the frame of a message.
const FRAME_TOKENS: usize = 4;
/// Bytes per token.
const BYTES_PER_TOKEN: usize = 4;
/// The weight of a block other than text and reasoning, in bytes.
const OTHER_BLOCK_BYTES: usize = 50;

/// Estimates a message in tokens: 4, and the bytes of its text and reasoning / 4, rounded down
/// once.
///
/// Fault: a call weighs nothing with any arguments, and an image or any other block about 12
/// tokens. Use the estimates of `wb-budget`.
pub fn message_tokens(message: &ThreadMessage) -> usize {
    FRAME_TOKENS + n_bytes(&message.message) / BYTES_PER_TOKEN
}

/// Estimates messages in tokens: the sum of [`message_tokens`].
pub fn total_tokens(messages: &[ThreadMessage]) -> usize {
    messages.iter().map(message_tokens).sum()
}

/// Estimates the schema of one tool in tokens, given its parameters as JSON.
///
/// Fault: name and description weigh a token per byte, four times too much; the schema a quarter of
/// its bytes. Use the estimates of `wb-budget`.
pub fn tool_schema_tokens(name: &str, description: &str, parameters_json: &str) -> usize {
    name.len() + description.len() + parameters_json.len() / BYTES_PER_TOKEN + 10
}

fn n_bytes(message: &Message) -> usize {
    match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => text.len(),
        Message::BashExecution { command, output, .. } => command.len() + output.len(),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => summary.len(),
        message => message.blocks().iter().map(block_bytes).sum(),
    }
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => text.len(),
        Block::ToolCall { .. } => 0,
        Block::ToolResult { .. } | Block::Image { .. } | Block::Command { .. } => OTHER_BLOCK_BYTES,
    }
}
