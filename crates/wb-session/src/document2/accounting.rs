//! Token accounting: what the provider counted, and estimates of what came after.

use wb_budget::{TokenCounter, Usage};

use super::context_view::{VisiblePath, compaction_of, is_mute_failure, kept_from, last_compaction};
use super::settings::CompactionSettings;
use crate::entry::{Entry, EntryKind, Logged};

/// The tokens of a context, and how much of the figure a provider counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextEstimate {
    /// All tokens.
    pub tokens: u64,
    /// The tokens that the provider counted, up to and with the message at `last_usage_index`.
    pub usage_tokens: u64,
    /// Those of them that were the prompt and not its answer.
    pub prompt_tokens: u64,
    /// The estimated tokens of what came after; of all messages if no count is valid.
    pub trailing_tokens: u64,
    /// The estimated tokens of all messages, whether counted or not.
    pub estimated_tokens: u64,
    /// The message whose count was used, by its place among the messages of the context.
    pub last_usage_index: Option<usize>,
}

/// Returns the tokens that the context had when an answer was complete: prompt, caches and answer.
pub fn calculate_context_tokens(usage: &Usage) -> u64 {
    usage.context_tokens()
}

/// Returns whether a context of `context_tokens` exceeds the window less the reserve; false if
/// compaction is disabled. A context exactly at the limit does not exceed it. A window smaller than
/// the reserve is always exceeded.
pub fn should_compact(context_tokens: u64, window_tokens: u64, settings: &CompactionSettings) -> bool {
    settings.enabled && context_tokens.saturating_add(settings.reserve_tokens) > window_tokens
}

/// Returns the last valid count on a path and the place of its entry.
///
/// Answers that failed or were aborted count nothing, and neither does a count of zero.
pub fn last_usage(path: &[&Entry]) -> Option<(usize, Usage)> {
    path.iter().enumerate().rev().find_map(|(at, entry)| Some((at, valid_usage(entry)?)))
}

/// Estimates the tokens of the context at the end of a path.
///
/// The last valid count is used unchanged and the messages after it are estimated. A count from
/// before the newest compaction or edit belongs to another prompt and is ignored; without a count
/// all messages are estimated. An answer that failed without any text counts nothing, since it is
/// not sent. [`SESSION_PRESET`](crate::SESSION_PRESET) is the counter of the recorded answers.
pub fn estimate_context(path: &[&Entry], counter: &dyn TokenCounter) -> ContextEstimate {
    tally(path, counter).estimate
}

pub(crate) fn tally(path: &[&Entry], counter: &dyn TokenCounter) -> Tally {
    let visible = VisiblePath::new(path);
    let compaction = last_compaction(path);
    // The last compaction comes first, and older ones add nothing.
    let kept = (kept_from(path)..path.len()).filter(|at| compaction_of(path[*at]).is_none());
    let current_from = path.iter().rposition(|entry| entry.kind.tag().changes_prompt()).unwrap_or(0);
    let mut tally = Tally::default();
    for at in compaction.into_iter().chain(kept) {
        let Some(tokens) = visible.weigh(path[at], counter) else { continue };
        tally.take(tokens, path[at], at >= current_from);
    }
    tally
}

/// An estimate as it grows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) estimate: ContextEstimate,
    n_messages: usize,
}

impl Tally {
    /// Adds an entry of a given size; `is_current` marks a count in it as valid for the present
    /// context.
    pub(crate) fn take(&mut self, tokens: u64, entry: &Entry, is_current: bool) {
        let tokens = if is_mute_failure(entry) { 0 } else { tokens };
        let it = &mut self.estimate;
        it.estimated_tokens = it.estimated_tokens.saturating_add(tokens);
        if let Some(usage) = valid_usage(entry).filter(|_| is_current) {
            (it.usage_tokens, it.prompt_tokens) = (calculate_context_tokens(&usage), usage.prompt_tokens());
            (it.trailing_tokens, it.last_usage_index) = (0, Some(self.n_messages));
        } else {
            it.trailing_tokens = it.trailing_tokens.saturating_add(tokens);
        }
        it.tokens = it.usage_tokens.saturating_add(it.trailing_tokens);
        self.n_messages += 1;
    }
}

fn valid_usage(entry: &Entry) -> Option<Usage> {
    let EntryKind::Message(Logged { request: Some(request), .. }) = &entry.kind else { return None };
    let usage = request.usage.filter(|usage| calculate_context_tokens(usage) > 0)?;
    (!request.stop_reason.is_failure()).then_some(usage)
}
