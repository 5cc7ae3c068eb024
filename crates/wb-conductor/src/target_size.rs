//! A compaction to a given size: the budget that reaches it is searched.

use wb_budget::WeighedTranscript;
use wb_message::Message;

use crate::compactor::{Compactor, CondenseOpts, TargetBudget};
use crate::report::CompactionReport;

/// The deviation from the requested size at which the search ends.
const TOLERANCE: f64 = 0.01;
/// The most steps of a bisection.
const MAX_TRIES: usize = 12;

impl Compactor {
    /// Sets the budget by which the messages of a transcript weigh about `tokens`, the overhead not
    /// included, whatever the window and the policy are.
    ///
    /// Tail, digest and restored files have no caps then, only their shares. `reached` weighs a
    /// result, in units of the requested size: 1 is as requested. The search bisects local digests
    /// and takes the nearest; where the size jumps, restored files get less.
    #[must_use]
    pub fn with_target_size(
        self,
        tokens: u64,
        view: &WeighedTranscript<'_>,
        opts: &CondenseOpts,
        reached: impl Fn(&[Message], &CompactionReport) -> f64,
    ) -> Self {
        let opts = CondenseOpts { force: false, context_tokens: 0, ..opts.clone() };
        let mut search = Search { nearest: None };
        let try_out = |budget: TargetBudget| {
            let compactor = Self { target_budget: Some(budget), ..self.clone() };
            let mut messages: Vec<Message> = view.messages.iter().map(|it| (*it).clone()).collect();
            let report = match compactor.plan(view.clone(), &opts) {
                Ok(plan) => plan.without_guard().local().apply(&mut messages),
                Err(report) => *report,
            };
            // A transcript that stays as it is is no result.
            if report.is_changed() { reached(&messages, &report) } else { f64::INFINITY }
        };
        let overhead = self.overhead_tokens;
        let total = view.total_tokens().saturating_add(overhead) as f64;
        let all = |target| TargetBudget { target, restored: target };
        // Where the tail alone is too heavy, a budget much below the size takes from the digest.
        let (least, first) = (overhead.saturating_add(tokens / 2), overhead.saturating_add(tokens));
        let (least, first) = (least as f64, first as f64);
        let large =
            search.bisect((least, total.max(first)), first, |target| (all(target), try_out(all(target))));
        if search.is_missed() {
            let with = |restored| TargetBudget { target: large, restored };
            let (range, first) = ((0.0, large as f64), large as f64 / 2.0);
            search.bisect(range, first, |files| (with(files), try_out(with(files))));
        }
        Self { target_budget: search.nearest.map(|(_, budget)| budget), ..self }
    }
}

/// A bisection, with the nearest budget so far and its deviation.
struct Search {
    nearest: Option<(f64, TargetBudget)>,
}

impl Search {
    fn is_missed(&self) -> bool {
        self.nearest.as_ref().is_none_or(|(missed, _)| *missed > TOLERANCE)
    }

    /// Bisects a range until a value leads to the size; returns the least value that led above it.
    fn bisect(
        &mut self,
        (mut low, mut high): (f64, f64),
        first: f64,
        try_out: impl Fn(u64) -> (TargetBudget, f64),
    ) -> u64 {
        let mut value = first.min(high);
        for _ in 0..MAX_TRIES {
            let (budget, reached) = try_out(floor(value));
            let missed = (reached - 1.0).abs();
            if self.nearest.is_none_or(|(best, _)| missed < best) {
                self.nearest = Some((missed, budget));
            }
            if !self.is_missed() {
                break;
            }
            (low, high) = if reached < 1.0 { (value, high) } else { (low, value) };
            value = f64::midpoint(low, high);
        }
        floor(high)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is not negative")]
fn floor(limit: f64) -> u64 {
    limit as u64
}
