//! Slicing: where a transcript is cut.

pub mod token_tail;
pub mod frontier;

use wb_message::{Message, Pairing};

pub use frontier::{CompactionCut, plan_compaction};
pub use token_tail::{CondensePlan, last_user_turn_start, plan_slice};

/// A transcript as planners see it: messages, running sums of their weights, and their pairing.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The messages.
    pub messages: &'a [Message],
    /// Running sums of the weights in tokens, one entry more than messages.
    pub prefix: &'a [u64],
    /// Which result answers which call.
    pub pairing: &'a Pairing,
}

impl View<'_> {
    /// Returns the weight of one message in tokens.
    pub fn weight(&self, at: usize) -> u64 {
        self.prefix[at + 1] - self.prefix[at]
    }

    /// Returns the weight of the whole transcript in tokens.
    pub fn total_tokens(&self) -> u64 {
        self.prefix.last().copied().unwrap_or(0)
    }

    /// Returns the weight of everything from `cut` on, in tokens.
    pub fn tail_tokens(&self, cut: usize) -> u64 {
        self.total_tokens() - self.prefix[cut]
    }
}

/// Plans the cut whose tail weighs at most `tail_tokens`, is not empty and separates no pair.
///
/// The first legal cut at or after the threshold; where that would keep nothing, the last legal cut before it.
/// 0 means that nothing can be condensed.
pub fn plan_cut(prefix: &[u64], pairing: &Pairing, tail_tokens: u64) -> usize {
    let total = prefix.last().copied().unwrap_or(0);
    if total <= tail_tokens {
        return 0;
    }
    let start = prefix.partition_point(|&sum| sum < total - tail_tokens);
    let backward = || pairing.legal_at_or_before(start);
    pairing.legal_at_or_after(start).or_else(backward).unwrap_or(0)
}
