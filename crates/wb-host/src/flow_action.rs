//! What the automatic flow says, and where it stands.

use crate::compaction_job::{CompactionJob, SessionCompaction};
use crate::context_usage::ContextUsage;
use crate::hooks::CompactionReason;
use crate::shorten::Shortening;

/// Where the flow stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowState {
    /// Nothing is under way.
    #[default]
    Ready,
    /// A compaction is under way.
    Compacting {
        /// Why it was started.
        reason: CompactionReason,
    },
    /// A request that did not fit is to be repeated, or was and is not answered yet.
    Recovering,
    /// No more is tried by itself; the user should know.
    Stopped(Stopped),
}

/// Why no more is tried by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// Compactions left the context over its limit, or there was nothing to compact.
    #[error("compacting does not help: the context has {} tokens, {} are the limit", context.tokens, context.limit_tokens)]
    NoHelp {
        /// The figures.
        context: ContextUsage,
    },
    /// A request did not fit, and after a compaction it did not fit either; or that compaction failed.
    #[error("the context did not fit, and compacting it did not help")]
    OverflowAgain,
    /// A request did not fit, and there was nothing to compact.
    #[error("the context did not fit, and there is nothing to compact")]
    NothingToCompact,
}

/// What a host does next.
#[derive(Debug)]
#[non_exhaustive]
pub enum FlowAction {
    /// Nothing; a request can be sent.
    Proceed,
    /// This compaction, by [`SessionFlow::complete`](crate::SessionFlow::complete); or by [`CompactionJob::run`], with
    /// the session free meanwhile, and [`SessionFlow::finish`](crate::SessionFlow::finish).
    Compact(Box<CompactionJob>),
    /// Results of tools that are too large are shortened in the context, by
    /// [`SessionFlow::shorten`](crate::SessionFlow::shorten).
    Shorten(Box<Shortening>),
    /// The compaction that is under way comes first.
    Busy,
    /// Nothing, since nothing would be summarized: an answer to the user who asked.
    Nothing,
    /// Nothing by itself; the user should know.
    Stopped(Stopped),
}

/// A compaction that was appended; the context is to be built anew.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compacted {
    /// The entry, what it says and what it cost.
    pub compaction: SessionCompaction,
    /// Why the session was compacted.
    pub reason: CompactionReason,
    /// What the context holds from now on, by estimate.
    pub context: ContextUsage,
    /// Whether the request that did not fit is to be repeated now. Its answer stays on a branch of its own.
    pub will_retry: bool,
}

/// Results that were shortened; the context is to be built anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortened {
    /// How many results were shortened.
    pub n_results: usize,
    /// What the context holds from now on, by estimate.
    pub context: ContextUsage,
    /// Whether the request that did not fit is to be repeated now. Its answer stays on a branch of its own.
    pub will_retry: bool,
}
