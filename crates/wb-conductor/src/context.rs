//! The one object that a host of messages holds: it follows the transcript, says when it is too full, and compacts it.

use futures::FutureExt;
use futures::future::{Either, ready};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wb_budget::{Budget, ContextTracker, ModelCard, PolicyError, TokenEstimate, Usage, UsageRefused};
use wb_message::markers::digest_body;
use wb_message::{Conversation, Message, Undo};
use wb_summarize::facts::FACTS_VERSION;
use wb_summarize::{CompactionConfig, Facts, MIN_COMPACTION_GAIN_TOKENS, ThinkingLevel, savings_ratio_ppm};

use crate::breaker::Breaker;
use crate::compactor::{Compactor, CondenseOpts};
use crate::continuation::{DEFAULT_MAX_CONTINUATIONS, ReplyDraft, TruncationState};
use crate::plan::{Plan, Ready, Sent};
use crate::prompt_cache::{PromptPrefix, StablePrefix};
use crate::rate::Rate;
use crate::report::{CompactionReport, DigestSource, Unchanged};

/// Follows an agent's transcript and compacts it.
///
/// The messages stay the host's; each call is handed them and takes in what was appended since the last one, so that
/// nothing is counted twice. A host that dropped messages, or changed the last one that was known, is noticed at once,
/// and everything is counted anew; a change further ahead is noticed before a compaction at the latest. One that leaves
/// every length as it was goes unnoticed.
///
/// ```
/// use wb_budget::{ModelCard, Usage};
/// use wb_conductor::AgentContext;
/// use wb_message::Message;
///
/// let mut context = AgentContext::new(ModelCard::with_window(12_000));
/// let mut messages = Vec::new();
/// for n in 0..60 {
///     messages.push(Message::user(format!("Step {n}: {}", "x".repeat(900))));
///     for report in context.before_request(&mut messages) {
///         assert!(report.tokens_after <= report.target_tokens.unwrap());
///     }
///     messages.push(Message::assistant("Done."));
///     context.after_response(&messages, &Usage::EMPTY); // what the provider counted, where it does
/// }
/// assert!(messages.len() < 120 && !context.is_over(&messages));
/// ```
#[derive(Debug)]
pub struct AgentContext {
    compactor: Compactor,
    tracker: ContextTracker,
    facts: Facts,
    /// Whether the host changed messages that the facts were collected from.
    facts_are_old: bool,
    breaker: Breaker,
    task: Option<Task>,
    /// Above so many tokens a digest is asked for while turns go on.
    start_above: Option<u64>,
    /// What part of the transcript a digest must save, in millionths.
    min_savings_ppm: u64,
    /// How many tokens the context held when a digest would have saved too little.
    not_worth_it_at: Option<u64>,
    rate: Rate,
    /// What is sent beside the transcript to the model that writes the digests too.
    same_model: Option<SameModel>,
    /// What was sent last, where a cache is used.
    sent: Option<PromptPrefix>,
    continuation: TruncationState,
    max_continuations: u32,
}

/// What the model of the conversation, which writes the digests too, is sent in each request.
#[derive(Debug)]
struct SameModel {
    /// System text and tools.
    head: Conversation,
    thinking: Option<ThinkingLevel>,
}

/// A digest that is asked for while turns go on.
#[derive(Debug)]
struct Task {
    running: JoinHandle<Ready>,
    /// What came out, once somebody has waited for it.
    ready: Option<Ready>,
    cancel: CancellationToken,
}

impl Task {
    fn is_finished(&self) -> bool {
        self.ready.is_some() || self.running.is_finished()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.running.abort();
    }
}

impl AgentContext {
    /// Follows transcripts for a model of that card; digests are taken from the transcript itself.
    pub fn new(card: ModelCard) -> Self {
        Self::with(Compactor::new().card(card))
    }

    /// Follows transcripts with a compactor of your own: model, policy, counter, steps.
    pub fn with(compactor: Compactor) -> Self {
        let tracker = ContextTracker::with_counter(compactor.token_counter().clone());
        let tracker = tracker.with_overhead_tokens(compactor.overhead_tokens);
        Self {
            compactor,
            tracker,
            facts: Facts::default(),
            facts_are_old: false,
            breaker: Breaker::default(),
            task: None,
            start_above: None,
            min_savings_ppm: CompactionConfig::default().min_savings_ppm(),
            not_worth_it_at: None,
            rate: Rate::default(),
            same_model: None,
            sent: None,
            continuation: TruncationState::default(),
            max_continuations: DEFAULT_MAX_CONTINUATIONS,
        }
    }

    /// Weighs what is sent beside the transcript, as long as no usage tells it: the system prompt and the tools of a
    /// conversation, not its turns.
    #[must_use]
    pub fn overhead_of(mut self, conversation: &Conversation) -> Self {
        let overhead_tokens = self.compactor.token_counter().overhead(conversation);
        self.compactor = self.compactor.overhead_tokens(overhead_tokens);
        self.tracker = self.tracker.with_overhead_tokens(overhead_tokens);
        self
    }

    /// Says that the model of the conversation writes the digests too, through the same invoker, and what each request has beside
    /// the messages: system text and tools, which are weighed as by [`Self::overhead_of`], and how much to think.
    ///
    /// A digest is then asked for behind the conversation as the provider has it in its cache, if that is cheaper than a prompt
    /// by itself: the card tells the prices, and usage what is in the cache. The report tells what was weighed. The turns of
    /// the host's requests must be those that [`message_to_turn`](crate::message_to_turn) makes of the messages, or the cache is missed.
    #[must_use]
    pub fn same_model(self, head: Conversation, thinking: Option<ThinkingLevel>) -> Self {
        let weighed = self.overhead_of(&head);
        Self { same_model: Some(SameModel { head, thinking }), ..weighed }
    }

    /// Asks for a digest while turns go on, as soon as the context holds more than so many tokens; for hosts that call
    /// [`Self::before_request`] inside a tokio runtime.
    #[must_use]
    pub fn start_above(self, tokens: Option<u64>) -> Self {
        Self { start_above: tokens, ..self }
    }

    /// Asks for no digest that would save less than this part of the transcript, in millionths; 30 % if nothing is said.
    #[must_use]
    pub fn min_savings_ppm(self, min_savings_ppm: u64) -> Self {
        Self { min_savings_ppm, ..self }
    }

    /// Follows what is sent, so that [`Self::stable_prefix`] can tell where a cache breakpoint belongs.
    #[must_use]
    pub fn prompt_cache(self, enabled: bool) -> Self {
        Self { sent: enabled.then(PromptPrefix::default), ..self }
    }

    /// Sets how often an answer that was cut off is continued; with 0 it never is.
    #[must_use]
    pub fn max_continuations(self, max_continuations: u32) -> Self {
        Self { max_continuations, ..self }
    }

    /// Returns the leading messages of a request that is about to be sent which are the same as in the one before: a
    /// cache breakpoint stands behind them. Nothing without [`Self::prompt_cache`].
    pub fn stable_prefix(&mut self, messages: &[Message]) -> Option<StablePrefix> {
        self.sent.as_mut()?.stable_prefix(messages, true)
    }

    /// Returns what is appended before the model is asked again because its answer was cut off; nothing if the answer is
    /// final.
    pub fn continued(&mut self, draft: &ReplyDraft) -> Option<Vec<Message>> {
        self.continuation.continued(draft, self.max_continuations)
    }

    /// Ends a step: returns all that was said before a continuation, and the last text, as one answer.
    pub fn whole_answer(&mut self, last: &str) -> String {
        self.continuation.finish(last)
    }

    /// Resolves the budget, without what usage has told.
    pub fn budget(&self) -> Result<Budget, PolicyError> {
        self.compactor.budget()
    }

    /// Returns what follows the transcript.
    pub fn tracker(&self) -> &ContextTracker {
        &self.tracker
    }

    /// Returns what the session shows so far, compacted parts included.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Goes on with the facts of a session that was left, which end with the last of these messages. Facts of another
    /// version are collected again from the messages.
    #[must_use]
    pub fn resume(mut self, messages: &[Message], facts: Facts) -> Self {
        self.restart(messages, facts);
        self
    }

    /// Follows another transcript as [`Self::resume`] does.
    pub fn restart(&mut self, messages: &[Message], facts: Facts) {
        self.tracker.rebuild(messages);
        self.facts_are_old = facts.version() != FACTS_VERSION;
        self.facts = facts;
    }

    /// Takes in what was appended since the last call. Every other call does that by itself.
    pub fn observe(&mut self, messages: &[Message]) {
        let n_known = self.tracker.len().min(messages.len());
        // Who shortens a transcript may have changed more of it; who appends has changed the last message at the most.
        let first = if n_known < self.tracker.len() { 0 } else { n_known.saturating_sub(1) };
        self.facts_are_old |= n_known < self.tracker.len();
        self.tracker.truncate(n_known);
        if self.tracker.knows_from(first, &messages[..n_known]) {
            self.tracker.extend(&messages[n_known..]);
            if !self.facts_are_old {
                let vocabulary = &self.compactor.pipeline.vocabulary;
                messages[n_known..].iter().for_each(|message| self.facts.take_in(message, vocabulary));
            }
        } else {
            self.rebuild(messages);
        }
    }

    /// Keeps what a model said, so that a digest without one can go on from there. Where its reply behind the conversation was of no
    /// use, it is asked by itself from now on.
    fn note_digest(&mut self, report: &CompactionReport, messages: &[Message]) {
        let was_behind = report.asked.is_some_and(|costs| costs.is_behind());
        if was_behind && matches!(&report.digest, Some(DigestSource::Local(reason)) if reason.is_of_reply()) {
            self.same_model = None;
        }
        if let Some(DigestSource::Model { .. }) = report.digest
            && let Some(digest) = messages.iter().find_map(digest_body)
        {
            self.facts.take_in_judgement(&digest);
        }
    }

    fn rebuild(&mut self, messages: &[Message]) {
        self.tracker.rebuild(messages);
        self.facts_are_old = true;
    }

    /// Takes what the provider counted for the request that the last message answers. Counts that cannot be true are
    /// refused, and the estimate stands.
    pub fn anchor(&mut self, messages: &[Message], usage: &Usage) -> Result<(), UsageRefused> {
        self.observe(messages);
        let at = self.tracker.len().saturating_sub(1);
        self.tracker.anchor(at, usage, self.compactor.card.as_ref())?;
        self.rate.answered(usage);
        Ok(())
    }

    /// Tells how full the window is; a window of 0 is an unknown one.
    pub fn estimate(&mut self, messages: &[Message]) -> TokenEstimate {
        self.observe(messages);
        self.tracker.estimate(self.compactor.card.as_ref().unwrap_or(&ModelCard::default()))
    }

    /// Tells whether the context is over budget; reads what is new since the last call.
    pub fn is_over(&mut self, messages: &[Message]) -> bool {
        self.observe(messages);
        let tokens = self.tracker.context_tokens();
        let budget = self.compactor.budget().map(|budget| budget.with_overhead(0));
        budget.is_ok_and(|budget| budget.with_margin(self.margin_permille()).is_over(tokens))
    }

    /// Returns by how many thousandths there may be more tokens than are estimated; 0 once a provider has counted.
    fn margin_permille(&self) -> u64 {
        if self.tracker.is_calibrated() { 0 } else { self.compactor.counter.margin_permille() }
    }

    /// Compacts without a model and without waiting, whether the context is over budget or that is forced.
    pub fn compact_locally(&mut self, messages: &mut Vec<Message>, opts: &CondenseOpts) -> CompactionReport {
        match self.plan(messages, opts, |_, plan| opts.local(plan.held())) {
            Err(report) => *report,
            Ok(ready) => ready.apply_tracked(messages, &mut self.tracker),
        }
    }

    /// Compacts with the model where there is one. Dropping the future leaves everything as it was.
    pub async fn compact(&mut self, messages: &mut Vec<Message>, opts: &CondenseOpts) -> CompactionReport {
        let breaker_open = self.breaker.is_open() && !opts.force;
        let asked = self.plan(messages, opts, |compactor, plan| {
            if breaker_open {
                return Either::Left(ready(opts.local(plan.held())));
            }
            Either::Right(compactor.ask(plan.held(), opts))
        });
        let report = match asked {
            Err(report) => *report,
            Ok(asked) => asked.await.apply_tracked(messages, &mut self.tracker),
        };
        self.note_digest(&report, messages);
        self.breaker.done(report, opts, breaker_open)
    }

    /// Brings a transcript within its budget before it is sent, and tells what was done, in that order: a digest that was
    /// asked for meanwhile is put in, and what is over budget even so is compacted without a model. Nothing waits.
    ///
    /// Two reports come where both were done; who takes them back takes back the last one first.
    ///
    /// Where the card tells prices, a context near its limit is compacted before it is over budget if that is
    /// cheaper until the end of the session; see [`Prospect`](wb_budget::Prospect). The report tells what was weighed.
    pub fn before_request(&mut self, messages: &mut Vec<Message>) -> Vec<CompactionReport> {
        let mut done = Vec::from_iter(self.finish(messages));
        let is_over = self.is_over(messages);
        self.rate.request(self.tracker.context_tokens());
        if is_over {
            done.push(self.compact_locally(messages, &CondenseOpts::default()));
        } else if let Some(report) = self.compact_if_it_pays(messages) {
            done.push(report);
        } else {
            self.start_if_due(messages);
        }
        self.rate.sent(self.tracker.context_tokens());
        done
    }

    /// Says that the provider's cache has outlived its time since the last request, so that the next prompt is written
    /// to it whole. It counts where the card tells prices.
    pub fn cache_is_cold(&mut self) {
        self.rate.is_cold = true;
    }

    /// Compacts below the limit, if that is cheaper until the end of the session than any later compaction.
    fn compact_if_it_pays(&mut self, messages: &mut Vec<Message>) -> Option<CompactionReport> {
        self.compactor.prices()?;
        let (limit, tokens) = (self.budget().ok()?.limit, self.tracker.context_tokens());
        if self.task.is_some() || !self.rate.is_due(tokens, limit) {
            return None;
        }
        let opts = CondenseOpts::default();
        let planned = self.plan_above(messages, &opts, tokens.saturating_sub(1), |_, plan| {
            let pays = plan.report.worth.is_some_and(|worth| worth.pays_now());
            pays.then(|| opts.local(plan.held()))
        });
        Some(planned.ok()??.apply_tracked(messages, &mut self.tracker))
    }

    /// Takes in the answer that the messages end with, and what the provider counted for it.
    pub fn after_response(&mut self, messages: &[Message], usage: &Usage) {
        // A count that is refused leaves the estimate as it is.
        let _ = self.anchor(messages, usage);
    }

    /// Starts a compaction whose digest is asked for while turns go on; false where nothing is to be done, one is on its
    /// way already, no model would be asked, or there is no tokio runtime to run on.
    pub fn start(&mut self, messages: &[Message], opts: &CondenseOpts) -> bool {
        (opts.force || !self.breaker.is_open()) && self.start_if_saves(messages, opts, 0)
    }

    /// Starts a compaction above the threshold, if even a digest as long as it may be saves enough. What was not worth it
    /// is looked at again when enough was added.
    fn start_if_due(&mut self, messages: &[Message]) {
        let total = self.tracker.context_tokens();
        let has_grown = |at: u64| total < at || total >= at.saturating_add(MIN_COMPACTION_GAIN_TOKENS);
        let due = self.start_above.is_some_and(|most| total > most)
            && self.not_worth_it_at.is_none_or(has_grown)
            && self.task.is_none();
        if !due {
            return;
        }
        if self.breaker.is_open() {
            return self.breaker.skip();
        }
        let opts = CondenseOpts { force: true, ..CondenseOpts::default() };
        let started = self.start_if_saves(messages, &opts, self.min_savings_ppm);
        self.not_worth_it_at = (!started).then_some(total);
    }

    /// Starts a compaction that saves at least this part of the context, in millionths.
    fn start_if_saves(&mut self, messages: &[Message], opts: &CondenseOpts, min_savings_ppm: u64) -> bool {
        let (Ok(runtime), None) = (Handle::try_current(), &self.task) else { return false };
        if self.compactor.summarizer.is_none() {
            return false;
        }
        let cancel = CancellationToken::new();
        let opts = CondenseOpts { cancel: Some(cancel.clone()), ..opts.clone() };
        let planned = self.plan(messages, &opts, |compactor, plan| {
            let total = plan.report.context_tokens;
            let left = total.saturating_sub(plan.tokens_saved());
            (savings_ratio_ppm(total, left) >= min_savings_ppm).then(|| compactor.ask(plan, &opts))
        });
        let Ok(Some(asked)) = planned else { return false };
        self.task = Some(Task { running: runtime.spawn(asked), ready: None, cancel });
        true
    }

    /// Puts in what was started, if it is there; never waits. Messages that were appended meanwhile stay.
    pub fn finish(&mut self, messages: &mut Vec<Message>) -> Option<CompactionReport> {
        let task = self.task.as_mut().filter(|task| task.is_finished())?;
        // Unconstrained, because a task that has used up its share of time would be told to come back later.
        let ready = task
            .ready
            .take()
            .or_else(|| tokio::task::unconstrained(&mut task.running).now_or_never().and_then(Result::ok));
        // What is there already is not to be cancelled with its task.
        task.cancel = CancellationToken::new();
        self.task = None;
        self.observe(messages);
        // The host had the messages meanwhile, so that all of them are read again.
        let report = ready?.apply_tracked(messages, &mut self.tracker);
        if report.unchanged == Some(Unchanged::PrefixChanged) {
            self.rebuild(messages);
        }
        self.note_digest(&report, messages);
        Some(self.breaker.done(report, &CondenseOpts::default(), false))
    }

    /// Tells whether what was started is there, to be put in by [`Self::finish`]; false where nothing was.
    pub fn is_ready(&self) -> bool {
        self.task.as_ref().is_some_and(Task::is_finished)
    }

    /// Waits until what was started is there; at once where nothing was.
    pub async fn settled(&mut self) {
        if let Some(task) = self.task.as_mut().filter(|task| !task.is_finished()) {
            task.ready = (&mut task.running).await.ok();
        }
    }

    /// Gives up what was started.
    pub fn cancel(&mut self) {
        self.task = None;
    }

    /// Takes a compaction back; messages that were appended since stay.
    pub fn undo(&mut self, messages: &mut Vec<Message>, undo: Undo) {
        undo.revert(messages);
        self.tracker.rebuild(messages);
    }

    fn plan<R>(
        &mut self,
        messages: &[Message],
        opts: &CondenseOpts,
        then: impl FnOnce(&Compactor, Plan<'_>) -> R,
    ) -> Result<R, Box<CompactionReport>> {
        self.plan_above(messages, opts, u64::MAX, then)
    }

    /// Plans with a gate that fires above so many tokens, or above the limit if that is less.
    fn plan_above<R>(
        &mut self,
        messages: &[Message],
        opts: &CondenseOpts,
        tokens: u64,
        then: impl FnOnce(&Compactor, Plan<'_>) -> R,
    ) -> Result<R, Box<CompactionReport>> {
        self.observe(messages);
        if !self.tracker.knows_from(0, messages) {
            self.rebuild(messages);
        }
        if self.facts_are_old {
            self.facts = Facts::of(messages, &self.compactor.pipeline.vocabulary);
            self.facts_are_old = false;
        }
        let (context_tokens, anchored) = (self.tracker.context_tokens(), self.tracker.is_anchored());
        let margin = self.margin_permille();
        let (compactor, view) = (&self.compactor, self.tracker.view(messages).with_fixed(&*opts.fixed));
        let total_tokens = view.total_tokens();
        let budget = compactor.budget();
        let limit = budget.as_ref().map_or(u64::MAX, |budget| budget.limit);
        let budget = budget.map(|budget| budget.with_overhead(0).anchored(context_tokens, total_tokens));
        let budget = budget.map(|budget| budget.with_margin(margin).firing_above(tokens));
        let at_most = context_tokens.saturating_add(context_tokens.saturating_mul(margin).div_ceil(1000));
        let doubted = |report: &mut CompactionReport| report.at_most_tokens = (margin > 0).then_some(at_most);
        let planned = compactor.plan_within(&view, budget, opts, (anchored, None), Some(&self.facts));
        let mut plan = planned.map_err(|mut report| {
            doubted(&mut report);
            report
        })?;
        doubted(&mut plan.report);
        let worth = compactor.prices().map(|prices| self.rate.weigh(&plan, limit, prices));
        let sent = self.same_model.as_ref().zip(compactor.card.as_ref()).map(
            |(SameModel { head, thinking }, card)| {
                // What was counted last is void where it was changed since, and so is the cache.
                let cached_tokens = if anchored { self.rate.cached_tokens() } else { 0 };
                Sent { head, thinking: *thinking, cached_tokens, card }
            },
        );
        Ok(then(compactor, Plan { sent, ..plan.weighed(worth) }))
    }
}
