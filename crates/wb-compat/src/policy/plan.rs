//! The plan of a compaction: its boundary, and the input of the summarizer.

use std::collections::HashSet;

use super::estimate::total_tokens;
use super::message::{Role, ThreadMessage};
use super::settings::ContextWindowPolicy;
use super::summary::{SummaryTagsError, render_transcript, try_extract_previous_summary};

/// The fewest tokens of a prefix to summarize.
///
/// Fault: despite its name it is not a gain but the weight of the prefix.
/// `wb_summarize::MIN_COMPACTION_GAIN_TOKENS` is a gain.
pub const MIN_COMPACTION_GAIN_TOKENS: usize = 1024;

/// Returns the last index in `start..end` after which no call is open and no tool result follows.
///
/// Fault: a single unanswered call rules out every later boundary; calls before `start` are
/// unknown. An `end` before `start` gives `None` here, where the published function overflows. Use
/// `wb_budget::plan_cut`.
pub fn find_compaction_boundary(messages: &[ThreadMessage], start: usize, end: usize) -> Option<usize> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut boundary = None;
    for at in start..end.min(messages.len()) {
        open.extend(messages[at].call_ids());
        if let Some(id) = messages[at].answers() {
            open.remove(id);
        }
        if open.is_empty() && !messages.get(at + 1).is_some_and(ThreadMessage::is_tool) {
            boundary = Some(at);
        }
    }
    boundary
}

/// The input of a summarizer, independent of later changes of the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The messages to summarize, by [`render_transcript`].
    pub transcript: String,
    /// The text of an earlier summary.
    pub previous_summary: Option<String>,
    /// The id of the last message to summarize.
    pub boundary_message_id: String,
    /// The weight of the messages to summarize, in tokens.
    pub pre_tokens: usize,
}

/// Plans a compaction of everything up to a boundary before the latest user message and the raw
/// suffix, if it weighs at least [`MIN_COMPACTION_GAIN_TOKENS`], the boundary has an id, and the
/// transcript is not empty.
///
/// Fault: with a single user message nothing can ever be summarized, however many steps follow it;
/// an earlier summary counts again, so a few new words can make a plan; a request can be summarized
/// while its answer stays. Use the pipeline of `wb-conductor`.
///
/// # Panics
/// Panics if [`extract_previous_summary`](super::extract_previous_summary) does;
/// [`try_plan_compaction`] does not.
#[track_caller]
pub fn plan_compaction(messages: &[ThreadMessage], policy: &ContextWindowPolicy) -> Option<CompactionPlan> {
    try_plan_compaction(messages, policy).unwrap_or_else(|error| panic!("{error}"))
}

/// Does the same as [`plan_compaction`]; fails if the tags of an earlier summary are in the wrong
/// order.
pub fn try_plan_compaction(
    messages: &[ThreadMessage],
    policy: &ContextWindowPolicy,
) -> Result<Option<CompactionPlan>, SummaryTagsError> {
    let boundary = find_compaction_boundary(messages, 0, search_end(messages, policy));
    let Some((boundary, id)) = boundary.and_then(|at| Some((at, messages[at].id.clone()?))) else {
        return Ok(None);
    };
    let (prefix, pre_tokens) = (&messages[..=boundary], total_tokens(&messages[..=boundary]));
    let transcript = render_transcript(prefix);
    if pre_tokens < MIN_COMPACTION_GAIN_TOKENS || transcript.is_empty() {
        return Ok(None);
    }
    let previous_summary = try_extract_previous_summary(messages)?;
    Ok(Some(CompactionPlan { transcript, previous_summary, boundary_message_id: id, pre_tokens }))
}

/// Returns the number of messages before the raw suffix, 0 if there are fewer than two.
fn search_end(messages: &[ThreadMessage], policy: &ContextWindowPolicy) -> usize {
    let is_prompt = |message: &ThreadMessage| message.role() == Role::User && !message.is_internal();
    let turn = messages.iter().rposition(is_prompt).map_or(0, |at| messages.len() - at);
    let end = messages.len().saturating_sub(policy.raw_messages().max(turn));
    if end >= 2 { end } else { 0 }
}
