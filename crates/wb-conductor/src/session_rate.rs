//! [`SessionRate`]: the requests of a session, and the tokens that each added. It weighs a
//! compaction below the limit by prices.

use wb_budget::{Prices, Prospect, Usage, Worth};

use crate::plan::Plan;

/// The part of the limit that must be added before a compaction is weighed again.
const REWEIGH_PART: u64 = 64;

/// The figures of a session's requests so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionRate {
    n_requests: u64,
    grown_tokens: u64,
    /// The context in the last request.
    sent_tokens: u64,
    /// The sum of the contexts in all requests.
    all_sent_tokens: u64,
    /// Is true if the cache has expired since then.
    pub(crate) is_cold: bool,
    /// The part of it that the provider read from its cache or wrote to it.
    cached_tokens: u64,
    /// The context when a compaction was weighed last.
    weighed_at: u64,
}

impl SessionRate {
    /// Counts a request before it is compacted and sent.
    pub(crate) fn on_request(&mut self, context_tokens: u64) {
        self.n_requests += 1;
        self.grown_tokens += context_tokens.saturating_sub(self.sent_tokens);
    }

    /// Counts the context that is sent.
    pub(crate) fn on_sent(&mut self, context_tokens: u64) {
        (self.sent_tokens, self.is_cold) = (context_tokens, false);
        self.weighed_at = self.weighed_at.min(context_tokens);
        self.all_sent_tokens += context_tokens;
    }

    /// Records the usage of the request.
    pub(crate) fn on_answer(&mut self, usage: &Usage) {
        self.is_cold = false;
        self.cached_tokens = usage.prompt_tokens() - usage.input_tokens;
    }

    /// Returns the tokens of a prompt in the cache if it begins like the last one. A provider that
    /// counts no writes has more of them.
    pub(crate) fn cached_tokens(&self) -> u64 {
        if self.is_cold { 0 } else { self.cached_tokens }
    }

    /// Returns whether it is time to weigh a compaction of a context below its limit.
    pub(crate) fn is_due(&mut self, context_tokens: u64, limit_tokens: u64) -> bool {
        let has_grown = context_tokens >= self.weighed_at.saturating_add(limit_tokens / REWEIGH_PART);
        let due = self.prospect(context_tokens, limit_tokens).is_near() && (has_grown || self.is_cold);
        if due {
            self.weighed_at = context_tokens;
        }
        due
    }

    /// Weighs the effect of a plan.
    pub(crate) fn weigh(&self, plan: &Plan<'_>, limit_tokens: u64, prices: &Prices) -> Worth {
        let tokens = plan.report.context_tokens;
        let overhead = tokens.saturating_sub(plan.report.tokens_before);
        let compacted = tokens.saturating_sub(plan.tokens_saved());
        let stable = plan.stable_tokens().saturating_add(overhead);
        Prospect { compacted, stable, ..self.prospect(tokens, limit_tokens) }.weigh(prices)
    }

    /// Returns the prospect before anything is planned.
    fn prospect(&self, tokens: u64, limit: u64) -> Prospect {
        let growth = self.grown_tokens / self.n_requests.max(1);
        let (n_requests, is_cold, sent) = (self.n_requests, self.is_cold, self.all_sent_tokens);
        Prospect { tokens, compacted: tokens, stable: tokens, limit, is_cold, n_requests, growth, sent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_ignores_the_tokens_that_a_compaction_removed() {
        let mut rate = SessionRate::default();
        for (before, after) in [(1_000, 1_000), (3_000, 500), (2_500, 2_500)] {
            rate.on_request(before);
            rate.on_sent(after);
        }
        let known = rate.prospect(2_500, 9_000);
        assert_eq!((known.n_requests, known.growth, known.sent), (3, 5_000 / 3, 4_000));
    }

    #[test]
    fn a_rate_weighs_again_after_growth_or_a_cold_cache() {
        let mut rate = SessionRate::default();
        (0..100).for_each(|_| rate.on_request(5_900));
        assert!(rate.is_due(5_900, 6_400) && !rate.is_due(5_950, 6_400) && rate.is_due(6_000, 6_400));
        rate.is_cold = true;
        assert!(rate.is_due(6_000, 6_400) && !rate.is_due(4_000, 6_400));
    }
}
