//! The seam of a free pass: it plans a patch and never rewrites.

use wb_budget::{View, Weigher};
use wb_message::Patch;

/// What a pass is asked for.
#[derive(Clone, Copy)]
pub struct Goal<'a> {
    /// The weight, in tokens, at or below which the transcript fits.
    pub target_tokens: u64,
    /// What the transcript was weighed with.
    pub weigher: &'a dyn Weigher,
}

impl std::fmt::Debug for Goal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Goal").field("target_tokens", &self.target_tokens).finish_non_exhaustive()
    }
}

/// A free compaction pass: no model, no clock, no files.
///
/// A plan is strictly lighter than its input, keeps every pair, and is `None` where nothing can be gained;
/// planning again on the result gives `None`.
pub trait Pass: Send + Sync {
    /// Returns the pass's name, as reports show it.
    fn name(&self) -> &'static str;

    /// Plans the pass over a transcript.
    fn plan(&self, view: View<'_>, goal: Goal<'_>) -> Option<Patch>;
}

const _: fn(&dyn Pass) = |_| ();
