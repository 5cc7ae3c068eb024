//! The three-level compaction of seed 1 as its published crate answers.
//!
//! Nothing here keeps pairs, the task or the budget; [`crate::three_level`] does. An extension of the seed is a
//! `Custom`. Synthetic messages carry the timestamp 0, where the published crate asks the clock.

use std::borrow::Cow;

use wb_budget::three_level::{message_tokens, total_tokens};
use wb_message::{Block, Message};

use crate::three_level::ContextConfig;

/// Bytes up to which a text is kept in a summary.
const SHORT_BYTES: usize = 200;

/// Compacts a transcript: the levels in order until it fits.
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
    total_tokens(messages) <= budget as u64
}

/// Cuts each text of every tool result to its head and tail.
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

/// Keeps `max_lines` lines of a text, half of them its first; the marker's three lines come on top.
pub fn truncate_head_tail(text: &str, max_lines: usize) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(omitted) = lines.len().checked_sub(max_lines).filter(|omitted| *omitted > 0) else {
        return Cow::Borrowed(text);
    };
    let (head, tail) = (&lines[..max_lines / 2], &lines[max_lines / 2 + omitted..]);
    let (head, tail) = (head.join("\n"), tail.join("\n"));
    Cow::Owned(format!("{head}\n\n[... {omitted} lines truncated ...]\n\n{tail}"))
}

/// Replaces the replies before the newest messages by user messages of a line each, and deletes the results there.
pub fn level2_summarize_old_turns(messages: Vec<Message>, keep_recent: usize) -> Vec<Message> {
    let boundary = messages.len().saturating_sub(keep_recent);
    let summarized = messages.into_iter().enumerate().filter_map(|(at, message)| match message {
        _ if at >= boundary => Some(message),
        Message::Assistant { content, .. } => Some(Message::user(format!("[Summary] {}", summary(&content)))),
        Message::ToolResult { .. } => None,
        other => Some(other),
    });
    summarized.collect()
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

/// Keeps the first and the last messages around a marker, or what fits where there is no middle.
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

/// Keeps the newest messages up to the first that does not fit, under a marker that is not charged.
pub fn keep_within_budget(mut messages: Vec<Message>, budget: usize) -> Vec<Message> {
    let mut remaining = budget as u64;
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
