//! Slicing: planning the cut of a transcript.

pub mod token_tail;

use wb_message::Pairing;

pub use token_tail::{CondensePlan, last_user_turn_start, plan_slice};

/// Plans a cut that separates no pair and leaves a tail of at most `tail_tokens`, which is never empty.
///
/// It is the first legal cut at or after the threshold; if that would keep nothing, the last legal cut before it. 0
/// means that nothing can be condensed.
pub fn plan_cut(prefix: &[u64], pairing: &Pairing, tail_tokens: u64) -> usize {
    let total = prefix.last().copied().unwrap_or(0);
    if total <= tail_tokens {
        return 0;
    }
    let start = prefix.partition_point(|&sum| sum < total - tail_tokens);
    pairing.snap(start)
}
