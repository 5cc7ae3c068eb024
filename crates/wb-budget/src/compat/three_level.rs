//! The usage tracker of seed 1 as its published crate answers; a [`Ledger`](crate::Ledger) does better.

use wb_message::Message;

use crate::card::Usage;
use crate::weigh::three_level::{message_tokens, total_tokens};

/// Anchors an estimate on the usage that was recorded last, by position, and believes whatever it is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextTracker {
    last: Option<(u64, usize)>,
}

impl ContextTracker {
    /// Notes what a provider counted when the message of that index was complete; a count of 0 is passed over.
    pub fn record_usage(&mut self, usage: &Usage, index: usize) {
        let tokens = usage.context_tokens();
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
                messages[index + 1..].iter().map(message_tokens).fold(tokens, u64::saturating_add)
            }
            _ => total_tokens(messages),
        }
    }
}
