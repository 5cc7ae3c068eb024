//! Slicing for a summary that stands in front: raw suffix and safe frontier.

use std::ops::Range;

use wb_message::markers::is_pinned;
use wb_message::{last_prompt_start, runs};

use crate::transcript::WeighedTranscript;
use crate::window_policy::{ContextCompactionMode, ContextWindowPolicy};

/// What a compaction takes away; the indices are those of the transcript that it was planned on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionCut {
    /// The messages that become a summary, in ascending runs; what stands between them stays.
    pub ranges: Vec<Range<usize>>,
    /// Index of the first message of the raw tail.
    pub raw_from: usize,
    /// Weight of what becomes a summary, in tokens.
    pub tokens: u64,
}

impl ContextWindowPolicy {
    /// Returns how many messages at the end stay raw.
    fn n_raw(&self) -> usize {
        match self.compaction_mode {
            ContextCompactionMode::KeepRecentRawSuffix => self.compaction_raw_suffix_messages,
            ContextCompactionMode::CompactToSafeFrontier => self.min_recent_messages,
        }
    }
}

/// Plans what a compaction takes away: everything before the raw tail but pinned messages and the latest prompt.
///
/// The whole latest turn stays raw where what stands before it weighs at least `min_tokens` and frees enough to
/// come down to the policy's threshold; otherwise its older steps go too and only the prompt itself stays. No call
/// is separated from its result, and a call that was never answered blocks nothing. `None` where less than
/// `min_tokens` could go.
pub fn plan_compaction(
    view: &WeighedTranscript<'_>,
    policy: &ContextWindowPolicy,
    min_tokens: u64,
) -> Option<CompactionCut> {
    let end = view.messages.len().checked_sub(policy.n_raw())?;
    let prompt = last_prompt_start(&view.messages);
    let before_turn = prompt.map(|prompt| cut_at(view, end.min(prompt), None));
    let fits =
        |cut: &CompactionCut| policy.autocompact_threshold.is_none_or(|most| left(view, cut) <= most as u64);
    let whole_turn = before_turn.filter(|cut| cut.tokens >= min_tokens && fits(cut));
    let cut = whole_turn.unwrap_or_else(|| cut_at(view, end, prompt));
    (cut.tokens >= min_tokens && !cut.ranges.is_empty()).then_some(cut)
}

/// Returns the weight of what stays raw, in tokens.
fn left(view: &WeighedTranscript<'_>, cut: &CompactionCut) -> u64 {
    view.total_tokens().saturating_sub(cut.tokens)
}

/// Takes what stands before the last legal cut at or before `end`, apart from pinned messages and the prompt.
fn cut_at(view: &WeighedTranscript<'_>, end: usize, prompt: Option<usize>) -> CompactionCut {
    // A prompt that carries results cannot stay without their calls.
    let carrier = prompt.filter(|&at| view.messages[at].answered_ids().next().is_some());
    let raw_from = view.pairing.legal_at_or_before(carrier.map_or(end, |at| at.min(end))).unwrap_or(0);
    let goes = |at: &usize| !is_pinned(view.messages[*at]) && Some(*at) != prompt;
    let ranges = runs((0..raw_from).filter(goes));
    let tokens = ranges.iter().map(|run| view.prefix[run.end] - view.prefix[run.start]).sum();
    CompactionCut { ranges, raw_from, tokens }
}
