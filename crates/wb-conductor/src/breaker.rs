//! [`Breaker`] stops asking a model for a while after runs that did not help.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::report::{CompactionReport, Unchanged};

/// The runs in a row that did not help, after which no model is asked.
pub const BREAKER_AFTER: u32 = 2;

/// The runs that an open breaker lasts before a model is tried again.
pub const BREAKER_LASTS: u32 = 3;

/// A run that could ask a model, and so counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) force: bool,
    /// Is true if an open breaker kept it from asking.
    pub(crate) breaker_open: bool,
}

/// Counts the runs in a row that did not help; clones share the count.
///
/// After [`BREAKER_AFTER`] of them no model is asked for [`BREAKER_LASTS`] runs; then it is tried
/// again. A run that helps, forced or not, closes the breaker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breaker {
    n_useless: Arc<AtomicU32>,
}

impl Breaker {
    pub(crate) fn is_open(&self) -> bool {
        let since = self.n_useless.load(Ordering::Relaxed).checked_sub(BREAKER_AFTER);
        since.is_some_and(|since| since % (BREAKER_LASTS + 1) != BREAKER_LASTS)
    }

    /// Counts a run that an open breaker prevented.
    pub(crate) fn skip(&self) {
        self.n_useless.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a run, and notes in its report whether the breaker was open.
    pub(crate) fn record(&self, mut report: CompactionReport, run: Run) -> CompactionReport {
        if !(run.force && report.unchanged.is_some()) {
            self.count(&report, run.breaker_open);
        }
        report.breaker_open = run.breaker_open;
        report
    }

    /// A run without a model does not close the breaker, since it shows nothing about the model.
    fn count(&self, report: &CompactionReport, was_open: bool) {
        let helped = match &report.unchanged {
            None => report.irreducible.is_none() && report.fallback_reason().is_none() && !was_open,
            // No model was asked.
            Some(Unchanged::UnderBudget | Unchanged::Cancelled) => return,
            // A transcript that is edited each turn must not pay each turn.
            Some(Unchanged::PrefixChanged) if report.n_requests == 0 => return,
            Some(_) => false,
        };
        if helped {
            self.n_useless.store(0, Ordering::Relaxed);
        } else {
            self.n_useless.fetch_add(1, Ordering::Relaxed);
        }
    }
}
