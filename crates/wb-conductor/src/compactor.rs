//! What a host decides: the model, the budget, and what the engine may assume.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, ModelCard, PolicyError, Prices, TokenCounter, TokenHeuristic,
};
use wb_facts::Facts;
use wb_invoke::ModelInvoker;
use wb_message::{Conversation, Message, ToolVocabulary};
use wb_summarize::Summarizer;

use crate::pipeline::{Pipeline, Trigger};
use crate::plan::{Plan, Ready};

pub use wb_invoke::timer::DEFAULT_TIMEOUT;

/// What one compaction is asked for.
#[derive(Clone, Debug, Default)]
pub struct CondenseOpts {
    /// Folds everything before the last prompt, whatever the gate says (a manual `/compact`).
    pub force: bool,
    /// The model that the invoker is asked to use.
    pub model: Option<String>,
    /// Tokens that the context really holds now, as the provider reported; 0 where unknown. A figure of more than a
    /// sixteenth above the window is refused. What it has over the estimate counts as fixed; a host whose estimates are
    /// far off sets `ContextTracker::calibrated` as the counter. An [`AgentContext`](crate::AgentContext) knows better:
    /// what it was told by [`anchor`](crate::AgentContext::anchor).
    pub context_tokens: u64,
    /// What the digest is to hold besides, for a model; they take the place of the summarizer's own
    /// [`instructions`](Summarizer::instructions).
    pub instructions: Option<String>,
    /// The messages whose body stays as it is, ascending: what holds them can hold no other one.
    pub fixed: Cow<'static, [usize]>,
    /// Cancels this compaction, and no other; the input comes back as it was.
    pub cancel: Option<CancellationToken>,
}

impl CondenseOpts {
    /// Returns whether a gate decides, or the host has asked.
    pub(crate) fn trigger(&self) -> Trigger {
        if self.force { Trigger::Forced } else { Trigger::Auto }
    }

    /// Returns the token that cancels this compaction; nobody has it where the host gave none.
    pub(crate) fn cancel_token(&self) -> CancellationToken {
        self.cancel.clone().unwrap_or_default()
    }

    /// Makes a change without a model, which the host may cancel until it is applied.
    pub(crate) fn local(&self, plan: Plan<'_>) -> Ready {
        plan.local().cancelled_by(self.cancel_token())
    }
}

/// What a condenser needs; all of it is optional.
#[derive(Clone, Default)]
pub struct CondenserDeps {
    /// The model; none gives local digests.
    pub invoke: Option<Arc<dyn ModelInvoker>>,
    /// The card of the model whose window is budgeted; none means that there is no window to measure.
    pub card: Option<ModelCard>,
    /// The policy; [`AUTO_CONDENSE_POLICY`] where none is given.
    pub policy: Option<BudgetPolicy>,
}

impl fmt::Debug for CondenserDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CondenserDeps");
        shown.field("invoke", &self.invoke.is_some()).field("card", &self.card).field("policy", &self.policy);
        shown.finish()
    }
}

/// Everything that a host can decide, with defaults that work without a model, a key or a network.
#[derive(Clone)]
pub struct Compactor {
    pub(crate) summarizer: Option<Summarizer>,
    pub(crate) card: Option<ModelCard>,
    pub(crate) policy: BudgetPolicy,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) overhead_tokens: u64,
    /// The most tokens of a digest, where that is less than the budget's own.
    digest_tokens: u64,
    pub(crate) pipeline: Pipeline,
}

impl Default for Compactor {
    fn default() -> Self {
        Self {
            summarizer: None,
            card: None,
            policy: AUTO_CONDENSE_POLICY,
            counter: Arc::new(TokenHeuristic::DEFAULT),
            overhead_tokens: 0,
            digest_tokens: u64::MAX,
            pipeline: Pipeline::default(),
        }
    }
}

impl fmt::Debug for Compactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Compactor");
        shown.field("summarizer", &self.summarizer).field("card", &self.card).field("policy", &self.policy);
        shown.field("overhead_tokens", &self.overhead_tokens).field("pipeline", &self.pipeline);
        shown.finish_non_exhaustive()
    }
}

impl From<CondenserDeps> for Compactor {
    fn from(deps: CondenserDeps) -> Self {
        let CondenserDeps { invoke, card, policy } = deps;
        let summarizer = invoke.map(Summarizer::new);
        Self { summarizer, card, policy: policy.unwrap_or(AUTO_CONDENSE_POLICY), ..Self::default() }
    }
}

impl Compactor {
    /// Starts from the defaults: no model, no window, [`AUTO_CONDENSE_POLICY`], [`Pipeline::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the model that writes digests, asked with the default options.
    #[must_use]
    pub fn invoke(self, invoke: Arc<dyn ModelInvoker>) -> Self {
        self.summarizer(Summarizer::new(invoke))
    }

    /// Sets who writes digests, and how it is asked.
    #[must_use]
    pub fn summarizer(mut self, summarizer: Summarizer) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// Asks no model; digests are taken from the transcript itself.
    #[must_use]
    pub fn without_model(mut self) -> Self {
        self.summarizer = None;
        self
    }

    /// Sets the card of the model whose window is budgeted; a window of 0 is an unknown one.
    #[must_use]
    pub fn card(mut self, card: ModelCard) -> Self {
        self.card = Some(card);
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: BudgetPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets what messages are weighed with.
    #[must_use]
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Sets the tokens of what is sent beside the transcript: system prompt and tool schemas.
    #[must_use]
    pub fn overhead_tokens(mut self, overhead_tokens: u64) -> Self {
        self.overhead_tokens = overhead_tokens;
        self
    }

    /// Weighs what is sent beside the transcript: the system prompt and the tools of a conversation, not its turns.
    #[must_use]
    pub fn overhead_of(self, conversation: &Conversation) -> Self {
        let overhead_tokens = self.counter.overhead(conversation);
        self.overhead_tokens(overhead_tokens)
    }

    /// Limits a digest, in tokens.
    #[must_use]
    pub fn digest_tokens(mut self, digest_tokens: u64) -> Self {
        self.digest_tokens = digest_tokens;
        self
    }

    /// Sets the steps.
    #[must_use]
    pub fn pipeline(mut self, pipeline: Pipeline) -> Self {
        self.pipeline = pipeline;
        self
    }

    /// Sets how the agent's tools are called.
    #[must_use]
    pub fn vocabulary(mut self, vocabulary: ToolVocabulary) -> Self {
        self.pipeline.vocabulary = vocabulary;
        self
    }

    /// Limits how many files are given back.
    #[must_use]
    pub fn max_restored(mut self, n: usize) -> Self {
        self.pipeline = self.pipeline.max_restored(n);
        self
    }

    /// Collects the facts of a whole session with the vocabulary of the steps.
    pub fn collect_facts(&self, messages: &[Message]) -> Facts {
        Facts::of(messages, &self.pipeline.vocabulary)
    }

    /// Returns what messages are weighed with.
    pub fn token_counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// Resolves the budget.
    pub fn budget(&self) -> Result<Budget, PolicyError> {
        let mut budget = Budget::resolve(self.card.as_ref(), &self.policy, self.overhead_tokens)?;
        budget.digest = budget.digest.min(self.digest_tokens);
        Ok(budget)
    }

    /// Returns what the model costs, if its card tells that.
    pub(crate) fn prices(&self) -> Option<&Prices> {
        self.card.as_ref()?.prices.as_ref()
    }

    /// Returns the summarizer that one compaction asks.
    pub(crate) fn summarizer_for(&self, opts: &CondenseOpts) -> Option<Summarizer> {
        let summarizer = self.summarizer.clone()?;
        let summarizer = match opts.instructions.as_deref() {
            Some(instructions) => summarizer.instructions(Some(instructions)),
            None => summarizer,
        };
        Some(if opts.model.is_some() { summarizer.model(opts.model.clone()) } else { summarizer })
    }
}
