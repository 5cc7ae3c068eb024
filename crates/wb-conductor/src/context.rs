//! [`AgentContext`] is the one object that a host of messages holds: it follows the transcript,
//! reports when it is over budget, and compacts it.

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use wb_budget::{Budget, ContextTracker, ModelCard, PolicyError, TokenEstimate, Usage, UsageRefused};
use wb_facts::FACTS_VERSION;
use wb_facts::Facts;
use wb_invoke::ThinkingLevel;
use wb_message::markers::digest_body;
use wb_message::{Conversation, Message, Undo};
use wb_summarize::{CompactionConfig, DigestSource, MIN_COMPACTION_GAIN_TOKENS, savings_ratio_ppm};

use crate::background::BackgroundTask;
use crate::breaker::{Breaker, Run};
use crate::compactor::{Compactor, CondenseOpts};
use crate::continuation::{DEFAULT_MAX_CONTINUATIONS, ReplyDraft, TruncationState};
use crate::pipeline::PlanInput;
use crate::plan::{Plan, SentConversation};
use crate::ready::Ready;
use crate::report::{CompactionReport, Unchanged};
use crate::session_rate::SessionRate;

/// Follows an agent's transcript and compacts it.
///
/// The host keeps the messages; each call gets them and observes those appended since the last
/// call, so that nothing is counted twice. If the host removed messages or changed the last known
/// one, everything is counted again at once; an earlier change is detected before the next
/// compaction. A change that leaves every length the same is not detected.
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
///     context.after_response(&messages, &Usage::EMPTY); // the provider's count, if it reports one
/// }
/// assert!(messages.len() < 120 && !context.is_over(&messages));
/// ```
#[derive(Debug)]
pub struct AgentContext {
    compactor: Compactor,
    tracker: ContextTracker,
    facts: Facts,
    /// Indicates that the host changed messages after the facts were collected from them.
    facts_are_old: bool,
    breaker: Breaker,
    task: Option<BackgroundTask>,
    /// The tokens above which a digest is requested in the background.
    start_above: Option<u64>,
    /// The part of the transcript that a digest must save, in millionths.
    min_savings_ppm: u64,
    /// The context when a digest would have saved too little.
    not_worth_it_at: Option<u64>,
    rate: SessionRate,
    same_model: Option<SameModel>,
    prompt_cache: bool,
    continuation: TruncationState,
    max_continuations: u32,
}

/// The constant part of each request to the model that runs the conversation and writes the
/// digests.
#[derive(Debug)]
struct SameModel {
    /// System text and tools.
    head: Conversation,
    thinking: Option<ThinkingLevel>,
}

impl AgentContext {
    /// Follows transcripts for a model with this card; digests are built from the transcript
    /// itself.
    pub fn new(card: ModelCard) -> Self {
        Self::from_compactor(Compactor::new().card(card))
    }

    /// Follows transcripts with a custom compactor: model, policy, counter, steps.
    pub fn from_compactor(compactor: Compactor) -> Self {
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
            rate: SessionRate::default(),
            same_model: None,
            prompt_cache: true,
            continuation: TruncationState::default(),
            max_continuations: DEFAULT_MAX_CONTINUATIONS,
        }
    }

    /// Weighs the system prompt and the tools of a conversation, without its turns, as the overhead
    /// of each request, until usage is reported.
    #[must_use]
    pub fn overhead_of(mut self, conversation: &Conversation) -> Self {
        let overhead_tokens = self.compactor.token_counter().overhead(conversation);
        self.compactor = self.compactor.overhead_tokens(overhead_tokens);
        self.tracker = self.tracker.with_overhead_tokens(overhead_tokens);
        self
    }

    /// Lets the model of the conversation write the digests too, through the same invoker. Each
    /// request has `head` (system text and tools, weighed as in [`Self::overhead_of`]) and
    /// `thinking`.
    ///
    /// A digest is then requested after the conversation, which the provider has in its cache, if
    /// that costs less than a separate prompt: the card has the prices, and usage shows the cached
    /// part. The report has both costs. The turns of the host's requests must be those that
    /// [`message_to_turn`](crate::message_to_turn) makes of the messages, or the cache is missed.
    #[must_use]
    pub fn same_model(self, head: Conversation, thinking: Option<ThinkingLevel>) -> Self {
        let context = self.overhead_of(&head);
        Self { same_model: Some(SameModel { head, thinking }), ..context }
    }

    /// Requests a digest in the background once the context has more than this number of tokens;
    /// for hosts that call [`Self::before_request`] inside a tokio runtime.
    #[must_use]
    pub fn start_above(self, tokens: Option<u64>) -> Self {
        Self { start_above: tokens, ..self }
    }

    /// Requests no digest that would save less than this part of the transcript, in millionths; 30
    /// % by default.
    #[must_use]
    pub fn min_savings_ppm(self, min_savings_ppm: u64) -> Self {
        Self { min_savings_ppm, ..self }
    }

    /// Sets whether the host's requests ask the provider to cache them; they do by default.
    #[must_use]
    pub fn prompt_cache(self, enabled: bool) -> Self {
        Self { prompt_cache: enabled, ..self }
    }

    /// Sets the number of continuations of an answer that was cut off; with 0 there are none.
    #[must_use]
    pub(crate) fn max_continuations(self, max_continuations: u32) -> Self {
        Self { max_continuations, ..self }
    }

    /// Continues with the facts of an earlier session, which end with the last of these messages.
    /// Facts of another version are collected again from the messages.
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

    /// Resolves the budget, without reported usage.
    pub fn budget(&self) -> Result<Budget, PolicyError> {
        self.compactor.budget()
    }

    /// Returns the tracker of the transcript.
    pub fn tracker(&self) -> &ContextTracker {
        &self.tracker
    }

    /// Returns the facts of the session so far, compacted parts included.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns whether the host's requests ask the provider to cache them.
    pub fn has_prompt_cache(&self) -> bool {
        self.prompt_cache
    }

    /// Estimates how full the window is; a window of 0 is an unknown one.
    pub fn estimate(&mut self, messages: &[Message]) -> TokenEstimate {
        self.observe(messages);
        self.tracker.estimate(self.compactor.card.as_ref().unwrap_or(&ModelCard::default()))
    }

    /// Returns whether the context is over budget.
    pub fn is_over(&mut self, messages: &[Message]) -> bool {
        self.observe(messages);
        let tokens = self.tracker.context_tokens();
        let budget = self.compactor.budget().map(|budget| budget.with_overhead(0));
        budget.is_ok_and(|budget| budget.with_margin(self.margin_permille()).is_over(tokens))
    }

    /// Observes the messages appended since the last call. Every other call does that itself.
    pub fn observe(&mut self, messages: &[Message]) {
        let n_known = self.tracker.len().min(messages.len());
        // A shorter transcript may differ anywhere; a longer one only in its last known message.
        let first = if n_known < self.tracker.len() { 0 } else { n_known.saturating_sub(1) };
        self.facts_are_old |= n_known < self.tracker.len();
        self.tracker.truncate(n_known);
        if self.tracker.knows_from(first, &messages[..n_known]) {
            self.tracker.extend(&messages[n_known..]);
            if !self.facts_are_old {
                let vocabulary = &self.compactor.pipeline.vocabulary;
                messages[n_known..].iter().for_each(|message| self.facts.observe(message, vocabulary));
            }
        } else {
            self.rebuild(messages);
        }
    }

    /// Records the provider's count for the request that the last message answers. An impossible
    /// count is refused, and the estimate remains.
    pub fn anchor(&mut self, messages: &[Message], usage: &Usage) -> Result<(), UsageRefused> {
        self.observe(messages);
        let at = self.tracker.len().saturating_sub(1);
        self.tracker.anchor(at, usage, self.compactor.card.as_ref())?;
        self.rate.on_answer(usage);
        Ok(())
    }

    /// Compacts with the model if there is one. Dropping the future leaves everything unchanged.
    pub async fn compact(&mut self, messages: &mut Vec<Message>, opts: &CondenseOpts) -> CompactionReport {
        match self.ask(messages, opts) {
            Ok((_, reply)) => {
                let ready = Box::pin(reply).await;
                self.apply(ready, messages)
            }
            Err(report) => *report,
        }
    }

    /// Compacts without a model and without waiting, if the context is over budget or that is
    /// forced.
    pub fn compact_locally(&mut self, messages: &mut Vec<Message>, opts: &CondenseOpts) -> CompactionReport {
        let planned = self.plan_locally(messages, opts);
        self.apply_planned(planned, messages)
    }

    /// Plans what [`Self::compact`] does, without applying it: returns the cut, if the head becomes
    /// a digest, and the change for [`Self::apply`], which waits for the model.
    pub fn ask(
        &mut self,
        messages: &[Message],
        opts: &CondenseOpts,
    ) -> Result<(Option<usize>, impl Future<Output = Ready> + Send + 'static + use<>), Box<CompactionReport>>
    {
        let breaker_open = self.breaker.is_open() && !opts.force;
        let summarizer = self.compactor.summarizer_for(opts).filter(|_| !breaker_open);
        let run = Run { force: opts.force, breaker_open };
        let breaker = self.breaker.clone();
        let plan = self.plan(messages, opts, u64::MAX);
        let plan = plan.map_err(|report| Box::new(breaker.record(*report, run)))?;
        let cut = plan.head.as_ref().map(|head| head.cut);
        let reply = plan.without_guard().ask(summarizer.as_ref(), opts.cancel.as_ref());
        Ok((cut, async move { reply.await.with_run(run) }))
    }

    /// Plans what [`Self::compact_locally`] does, without applying it.
    pub fn plan_locally(
        &mut self,
        messages: &[Message],
        opts: &CondenseOpts,
    ) -> Result<Ready, Box<CompactionReport>> {
        self.plan(messages, opts, u64::MAX).map(|plan| opts.local(plan.without_guard()))
    }

    /// Applies a planned change to the messages that it was planned on; a host may reject a change
    /// by dropping it instead.
    pub fn apply(&mut self, ready: Ready, messages: &mut Vec<Message>) -> CompactionReport {
        self.observe(messages);
        let run = ready.run;
        let report = ready.apply_tracked(messages, &mut self.tracker);
        if report.unchanged == Some(Unchanged::PrefixChanged) {
            self.rebuild(messages);
        }
        self.note_digest(&report, messages);
        match run {
            Some(run) => self.breaker.record(report, run),
            None => report,
        }
    }

    fn apply_planned(
        &mut self,
        planned: Result<Ready, Box<CompactionReport>>,
        messages: &mut Vec<Message>,
    ) -> CompactionReport {
        match planned {
            Ok(ready) => self.apply(ready, messages),
            Err(report) => *report,
        }
    }

    /// Plans over the current transcript. The gate fires above `gate_tokens`, or above the limit if
    /// that is less.
    fn plan<'a>(
        &'a mut self,
        messages: &'a [Message],
        opts: &'a CondenseOpts,
        gate_tokens: u64,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        self.refresh(messages);
        let (context_tokens, anchored) = (self.tracker.context_tokens(), self.tracker.is_anchored());
        let margin = self.margin_permille();
        let at_most = context_tokens.saturating_add(context_tokens.saturating_mul(margin).div_ceil(1000));
        let budget = self.compactor.budget();
        let limit = budget.as_ref().map_or(u64::MAX, |budget| budget.limit);
        let view = self.tracker.view(messages).with_fixed(&*opts.fixed).with_joined(&opts.joined);
        let total_tokens = view.total_tokens();
        let budget = budget.map(|budget| {
            let budget = budget.with_overhead(0).with_counted_context(context_tokens, total_tokens);
            budget.with_margin(margin).with_lower_limit(gate_tokens)
        });
        let input = PlanInput {
            budget,
            trigger: opts.trigger(),
            facts: Some(&self.facts),
            anchored,
            refused: None,
            at_most_tokens: (margin > 0).then_some(at_most),
            requires_fewer: false,
        };
        let mut plan = self.compactor.plan_within(view, input)?;
        let prices = self.compactor.prices();
        plan.report.worth = prices.map(|prices| self.rate.weigh(&plan, limit, prices));
        // A change since the last count invalidates it, and the cache with it.
        let cached_tokens = if anchored { self.rate.cached_tokens() } else { 0 };
        plan.sent = self.same_model.as_ref().zip(self.compactor.card.as_ref()).map(
            |(SameModel { head, thinking }, card)| SentConversation {
                head,
                thinking: *thinking,
                cached_tokens,
                card,
            },
        );
        Ok(plan)
    }

    /// Brings the tracker and the facts up to date, even if the host changed earlier messages.
    fn refresh(&mut self, messages: &[Message]) {
        self.observe(messages);
        if !self.tracker.knows_from(0, messages) {
            self.rebuild(messages);
        }
        if self.facts_are_old {
            self.facts = Facts::default().with_messages(messages, &self.compactor.pipeline.vocabulary);
            self.facts_are_old = false;
        }
    }

    fn rebuild(&mut self, messages: &[Message]) {
        self.tracker.rebuild(messages);
        self.facts_are_old = true;
    }

    /// Returns by how many thousandths the estimate may be too low; 0 once a provider has counted.
    fn margin_permille(&self) -> u64 {
        if self.tracker.is_calibrated() { 0 } else { self.compactor.counter.margin_permille() }
    }

    /// Keeps what a model wrote, so that a digest without one can continue it. After a useless
    /// reply to a request that continued the conversation, later requests are separate.
    fn note_digest(&mut self, report: &CompactionReport, messages: &[Message]) {
        let was_cached = report.ask_costs.is_some_and(|costs| costs.is_cached());
        if was_cached && matches!(&report.digest, Some(DigestSource::Local(reason)) if reason.is_of_reply()) {
            self.same_model = None;
        }
        if let Some(DigestSource::Model { .. }) = report.digest
            && let Some(digest) = messages.iter().find_map(digest_body)
        {
            self.facts.observe_judgement(&digest);
        }
    }

    /// Brings a transcript within its budget before it is sent: inserts a digest that was requested
    /// earlier, then compacts without a model if the context is still over budget. Nothing waits.
    ///
    /// The reports are in that order, two if both were done; undo the last one first.
    ///
    /// If the card has prices, a context near its limit is compacted before it is over budget if
    /// that is cheaper until the end of the session; see [`Prospect`](wb_budget::Prospect). The
    /// report has the costs.
    pub fn before_request(&mut self, messages: &mut Vec<Message>) -> Vec<CompactionReport> {
        let mut reports = Vec::from_iter(self.finish(messages));
        if let Some(planned) = self.plan_request(messages) {
            reports.push(self.apply_planned(planned, messages));
        }
        self.note_sent(messages);
        reports
    }

    /// Plans the change that a transcript needs before it is sent, without applying it; the first
    /// half of [`Self::before_request`] after [`Self::take_finished`]. Requests a digest in the
    /// background if one is due.
    pub fn plan_request(&mut self, messages: &[Message]) -> Option<Result<Ready, Box<CompactionReport>>> {
        let is_over = self.is_over(messages);
        self.rate.on_request(self.tracker.context_tokens());
        if is_over {
            return Some(self.plan_locally(messages, &CondenseOpts::default()));
        }
        let ready = self.plan_if_it_pays(messages);
        if ready.is_none() {
            self.start_if_due(messages);
        }
        ready.map(Ok)
    }

    /// Counts the request that is sent now; the last part of [`Self::before_request`].
    pub fn note_sent(&mut self, messages: &[Message]) {
        self.observe(messages);
        self.rate.on_sent(self.tracker.context_tokens());
    }

    /// Records the answer that the messages end with, and the provider's count for it.
    pub fn after_response(&mut self, messages: &[Message], usage: &Usage) {
        // A refused count leaves the estimate unchanged.
        let _ = self.anchor(messages, usage);
    }

    /// Records that the provider's cache has expired since the last request, so that the next
    /// prompt is written to it whole. It counts if the card has prices.
    pub fn mark_cache_cold(&mut self) {
        self.rate.is_cold = true;
    }

    /// Plans a compaction below the limit, if that is cheaper until the end of the session than any
    /// later compaction.
    fn plan_if_it_pays(&mut self, messages: &[Message]) -> Option<Ready> {
        self.compactor.prices()?;
        let (limit, tokens) = (self.budget().ok()?.limit, self.tracker.context_tokens());
        if self.task.is_some() || !self.rate.is_due(tokens, limit) {
            return None;
        }
        let opts = CondenseOpts::default();
        let plan = self.plan(messages, &opts, tokens.saturating_sub(1)).ok();
        let plan = plan.filter(|plan| plan.report.worth.is_some_and(|worth| worth.pays_now()))?;
        Some(opts.local(plan.without_guard()))
    }

    /// Starts a compaction whose digest is requested in the background. Returns false if there is
    /// nothing to do, one is running already, there is no model to ask, or there is no tokio
    /// runtime.
    pub fn start(&mut self, messages: &[Message], opts: &CondenseOpts) -> bool {
        (opts.force || !self.breaker.is_open()) && self.start_if_saves(messages, opts, 0)
    }

    /// Starts a compaction above the threshold, if even the longest digest saves enough. If it does
    /// not, tries again after enough growth.
    fn start_if_due(&mut self, messages: &[Message]) {
        let total = self.tracker.context_tokens();
        let has_grown = |at: u64| total < at || total >= at.saturating_add(MIN_COMPACTION_GAIN_TOKENS);
        let is_due = self.start_above.is_some_and(|most| total > most)
            && self.not_worth_it_at.is_none_or(has_grown)
            && self.task.is_none();
        if !is_due {
            return;
        }
        if self.breaker.is_open() {
            return self.breaker.skip();
        }
        let opts = CondenseOpts { force: true, ..CondenseOpts::default() };
        let is_started = self.start_if_saves(messages, &opts, self.min_savings_ppm);
        self.not_worth_it_at = (!is_started).then_some(total);
    }

    /// Starts a compaction that saves at least this part of the context, in millionths.
    fn start_if_saves(&mut self, messages: &[Message], opts: &CondenseOpts, min_savings_ppm: u64) -> bool {
        let (Ok(runtime), None) = (Handle::try_current(), &self.task) else { return false };
        let cancel = CancellationToken::new();
        let Some(summarizer) = self.compactor.summarizer_for(opts) else { return false };
        let Ok(plan) = self.plan(messages, opts, u64::MAX) else { return false };
        let total = plan.report.context_tokens;
        let left = total.saturating_sub(plan.tokens_saved());
        if savings_ratio_ppm(total, left) < min_savings_ppm {
            return false;
        }
        let reply = plan.ask(Some(&summarizer), Some(&cancel));
        self.task = Some(BackgroundTask::spawn(&runtime, reply, cancel));
        true
    }

    /// Inserts the digest of a started compaction if it has arrived; never waits. Messages appended
    /// since stay.
    pub fn finish(&mut self, messages: &mut Vec<Message>) -> Option<CompactionReport> {
        self.take_finished().map(|ready| self.apply(ready, messages))
    }

    /// Takes the change of a started compaction if its digest has arrived, for [`Self::apply`];
    /// never waits. Messages may have been appended.
    pub fn take_finished(&mut self) -> Option<Ready> {
        let ready = self.task.take_if(|task| task.is_finished())?.into_ready()?;
        Some(ready.with_run(Run { force: false, breaker_open: false }))
    }

    /// Returns whether the digest of a started compaction has arrived, for [`Self::finish`] to
    /// insert.
    pub fn is_ready(&self) -> bool {
        self.task.as_ref().is_some_and(BackgroundTask::is_finished)
    }

    /// Waits until the digest of a started compaction has arrived; returns at once if none was
    /// started.
    pub async fn wait(&mut self) {
        if let Some(task) = &mut self.task {
            task.wait().await;
        }
    }

    /// Cancels a started compaction.
    pub fn cancel(&mut self) {
        self.task = None;
    }

    /// Undoes a compaction; messages appended since stay.
    pub fn undo(&mut self, messages: &mut Vec<Message>, undo: Undo) {
        undo.revert(messages);
        self.tracker.rebuild(messages);
    }

    /// Returns the messages to append before the model is asked again, because its answer was cut
    /// off; `None` if the answer is final.
    pub fn continuation(&mut self, draft: &ReplyDraft) -> Option<Vec<Message>> {
        self.continuation.continuation(draft, self.max_continuations)
    }

    /// Ends a step: returns the text before each continuation, and the last text, as one answer.
    pub fn whole_answer(&mut self, last: &str) -> String {
        self.continuation.finish(last)
    }
}
