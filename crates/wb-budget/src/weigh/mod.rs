//! Weighing: what a message costs in tokens, by heuristic.

pub mod json_len;
pub mod tariff;
pub mod anchor;
pub mod lineage;
pub mod three_level;

use wb_message::Message;

use self::tariff::Tariff;

/// Tells what a message costs; the seam behind which exact tokenizers stand.
pub trait Weigher: Send + Sync {
    /// Returns the weight of a message in tokens.
    fn weigh(&self, message: &Message) -> u64;
}

impl Weigher for Tariff {
    fn weigh(&self, message: &Message) -> u64 {
        self.message_tokens(message)
    }
}

/// Estimates one message in tokens under [`Tariff::SEED`].
pub fn estimate_message_tokens(message: &Message) -> u64 {
    Tariff::SEED.message_tokens(message)
}

/// Estimates a transcript in tokens under [`Tariff::SEED`]; an empty one is 0.
pub fn estimate_tokens(messages: &[Message]) -> u64 {
    messages.iter().map(estimate_message_tokens).sum()
}

/// Estimates a plain text in tokens, without any framing.
pub fn estimate_text(text: &str) -> u64 {
    Tariff::SEED.text_tokens(text)
}

/// Returns the cumulative tokens, one entry more than messages: entry `i` is the weight of `messages[..i]`.
pub fn prefix_tokens(messages: &[Message]) -> Vec<u64> {
    prefix_sums(messages.iter().map(estimate_message_tokens))
}

/// Returns the running sums of weights, from 0.
pub fn prefix_sums(weights: impl ExactSizeIterator<Item = u64>) -> Vec<u64> {
    let mut sums = Vec::with_capacity(weights.len() + 1);
    let mut total = 0;
    sums.push(total);
    sums.extend(weights.map(|weight| {
        total = u64::saturating_add(total, weight);
        total
    }));
    sums
}
