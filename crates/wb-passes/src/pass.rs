//! The seam of a free pass: it plans a patch and never rewrites.

use wb_budget::WeighedTranscript;
use wb_message::{Patch, ToolVocabulary};

/// What a pass is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal<'a> {
    /// The weight, in tokens, at or below which the transcript fits.
    pub target_tokens: u64,
    /// Indices of messages that no pass may drop, ascending: the digest that is planned already.
    pub keep: &'a [usize],
    /// Which tools read, change files and can be run again.
    pub vocabulary: &'a ToolVocabulary,
}

impl Goal<'_> {
    /// Aims at a weight in tokens under the universal vocabulary.
    pub fn target(target_tokens: u64) -> Self {
        Self { target_tokens, keep: &[], vocabulary: &ToolVocabulary::UNIVERSAL }
    }
}

/// A free compaction pass: no model, no clock, no files.
///
/// A plan is strictly lighter than its input, keeps every pair, and is `None` if nothing can be gained;
/// planning again on the result gives `None`. A pass that runs whether or not a transcript is over its budget may add
/// weight instead; the pipeline is told so.
pub trait Pass: Send + Sync {
    /// Returns the pass's name, as reports and settings show it.
    fn name(&self) -> &str;

    /// Plans the pass over a transcript.
    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch>;
}

const _: fn(&dyn Pass) = |_| ();
