//! What messages say to a model, whatever way a format has of writing it down.

use std::borrow::Borrow;

use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use crate::block::Block;
use crate::markers::digest_body;
use crate::message::{Content, Message};

/// Returns a hash of what each message says, so that what was planned can be compared with what is read.
///
/// Answers that follow each other are one: some formats write the pieces of an answer as records of their own. How a
/// digest is marked, when something was said, white space around texts and the signatures of thoughts do not count.
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
    let of_model = |message: &M| matches!(message.borrow(), Message::Assistant { .. });
    let runs = messages.chunk_by(|one, next| of_model(one) && of_model(next));
    runs.map(|run| {
        let mut sum = Xxh3::new();
        for message in run {
            speak(&mut sum, message.borrow());
        }
        sum.digest()
    })
    .collect()
}

fn speak(sum: &mut Xxh3, message: &Message) {
    if let Some(digest) = digest_body(message) {
        return part(sum, "digest", &[&digest]);
    }
    match message {
        Message::User { content, .. } => part(sum, "user", &plain_text(content)),
        Message::Custom { custom_type, content } => {
            part(sum, "custom", &[custom_type]);
            part(sum, "", &plain_text(content));
        }
        Message::ToolResult { tool_call_id, .. } => part(sum, "result", &[tool_call_id]),
        Message::BashExecution { command, output, .. } => part(sum, "shell", &[command, output]),
        Message::Assistant { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {}
    }
    message.blocks().iter().for_each(|block| say(sum, block));
}

/// Returns the body if it is plain text, and nothing if it is blocks.
fn plain_text(content: &Content) -> Vec<&str> {
    if content.blocks().is_empty() { content.texts().collect() } else { Vec::new() }
}

fn say(sum: &mut Xxh3, block: &Block) {
    match block {
        Block::Text { text } => part(sum, "", &[text]),
        Block::Thinking { .. } => {}
        Block::ToolCall { id, name, input } => part(sum, "call", &[id, name, &input.to_string()]),
        Block::ToolResult { call_id, output, .. } => part(sum, "result", &[call_id, &plain(output)]),
        Block::Image { data_base64, .. } => part(sum, "image", &[data_base64]),
        Block::Command { command, .. } => part(sum, "command", &[command]),
    }
}

fn plain(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}

/// Adds a part; the texts of one message run together, as formats divide them in their own ways.
fn part(sum: &mut Xxh3, kind: &str, texts: &[&str]) {
    for text in [kind].iter().chain(texts) {
        sum.update(text.trim().as_bytes());
    }
}
