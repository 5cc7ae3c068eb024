//! Published arithmetic as it was recorded, kept for whoever must reproduce it; the main path uses none of it.
//!
//! [`plan_compaction`](crate::plan_compaction) does better: a call that was never answered blocks no later
//! boundary, and the steps of a single long turn may go.

pub mod three_level;

use std::collections::HashSet;

use wb_message::marks::{Visibility, visibility};
use wb_message::{Block, Message};

use crate::weigh::lineage::LineageTariff;
use crate::window_policy::{ContextCompactionMode, ContextWindowPolicy};

/// The fewest tokens that a prefix must weigh to be summarized (seed 4, `MIN_COMPACTION_GAIN_TOKENS`).
const MIN_PREFIX_TOKENS: u64 = 1024;

/// Returns the last index in `start..end` after which no call is open and no tool result follows (seed 4).
///
/// `None` where there is none, also where `end` is before `start`.
pub fn find_compaction_boundary(messages: &[Message], start: usize, end: usize) -> Option<usize> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut boundary = None;
    for at in start..end.min(messages.len()) {
        open.extend(messages[at].calls().map(|(id, _, _)| id));
        if let Message::ToolResult { tool_call_id, .. } = &messages[at] {
            open.remove(tool_call_id.as_str());
        }
        let before_result = matches!(messages.get(at + 1), Some(Message::ToolResult { .. }));
        if open.is_empty() && !before_result {
            boundary = Some(at);
        }
    }
    boundary
}

/// Where the published planner ends the prefix that it summarizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedPlan {
    /// Index of the last message that is summarized.
    pub boundary: usize,
    /// Weight of the prefix in tokens, under [`LineageTariff::POLICY`].
    pub pre_tokens: u64,
}

/// Plans a compaction as recorded: everything up to a boundary before the latest user message and the raw suffix,
/// where that weighs at least 1024 tokens (seed 4).
pub fn plan_compaction(messages: &[Message], policy: &ContextWindowPolicy) -> Option<RecordedPlan> {
    let configured = match policy.compaction_mode {
        ContextCompactionMode::KeepRecentRawSuffix => policy.compaction_raw_suffix_messages,
        ContextCompactionMode::CompactToSafeFrontier => policy.min_recent_messages,
    };
    let last_user = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    let turn = last_user.map_or(0, |at| messages.len() - at);
    let search_end = messages.len().checked_sub(configured.max(turn)).filter(|end| *end >= 2)?;
    let boundary = find_compaction_boundary(messages, 0, search_end)?;
    let pre_tokens =
        messages[..=boundary].iter().map(|message| LineageTariff::POLICY.message_tokens(message)).sum();
    let shows_something = messages[..=boundary].iter().any(is_shown);
    (pre_tokens >= MIN_PREFIX_TOKENS && shows_something).then_some(RecordedPlan { boundary, pre_tokens })
}

/// Tells whether the published transcript shows a message: it has text and is not internal.
fn is_shown(message: &Message) -> bool {
    match message {
        _ if visibility(message) == Visibility::Internal => false,
        Message::User { content, .. } | Message::Custom { content, .. } => content.texts().any(has_text),
        other => other.blocks().iter().filter_map(Block::as_text).any(has_text),
    }
}

fn has_text(text: &str) -> bool {
    !text.is_empty()
}
