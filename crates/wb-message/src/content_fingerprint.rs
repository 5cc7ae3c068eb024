//! Content fingerprints: hashes of what a model reads, independent of the format that stores it.

use std::borrow::Borrow;

use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use crate::block::Block;
use crate::markers::digest_body;
use crate::message::{Content, Message};

/// Hashes the content of each message, to compare a planned transcript with one read from a file.
///
/// Consecutive replies count as one, since some formats write each piece of a reply as a record. Digest markers,
/// timestamps, white space around texts and signatures of reasoning do not count.
///
/// ```
/// use wb_message::{Message, content_fingerprints};
///
/// let written = [Message::user("Look."), Message::assistant("I look."), Message::assistant("Done.")];
/// let read = [Message::user("Look.\n"), Message::assistant("I look.Done.")];
/// assert_eq!(content_fingerprints(&written), content_fingerprints(&read));
/// assert_ne!(content_fingerprints(&written), content_fingerprints(&written[..2]));
/// ```
pub fn content_fingerprints<M: Borrow<Message>>(messages: &[M]) -> Vec<u64> {
    let is_reply = |message: &M| matches!(message.borrow(), Message::Assistant { .. });
    let runs = messages.chunk_by(|one, next| is_reply(one) && is_reply(next));
    runs.map(|run| {
        let mut sum = Xxh3::new();
        for message in run {
            add_message(&mut sum, message.borrow());
        }
        sum.digest()
    })
    .collect()
}

fn add_message(sum: &mut Xxh3, message: &Message) {
    if let Some(digest) = digest_body(message) {
        return add(sum, "digest", &[&digest]);
    }
    match message {
        Message::User { content, .. } => add(sum, "user", &plain_text(content)),
        Message::Custom { custom_type, content } => {
            add(sum, "custom", &[custom_type]);
            add(sum, "", &plain_text(content));
        }
        Message::ToolResult { tool_call_id, .. } => add(sum, "result", &[tool_call_id]),
        Message::BashExecution { command, output, .. } => add(sum, "shell", &[command, output]),
        Message::Assistant { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {}
    }
    message.blocks().iter().for_each(|block| add_block(sum, block));
}

/// Returns the text of a plain body; blocks are added one by one.
fn plain_text(content: &Content) -> Vec<&str> {
    if content.blocks().is_empty() { content.texts().collect() } else { Vec::new() }
}

fn add_block(sum: &mut Xxh3, block: &Block) {
    match block {
        Block::Text { text } => add(sum, "", &[text]),
        Block::Thinking { .. } => {}
        Block::ToolCall { id, name, input } => add(sum, "call", &[id, name, &input.to_string()]),
        Block::ToolResult { call_id, output, .. } => add(sum, "result", &[call_id, &output_text(output)]),
        Block::Image { data_base64, .. } => add(sum, "image", &[data_base64]),
        Block::Command { command, .. } => add(sum, "command", &[command]),
    }
}

fn output_text(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}

/// Adds texts without a separator, since formats divide the texts of a message differently.
fn add(sum: &mut Xxh3, kind: &str, texts: &[&str]) {
    for text in [kind].iter().chain(texts) {
        sum.update(text.trim().as_bytes());
    }
}
