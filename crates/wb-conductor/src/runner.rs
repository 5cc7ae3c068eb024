//! The whole pipeline on an owned transcript: microcompact, cut, condense, rehydrate, splice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wb_message::Message;

use crate::prepare::{apply, prepare_owned, run};
use crate::report::{CondenseReport, Unchanged};
use crate::settings::{CondenseOpts, CondenseSettings, CondenserDeps};

/// Condenses a transcript in place and tells what was done.
///
/// Dropping the future before it is done leaves the transcript as it was.
pub async fn condense_in_place(
    messages: &mut Vec<Message>,
    settings: &CondenseSettings,
    opts: &CondenseOpts,
) -> CondenseReport {
    match prepare_owned(messages, settings, opts) {
        Err(report) => *report,
        Ok(prepared) => {
            let proposal = run(prepared).await;
            apply(messages, proposal)
        }
    }
}

/// Condenses a transcript and returns it; unchanged where nothing is to be done.
///
/// Without a card the automatic path folds whatever exceeds `keep_recent`; with one, the gate decides.
pub async fn condense_transcript(
    deps: &CondenserDeps,
    mut messages: Vec<Message>,
    opts: &CondenseOpts,
) -> Vec<Message> {
    condense_in_place(&mut messages, &CondenseSettings::from(deps.clone()), opts).await;
    messages
}

/// Runs that did not help, in a row, after which no model is asked any more.
pub const BREAKER_AFTER: u32 = 2;

/// Runs that an open breaker lasts before a model is tried again.
pub const BREAKER_LASTS: u32 = 3;

/// Settings with a memory: after [`BREAKER_AFTER`] runs in a row that did not help, no model is asked for
/// [`BREAKER_LASTS`] runs; then it is tried again. A run that helps, or a forced one that does, closes the breaker.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    settings: CondenseSettings,
    n_useless: Arc<AtomicU32>,
}

impl Runner {
    /// Starts with a closed breaker.
    pub fn new(settings: CondenseSettings) -> Self {
        Self { settings, n_useless: Arc::default() }
    }

    /// Tells whether the breaker is open.
    pub fn is_breaker_open(&self) -> bool {
        let since = self.n_useless.load(Ordering::Relaxed).checked_sub(BREAKER_AFTER);
        since.is_some_and(|since| since % (BREAKER_LASTS + 1) != BREAKER_LASTS)
    }

    /// Condenses a transcript in place; see [`condense_in_place`].
    pub async fn condense(&self, messages: &mut Vec<Message>, opts: &CondenseOpts) -> CondenseReport {
        let breaker_open = self.is_breaker_open() && !opts.force;
        let mut report = if breaker_open {
            let without_model = CondenseSettings { invoke: None, ..self.settings.clone() };
            condense_in_place(messages, &without_model, opts).await
        } else {
            condense_in_place(messages, &self.settings, opts).await
        };
        if !(opts.force && report.unchanged.is_some()) {
            self.learn(&report, breaker_open);
        }
        report.breaker_open = breaker_open;
        report
    }

    /// A run without a model tells nothing about the model, so it does not close the breaker.
    fn learn(&self, report: &CondenseReport, breaker_open: bool) {
        let helped = match &report.unchanged {
            None => report.irreducible.is_none() && report.degraded().is_none() && !breaker_open,
            // Nothing was asked of these, so they tell nothing.
            Some(Unchanged::UnderBudget | Unchanged::Cancelled | Unchanged::PrefixChanged) => return,
            Some(_) => false,
        };
        if helped {
            self.n_useless.store(0, Ordering::Relaxed);
        } else {
            self.n_useless.fetch_add(1, Ordering::Relaxed);
        }
    }
}
