//! What a background compaction tells its host: why none was started, and what became of one.

use std::fmt;

use wb_budget::Usage;
use wb_message::{PatchError, Undo};

use crate::compaction_state::{CompactionBoundary, CompactionFailure, CompactionSkipped, CompactionTaskId};

/// Why no compaction was started. The transcript is truncated instead where it must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSpawned {
    /// The configuration says so.
    #[error("compaction is off")]
    Off,
    /// The policy has no threshold.
    #[error("there is no threshold for compaction")]
    NoThreshold,
    /// There is nobody to ask.
    #[error("there is no summarizer")]
    NoSummarizer,
    /// One was started and its event was not consumed yet.
    #[error("a compaction is in flight")]
    InFlight,
    /// The last one did not help.
    #[error("the last compaction did not help; the next is tried at {until_ms} ms")]
    BackingOff {
        /// When the next may start, in milliseconds.
        until_ms: u64,
    },
    /// Several in a row did not help.
    #[error("the breaker is open until {until_ms} ms")]
    BreakerOpen {
        /// When a trial may start, in milliseconds.
        until_ms: u64,
    },
    /// It was called outside of a tokio runtime.
    #[error("there is no tokio runtime to run on")]
    NoRuntime,
    /// The transcript weighs no more than the threshold.
    #[error("the transcript is not above the threshold")]
    BelowThreshold,
    /// Nothing stands before the latest prompt and the raw tail, or nothing that is not in a summary already.
    #[error("there is nothing to compact")]
    NothingToCompact,
    /// Even a summary of the configured length would save too little.
    #[error("too little would be saved")]
    TooLittleToSave,
    /// The same messages were summarized already.
    #[error("the same messages were summarized already")]
    AlreadyDone,
    /// A summary of nearly the same messages was left out, and too little was added since.
    #[error("too little was added since a summary was left out")]
    NotGrown,
}

/// Why a summary that was made cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiscardReason {
    /// The transcript is shorter than what was summarized.
    Shortened,
    /// The messages that were summarized are not the same any more.
    PrefixChanged,
    /// The latest prompt is among the messages that would go.
    TakesPrompt,
    /// The patch was refused.
    Refused(PatchError),
}

impl fmt::Display for DiscardReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shortened => f.write_str("the transcript was shortened meanwhile"),
            Self::PrefixChanged => f.write_str("the transcript changed meanwhile"),
            Self::TakesPrompt => f.write_str("the latest prompt is among what was summarized"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// What became of a compaction. A value for the host, never a message of the transcript.
#[derive(Debug)]
#[non_exhaustive]
pub enum CompactionEvent {
    /// The summary stands in place of what it stands for.
    Completed {
        /// The record of it.
        boundary: CompactionBoundary,
        /// What takes it back.
        undo: Undo,
        /// What the summary cost.
        usage: Usage,
    },
    /// The summary saves too little and was left out.
    Skipped {
        /// The record of it.
        skipped: CompactionSkipped,
        /// What the summary cost.
        usage: Usage,
    },
    /// The summary does not belong to this transcript any more; recorded as a failure.
    Discarded {
        /// Which compaction.
        task_id: CompactionTaskId,
        /// Why.
        reason: DiscardReason,
        /// What the summary cost.
        usage: Usage,
    },
    /// There is no summary.
    Failed {
        /// The record of it.
        failure: CompactionFailure,
    },
    /// The host cancelled, or its runtime was shut down.
    Cancelled {
        /// Which compaction.
        task_id: CompactionTaskId,
        /// What the summary cost, where it was done already.
        usage: Usage,
    },
}

impl CompactionEvent {
    /// Returns which compaction it is about.
    pub fn task_id(&self) -> CompactionTaskId {
        match self {
            Self::Completed { boundary, .. } => boundary.task_id,
            Self::Skipped { skipped, .. } => skipped.task_id,
            Self::Failed { failure } => failure.task_id,
            Self::Discarded { task_id, .. } | Self::Cancelled { task_id, .. } => *task_id,
        }
    }
}

impl fmt::Display for CompactionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.task_id())?;
        match self {
            Self::Completed { boundary: it, .. } => {
                write!(
                    f,
                    "{} messages summarized, {} → {} tokens",
                    it.n_messages, it.pre_tokens, it.post_tokens
                )
            }
            Self::Skipped { skipped: it, .. } => {
                write!(f, "left out: {}, {} → {} tokens", it.reason, it.pre_tokens, it.post_tokens)
            }
            Self::Discarded { reason, .. } => write!(f, "discarded: {reason}"),
            Self::Failed { failure } => write!(f, "failed: {}", failure.error),
            Self::Cancelled { .. } => f.write_str("cancelled"),
        }
    }
}
