//! The names of document 0, as thin covers over the engine: `condense_transcript`,
//! `create_condenser`, `condense`, and `CondenseFn` with its two implementations.
//!
//! A host of document 0 takes a result only if it has strictly fewer messages. Under these names a
//! result has fewer, or it is the input.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy, ModelCard};
use wb_invoke::ModelInvoker;
use wb_message::{Message, Turn};
use wb_summarize::{CondenseScope, SummarizeDeps, Summarizer, Summary, summarize};

use crate::breaker::{Breaker, Run};
use crate::compact::{compact_in_place, compact_turns};
use crate::compactor::{Compactor, CondenseOpts};
use crate::pipeline::Pipeline;
use crate::report::CompactionReport;
use crate::turns::TurnsUndo;

/// The dependencies of a condenser; all of them are optional.
#[derive(Clone, Default)]
pub struct CondenserDeps {
    /// The model; without one digests are local.
    pub invoke: Option<Arc<dyn ModelInvoker>>,
    /// The card of the model whose window is budgeted; without one there is no window to measure.
    pub card: Option<ModelCard>,
    /// The policy; [`AUTO_CONDENSE_POLICY`] by default.
    pub policy: Option<BudgetPolicy>,
}

impl fmt::Debug for CondenserDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CondenserDeps");
        shown.field("invoke", &self.invoke.is_some()).field("card", &self.card).field("policy", &self.policy);
        shown.finish()
    }
}

impl From<CondenserDeps> for Compactor {
    fn from(deps: CondenserDeps) -> Self {
        let CondenserDeps { invoke, card, policy } = deps;
        let summarizer = invoke.map(Summarizer::new);
        Self { summarizer, card, policy: policy.unwrap_or(AUTO_CONDENSE_POLICY), ..Self::default() }
    }
}

/// Condenses a transcript: the result has fewer messages, or it is the input.
///
/// Without a card the automatic path folds what exceeds `keep_recent`; with one, the gate decides.
pub async fn condense_transcript(
    deps: &CondenserDeps,
    mut messages: Vec<Message>,
    opts: &CondenseOpts,
) -> Vec<Message> {
    let settings = Compactor { requires_fewer: true, ..Compactor::from(deps.clone()) };
    compact_in_place(&mut messages, &settings, opts).await;
    messages
}

/// An async function from a transcript to a condensed one.
pub type Condenser = Box<dyn Fn(Vec<Message>) -> BoxFuture<'static, Vec<Message>> + Send + Sync>;

/// Builds a condenser: if the transcript is over the card's budget, its head becomes one digest.
///
/// Without a card, or with one without a window, it returns its input. It neither clears tool
/// results nor restores files; [`condense_transcript`] does.
pub fn create_condenser(deps: CondenserDeps) -> Condenser {
    let settings =
        Compactor { requires_fewer: true, ..Compactor::from(deps).pipeline(Pipeline::digest_only()) };
    Box::new(move |mut messages| {
        let settings = settings.clone();
        async move {
            if settings.card.is_some() {
                compact_in_place(&mut messages, &settings, &CondenseOpts::default()).await;
            }
            messages
        }
        .boxed()
    })
}

/// Condenses messages into one digest; the scope is always [`CondenseScope::Session`].
pub async fn condense(messages: &[Message], mut deps: SummarizeDeps) -> Summary {
    deps.scope = CondenseScope::Session;
    summarize(messages, deps).await
}

/// Condenses a host's turns.
#[async_trait]
pub trait CondenseFn: Send + Sync {
    /// Returns fewer turns, or the given ones.
    async fn condense(&self, messages: Vec<Turn>, opts: CondenseOpts) -> Vec<Turn>;
}

const _: fn(&dyn CondenseFn) = |_| ();

/// Condenses nothing: the default of a host until it binds an engine.
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
/// Turns become messages and turns again without loss: unchanged ones are moved, pairs stay pairs.
/// After [`BREAKER_AFTER`](crate::BREAKER_AFTER) runs in a row that did not help, no model is asked
/// for [`BREAKER_LASTS`](crate::BREAKER_LASTS) runs; then it is tried again. Clones share that
/// count.
#[derive(Clone, Debug, Default)]
pub struct WindowBudgetCondense {
    settings: Compactor,
    breaker: Breaker,
}

impl WindowBudgetCondense {
    /// Binds the engine with the dependencies of a condenser.
    pub fn new(deps: CondenserDeps) -> Self {
        Self::with_settings(Compactor::from(deps))
    }

    /// Binds the engine with any settings.
    pub fn with_settings(settings: Compactor) -> Self {
        Self { settings, breaker: Breaker::default() }
    }

    /// Condenses turns in place as [`compact_turns`] does, with the breaker; the result may have as
    /// many turns as before, with shorter bodies. Indices and counts of the report are those of the
    /// projected messages.
    pub async fn compact_in_place(
        &self,
        turns: &mut Vec<Turn>,
        opts: &CondenseOpts,
    ) -> (CompactionReport, Option<TurnsUndo>) {
        self.compact_with(&self.settings, turns, opts).await
    }

    async fn compact_with(
        &self,
        settings: &Compactor,
        turns: &mut Vec<Turn>,
        opts: &CondenseOpts,
    ) -> (CompactionReport, Option<TurnsUndo>) {
        let breaker_open = self.is_breaker_open() && !opts.force;
        let without_model = breaker_open.then(|| settings.clone().without_model());
        let settings = without_model.as_ref().unwrap_or(settings);
        let (report, undo) = compact_turns(turns, settings, opts).await;
        (self.breaker.record(report, Run { force: opts.force, breaker_open }), undo)
    }

    /// Returns whether no model is asked, since runs in a row did not help.
    pub fn is_breaker_open(&self) -> bool {
        self.breaker.is_open()
    }
}

#[async_trait]
impl CondenseFn for WindowBudgetCondense {
    async fn condense(&self, mut messages: Vec<Turn>, opts: CondenseOpts) -> Vec<Turn> {
        let settings = Compactor { requires_fewer: true, ..self.settings.clone() };
        self.compact_with(&settings, &mut messages, &opts).await;
        messages
    }
}
