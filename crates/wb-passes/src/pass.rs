//! The trait of a free pass, which plans a patch and never rewrites.

use wb_budget::WeighedTranscript;
use wb_message::{Patch, ToolVocabulary};

/// The goal of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal<'a> {
    /// The largest weight that fits, in tokens.
    pub target_tokens: u64,
    /// Requests a size: passes that can stop at it do.
    pub is_size: bool,
    /// Indices of messages that no pass may drop, ascending, such as a planned digest.
    pub keep: &'a [usize],
    /// The roles of tools.
    pub vocabulary: &'a ToolVocabulary,
}

impl Goal<'_> {
    /// Builds a goal of a weight in tokens under the universal vocabulary.
    pub fn target(target_tokens: u64) -> Self {
        Self { target_tokens, is_size: false, keep: &[], vocabulary: &ToolVocabulary::UNIVERSAL }
    }
}

/// A free compaction pass: no model, no clock, no files.
///
/// A plan is strictly lighter than its input, keeps every pair, and is `None` if nothing can be
/// gained; planning again on the result gives `None`. A pass that always runs, even within the
/// budget, may add weight instead; its row in [`PASSES`](crate::PASSES) declares that.
pub trait Pass: Send + Sync {
    /// Returns the pass's name in reports and settings.
    fn name(&self) -> &str;

    /// Plans the pass over a transcript.
    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch>;
}

const _: fn(&dyn Pass) = |_| ();
