//! The automatic flow: when a session is compacted by itself, what becomes of a request that did not fit, and when no
//! more is tried.
//!
//! ```text
//! Ready       ── over the limit, or the user asks ──────────────▶ Compacting
//! Ready       ── the provider refuses the context ──────────────▶ Compacting
//! Ready       ── over the limit by a large result ──────────────▶ Ready, and it is shortened
//! Ready       ── refused with a large result, which is shortened ▶ Recovering
//! Ready       ── the second time that a compaction could not help ▶ Stopped
//! Ready       ── refused, with nothing to compact or to shorten ─▶ Stopped
//! Compacting  ── appended, failed, cancelled or dropped ────────▶ Ready
//! Compacting  ── appended after a refusal ──────────────────────▶ Recovering
//! Compacting  ── the second in a row that does not help ────────▶ Stopped
//! Recovering  ── the repeated request is answered ──────────────▶ Ready
//! Recovering  ── refused after a shortening, not compacted yet ─▶ Compacting
//! Recovering  ── refused after a compaction, a result is large ─▶ Recovering, and it is shortened
//! Recovering  ── refused, and nothing is left to try ───────────▶ Stopped
//! Stopped     ── within the limit again, or an answer comes ────▶ Ready
//! Stopped     ── over the limit by a large result ──────────────▶ Stopped, and it is shortened
//! Stopped     ── much was added, or the user asks ──────────────▶ Compacting
//! ```
//!
//! Where a compaction cannot help because a result of a tool is too large by itself, that is shortened.
//!
//! What a provider counted is taken as it is. All else is counted by one [`Counter`], on the provider's scale as far as
//! that is known: what is over the limit, what is kept, and how far results are shortened.

use std::sync::{Arc, Weak};

use wb_invoke::ModelInvoker;
use wb_session::{CompactionSettings, Entry, EntryId, Session, SessionError};

use crate::answer_outcome::{AnswerOutcome, is_just_compacted, is_same_request, last_answer};
use crate::compaction::CompactOpts;
use crate::compaction_job::{CompactionJob, FinishedCompaction, HostError, SessionCompaction};
use crate::context_usage::{ContextMeter, ContextUsage, PendingRequest};
use crate::counter::Counter;
use crate::flow_action::{Compacted, FlowAction, FlowState, Shortened, Stopped};
use crate::hooks::{CompactionReason, HookList};
use crate::shorten::Shortening;

/// How many compactions in a row may leave a context over its limit; then no more is tried.
pub const UNHELPFUL_COMPACTIONS: u32 = 2;

/// Watches over one session: says before each request and after each answer whether it is to be compacted.
///
/// One compaction is under way at a time; one that the host drops is over. Within the limit a check reads
/// what was appended since the last one.
///
/// ```
/// use futures::executor::block_on;
/// use wb_budget::ModelCard;
/// use wb_host::{FlowState, HookList, FlowAction, SessionFlow, PendingRequest};
/// use wb_message::Message;
/// use wb_session::{CompactionSettings, IdSource, NewSession, Session, store::memory::MemoryStore};
///
/// let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
/// let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
/// session.append(&Message::user("Port the importer.").into(), 1)?;
/// session.append(&Message::assistant("Working on it. ".repeat(9_000)).into(), 2)?;
/// session.append(&Message::user("Go on.").into(), 3)?;
///
/// let mut flow = SessionFlow::new(CompactionSettings::default());
/// let pending = PendingRequest { card: ModelCard::with_window(48_000), ..PendingRequest::default() };
/// let FlowAction::Compact(job) = flow.before_request(&session, &pending)? else { panic!("it is over its limit") };
/// let done = block_on(flow.complete(*job, &mut session, None, &mut HookList::default(), 4))?;
/// assert!(!done.context.is_over() && flow.state() == FlowState::Ready);
/// assert!(matches!(flow.before_request(&session, &pending)?, FlowAction::Proceed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SessionFlow {
    settings: CompactionSettings,
    meter: ContextMeter,
    state: FlowState,
    n_unhelpful: u32,
    /// Compactions since a provider last counted a prompt within the limit.
    n_unproven: u32,
    /// The estimate of all messages when compactions turned out not to help; none if they may.
    gave_up_at: Option<u64>,
    under_way: Option<UnderWay>,
    recovery: Recovery,
}

/// What was tried for the request that was refused last.
#[derive(Clone, Debug, Default)]
struct Recovery {
    /// The entry after which it was repeated, or the refused answer for which nothing was appended.
    since: Option<EntryId>,
    is_compacted: bool,
    is_shortened: bool,
}

#[derive(Debug)]
struct UnderWay {
    reason: CompactionReason,
    ticket: Weak<()>,
    pending: PendingRequest,
    /// The answer that was refused.
    answer: Option<EntryId>,
}

/// The least that has to be added before a compaction is tried that did not help before.
const MIN_GROWTH_TOKENS: u64 = 1_000;

impl SessionFlow {
    /// Begins to watch over a session.
    pub fn new(settings: CompactionSettings) -> Self {
        Self {
            settings,
            meter: ContextMeter::default(),
            state: FlowState::Ready,
            n_unhelpful: 0,
            n_unproven: 0,
            gave_up_at: None,
            under_way: None,
            recovery: Recovery::default(),
        }
    }

    /// Goes on with other settings.
    pub fn set_settings(&mut self, settings: CompactionSettings) {
        self.settings = settings;
    }

    /// Counts with another counter from now on; what did not help by the old count may be tried again.
    pub fn set_counter(&mut self, counter: impl Into<Counter>) {
        self.meter = ContextMeter::new(counter.into());
        (self.n_unhelpful, self.gave_up_at) = (0, None);
    }

    /// Returns what is counted with if no provider counted.
    pub fn counter(&self) -> &Counter {
        self.meter.counter()
    }

    /// Returns where the flow stands.
    pub fn state(&self) -> FlowState {
        let alive = self.under_way.as_ref().filter(|it| it.ticket.strong_count() > 0);
        alive.map_or(self.state, |it| FlowState::Compacting { reason: it.reason })
    }

    /// Weighs what a request would hold.
    pub fn context_usage(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
    ) -> Result<ContextUsage, SessionError> {
        self.meter.weigh(session, pending, &self.settings)
    }

    /// Says what to do before a request is sent, after a prompt as well as inside a loop of tools.
    ///
    /// A context over its limit is compacted, unless the settings' `enabled` is off. A compaction is not begun if it would
    /// neither bring the context within the limit nor make it a quarter lighter. After [`UNHELPFUL_COMPACTIONS`] in a
    /// row that did not help, or would not have, no more is tried until the context has grown by what a compaction
    /// keeps, and by an eighth of the limit at least. The provider's count decides, or the estimate if there is none.
    pub fn before_request(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
    ) -> Result<FlowAction, SessionError> {
        if self.is_compacting() {
            return Ok(FlowAction::Busy);
        }
        let context = self.context_usage(session, pending)?;
        if self.meter.counted_prompt().is_some_and(|tokens| tokens <= context.limit_tokens) {
            self.n_unproven = 0;
        }
        if !context.is_over() {
            self.note_within();
            return Ok(FlowAction::Proceed);
        }
        if !self.settings.enabled {
            return Ok(FlowAction::Proceed);
        }
        let (stopped, is_compacted) = (self.stopped(context), is_just_compacted(session));
        let (leaf, reason) = (session.leaf(), CompactionReason::Threshold);
        if stopped.is_none()
            && !is_compacted
            && let Some(job) = self.job(session, leaf, reason, context, CompactOpts::default())?
            && self.can_help(&job, context)
        {
            return Ok(self.begin(job, pending, None));
        }
        if let Some(shortening) = self.shortening(session, leaf, reason, context)? {
            return Ok(FlowAction::Shorten(Box::new(shortening)));
        }
        Ok(match stopped {
            Some(stopped) => self.stop(stopped),
            None if is_compacted => FlowAction::Proceed,
            None => self.note_unhelpful(context).map_or(FlowAction::Proceed, FlowAction::Stopped),
        })
    }

    /// Says what to do after an answer was appended to the session.
    ///
    /// Where the provider refused the context, or had no room left to answer, the context is compacted or results in it
    /// are shortened, and the request is repeated: once after each, until an answer or a prompt of the user's comes. An
    /// answer that is complete though its context was too large is kept; the check before the next request sees to it.
    /// Answers of other models than the one that is asked say nothing about its window.
    pub fn after_answer(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
    ) -> Result<FlowAction, SessionError> {
        if self.is_compacting() {
            return Ok(FlowAction::Busy);
        }
        let Some((answer, outcome)) = last_answer(session, &pending.card)? else {
            return Ok(FlowAction::Proceed);
        };
        match outcome {
            AnswerOutcome::Answered => self.note_answered(),
            AnswerOutcome::Overflowed if self.settings.enabled => {
                return self.recover(session, pending, answer);
            }
            AnswerOutcome::Overflowed | AnswerOutcome::Other => {}
        }
        Ok(FlowAction::Proceed)
    }

    /// Says what else can be tried for a request that was refused: a compaction and shorter results, each once.
    fn recover(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
        answer: Entry,
    ) -> Result<FlowAction, SessionError> {
        if !is_same_request(session, self.recovery.since.as_ref(), &answer)? {
            self.recovery = Recovery::default();
        }
        let context = self.context_usage(session, pending)?;
        let (end, reason) = (answer.parent_id.as_ref(), CompactionReason::Overflow);
        let mut job = None;
        if !self.recovery.is_compacted {
            job = self.job(session, end, reason, context, CompactOpts::default())?;
        }
        let is_worth = |job: &CompactionJob| job.n_tokens_summarized() >= self.meter.estimated_tokens() / 4;
        let mut shortening = None;
        if !self.recovery.is_shortened && !job.as_ref().is_some_and(is_worth) {
            shortening = self.shortening(session, end, reason, context)?;
        }
        Ok(match (shortening, job) {
            (Some(shortening), _) => FlowAction::Shorten(Box::new(shortening)),
            (None, Some(job)) => self.begin(job, pending, Some(answer.id)),
            (None, None) if self.recovery.since.is_some() => self.stop(Stopped::OverflowAgain),
            (None, None) => self.stop(Stopped::NothingToCompact),
        })
    }

    /// Says what to do when the user asks for a compaction, whatever the settings' `enabled` says. It counts with the
    /// flow's counter and not with that of `opts`.
    pub fn request_compaction(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
        opts: CompactOpts,
    ) -> Result<FlowAction, SessionError> {
        if self.is_compacting() {
            return Ok(FlowAction::Busy);
        }
        let context = self.context_usage(session, pending)?;
        let job = self.job(session, session.leaf(), CompactionReason::Manual, context, opts)?;
        Ok(job.map_or(FlowAction::Nothing, |job| self.begin(job, pending, None)))
    }

    /// Runs a compaction and appends it; see [`finish`](Self::finish).
    pub async fn complete(
        &mut self,
        job: CompactionJob,
        session: &mut Session,
        invoker: Option<&dyn ModelInvoker>,
        hooks: &mut HookList,
        timestamp_ms: i64,
    ) -> Result<Compacted, HostError> {
        let finished = job.run(invoker, hooks).await;
        self.finish(finished, session, hooks, timestamp_ms).await
    }

    /// Appends a compaction that was run; `timestamp_ms` counts from the Unix epoch.
    ///
    /// On an error nothing is appended and no request is to be repeated. An error other than an
    /// [abort](HostError::is_abort) counts as a compaction that did not help. The hooks are told last: a host that
    /// does not wait for one that hangs can drop the future, and session and flow are as they should be.
    pub async fn finish(
        &mut self,
        finished: FinishedCompaction,
        session: &mut Session,
        hooks: &mut HookList,
        timestamp_ms: i64,
    ) -> Result<Compacted, HostError> {
        let ticket = Arc::downgrade(&finished.place.ticket);
        let under_way = self.under_way.take_if(|it| it.ticket.ptr_eq(&ticket));
        let (pending, answer) = under_way.map(|it| (it.pending, it.answer)).unwrap_or_default();
        let (reason, will_retry) = (finished.place.reason, finished.place.will_retry());
        let (appended, news) = finished.enter(session, timestamp_ms);
        let done = match appended {
            Ok(compaction) => self.note_appended(session, &pending, compaction, reason, will_retry),
            Err(error) => {
                self.note_failed(session, &pending, reason, answer, &error);
                Err(error)
            }
        };
        news.tell(hooks).await;
        done
    }

    /// Appends what shortens results; `timestamp_ms` counts from the Unix epoch. On an error the session stands where it
    /// stood, and the host goes on without.
    pub fn shorten(
        &mut self,
        shortening: Shortening,
        session: &mut Session,
        pending: &PendingRequest,
        timestamp_ms: i64,
    ) -> Result<Shortened, HostError> {
        let will_retry = shortening.will_retry();
        let n_results = match shortening.append(session, timestamp_ms) {
            Err(HostError::Session(error)) if will_retry => {
                // What failed counts as tried.
                let answer = last_answer(session, &pending.card)?.map(|(answer, _)| answer.id);
                self.recovery = Recovery { since: answer, is_shortened: true, ..self.recovery };
                return Err(error.into());
            }
            appended => appended?,
        };
        if will_retry {
            self.recovery.since = session.leaf().cloned();
            self.recovery.is_shortened = true;
            self.state = FlowState::Recovering;
        }
        Ok(Shortened { n_results, context: self.context_usage(session, pending)?, will_retry })
    }

    fn is_compacting(&self) -> bool {
        matches!(self.state(), FlowState::Compacting { .. })
    }

    fn begin(&mut self, job: CompactionJob, pending: &PendingRequest, answer: Option<EntryId>) -> FlowAction {
        let (reason, ticket) = (job.place.reason, Arc::downgrade(&job.place.ticket));
        self.under_way = Some(UnderWay { reason, ticket, pending: pending.clone(), answer });
        FlowAction::Compact(Box::new(job))
    }

    fn stop(&mut self, stopped: Stopped) -> FlowAction {
        self.state = FlowState::Stopped(stopped);
        FlowAction::Stopped(stopped)
    }

    /// Prepares a compaction that keeps no more than half of what the log may take of the context; of one that was
    /// refused no more than half of what it held.
    fn job(
        &self,
        session: &Session,
        end: Option<&EntryId>,
        reason: CompactionReason,
        context: ContextUsage,
        mut opts: CompactOpts,
    ) -> Result<Option<CompactionJob>, SessionError> {
        let room = self.meter.room(context.limit_tokens);
        let mut max_kept_tokens = self.meter.estimate_of(room / 2);
        if reason == CompactionReason::Overflow {
            max_kept_tokens = max_kept_tokens.min(self.meter.estimated_tokens() / 2);
        }
        let keep_recent_tokens = self.meter.estimate_of(self.settings.keep_recent_tokens);
        let settings = CompactionSettings { keep_recent_tokens, ..self.settings };
        // Of a split turn there are two summaries.
        let most = room / 8;
        if most < settings.reserve_tokens / 2 {
            opts.max_output_tokens = Some(opts.max_output_tokens.unwrap_or(most));
        }
        opts.counter = self.counter().clone();
        CompactionJob::prepare_within(session, end, &settings, max_kept_tokens, reason, opts)
    }

    /// Finds results that are larger than an eighth of what the context may hold; of one that was refused, of what it
    /// held at most.
    fn shortening(
        &self,
        session: &Session,
        end: Option<&EntryId>,
        reason: CompactionReason,
        context: ContextUsage,
    ) -> Result<Option<Shortening>, SessionError> {
        let limit = self.meter.estimate_of(context.limit_tokens);
        let (most, excess) = match reason {
            CompactionReason::Overflow => (limit.min(self.meter.estimated_tokens()), u64::MAX),
            _ => (limit, self.meter.estimate_of(context.tokens.saturating_sub(context.limit_tokens))),
        };
        Shortening::find(session, end, reason, most / 8, excess, &**self.counter())
    }

    /// Returns whether no more compactions are tried for now.
    fn stopped(&mut self, context: ContextUsage) -> Option<Stopped> {
        match self.gave_up_at {
            Some(at) => (!self.has_grown(at, context)).then_some(Stopped::NoHelp { context }),
            None if !context.is_estimated && self.n_unproven >= UNHELPFUL_COMPACTIONS => {
                Some(self.give_up(context))
            }
            None => None,
        }
    }

    /// Returns whether a compaction is worth a request: without what it summarizes the context would be within its limit,
    /// or at least a quarter lighter.
    fn can_help(&self, job: &CompactionJob, context: ContextUsage) -> bool {
        let summarized = self.meter.counted(job.n_tokens_summarized());
        context.tokens.saturating_sub(summarized) <= context.limit_tokens || summarized >= context.tokens / 4
    }

    /// Returns whether as much was added as a compaction keeps since the estimate was `before`. Settings that keep next
    /// to nothing are no reason to try each time, and those that keep all are none to try never.
    fn has_grown(&self, before: u64, context: ContextUsage) -> bool {
        let added = self.meter.estimated_tokens().saturating_sub(before);
        let limit = context.limit_tokens;
        added >= self.settings.keep_recent_tokens.min(limit / 2).max(limit / 8).max(MIN_GROWTH_TOKENS)
    }

    fn note_within(&mut self) {
        (self.n_unhelpful, self.gave_up_at) = (0, None);
        if matches!(self.state, FlowState::Stopped(Stopped::NoHelp { .. })) {
            self.state = FlowState::Ready;
        }
    }

    fn note_answered(&mut self) {
        self.recovery = Recovery::default();
        if !matches!(self.state, FlowState::Stopped(Stopped::NoHelp { .. })) {
            self.state = FlowState::Ready;
        }
    }

    fn note_appended(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
        compaction: SessionCompaction,
        reason: CompactionReason,
        will_retry: bool,
    ) -> Result<Compacted, HostError> {
        if will_retry {
            self.recovery.since = Some(compaction.entry_id.clone());
            self.recovery.is_compacted = true;
        }
        let context = self.context_usage(session, pending)?;
        self.note_compacted(reason, context);
        if will_retry {
            self.state = FlowState::Recovering;
        }
        Ok(Compacted { compaction, reason, context, will_retry })
    }

    fn note_compacted(&mut self, reason: CompactionReason, context: ContextUsage) {
        let is_manual = reason == CompactionReason::Manual;
        self.n_unproven = self.n_unproven.saturating_add(u32::from(!is_manual));
        if !context.is_over() {
            (self.n_unhelpful, self.gave_up_at, self.state) = (0, None, FlowState::Ready);
        } else if !is_manual {
            self.note_unhelpful(context);
        }
    }

    /// Counts a failure that nobody wanted; the request of a refused answer is not tried again for it.
    fn note_failed(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
        reason: CompactionReason,
        answer: Option<EntryId>,
        error: &HostError,
    ) {
        if error.is_abort() || reason == CompactionReason::Manual {
            return;
        }
        if let Some(answer) = answer {
            self.recovery = Recovery { since: Some(answer), is_compacted: true, ..self.recovery };
        }
        if let Ok(context) = self.context_usage(session, pending) {
            self.note_unhelpful(context);
        }
    }

    /// Counts a compaction that did not help, and stops if there were enough of them.
    fn note_unhelpful(&mut self, context: ContextUsage) -> Option<Stopped> {
        self.n_unhelpful = self.n_unhelpful.saturating_add(1);
        (self.n_unhelpful >= UNHELPFUL_COMPACTIONS).then(|| self.give_up(context))
    }

    fn give_up(&mut self, context: ContextUsage) -> Stopped {
        let stopped = Stopped::NoHelp { context };
        self.state = FlowState::Stopped(stopped);
        self.gave_up_at = Some(self.meter.estimated_tokens());
        stopped
    }
}
