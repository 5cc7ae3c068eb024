//! The estimates: bytes / 4, rounded up for each text.

use wb_message::Content::{Blocks, Text};
use wb_message::{Block, Message};

/// The fewest tokens of an image.
const MIN_IMAGE_TOKENS: usize = 85;
/// The most tokens of an image.
const MAX_IMAGE_TOKENS: usize = 16_000;
/// Decoded bytes of an image per token.
const IMAGE_BYTES_PER_TOKEN: usize = 750;
/// Tokens of the frame of a call, and of a result.
const TOOL_FRAME_TOKENS: usize = 8;
/// Tokens of the frame of any other message.
const FRAME_TOKENS: usize = 4;

/// Estimates a text in tokens: its UTF-8 bytes / 4, rounded up.
///
/// Fault: wrong for scripts of several bytes a character and for dense data. Use an exact tokenizer
/// with the estimates of `wb-budget`.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Estimates the parts of a message in tokens, without the frame of the message.
///
/// An image is its decoded bytes / 750, at least 85 and at most 16 000; a call is its name, its
/// arguments as JSON and 8. A result or a command inside a message, which the document does not
/// know, weighs as its JSON.
///
/// Fault: ids of calls and signatures of reasoning weigh nothing, and the size of an image in
/// pixels is ignored. Use the estimates of `wb-budget`.
pub fn content_tokens(content: &[Block]) -> usize {
    content.iter().map(block_tokens).sum()
}

fn block_tokens(block: &Block) -> usize {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => estimate_tokens(text),
        Block::Image { data_base64, .. } => image_tokens(data_base64),
        Block::ToolCall { name, input, .. } => {
            estimate_tokens(name) + estimate_tokens(&input.to_string()) + TOOL_FRAME_TOKENS
        }
        Block::ToolResult { .. } | Block::Command { .. } => {
            serde_json::to_string(block).map_or(0, |json| estimate_tokens(&json))
        }
    }
}

/// Estimates an image; padding counts as data.
fn image_tokens(data_base64: &str) -> usize {
    let n_bytes = data_base64.len() * 3 / 4;
    (n_bytes / IMAGE_BYTES_PER_TOKEN).clamp(MIN_IMAGE_TOKENS, MAX_IMAGE_TOKENS)
}

/// Estimates one message in tokens, with its frame: 8 and the tool's name for a result, 4 for any
/// other.
///
/// An extension weighs its data, although it is never sent to a model.
pub fn message_tokens(message: &Message) -> usize {
    match message {
        Message::User { content: Text(text), .. } | Message::Custom { content: Text(text), .. } => {
            estimate_tokens(text) + FRAME_TOKENS
        }
        Message::User { content: Blocks(blocks), .. }
        | Message::Custom { content: Blocks(blocks), .. }
        | Message::Assistant { content: blocks, .. } => content_tokens(blocks) + FRAME_TOKENS,
        Message::ToolResult { tool_name, content, .. } => {
            content_tokens(content) + estimate_tokens(tool_name) + TOOL_FRAME_TOKENS
        }
        Message::BashExecution { command, output, .. } => {
            estimate_tokens(command) + estimate_tokens(output) + FRAME_TOKENS
        }
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            estimate_tokens(summary) + FRAME_TOKENS
        }
    }
}

/// Estimates a transcript in tokens: the sum of its messages.
///
/// Fault: the system prompt and the tools' schemas count only through
/// [`ContextConfig::system_prompt_tokens`](super::ContextConfig::system_prompt_tokens). Use the
/// estimates of `wb-budget`, anchored by real usage.
pub fn total_tokens(messages: &[Message]) -> usize {
    messages.iter().map(message_tokens).sum()
}
