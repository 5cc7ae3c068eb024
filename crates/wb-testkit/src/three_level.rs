//! Messages and transcripts for tests of three-level compaction, weighed at four bytes a token.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;
use wb_budget::HeuristicPreset;
use wb_message::markers::{COLLAPSED_PREFIX, DROPPED_MARK, is_prompt};
use wb_message::{Block, Message};

use crate::strategies;

/// Four bytes a token, so that the weights in a test follow from its texts.
pub const QUARTER: HeuristicPreset = HeuristicPreset::THREE_LEVEL;

/// Returns the weight of a transcript at four bytes a token.
pub fn tokens(messages: &[Message]) -> u64 {
    messages.iter().map(|message| QUARTER.message_tokens(message)).sum()
}

/// Returns a text of `n_tokens`.
pub fn big(n_tokens: usize) -> String {
    "x".repeat(4 * n_tokens)
}

/// Builds a reply with a call of `bash` for each id.
pub fn says(text: impl Into<String>, calls: &[&str]) -> Message {
    let calls = calls.iter().map(|id| Block::call(*id, "bash", json!({ "cmd": "x" })));
    Message::assistant_blocks([Block::text(text)].into_iter().chain(calls).collect())
}

/// Builds a result of `bash`.
pub fn result(id: &str, text: impl Into<String>) -> Message {
    Message::tool_result(id, "bash", text)
}

/// Builds the mark of dropped messages.
pub fn mark() -> Message {
    Message::user(DROPPED_MARK)
}

/// Generates a number of messages or lines: a few, or more than there are.
pub fn few() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..12_usize, 1 => Just(usize::MAX)]
}

/// Generates a transcript with marks and summaries of earlier compactions.
pub fn aged_transcript() -> impl Strategy<Value = Vec<Message>> {
    let left = prop_oneof![
        2 => Just(mark()),
        1 => Just(Message::user(vec![Block::text(DROPPED_MARK)])),
        2 => (0..300_usize).prop_map(|n| Message::assistant(format!("{COLLAPSED_PREFIX}{}", "x".repeat(n)))),
    ];
    (strategies::transcript(), vec((any::<Index>(), left), 0..4)).prop_map(|(mut messages, left)| {
        for (at, message) in left {
            messages.insert(at.index(messages.len() + 1), message);
        }
        messages
    })
}

/// Returns the first and the last prompt.
pub fn ends(messages: &[Message]) -> Vec<&Message> {
    let prompts: Vec<&Message> = messages.iter().filter(|message| is_prompt(message)).collect();
    prompts.first().into_iter().chain(prompts.last()).copied().collect()
}
