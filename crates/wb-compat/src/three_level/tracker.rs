//! The usage tracker of the published crate, which the document does not mention.

use wb_message::Message;

use super::estimate::{message_tokens, total_tokens};

/// The usage of one request as counted by a provider, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request outside the cache.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request read from a cache.
    pub cache_read: u64,
    /// Tokens of the request written to a cache.
    pub cache_write: u64,
}

impl Usage {
    fn total(&self) -> u64 {
        let parts = [self.output, self.cache_read, self.cache_write];
        parts.into_iter().fold(self.input, u64::saturating_add)
    }
}

/// Anchors an estimate on the last recorded usage, by position.
///
/// Fault: it accepts any usage, and does not notice an index that points to another message after a
/// compaction. Use the tracker of `wb-budget`, which checks usage and follows edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextTracker {
    last: Option<(u64, usize)>,
}

impl ContextTracker {
    /// Records the usage when the message at `index` was complete; a usage of 0 is ignored.
    pub fn record_usage(&mut self, usage: &Usage, index: usize) {
        let tokens = usage.total();
        if tokens > 0 {
            self.last = Some((tokens, index));
        }
    }

    /// Forgets the recorded usage.
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// Estimates a transcript in tokens: the recorded usage and the messages after it, or all
    /// messages.
    pub fn estimate(&self, messages: &[Message]) -> u64 {
        match self.last {
            Some((tokens, index)) if index < messages.len() => {
                let later = messages[index + 1..].iter().map(|message| message_tokens(message) as u64);
                later.fold(tokens, u64::saturating_add)
            }
            _ => total_tokens(messages) as u64,
        }
    }
}
