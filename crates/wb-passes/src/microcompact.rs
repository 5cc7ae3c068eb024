//! Clears the bodies of stale tool results whose tool can be run again.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{CLEARED_TOOL_RESULT, cleared_body, is_cleared};
use wb_message::tools::RoleCache;
use wb_message::{Block, Edit, Message, Patch, ToolRole, ToolVocabulary};

use crate::pass::{Goal, Pass};

/// The number of the newest compactable results to keep.
pub const DEFAULT_KEEP_RECENT: usize = 6;

/// The characters that a body must exceed: what is shorter often says how a command ended, and
/// saves little.
const WORTH_CHARS: usize = CLEARED_TOOL_RESULT.len() * 4;

/// Clears tool results that are older than the newest ones and whose tool can be run again.
///
/// Only live bodies count among the newest: cleared and empty ones do not. A body that is hardly
/// longer than the mark stays. The tool of a result is that of the call it answers. For a requested
/// size, it clears no more than that needs, the oldest first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Microcompact {
    /// The number of live results to keep; at least 1.
    pub keep_recent_results: usize,
}

impl Default for Microcompact {
    fn default() -> Self {
        Self { keep_recent_results: DEFAULT_KEEP_RECENT }
    }
}

impl Microcompact {
    /// Returns the indices of the results to clear, in ascending order.
    pub fn stale(&self, view: &WeighedTranscript<'_>, vocabulary: &ToolVocabulary) -> Vec<usize> {
        let results = live_results(view, vocabulary);
        let n_stale = results.len().saturating_sub(self.keep_recent_results.max(1));
        results.into_iter().take(n_stale).filter(|(_, is_worth)| *is_worth).map(|(at, _)| at).collect()
    }
}

/// Returns the results of compactable tools with a live body, in order, and whether clearing each
/// would pay.
fn live_results(view: &WeighedTranscript<'_>, vocabulary: &ToolVocabulary) -> Vec<(usize, bool)> {
    let mut live = Vec::with_capacity(view.pairing.pairs().len());
    let mut roles = RoleCache::new(vocabulary);
    for pair in view.pairing.pairs() {
        let at = pair.result as usize;
        let Message::ToolResult { content, .. } = view.messages[at] else { continue };
        let tool = pair.call.find(&view.messages).map(|(_, name, _)| name);
        let compactable = tool.and_then(|name| roles.role(name)).is_some_and(ToolRole::is_repeatable);
        if !compactable {
            continue;
        }
        let is_worth = body_chars_exceed(content, WORTH_CHARS) && !view.is_fixed(at);
        if is_worth || (!is_cleared(content) && body_chars_exceed(content, 0)) {
            live.push((at, is_worth));
        }
    }
    live
}

/// Returns whether a body has more than `limit` characters or an image. Only texts near the limit
/// are read, since a character takes one to four bytes.
fn body_chars_exceed(content: &[Block], limit: usize) -> bool {
    let texts = || content.iter().filter_map(Block::as_text);
    let n_bytes: usize = texts().map(str::len).sum();
    let by_chars = || texts().flat_map(str::chars).take(limit + 1).count() > limit;
    n_bytes > 4 * limit
        || (n_bytes > limit && by_chars())
        || content.iter().any(|block| matches!(block, Block::Image { .. }))
}

impl Pass for Microcompact {
    fn name(&self) -> &'static str {
        "microcompact"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch> {
        let mut stale = self.stale(view, goal.vocabulary);
        if goal.is_size {
            stale.truncate(n_needed(view, &stale, goal.target_tokens));
        }
        let edits: Vec<_> = stale.into_iter().map(clear).collect();
        (!edits.is_empty()).then_some(Patch { edits })
    }
}

/// Returns how many of the stale results a weight needs cleared, oldest first.
fn n_needed(view: &WeighedTranscript<'_>, stale: &[usize], target_tokens: u64) -> usize {
    let mark = view.counter.message(&Message::tool_result("call", "tool", CLEARED_TOOL_RESULT));
    let mut total = view.total_tokens();
    let clears = |at: &usize| {
        let is_above = total > target_tokens;
        total = total.saturating_sub(view.weight(*at).saturating_sub(mark));
        is_above
    };
    stale.iter().map(clears).take_while(|is_above| *is_above).count()
}

/// Returns the edit that clears a result.
pub fn clear(at: usize) -> Edit {
    Edit::Body { at, content: cleared_body() }
}

static BASIC_NAMES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| ToolVocabulary::BASIC.tools.iter().map(|(name, _)| *name).collect());

/// Returns the default tools whose output another call can produce again.
pub fn compactable_tool_names() -> &'static HashSet<&'static str> {
    &BASIC_NAMES
}

/// Clears all but the newest `keep_recent` (at least 1) results of [`compactable_tool_names`];
/// `None` if nothing would change.
///
/// The recorded behaviour: results are identified by call id alone, cleared and empty ones count
/// among the newest, and a body shorter than the mark is cleared too. [`Microcompact`] does better.
pub fn clear_stale_tool_results(mut messages: Vec<Message>, keep_recent: usize) -> Option<Vec<Message>> {
    let ids = compactable_ids(&messages);
    let is_compactable = |message: &Message| matches!(message, Message::ToolResult { tool_call_id, .. } if ids.contains(tool_call_id.as_str()));
    let results: Vec<usize> = (0..messages.len()).filter(|&at| is_compactable(&messages[at])).collect();
    let n_stale = results.len().saturating_sub(keep_recent.max(1));
    let stale = results[..n_stale].iter().copied().filter(|&at| !is_cleared(messages[at].blocks()));
    let stale: Vec<usize> = stale.collect();
    if stale.is_empty() {
        return None;
    }
    for at in stale {
        if let Message::ToolResult { content, .. } = &mut messages[at] {
            *content = cleared_body();
        }
    }
    Some(messages)
}

fn compactable_ids(messages: &[Message]) -> HashSet<String> {
    let calls = messages.iter().flat_map(Message::calls);
    let named = calls.filter(|(id, name, _)| !id.is_empty() && BASIC_NAMES.contains(name));
    named.map(|(id, _, _)| id.to_owned()).collect()
}
