//! The truncation of a request: the oldest history is dropped.

use super::artifact::compact_tool_results;
use super::config::ArtifactCompactionConfig;
use super::estimate::{message_tokens, total_tokens};
use super::message::{Role, ThreadMessage};
use super::repair::patch_dangling_tool_calls;

/// Returns the number of the oldest messages of a history to drop; the budget is in tokens.
///
/// The newest `min_recent` messages stay and are charged, then earlier messages up to the first
/// that does not fit; then [`adjust_split`] moves the split back.
///
/// Fault: the rest can exceed the budget without a report, and with `min_recent` at 0 the newest
/// request can go. Use the pass `Truncate` of `wb-passes`.
pub fn find_split(history: &[ThreadMessage], budget: usize, min_recent: usize) -> usize {
    let newest = history.len().saturating_sub(min_recent);
    let mut used = total_tokens(&history[newest..]);
    let mut split = newest;
    for message in history[..newest].iter().rev() {
        used = used.saturating_add(message_tokens(message));
        if used > budget {
            break;
        }
        split -= 1;
    }
    adjust_split(history, split)
}

/// Moves a split back before the tool results at it.
///
/// Fault: the budget plays no part, and a run of results at the start keeps the whole history. Use
/// the pass `Truncate` of `wb-passes`, which drops whole groups.
pub fn adjust_split(history: &[ThreadMessage], mut split: usize) -> usize {
    while split > 0 && history.get(split).is_some_and(ThreadMessage::is_tool) {
        split -= 1;
    }
    split
}

/// Prepares one request: previews tool outputs, drops the oldest history, answers dangling calls.
///
/// `available_tokens` is
/// [`ContextWindowPolicy::available_tokens`](super::ContextWindowPolicy::available_tokens). Leading
/// system messages stay at any weight. A synthetic result gets an id from `new_id`.
///
/// Fault: the result can exceed the budget without a report; later system messages are dropped, and
/// count as recent ones; a request that fits after the previews is not repaired; the result can
/// begin with a reply. Use the policy preset of `wb-conductor`.
pub fn truncate(
    mut messages: Vec<ThreadMessage>,
    available_tokens: usize,
    min_recent: usize,
    artifact: &ArtifactCompactionConfig,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<ThreadMessage> {
    compact_tool_results(&mut messages, artifact);
    if total_tokens(&messages) <= available_tokens {
        return messages;
    }
    let n_system = messages.iter().take_while(|message| message.role() == Role::System).count();
    let (system, history) = messages.split_at(n_system);
    let budget = available_tokens.saturating_sub(total_tokens(system));
    let n_dropped = find_split(history, budget, min_recent);
    messages.drain(n_system..n_system + n_dropped);
    patch_dangling_tool_calls(messages, new_id)
}
