//! The walk over messages, blocks and tools, shared by every counter of texts.

use serde_json::Value;
use wb_message::{Block, Content, Message, ToolDescriptor};

use super::TokenCounter;
use super::heuristic::TokenHeuristic;

/// The framing around texts, equal to that of the heuristic.
const FRAME: TokenHeuristic = TokenHeuristic::DEFAULT;

pub(super) fn message<W: TokenCounter + ?Sized>(counter: &W, message: &Message) -> u64 {
    let texts = match message {
        Message::User { content, .. } => self::content(counter, content),
        Message::Assistant { content, error_message } => {
            blocks(counter, content) + error_message.as_deref().map_or(0, |error| counter.text(error))
        }
        Message::ToolResult { tool_name, content, .. } => {
            FRAME.call_envelope_tokens + counter.text(tool_name) + blocks(counter, content)
        }
        Message::BashExecution { command, output, .. } => counter.text(command) + framed(counter, output),
        Message::Custom { custom_type, content } => {
            framed(counter, custom_type) + self::content(counter, content)
        }
        Message::BranchSummary { summary, from_id } => counter.text(from_id) + framed(counter, summary),
        Message::CompactionSummary { summary, .. } => framed(counter, summary),
    };
    FRAME.message_framing_tokens.saturating_add(texts)
}

pub(super) fn tool<W: TokenCounter + ?Sized>(counter: &W, tool: &ToolDescriptor) -> u64 {
    let ToolDescriptor { name, description, parameters } = tool;
    FRAME.call_envelope_tokens + counter.text(name) + counter.text(description) + value(counter, parameters)
}

fn framed<W: TokenCounter + ?Sized>(counter: &W, text: &str) -> u64 {
    FRAME.block_framing_tokens + counter.text(text)
}

fn content<W: TokenCounter + ?Sized>(counter: &W, content: &Content) -> u64 {
    match content {
        Content::Text(text) => framed(counter, text),
        Content::Blocks(list) => blocks(counter, list),
    }
}

fn blocks<W: TokenCounter + ?Sized>(counter: &W, blocks: &[Block]) -> u64 {
    blocks
        .iter()
        .map(|block| FRAME.block_framing_tokens + self::block(counter, block))
        .fold(0, u64::saturating_add)
}

fn block<W: TokenCounter + ?Sized>(counter: &W, block: &Block) -> u64 {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => counter.text(text),
        Block::Image { .. } => FRAME.image_tokens,
        Block::ToolCall { name, input, .. } => {
            FRAME.call_envelope_tokens + counter.text(name) + value(counter, input)
        }
        Block::ToolResult { output, .. } => FRAME.call_envelope_tokens + value(counter, output),
        Block::Command { command, args } => args
            .iter()
            .flatten()
            .map(|arg| counter.text(arg))
            .fold(counter.text(command), u64::saturating_add),
    }
}

fn value<W: TokenCounter + ?Sized>(counter: &W, value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::String(text) => counter.text(text),
        other => counter.text(&other.to_string()),
    }
}
