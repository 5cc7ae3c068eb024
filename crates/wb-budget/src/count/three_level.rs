//! The estimates of the three-level compaction under their own names; the root's are the main seed's.

use wb_message::{Block, Message};

use super::presets::HeuristicPreset;

/// Estimates a text in tokens: its bytes / 4, rounded up.
pub fn estimate_tokens(text: &str) -> u64 {
    HeuristicPreset::THREE_LEVEL.text_tokens(text)
}

/// Estimates blocks in tokens, without the frame of their message.
pub fn content_tokens(content: &[Block]) -> u64 {
    HeuristicPreset::THREE_LEVEL.blocks_tokens(content)
}

/// Estimates one message in tokens. An extension of the seed is a `Custom` whose text is the extension's data.
pub fn message_tokens(message: &Message) -> u64 {
    HeuristicPreset::THREE_LEVEL.message_tokens(message)
}

/// Estimates a transcript in tokens.
pub fn total_tokens(messages: &[Message]) -> u64 {
    messages.iter().map(message_tokens).sum()
}
