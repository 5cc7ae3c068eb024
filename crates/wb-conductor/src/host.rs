//! The seam to an agent host: turns go in, turns come out.

use async_trait::async_trait;
use wb_message::Turn;

use crate::compactor::{Compactor, CondenseOpts, CondenserDeps};
use crate::report::CompactionReport;
use crate::runner::Runner;
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
/// Turns are projected to messages and back without loss: untouched ones are moved, pairs stay pairs.
#[derive(Clone, Debug, Default)]
pub struct WindowBudgetCondense {
    runner: Runner,
}

impl WindowBudgetCondense {
    /// Binds the engine with what a condenser needs.
    pub fn new(deps: CondenserDeps) -> Self {
        Self::with_settings(Compactor::from(deps))
    }

    /// Binds the engine with any settings.
    pub fn with_settings(settings: Compactor) -> Self {
        Self { runner: Runner::new(settings) }
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
        self.runner.compact_turns(turns, opts).await
    }
}

#[async_trait]
impl CondenseFn for WindowBudgetCondense {
    async fn condense(&self, mut messages: Vec<Turn>, opts: CondenseOpts) -> Vec<Turn> {
        self.compact_in_place(&mut messages, &opts).await;
        messages
    }
}
