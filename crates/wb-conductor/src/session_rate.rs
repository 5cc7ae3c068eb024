//! The rate of a session: how many requests it has made, and what they added.

use wb_budget::{Prices, Prospect, Usage, Worth};

use crate::plan::Plan;

/// A part of the limit; what was not worth it is weighed again when as much was added.
const PART_AGAIN: u64 = 64;

/// Follows the requests of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    n_requests: u64,
    grown_tokens: u64,
    /// What the context held when it was sent last.
    sent_tokens: u64,
    /// What it held at all requests together.
    all_sent_tokens: u64,
    /// Whether the cache has outlived its time since then.
    pub(crate) is_cold: bool,
    /// What of it the provider has read from its cache or written to it.
    cached_tokens: u64,
    /// What the context held when a compaction was weighed last.
    weighed_at: u64,
}

impl Rate {
    /// Takes in a request that is about to be sent.
    pub(crate) fn request(&mut self, context_tokens: u64) {
        self.n_requests += 1;
        self.grown_tokens += context_tokens.saturating_sub(self.sent_tokens);
    }

    /// Takes in what was sent.
    pub(crate) fn sent(&mut self, context_tokens: u64) {
        (self.sent_tokens, self.is_cold) = (context_tokens, false);
        self.weighed_at = self.weighed_at.min(context_tokens);
        self.all_sent_tokens += context_tokens;
    }

    /// Takes in what was counted for the request that was sent.
    pub(crate) fn answered(&mut self, usage: &Usage) {
        self.is_cold = false;
        self.cached_tokens = usage.prompt_tokens() - usage.input_tokens;
    }

    /// Returns what of a prompt is in the cache if it begins as the last one did, in tokens. A provider that counts no writes has
    /// more of it.
    pub(crate) fn cached_tokens(&self) -> u64 {
        if self.is_cold { 0 } else { self.cached_tokens }
    }

    /// Tells whether it is time to weigh a compaction of a context below its limit.
    pub(crate) fn is_due(&mut self, context_tokens: u64, limit_tokens: u64) -> bool {
        let has_grown = context_tokens >= self.weighed_at.saturating_add(limit_tokens / PART_AGAIN);
        let due = self.known(context_tokens, limit_tokens).is_near() && (has_grown || self.is_cold);
        if due {
            self.weighed_at = context_tokens;
        }
        due
    }

    /// Weighs what a plan would do.
    pub(crate) fn weigh(&self, plan: &Plan<'_>, limit_tokens: u64, prices: &Prices) -> Worth {
        let tokens = plan.report.context_tokens;
        let beside = tokens.saturating_sub(plan.report.tokens_before);
        let compacted = tokens.saturating_sub(plan.tokens_saved());
        let stable = plan.stable_tokens().saturating_add(beside);
        Prospect { compacted, stable, ..self.known(tokens, limit_tokens) }.weigh(prices)
    }

    /// Returns what is known before anything is planned.
    fn known(&self, tokens: u64, limit: u64) -> Prospect {
        let growth = self.grown_tokens / self.n_requests.max(1);
        let (n_requests, is_cold, sent) = (self.n_requests, self.is_cold, self.all_sent_tokens);
        Prospect { tokens, compacted: tokens, stable: tokens, limit, is_cold, n_requests, growth, sent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_what_came_in_and_not_what_a_compaction_took_away() {
        let mut rate = Rate::default();
        for (before, after) in [(1_000, 1_000), (3_000, 500), (2_500, 2_500)] {
            rate.request(before);
            rate.sent(after);
        }
        let known = rate.known(2_500, 9_000);
        assert_eq!((known.n_requests, known.growth, known.sent), (3, 5_000 / 3, 4_000));
    }

    #[test]
    fn what_was_weighed_is_weighed_again_when_more_has_come_or_the_cache_went_cold() {
        let mut rate = Rate::default();
        (0..100).for_each(|_| rate.request(5_900));
        assert!(rate.is_due(5_900, 6_400) && !rate.is_due(5_950, 6_400) && rate.is_due(6_000, 6_400));
        rate.is_cold = true;
        assert!(rate.is_due(6_000, 6_400) && !rate.is_due(4_000, 6_400));
    }
}
