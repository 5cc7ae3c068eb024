//! The rate of a session: how many requests it has made, and what they added.

use wb_budget::{Prices, Prospect, Worth};

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
    /// Whether the cache has outlived its time since then.
    pub(crate) is_cold: bool,
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
    }

    /// Tells whether it is time to weigh a compaction of a context below its limit.
    pub(crate) fn is_due(&mut self, context_tokens: u64, limit_tokens: u64) -> bool {
        let has_grown = context_tokens >= self.weighed_at.saturating_add(limit_tokens / PART_AGAIN);
        let due = context_tokens >= Prospect::floor(limit_tokens) && (has_grown || self.is_cold);
        if due {
            self.weighed_at = context_tokens;
        }
        due
    }

    /// Weighs what a plan would do.
    pub(crate) fn weigh(&self, plan: &Plan<'_>, limit_tokens: u64, prices: &Prices) -> Worth {
        let tokens = plan.report.context_tokens;
        let beside = tokens.saturating_sub(plan.report.tokens_before);
        let known = Prospect {
            tokens,
            compacted: tokens.saturating_sub(plan.tokens_saved()),
            stable: plan.stable_tokens().saturating_add(beside),
            limit: limit_tokens,
            is_cold: self.is_cold,
            n_requests: self.n_requests,
            growth: self.grown_tokens / self.n_requests.max(1),
        };
        known.weigh(prices)
    }
}
