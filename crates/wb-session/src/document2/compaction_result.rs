//! The outcome of a compaction, and the reasons why there is none.

use serde_json::Value;
use wb_budget::Usage;
use wb_summarize::NoDigest;

use crate::EntryId;

/// The heading of the summary of a turn's first part, which follows that of the history.
pub(crate) const TURN_CONTEXT: &str = "**Turn Context (split turn):**";
/// The history's text if a turn is cut in two and nothing came before it.
pub(crate) const NO_PRIOR_HISTORY: &str = "No prior history.";

/// The writer of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummarySource {
    /// The model.
    Model,
    /// The model one half and the local digest the other, since there was no usable reply for it.
    Partly(NoDigest),
    /// The local digest, since there was no usable reply.
    Local(NoDigest),
    /// A hook.
    Hook,
}

/// A compaction that is ready to be appended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompactionOutcome {
    /// The summary with its lists of files.
    pub summary: String,
    /// The first entry that is kept.
    pub first_kept_entry_id: EntryId,
    /// The tokens of the context before the compaction.
    pub tokens_before: u64,
    /// The data noted next to the summary: the lists of files, or any JSON from a hook.
    pub details: Option<Value>,
    /// The usage that the provider counted for all requests, failed ones included.
    pub usage: Usage,
    /// The number of requests made.
    pub n_requests: usize,
    /// The writer of the summary.
    pub source: SummarySource,
}

/// The reasons why there is no summary; nothing was appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// There is no message to summarize.
    #[error("nothing to summarize")]
    Nothing,
    /// The summary was cancelled.
    #[error("the summary was cancelled")]
    Cancelled {
        /// The usage that the provider counted until then.
        usage: Usage,
    },
    /// Every summary that was tried weighs as much as the messages that it should replace.
    #[error("a summary of {after} tokens would not be lighter than the {before} tokens that it stands for")]
    NotLighter {
        /// The estimated tokens of what would be summarized.
        before: u64,
        /// The estimated tokens of the summary.
        after: u64,
        /// The usage that the provider counted.
        usage: Usage,
    },
}
