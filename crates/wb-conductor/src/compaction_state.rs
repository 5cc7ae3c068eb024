//! What a background compaction remembers: what is in flight, what became of earlier ones, when to try again.
//!
//! All of it is data that a host keeps beside the transcript, bounded whatever happens: [`MAX_COMPACTION_RECORDS`] per
//! list, [`MAX_RECORDED_SUMMARY_BYTES`] and [`MAX_RECORDED_ERROR_BYTES`] per text.

use std::fmt;

use serde::{Deserialize, Serialize};
use wb_message::text::clip;

use crate::breaker::BREAKER_AFTER;

/// The most entries of each list of a [`CompactionState`]; the newest stay. Enough to tell a run of failures from an
/// accident; the history of a session belongs to its log.
pub const MAX_COMPACTION_RECORDS: usize = 16;
/// The most bytes of a recorded summary, head and tail: twice what a summary of the default length has.
pub const MAX_RECORDED_SUMMARY_BYTES: usize = 8192;
/// The most bytes of a recorded error, head and tail.
pub const MAX_RECORDED_ERROR_BYTES: usize = 512;
/// The pause after a first run that did not help, in milliseconds: about what a provider's rate limit asks for.
pub const FIRST_BACKOFF_MS: u64 = 30_000;
/// How long a breaker stays open at first, in milliseconds; each trial that does not help doubles it.
pub const BREAKER_OPEN_MS: u64 = 300_000;
/// The longest pause, in milliseconds. A pause that seems longer was written under another clock and holds nothing up.
pub const MAX_BACKOFF_MS: u64 = 3_600_000;

/// The number of a compaction, unique within the history of one [`CompactionState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CompactionTaskId(pub u64);

impl fmt::Display for CompactionTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compaction-{}", self.0)
    }
}

/// A compaction whose summary is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionInFlight {
    /// Which compaction.
    pub task_id: CompactionTaskId,
    /// Index of the first message that it does not reach.
    pub raw_from: usize,
    /// [`prefix_fingerprint`](wb_message::prefix_fingerprint) of the messages before that one.
    pub fingerprint: u64,
    /// When it was started, in milliseconds.
    pub started_at_ms: u64,
    /// When it is given up, in milliseconds.
    pub deadline_ms: u64,
}

/// A summary that took the place of older messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionBoundary {
    /// Which compaction.
    pub task_id: CompactionTaskId,
    /// What the summary says, at most [`MAX_RECORDED_SUMMARY_BYTES`] of it.
    pub summary: String,
    /// Index of the first message that it did not reach, in the transcript before it.
    pub raw_from: usize,
    /// How many messages went.
    pub n_messages: usize,
    /// [`prefix_fingerprint`](wb_message::prefix_fingerprint) of the messages before `raw_from`, as they were.
    pub fingerprint: u64,
    /// Weight of what went, in tokens.
    pub pre_tokens: u64,
    /// Weight of the summary, in tokens.
    pub post_tokens: u64,
    /// When it was applied, in milliseconds.
    pub timestamp_ms: u64,
}

/// A compaction that came to nothing: an error, a panic, the time limit, or a transcript that had changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionFailure {
    /// Which compaction.
    pub task_id: CompactionTaskId,
    /// Why, at most [`MAX_RECORDED_ERROR_BYTES`] of it.
    pub error: String,
    /// When it was noticed, in milliseconds.
    pub timestamp_ms: u64,
}

/// Why a summary was not worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// It saves a smaller part than `min_savings_ratio` of what would go.
    MinSavingsRatio,
    /// It saves fewer tokens than `MIN_COMPACTION_GAIN_TOKENS`.
    MinGainTokens,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MinSavingsRatio => "the summary saves too small a part of what it stands for",
            Self::MinGainTokens => "the summary saves too few tokens",
        })
    }
}

/// A summary that was made and left out, because it saves too little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionSkipped {
    /// Which compaction.
    pub task_id: CompactionTaskId,
    /// Why.
    pub reason: SkipReason,
    /// Index of the first message that it does not reach.
    pub raw_from: usize,
    /// [`prefix_fingerprint`](wb_message::prefix_fingerprint) of the messages before that one.
    pub fingerprint: u64,
    /// Weight of what would go, in tokens.
    pub pre_tokens: u64,
    /// Weight of the summary, in tokens.
    pub post_tokens: u64,
    /// What it saves, in millionths of `pre_tokens`.
    pub savings_ratio_ppm: u64,
    /// What it must save, in millionths of `pre_tokens`.
    pub min_savings_ratio_ppm: u64,
    /// When it was left out, in milliseconds.
    pub timestamp_ms: u64,
}

/// Whether the summarizer is asked at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Breaker {
    /// It is.
    #[default]
    Closed,
    /// Not before that time; then a single trial decides.
    Open {
        /// In milliseconds.
        until_ms: u64,
    },
}

/// Everything that outlives a compaction; keys that are left out get the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionState {
    /// Summaries that were applied, newest last.
    pub boundaries: Vec<CompactionBoundary>,
    /// Compactions that came to nothing, newest last.
    pub failures: Vec<CompactionFailure>,
    /// Summaries that were left out, newest last.
    pub skipped: Vec<CompactionSkipped>,
    /// How many summaries were applied.
    pub total_compactions: u64,
    /// How many compactions were started; the number of the newest.
    pub n_started: u64,
    /// What is being made now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<CompactionInFlight>,
    /// Compactions in a row that did not help.
    pub consecutive_failures: u32,
    /// When to try again, in milliseconds, while the breaker is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<u64>,
    /// Whether the summarizer is asked at all.
    pub breaker: Breaker,
}

impl CompactionState {
    /// Tells whether a summary is being made, or is waiting to be consumed.
    pub fn is_compacting(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Returns the state within its bounds, for one that comes from outside.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        keep_newest(&mut self.boundaries);
        keep_newest(&mut self.failures);
        keep_newest(&mut self.skipped);
        for boundary in &mut self.boundaries {
            shorten(&mut boundary.summary, MAX_RECORDED_SUMMARY_BYTES);
        }
        for failure in &mut self.failures {
            shorten(&mut failure.error, MAX_RECORDED_ERROR_BYTES);
        }
        self
    }

    /// Tells whether a summary of exactly these messages was made, applied or not.
    pub fn knows(&self, fingerprint: u64) -> bool {
        let applied = self.boundaries.iter().map(|boundary| boundary.fingerprint);
        let mut known = applied.chain(self.skipped.iter().map(|skipped| skipped.fingerprint));
        known.any(|known| known == fingerprint)
    }

    /// Numbers the next compaction.
    pub(crate) fn next_task(&mut self) -> CompactionTaskId {
        self.n_started = self.n_started.saturating_add(1);
        CompactionTaskId(self.n_started)
    }

    /// Records a success, which closes the breaker.
    pub(crate) fn note_boundary(&mut self, boundary: CompactionBoundary) {
        push(&mut self.boundaries, boundary);
        self.total_compactions = self.total_compactions.saturating_add(1);
        self.consecutive_failures = 0;
        self.retry_at_ms = None;
        self.breaker = Breaker::Closed;
    }

    pub(crate) fn note_failure(&mut self, failure: CompactionFailure) {
        self.pause(failure.timestamp_ms);
        push(&mut self.failures, failure);
    }

    pub(crate) fn note_skipped(&mut self, skipped: CompactionSkipped) {
        self.pause(skipped.timestamp_ms);
        push(&mut self.skipped, skipped);
    }

    /// Waits longer after each run that did not help; after [`BREAKER_AFTER`] in a row the breaker opens.
    fn pause(&mut self, now_ms: u64) {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        if let Some(n_trials) = self.consecutive_failures.checked_sub(BREAKER_AFTER) {
            let until_ms = now_ms.saturating_add(doubled(BREAKER_OPEN_MS, n_trials));
            self.retry_at_ms = None;
            self.breaker = Breaker::Open { until_ms };
        } else {
            let pause_ms = doubled(FIRST_BACKOFF_MS, self.consecutive_failures - 1);
            self.retry_at_ms = Some(now_ms.saturating_add(pause_ms));
        }
    }
}

/// Tells whether a time is still to come, and not so far off that another clock must have set it.
pub(crate) fn is_ahead(until_ms: u64, now_ms: u64) -> bool {
    until_ms.checked_sub(now_ms).is_some_and(|pause_ms| pause_ms > 0 && pause_ms <= MAX_BACKOFF_MS)
}

/// Builds the record of a failure.
pub(crate) fn failure(
    task_id: CompactionTaskId,
    error: &dyn fmt::Display,
    timestamp_ms: u64,
) -> CompactionFailure {
    let mut error = error.to_string();
    shorten(&mut error, MAX_RECORDED_ERROR_BYTES);
    CompactionFailure { task_id, error, timestamp_ms }
}

/// Cuts a text to its head and tail.
pub(crate) fn shorten(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        *text = clip(text, max_bytes).into_owned();
    }
}

fn doubled(first_ms: u64, n_times: u32) -> u64 {
    2_u64.saturating_pow(n_times).saturating_mul(first_ms).min(MAX_BACKOFF_MS)
}

fn push<T>(list: &mut Vec<T>, record: T) {
    list.push(record);
    keep_newest(list);
}

fn keep_newest<T>(list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(MAX_COMPACTION_RECORDS));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(state: &mut CompactionState, now_ms: u64) {
        state.note_failure(failure(CompactionTaskId(1), &"no", now_ms));
    }

    #[test]
    fn pauses_double_up_to_an_hour_and_the_second_opens_the_breaker() {
        let mut state = CompactionState::default();
        failed(&mut state, 1_000);
        assert_eq!((state.retry_at_ms, state.breaker), (Some(31_000), Breaker::Closed));
        let minutes = [5, 10, 20, 40, 60, 60].map(|minutes| minutes * 60_000);
        for pause_ms in minutes {
            failed(&mut state, 1_000);
            assert_eq!(
                (state.retry_at_ms, state.breaker),
                (None, Breaker::Open { until_ms: 1_000 + pause_ms })
            );
        }
        state.consecutive_failures = u32::MAX;
        failed(&mut state, u64::MAX);
        assert_eq!(state.breaker, Breaker::Open { until_ms: u64::MAX });
    }

    #[test]
    fn a_pause_that_another_clock_set_holds_nothing_up() {
        assert!(is_ahead(10, 9) && is_ahead(MAX_BACKOFF_MS, 0));
        assert!(
            !is_ahead(10, 10)
                && !is_ahead(9, 10)
                && !is_ahead(MAX_BACKOFF_MS + 1, 0)
                && !is_ahead(u64::MAX, 0)
        );
    }

    #[test]
    fn a_state_from_outside_is_brought_within_its_bounds() {
        let record =
            CompactionFailure { task_id: CompactionTaskId(3), error: "é".repeat(9_000), timestamp_ms: 0 };
        let state = CompactionState { failures: vec![record; 99], ..CompactionState::default() }.bounded();
        assert_eq!(state.failures.len(), MAX_COMPACTION_RECORDS);
        assert!(state.failures.iter().all(|failure| failure.error.len() <= MAX_RECORDED_ERROR_BYTES));
    }

    #[test]
    fn an_empty_record_is_a_state_and_an_idle_state_is_small() {
        let state: CompactionState = serde_json::from_str("{}").expect("all keys have defaults");
        assert_eq!(state, CompactionState::default());
        assert!(!state.is_compacting());
        assert_eq!(
            serde_json::to_string(&state).expect("JSON"),
            r#"{"boundaries":[],"failures":[],"skipped":[],"total_compactions":0,"n_started":0,"consecutive_failures":0,"breaker":{"state":"closed"}}"#
        );
    }
}
