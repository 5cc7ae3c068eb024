//! The three levels of the document in order.

use std::borrow::Cow;

use wb_message::{Block, Message};

use super::estimate::{message_tokens, total_tokens};

/// The most bytes of a text in a summary.
const SHORT_BYTES: usize = 200;

/// The configuration of a compaction; the published crate has more fields, which the levels do not
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextConfig {
    /// The most tokens of the context, system prompt included.
    pub max_context_tokens: usize,
    /// Tokens reserved for the system prompt.
    pub system_prompt_tokens: usize,
    /// Messages at the end that the second level leaves unchanged and the third keeps.
    pub keep_recent: usize,
    /// Messages at the start that the third level keeps.
    pub keep_first: usize,
    /// The most lines of a text of a tool output, its marker not counted.
    pub tool_output_max_lines: usize,
}

impl Default for ContextConfig {
    /// The published defaults; the document gives none.
    fn default() -> Self {
        Self {
            max_context_tokens: 100_000,
            system_prompt_tokens: 4_000,
            keep_recent: 10,
            keep_first: 2,
            tool_output_max_lines: 50,
        }
    }
}

impl ContextConfig {
    /// Returns the tokens available to messages: the context less the system prompt, at least 0.
    pub fn budget_tokens(&self) -> usize {
        self.max_context_tokens.saturating_sub(self.system_prompt_tokens)
    }
}

/// Compacts a transcript: the levels in order until it fits.
///
/// Fault: the result can exceed the budget without a report, lose the task and the latest request,
/// and separate results from their calls. Use the three-level preset of `wb-conductor`, which keeps
/// pairs and reports a missed budget.
pub fn compact_messages(messages: Vec<Message>, config: &ContextConfig) -> Vec<Message> {
    let budget = config.budget_tokens();
    if fits(&messages, budget) {
        return messages;
    }
    let cut = level1_truncate_tool_outputs(messages, config.tool_output_max_lines);
    if fits(&cut, budget) {
        return cut;
    }
    let summarized = level2_summarize_old_turns(cut, config.keep_recent);
    if fits(&summarized, budget) {
        return summarized;
    }
    level3_drop_middle(summarized, config, budget)
}

fn fits(messages: &[Message], budget: usize) -> bool {
    total_tokens(messages) <= budget
}

/// Cuts each text of every tool result to its head and tail, by [`truncate_head_tail`].
///
/// Fault: the newest result, which the model has not read yet, is cut like all others, and a giant
/// line is never cut. Use the passes `ToolOutput` and `Preview` of `wb-passes`.
pub fn level1_truncate_tool_outputs(mut messages: Vec<Message>, max_lines: usize) -> Vec<Message> {
    for message in &mut messages {
        let Message::ToolResult { content, .. } = message else { continue };
        for block in content {
            if let Block::Text { text } = block
                && let Cow::Owned(short) = truncate_head_tail(text, max_lines)
            {
                *text = short;
            }
        }
    }
    messages
}

/// Keeps `max_lines` lines of a text, half of them at its start, plus the three lines of the
/// marker.
///
/// Fault: a cut text is cut again the next time and then states a wrong number, it can become
/// longer than the original, and it loses its `\r` and its last newline. Use `ToolOutput` of
/// `wb-passes`.
pub fn truncate_head_tail(text: &str, max_lines: usize) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(omitted) = lines.len().checked_sub(max_lines).filter(|omitted| *omitted > 0) else {
        return Cow::Borrowed(text);
    };
    let (head, tail) = (&lines[..max_lines / 2], &lines[max_lines / 2 + omitted..]);
    let (head, tail) = (head.join("\n"), tail.join("\n"));
    Cow::Owned(format!("{head}\n\n[... {omitted} lines truncated ...]\n\n{tail}"))
}

/// Replaces the replies before the newest messages by user messages of one line each, and deletes
/// their results.
///
/// A line is the reply's texts of at most 200 bytes, or the number of its calls.
///
/// Fault: the boundary can separate a call from its result, replies become the user's words, errors
/// of tools are lost, and all old replies go even if one would suffice. Use the pass `Collapse` of
/// `wb-passes`.
pub fn level2_summarize_old_turns(messages: Vec<Message>, keep_recent: usize) -> Vec<Message> {
    let boundary = messages.len().saturating_sub(keep_recent);
    let summarized = messages.into_iter().enumerate().filter_map(|(at, message)| match message {
        _ if at >= boundary => Some(message),
        Message::Assistant { content, .. } => Some(Message::user(summary_line(&content))),
        Message::ToolResult { .. } => None,
        other => Some(other),
    });
    summarized.collect()
}

/// Returns the summary line of a reply: its short texts, or the number of its calls.
pub(crate) fn summary_line(content: &[Block]) -> String {
    format!("[Summary] {}", summary(content))
}

fn summary(content: &[Block]) -> String {
    let short: Vec<_> =
        content.iter().filter_map(Block::as_text).filter(|t| t.len() <= SHORT_BYTES).collect();
    let n_calls = content.iter().filter(|block| matches!(block, Block::ToolCall { .. })).count();
    match (short.is_empty(), n_calls) {
        (false, _) => short.join(" "),
        (true, 0) => "[Assistant response]".to_owned(),
        (true, _) => format!("[Assistant used {n_calls} tool(s)]"),
    }
}

/// Keeps the first and the last messages around a marker; without a middle, keeps those within the
/// budget in tokens.
///
/// Fault: a call can be separated from its result, and the result can exceed the budget without a
/// report, like that of [`keep_within_budget`]. Use the pass `DropMiddle` of `wb-passes`.
pub fn level3_drop_middle(messages: Vec<Message>, config: &ContextConfig, budget: usize) -> Vec<Message> {
    let first_end = config.keep_first.min(messages.len());
    let recent_start = messages.len().saturating_sub(config.keep_recent);
    let Some(removed) = recent_start.checked_sub(first_end).filter(|removed| *removed > 0) else {
        return keep_within_budget(messages, budget);
    };
    let marker = format!("[Context compacted: {removed} messages removed to fit context window]");
    let mut kept = messages;
    kept.splice(first_end..recent_start, [Message::user(marker)]);
    if fits(&kept, budget) { kept } else { keep_within_budget(kept, budget) }
}

/// Keeps a marker and the newest messages up to the first that does not fit the budget in tokens.
///
/// Fault: the marker is not charged, so the result can exceed the budget without a report; the task
/// is dropped; a single message above the budget leaves only the marker; a result can be kept
/// without its call. Use the pass `DropMiddle` of `wb-passes`.
pub fn keep_within_budget(mut messages: Vec<Message>, budget: usize) -> Vec<Message> {
    let mut remaining = budget;
    let fits = |message: &&Message| {
        let left = remaining.checked_sub(message_tokens(message));
        remaining = left.unwrap_or(remaining);
        left.is_some()
    };
    let removed = messages.len() - messages.iter().rev().take_while(fits).count();
    if removed > 0 {
        let marker = format!("[Context compacted: {removed} messages removed]");
        messages.splice(..removed, [Message::user(marker)]);
    }
    messages
}
