//! How one request is made to fit: the oldest history is dropped.

use super::artifact::compact_tool_results;
use super::config::ArtifactCompactionConfig;
use super::estimate::{message_tokens, total_tokens};
use super::message::{Role, ThreadMessage};
use super::repair::patch_dangling_tool_calls;

/// Returns how many of the oldest messages of a history are dropped, in tokens of budget.
///
/// The newest `min_recent` messages stay and are charged, then as many before them as fit, up to the first that does
/// not; then [`adjust_split`] takes back what it must.
///
/// Fault: what stays can be over the budget in silence, and with `min_recent` at 0 the newest request can go. Use the
/// pass `Truncate` of `wb-passes`.
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

/// Moves a split back to before the tool results that it stands at.
///
/// Fault: the budget plays no part, and a run of results at the start keeps the whole history. Use the pass `Truncate`
/// of `wb-passes`, which drops whole groups.
pub fn adjust_split(history: &[ThreadMessage], mut split: usize) -> usize {
    while split > 0 && history.get(split).is_some_and(ThreadMessage::is_tool) {
        split -= 1;
    }
    split
}

/// Prepares one request: previews tool outputs, drops the oldest history, answers dangling calls.
///
/// `available_tokens` is
/// [`ContextWindowPolicy::available_tokens`](super::ContextWindowPolicy::available_tokens). The system messages that
/// lead stay whatever they weigh. A synthetic result gets an id from `new_id`.
///
/// Fault: the outcome can be over the budget in silence; system messages that do not lead are dropped, and take up
/// places among the recent ones; what fits after the previews is not repaired; the outcome can begin with a reply. Use
/// the policy preset of `wb-conductor`.
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
