//! [`Compactor`] holds the decisions of a host: model, budget, counter and steps. [`CondenseOpts`]
//! are the options of one compaction.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, ModelCard, PolicyError, Prices, TokenCounter, TokenHeuristic,
    WeighedTranscript,
};
use wb_facts::Facts;
use wb_message::{Conversation, Message, ToolVocabulary};
use wb_summarize::Summarizer;

use crate::pipeline::{Pipeline, PlanInput};
use crate::plan::Plan;
use crate::ready::Ready;
use crate::report::CompactionReport;
use crate::step::Trigger;
use crate::target_size::{TargetBudget, is_reached, nearest_budget};

pub use wb_invoke::timer::DEFAULT_TIMEOUT;

/// The options of one compaction.
#[derive(Clone, Debug, Default)]
pub struct CondenseOpts {
    /// Folds everything before the last prompt and the reply that it answers, whatever the gate
    /// says (a manual `/compact`).
    pub force: bool,
    /// Forces it because the provider refused the transcript for its length: whatever it saves is
    /// worth it.
    pub overflow: bool,
    /// The model that the invoker is asked to use.
    pub model: Option<String>,
    /// The tokens in the context as the provider reported them; 0 if unknown. A figure of more than
    /// a sixteenth above the window is refused. The difference to the estimate counts as fixed; a
    /// host with poor estimates sets `ContextTracker::calibrated` as the counter. An
    /// [`AgentContext`](crate::AgentContext) ignores it in favour of
    /// [`anchor`](crate::AgentContext::anchor).
    pub context_tokens: u64,
    /// Instructions to a model about the contents of the digest; they replace the summarizer's
    /// [`instructions`](Summarizer::instructions).
    pub instructions: Option<String>,
    /// The messages whose body cannot change, ascending.
    pub fixed: Cow<'static, [usize]>,
    /// The messages that stay or go with the one before them, ascending: their session has both in
    /// one record.
    pub joined: Cow<'static, [usize]>,
    /// The facts of a whole session, which ends with the transcript's last message. Without them a
    /// digest is written from the newest messages; an [`AgentContext`](crate::AgentContext)
    /// collects them itself.
    pub facts: Option<Arc<Facts>>,
    /// Cancels this compaction, and no other; the input is unchanged.
    pub cancel: Option<CancellationToken>,
}

impl CondenseOpts {
    pub(crate) fn trigger(&self) -> Trigger {
        match (self.overflow, self.force) {
            (true, _) => Trigger::Overflow,
            (false, true) => Trigger::Forced,
            (false, false) => Trigger::Auto,
        }
    }

    /// Makes a change without a model, which the host may cancel until it is applied.
    pub(crate) fn local(&self, plan: Plan<'_>) -> Ready {
        plan.local().with_cancel(self.cancel.clone().unwrap_or_default())
    }
}

/// All decisions of a host, with defaults that need no model, key or network.
#[derive(Clone)]
pub struct Compactor {
    pub(crate) summarizer: Option<Summarizer>,
    pub(crate) card: Option<ModelCard>,
    pub(crate) policy: BudgetPolicy,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) overhead_tokens: u64,
    /// The most tokens of a digest, if that is less than the budget allows.
    pub(crate) digest_tokens: u64,
    /// The budget that [`Self::with_target_size`] found, in place of the window's.
    pub(crate) target_budget: Option<TargetBudget>,
    pub(crate) pipeline: Pipeline,
    /// Requires results with fewer messages, or turns, than before.
    pub(crate) requires_fewer: bool,
    /// Replaces credentials in digests by marks.
    pub(crate) redacts: bool,
    /// The tool with which the model looks up what is folded.
    pub(crate) recall_tool: Option<Arc<str>>,
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
            target_budget: None,
            pipeline: Pipeline::default(),
            requires_fewer: false,
            redacts: true,
            recall_tool: None,
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

impl Compactor {
    /// Starts from the defaults: no model, no window, [`AUTO_CONDENSE_POLICY`],
    /// [`Pipeline::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the summarizer: the model that writes digests, or a [`Summarizer`] with more options.
    #[must_use]
    pub fn summarizer(mut self, summarizer: impl Into<Summarizer>) -> Self {
        self.summarizer = Some(summarizer.into());
        self
    }

    /// Asks no model; digests are built from the transcript itself.
    #[must_use]
    pub(crate) fn without_model(mut self) -> Self {
        self.summarizer = None;
        self
    }

    /// Sets whether credentials in digests are replaced by marks, which is the default; the
    /// original stays in the session.
    #[must_use]
    pub fn redact(self, redacts: bool) -> Self {
        Self { redacts, ..self }
    }

    /// Names the tool with which the model looks up what is folded. Digests close with it, and
    /// restored files and lines take at most 2,000 tokens: they can be looked up.
    #[must_use]
    pub fn recall_tool(self, tool: impl Into<Arc<str>>) -> Self {
        Self { recall_tool: Some(tool.into()), ..self }
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

    /// Sets the counter that weighs messages.
    #[must_use]
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Sets the tokens that a request has in addition to the transcript: system prompt and tool
    /// schemas.
    #[must_use]
    pub fn overhead_tokens(mut self, overhead_tokens: u64) -> Self {
        self.overhead_tokens = overhead_tokens;
        self
    }

    /// Weighs the system prompt and the tools of a conversation, without its turns, as the
    /// overhead.
    #[must_use]
    pub fn overhead_of(self, conversation: &Conversation) -> Self {
        let overhead_tokens = self.counter.overhead(conversation);
        self.overhead_tokens(overhead_tokens)
    }

    /// Limits a digest, in tokens, the user's requests included.
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

    /// Sets the names of the agent's tools.
    #[must_use]
    pub fn vocabulary(mut self, vocabulary: ToolVocabulary) -> Self {
        self.pipeline.vocabulary = vocabulary;
        self
    }

    /// Limits the number of restored files.
    #[must_use]
    pub fn max_restored(mut self, n: usize) -> Self {
        self.pipeline = self.pipeline.max_restored(n);
        self
    }

    /// Returns the counter that weighs messages.
    pub fn token_counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// Resolves the budget.
    pub fn budget(&self) -> Result<Budget, PolicyError> {
        let mut budget = match self.target_budget {
            Some(TargetBudget { target, restored }) => {
                Budget::without_caps(target, restored, self.overhead_tokens)
            }
            None => Budget::resolve(self.card.as_ref(), &self.policy, self.overhead_tokens)?,
        };
        if self.target_budget.is_none() && self.digest_tokens < budget.digest {
            (budget.digest, budget.floor) = (self.digest_tokens, 0);
        }
        Ok(if self.recall_tool.is_some() { budget.with_recall() } else { budget })
    }

    /// Sets the budget by which the messages of a transcript weigh about `tokens`, the overhead not
    /// included, whatever the window and the policy are.
    ///
    /// Tail, digest and restored files have no caps then, only their shares. `reached` weighs a
    /// result, in units of the requested size: 1 is as requested. A transcript of that size or less
    /// stays as it is. The search bisects local digests and takes the nearest, preferably one below
    /// the size; where the size jumps, restored files get less. Where instructions take more than
    /// half of the size, the other messages get half of it in addition, and a quarter next to an
    /// unanswered prompt.
    #[must_use]
    pub fn with_target_size(
        self,
        tokens: u64,
        view: &WeighedTranscript<'_>,
        opts: &CondenseOpts,
        reached: impl Fn(&[Message], &CompactionReport) -> f64,
    ) -> Self {
        let opts = CondenseOpts { force: false, context_tokens: 0, ..opts.clone() };
        // Where the tail alone is too heavy, a budget much below the size takes from the digest.
        // The user's words need some room next to what stays.
        let staying = view.staying_tokens();
        let for_words = (view.total_tokens().saturating_sub(staying) / 16).min(tokens / 4);
        let requested = tokens;
        let tokens = tokens
            .max(view.pinned_tokens().saturating_add(tokens / 2))
            .max(staying.saturating_add(tokens / 4));
        let scale = requested as f64 / tokens.max(1) as f64;
        let try_out = |budget: TargetBudget| {
            let compactor = Self { target_budget: Some(budget), ..self.clone() };
            let mut messages: Vec<Message> = view.messages.iter().map(|it| (*it).clone()).collect();
            let report = match compactor.plan(view.clone(), &opts) {
                Ok(plan) => plan.without_guard().local().apply(&mut messages),
                Err(report) => *report,
            };
            // A transcript that stays as it is is no result.
            if report.is_changed() { reached(&messages, &report) * scale } else { f64::INFINITY }
        };
        let overhead = self.overhead_tokens;
        let total = view.total_tokens().saturating_add(overhead);
        if is_reached(view.total_tokens() as f64 / tokens.max(1) as f64) {
            return Self { target_budget: Some(TargetBudget { target: total, restored: 0 }), ..self };
        }
        let least = overhead.saturating_add((tokens / 2).max(staying.saturating_add(for_words)));
        let first = overhead.saturating_add(tokens).max(least);
        let target_budget = nearest_budget((least as f64, total as f64), first as f64, try_out);
        Self { target_budget, ..self }
    }

    /// Plans one compaction of a transcript; see [`Pipeline::plan`].
    pub fn plan<'a>(
        &self,
        view: WeighedTranscript<'a>,
        opts: &'a CondenseOpts,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        let view = view.with_fixed(&*opts.fixed).with_joined(&opts.joined);
        let (mut anchored, mut refused) = (false, None);
        let budget = self.budget().map(|budget| {
            refused = refused_usage(&budget, opts.context_tokens);
            anchored = opts.context_tokens > 0 && refused.is_none();
            if anchored {
                budget.with_counted_context(opts.context_tokens, view.total_tokens())
            } else {
                budget
            }
        });
        let (trigger, facts) = (opts.trigger(), opts.facts.as_deref());
        let input = PlanInput {
            budget,
            trigger,
            facts,
            anchored,
            refused,
            at_most_tokens: None,
            requires_fewer: self.requires_fewer,
        };
        self.plan_within(view, input)
    }

    /// Plans within a budget, with what the host has decided on the digest.
    pub(crate) fn plan_within<'a>(
        &self,
        view: WeighedTranscript<'a>,
        input: PlanInput<'a>,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        let plan = self.pipeline.plan(view, input)?;
        Ok(plan.redact(self.redacts).recall_tool(self.recall_tool.clone()))
    }

    /// Returns the prices of the model, if its card has them.
    pub(crate) fn prices(&self) -> Option<&Prices> {
        self.card.as_ref()?.prices.as_ref()
    }

    /// Returns the summarizer of one compaction.
    pub(crate) fn summarizer_for(&self, opts: &CondenseOpts) -> Option<Summarizer> {
        let summarizer = self.summarizer.clone()?;
        let summarizer = match opts.instructions.as_deref() {
            Some(instructions) => summarizer.instructions(Some(instructions)),
            None => summarizer,
        };
        Some(if opts.model.is_some() { summarizer.model(opts.model.clone()) } else { summarizer })
    }
}

/// Returns the reason to refuse a provider's figure: it is more than a sixteenth above the window.
/// A prompt that was slightly too long was counted too, and needs the compaction most.
fn refused_usage(budget: &Budget, context_tokens: u64) -> Option<String> {
    let window = budget.window.filter(|window| context_tokens > window.saturating_add(window / 16))?;
    Some(format!("usage of {context_tokens} tokens refused: the window holds {window}"))
}
