//! Document 0's slicer: keeps the last tokens and steps over tool results.

use wb_message::Message;

use crate::count::prefix_tokens;
use crate::policy::BudgetPolicy;

/// A transcript cut in two.
#[derive(Clone, Debug, PartialEq)]
pub struct CondensePlan {
    /// Index of the first kept message; 0 if nothing can be condensed.
    pub cut: usize,
    /// The messages from the cut on.
    pub kept: Vec<Message>,
    /// The messages before the cut.
    pub dropped: Vec<Message>,
}

/// Plans a cut that keeps at most `keep_recent` tokens, stepping forward over tool results at the cut.
///
/// The recorded behaviour: it may separate interleaved pairs, and keeps everything if the last message alone is larger.
/// [`plan_cut`](super::plan_cut) does neither.
pub fn plan_slice(messages: &[Message], policy: &BudgetPolicy) -> CondensePlan {
    let cut = token_tail_cut(messages, policy.keep_recent);
    CondensePlan { cut, kept: messages[cut..].to_vec(), dropped: messages[..cut].to_vec() }
}

fn token_tail_cut(messages: &[Message], keep_recent_tokens: u64) -> usize {
    let prefix = prefix_tokens(messages);
    let total = prefix[messages.len()];
    if total <= keep_recent_tokens {
        return 0;
    }
    let start = prefix.partition_point(|&sum| sum < total - keep_recent_tokens);
    let is_result = |at: &usize| matches!(messages[*at], Message::ToolResult { .. });
    (start..messages.len()).find(|at| !is_result(at)).unwrap_or(0)
}

/// Returns the index of the last [`Message::User`] of any origin, digests and restored files included.
pub fn last_user_turn_start(messages: &[Message]) -> Option<usize> {
    messages.iter().rposition(|message| matches!(message, Message::User { .. }))
}
