//! The seam to an agent host: turns go in, turns come out.

use async_trait::async_trait;
use wb_message::Turn;

use crate::breaker::Breaker;
use crate::compact::compact_turns;
use crate::compactor::{Compactor, CondenseOpts, CondenserDeps};
use crate::report::CompactionReport;
use crate::turns::TurnsUndo;

/// Condenses a host's turns.
#[async_trait]
pub trait CondenseFn: Send + Sync {
    /// Returns the condensed turns, or the given ones where nothing is to be done.
    async fn condense(&self, messages: Vec<Turn>, opts: CondenseOpts) -> Vec<Turn>;
}

const _: fn(&dyn CondenseFn) = |_| ();

/// Condenses nothing: what a host has until it binds an engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdentityCondense;

#[async_trait]
impl CondenseFn for IdentityCondense {
    async fn condense(&self, messages: Vec<Turn>, _: CondenseOpts) -> Vec<Turn> {
        messages
    }
}

/// Condenses a host's turns with the whole pipeline.
///
/// Turns are projected to messages and back without loss: untouched ones are moved, pairs stay pairs. After
/// [`BREAKER_AFTER`](crate::BREAKER_AFTER) runs in a row that did not help, no model is asked for
/// [`BREAKER_LASTS`](crate::BREAKER_LASTS) runs; then it is tried again. Clones share that memory.
#[derive(Clone, Debug, Default)]
pub struct WindowBudgetCondense {
    settings: Compactor,
    breaker: Breaker,
}

impl WindowBudgetCondense {
    /// Binds the engine with what a condenser needs.
    pub fn new(deps: CondenserDeps) -> Self {
        Self::with_settings(Compactor::from(deps))
    }

    /// Binds the engine with any settings.
    pub fn with_settings(settings: Compactor) -> Self {
        Self { settings, breaker: Breaker::default() }
    }

    /// Condenses turns in place and tells what was done; indices and counts of the report are those of the messages
    /// that the turns are taken apart into.
    ///
    /// The result never has more turns than before. Dropping the future before it is done leaves the turns as they were.
    pub async fn compact_in_place(
        &self,
        turns: &mut Vec<Turn>,
        opts: &CondenseOpts,
    ) -> (CompactionReport, Option<TurnsUndo>) {
        let breaker_open = self.is_breaker_open() && !opts.force;
        let without_model = breaker_open.then(|| self.settings.clone().without_model());
        let settings = without_model.as_ref().unwrap_or(&self.settings);
        let (report, undo) = compact_turns(turns, settings, opts).await;
        (self.breaker.done(report, opts, breaker_open), undo)
    }

    /// Tells whether no model is asked, since runs in a row did not help.
    pub fn is_breaker_open(&self) -> bool {
        self.breaker.is_open()
    }
}

#[async_trait]
impl CondenseFn for WindowBudgetCondense {
    async fn condense(&self, mut messages: Vec<Turn>, opts: CondenseOpts) -> Vec<Turn> {
        self.compact_in_place(&mut messages, &opts).await;
        messages
    }
}
