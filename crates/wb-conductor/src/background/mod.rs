//! Compaction beside the agent: a summary is made in a task while turns go on, and swapped in when it is there.
//!
//! One [`BackgroundCompaction`] per agent. Before a request the host calls
//! [`maybe_spawn_compaction`](BackgroundCompaction::maybe_spawn_compaction), which starts at most one task, and
//! [`try_consume_compaction_event`](BackgroundCompaction::try_consume_compaction_event), which applies what is done.
//! Neither waits. The task is given rendered text and never sees the transcript; a summary is applied only where the
//! messages that it stands for are still the same.
//!
//! ```
//! use std::sync::Arc;
//! use futures::FutureExt;
//! use futures::future::BoxFuture;
//! use wb_budget::{CONTEXT_WINDOW_POLICY, ContextWindowPolicy};
//! use wb_conductor::{BackgroundCompaction, CompactionEvent};
//! use wb_message::Message;
//! use wb_summarize::{
//!     CompactionConfig, ContextSummarizer, ContextSummary, SummarizerError, SummaryRequest,
//! };
//!
//! struct Brief;
//! impl ContextSummarizer for Brief {
//!     fn summarize(&self, _: SummaryRequest) -> BoxFuture<'static, Result<ContextSummary, SummarizerError>> {
//!         let text = "The importer skips blank lines now.".to_owned();
//!         async { Ok(ContextSummary { text, ..ContextSummary::default() }) }.boxed()
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let policy = ContextWindowPolicy { autocompact_threshold: Some(4_000), ..CONTEXT_WINDOW_POLICY };
//! let mut compaction = BackgroundCompaction::new(policy, CompactionConfig::default()).summarizer(Arc::new(Brief));
//! let mut messages: Vec<Message> = (0..20)
//!     .flat_map(|n| [Message::user(format!("Step {n}: {}", "x".repeat(900))), Message::assistant("Done.")])
//!     .collect();
//!
//! compaction.maybe_spawn_compaction(&messages, 1_000).expect("above the threshold");
//! compaction.settled().await;
//! let event = compaction.try_consume_compaction_event(&mut messages, 2_000).expect("it is done");
//! assert_eq!(event.to_string(), "compaction-1: 38 messages summarized, 5073 → 35 tokens");
//!
//! let CompactionEvent::Completed { undo, .. } = event else { unreachable!() };
//! assert_eq!(messages.len(), 3);
//! undo.revert(&mut messages);
//! assert_eq!(messages.len(), 40);
//! # }
//! ```

mod savings;
mod splice;
mod request;
mod task;
mod event;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use wb_budget::{
    CompactionCut, ContextWindowPolicy, TokenCounter, TokenHeuristic, WeighedTranscript, plan_compaction,
};
use wb_message::markers::conversation_summary;
use wb_message::{Message, last_prompt_start, prefix_fingerprint};
use wb_summarize::{
    CompactionConfig, CompactionExecutionMode, ContextSummarizer, ContextSummary, MIN_COMPACTION_GAIN_TOKENS,
    SummaryRequest, savings_ratio_ppm,
};

use crate::compaction_state::{
    Breaker, CompactionBoundary, CompactionInFlight, CompactionSkipped, CompactionState, CompactionTaskId,
    MAX_RECORDED_SUMMARY_BYTES, SkipReason, failure, is_ahead, shorten,
};
use crate::compactor::DEFAULT_TIMEOUT;

pub use event::{CompactionEvent, DiscardReason, NotSpawned};
pub use splice::{apply_summary, trim_to_compaction_boundary};

use savings::{expected_tokens, needed_tokens, refused};
use task::{Fault, SummaryTask};

/// Compacts one agent's transcript beside it.
///
/// Times are milliseconds of the host's clock; only the time limit of a task goes by the runtime's. Dropping it aborts
/// the task; a summarizer that blocks its thread cannot be aborted.
pub struct BackgroundCompaction {
    policy: ContextWindowPolicy,
    config: CompactionConfig,
    summarizer: Option<Arc<dyn ContextSummarizer>>,
    counter: Arc<dyn TokenCounter>,
    timeout: Duration,
    state: CompactionState,
    flight: Option<SummaryTask>,
    /// What a cancel has to tell.
    told: VecDeque<CompactionEvent>,
}

impl fmt::Debug for BackgroundCompaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BackgroundCompaction");
        shown.field("summarizer", &self.summarizer.is_some()).field("timeout", &self.timeout);
        shown.field("state", &self.state).finish_non_exhaustive()
    }
}

/// What is about to be started.
struct Planned {
    cut: CompactionCut,
    fingerprint: u64,
    request: SummaryRequest,
}

impl BackgroundCompaction {
    /// Starts without a summarizer, with [`TokenHeuristic::DEFAULT`], [`DEFAULT_TIMEOUT`] and an empty state.
    pub fn new(policy: ContextWindowPolicy, config: CompactionConfig) -> Self {
        Self {
            policy,
            config,
            summarizer: None,
            counter: Arc::new(TokenHeuristic::DEFAULT),
            timeout: DEFAULT_TIMEOUT,
            state: CompactionState::default(),
            flight: None,
            told: VecDeque::new(),
        }
    }

    /// Sets who makes the summaries.
    #[must_use]
    pub fn summarizer(mut self, summarizer: Arc<dyn ContextSummarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// Sets what messages are weighed with.
    #[must_use]
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Sets how long one summary may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Goes on from a state that was kept. What it says is in flight belongs to another process: nothing is started
    /// until its deadline, and no later than this one's own time limit.
    #[must_use]
    pub fn restored(mut self, state: CompactionState) -> Self {
        self.state = state.bounded();
        self
    }

    /// Returns what a host keeps.
    pub fn state(&self) -> &CompactionState {
        &self.state
    }

    /// Starts a compaction where the transcript is above the threshold and a summary is worth it.
    ///
    /// What a summary may weigh at most is set against what it would take away before anything is paid for. To be
    /// called inside a tokio runtime with its timer on; never waits.
    pub fn maybe_spawn_compaction(
        &mut self,
        messages: &[Message],
        now_ms: u64,
    ) -> Result<CompactionTaskId, NotSpawned> {
        let threshold = self.threshold()?;
        let summarizer = self.summarizer.clone().ok_or(NotSpawned::NoSummarizer)?;
        self.check_free(now_ms)?;
        let runtime = Handle::try_current().map_err(|_| NotSpawned::NoRuntime)?;
        let planned = self.plan(summarizer.as_ref(), messages, threshold)?;
        let task_id = self.state.next_task();
        self.state.in_flight = Some(CompactionInFlight {
            task_id,
            raw_from: planned.cut.raw_from,
            fingerprint: planned.fingerprint,
            started_at_ms: now_ms,
            deadline_ms: self.deadline_ms(now_ms),
        });
        self.flight =
            Some(SummaryTask::start(&runtime, summarizer, planned.request, self.timeout, planned.cut));
        Ok(task_id)
    }

    fn threshold(&self) -> Result<u64, NotSpawned> {
        match self.config.execution_mode {
            CompactionExecutionMode::Off => Err(NotSpawned::Off),
            CompactionExecutionMode::Background => {
                self.policy.autocompact_threshold.map(|most| most as u64).ok_or(NotSpawned::NoThreshold)
            }
        }
    }

    fn check_free(&self, now_ms: u64) -> Result<(), NotSpawned> {
        if self.state.is_compacting() {
            return Err(NotSpawned::InFlight);
        }
        if let Breaker::Open { until_ms } = self.state.breaker
            && is_ahead(until_ms, now_ms)
        {
            return Err(NotSpawned::BreakerOpen { until_ms });
        }
        match self.state.retry_at_ms {
            Some(until_ms) if is_ahead(until_ms, now_ms) => Err(NotSpawned::BackingOff { until_ms }),
            _ => Ok(()),
        }
    }

    fn deadline_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX))
    }

    fn plan(
        &self,
        summarizer: &dyn ContextSummarizer,
        messages: &[Message],
        threshold: u64,
    ) -> Result<Planned, NotSpawned> {
        let view = WeighedTranscript::new(messages, &self.counter);
        if view.total_tokens() <= threshold {
            return Err(NotSpawned::BelowThreshold);
        }
        let cut = self.cut(&view)?;
        let fingerprint = prefix_fingerprint(&messages[..cut.raw_from]);
        if self.state.knows(fingerprint) {
            return Err(NotSpawned::AlreadyDone);
        }
        if !self.has_grown(messages, &cut) {
            return Err(NotSpawned::NotGrown);
        }
        let request = request::request_of(summarizer, messages, &cut).ok_or(NotSpawned::NothingToCompact)?;
        Ok(Planned { cut, fingerprint, request })
    }

    /// Plans a cut that is worth it even where the summary becomes as long as it may.
    fn cut(&self, view: &WeighedTranscript<'_>) -> Result<CompactionCut, NotSpawned> {
        let expected = expected_tokens(&view.messages, self.counter.as_ref(), &self.config);
        let needed = needed_tokens(expected, self.config.min_savings_ppm());
        plan_compaction(view, &self.policy, needed).ok_or_else(|| {
            let any = plan_compaction(view, &self.policy, 1);
            if any.is_some() { NotSpawned::TooLittleToSave } else { NotSpawned::NothingToCompact }
        })
    }

    /// Tells whether enough was added to the messages of a summary that was left out last.
    fn has_grown(&self, messages: &[Message], cut: &CompactionCut) -> bool {
        let Some(last) = self.state.skipped.last() else { return true };
        let grown = cut.tokens >= last.pre_tokens.saturating_add(MIN_COMPACTION_GAIN_TOKENS);
        let begins_the_same = || {
            messages.get(..last.raw_from).is_some_and(|prefix| prefix_fingerprint(prefix) == last.fingerprint)
        };
        grown || !begins_the_same()
    }

    /// Tells what became of a compaction, once, and applies its summary; never waits.
    ///
    /// `None` where none was started or its summary is not there yet. A task that is past its deadline is aborted. The
    /// only message that it ever brings is the summary; the latest prompt and the raw tail stay as they are.
    pub fn try_consume_compaction_event(
        &mut self,
        messages: &mut Vec<Message>,
        now_ms: u64,
    ) -> Option<CompactionEvent> {
        if let Some(told) = self.told.pop_front() {
            return Some(told);
        }
        let deadline_ms = self.held_deadline(now_ms)?;
        let landing = match self.flight.as_mut().and_then(SummaryTask::take_outcome) {
            Some(landing) => landing,
            // The end of time is no deadline.
            None if now_ms >= deadline_ms && deadline_ms < u64::MAX => Err(Fault::TimedOut),
            None => return None,
        };
        let (in_flight, flight) = (self.state.in_flight.take()?, self.flight.take());
        Some(match (landing, flight) {
            (Ok(summary), Some(flight)) => self.land(messages, in_flight, &flight.cut, summary, now_ms),
            (Err(Fault::Aborted) | Ok(_), _) => {
                CompactionEvent::Cancelled { task_id: in_flight.task_id, usage: wb_budget::Usage::EMPTY }
            }
            (Err(fault), _) => {
                let failure = failure(in_flight.task_id, &fault, now_ms);
                self.state.note_failure(failure.clone());
                CompactionEvent::Failed { failure }
            }
        })
    }

    /// Returns when what is in flight is given up. The record of another process is held no longer than our own limit.
    fn held_deadline(&mut self, now_ms: u64) -> Option<u64> {
        let longest = if self.flight.is_none() { self.deadline_ms(now_ms) } else { u64::MAX };
        let in_flight = self.state.in_flight.as_mut()?;
        in_flight.deadline_ms = in_flight.deadline_ms.min(longest);
        Some(in_flight.deadline_ms)
    }

    fn land(
        &mut self,
        messages: &mut Vec<Message>,
        in_flight: CompactionInFlight,
        cut: &CompactionCut,
        summary: ContextSummary,
        now_ms: u64,
    ) -> CompactionEvent {
        let ContextSummary { text, usage } = summary;
        if let Some(reason) = outdated(messages, in_flight, cut) {
            return self.discard(in_flight, reason, usage, now_ms);
        }
        let message = conversation_summary(&text);
        let post_tokens = self.counter.message(&message);
        if let Some(reason) = refused(cut.tokens, post_tokens, self.config.min_savings_ppm()) {
            let skipped = self.skip(in_flight, reason, [cut.tokens, post_tokens], now_ms);
            return CompactionEvent::Skipped { skipped, usage };
        }
        match splice::splice(messages, cut, message) {
            Err(error) => self.discard(in_flight, DiscardReason::Refused(error), usage, now_ms),
            Ok(undo) => {
                let boundary = self.complete(in_flight, cut, text, post_tokens, now_ms);
                CompactionEvent::Completed { boundary, undo, usage }
            }
        }
    }

    fn discard(
        &mut self,
        in_flight: CompactionInFlight,
        reason: DiscardReason,
        usage: wb_budget::Usage,
        now_ms: u64,
    ) -> CompactionEvent {
        // It was paid for nothing, so it counts; a transcript that is edited each turn must not pay each turn.
        self.state.note_failure(failure(in_flight.task_id, &reason, now_ms));
        CompactionEvent::Discarded { task_id: in_flight.task_id, reason, usage }
    }

    fn skip(
        &mut self,
        in_flight: CompactionInFlight,
        reason: SkipReason,
        [pre_tokens, post_tokens]: [u64; 2],
        now_ms: u64,
    ) -> CompactionSkipped {
        let skipped = CompactionSkipped {
            task_id: in_flight.task_id,
            reason,
            raw_from: in_flight.raw_from,
            fingerprint: in_flight.fingerprint,
            pre_tokens,
            post_tokens,
            savings_ratio_ppm: savings_ratio_ppm(pre_tokens, post_tokens),
            min_savings_ratio_ppm: self.config.min_savings_ppm(),
            timestamp_ms: now_ms,
        };
        self.state.note_skipped(skipped.clone());
        skipped
    }

    fn complete(
        &mut self,
        in_flight: CompactionInFlight,
        cut: &CompactionCut,
        mut summary: String,
        post_tokens: u64,
        now_ms: u64,
    ) -> CompactionBoundary {
        shorten(&mut summary, MAX_RECORDED_SUMMARY_BYTES);
        let boundary = CompactionBoundary {
            task_id: in_flight.task_id,
            summary,
            raw_from: in_flight.raw_from,
            n_messages: cut.ranges.iter().map(ExactSizeIterator::len).sum(),
            fingerprint: in_flight.fingerprint,
            pre_tokens: cut.tokens,
            post_tokens,
            timestamp_ms: now_ms,
        };
        self.state.note_boundary(boundary.clone());
        boundary
    }

    /// Gives up what is in flight, done or not, and tells which; the event of it is there at once.
    ///
    /// A host that stops calls it before it keeps the state, so that the next process need not wait for the deadline.
    pub fn cancel(&mut self) -> Option<CompactionTaskId> {
        let task_id = self.state.in_flight.take()?.task_id;
        let landing = self.flight.take().and_then(|mut flight| flight.take_outcome());
        let usage = landing.and_then(Result::ok).map(|summary| summary.usage).unwrap_or_default();
        self.told.push_back(CompactionEvent::Cancelled { task_id, usage });
        Some(task_id)
    }

    /// Waits until the task in flight is done; at once where there is none. Its result stays to be consumed, also where
    /// the future is dropped before it is done.
    pub async fn settled(&mut self) {
        if let Some(flight) = &mut self.flight {
            flight.settled().await;
        }
    }
}

/// Tells why a summary does not belong to a transcript any more.
fn outdated(
    messages: &[Message],
    in_flight: CompactionInFlight,
    cut: &CompactionCut,
) -> Option<DiscardReason> {
    let Some(prefix) = messages.get(..in_flight.raw_from) else { return Some(DiscardReason::Shortened) };
    if prefix_fingerprint(prefix) != in_flight.fingerprint {
        return Some(DiscardReason::PrefixChanged);
    }
    // What stood behind may be gone, and an older prompt be the latest now.
    let prompt = last_prompt_start(messages)?;
    let takes_prompt = cut.ranges.iter().any(|range| range.contains(&prompt));
    takes_prompt.then_some(DiscardReason::TakesPrompt)
}

const _: fn() = || {
    fn crosses_threads<T: Send>() {}
    crosses_threads::<BackgroundCompaction>();
};
