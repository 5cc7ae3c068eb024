//! The usage tracker of the published crate, which the document does not tell of.

use wb_message::Message;

use super::estimate::{message_tokens, total_tokens};

/// What a provider counted for one request, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request that came from no cache.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request that were read from a cache.
    pub cache_read: u64,
    /// Tokens of the request that were written to a cache.
    pub cache_write: u64,
}

impl Usage {
    fn total(&self) -> u64 {
        let parts = [self.output, self.cache_read, self.cache_write];
        parts.into_iter().fold(self.input, u64::saturating_add)
    }
}

/// Anchors an estimate on the usage that was recorded last, by position.
///
/// Fault: it believes whatever it is told, and an index that points to another message after a compaction is not
/// noticed. Use the tracker of `wb-budget`, which checks usage and follows edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextTracker {
    last: Option<(u64, usize)>,
}

impl ContextTracker {
    /// Notes what a provider counted when the message of that index was complete; a count of 0 is passed over.
    pub fn record_usage(&mut self, usage: &Usage, index: usize) {
        let tokens = usage.total();
        if tokens > 0 {
            self.last = Some((tokens, index));
        }
    }

    /// Forgets what was counted.
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// Estimates a transcript in tokens: what was counted and the messages after it, or all messages.
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
