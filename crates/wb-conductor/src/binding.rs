//! The seam to an agent host: turns go in, turns come out.

use async_trait::async_trait;
use wb_message::{Origin, Turn};

use crate::bridge::{Projection, project};
use crate::report::CondenseReport;
use crate::runner::Runner;
use crate::settings::{CondenseOpts, CondenseSettings, CondenserDeps};

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
    /// Binds the engine with the seed's dependencies.
    pub fn new(deps: CondenserDeps) -> Self {
        Self::with_settings(CondenseSettings::from(deps))
    }

    /// Binds the engine with any settings.
    pub fn with_settings(settings: CondenseSettings) -> Self {
        Self { runner: Runner::new(settings) }
    }

    /// Condenses turns and tells what was done; indices and counts of the report are those of the projected
    /// messages.
    pub async fn condense_with_report(
        &self,
        turns: Vec<Turn>,
        opts: &CondenseOpts,
    ) -> (Vec<Turn>, CondenseReport) {
        let mut projection = project(turns);
        let report = self.runner.condense(&mut projection.messages, opts).await;
        (restore(projection, &report), report)
    }
}

fn restore(projection: Projection, report: &CondenseReport) -> Vec<Turn> {
    let n_before = report.messages_before;
    match &report.undo {
        Some(undo) => projection.restore(&undo.origins(n_before), |at| undo.replaced(at)),
        None => projection.restore(&(0..n_before).map(Origin::Kept).collect::<Vec<_>>(), |_| false),
    }
}

#[async_trait]
impl CondenseFn for WindowBudgetCondense {
    async fn condense(&self, messages: Vec<Turn>, opts: CondenseOpts) -> Vec<Turn> {
        self.condense_with_report(messages, &opts).await.0
    }
}
