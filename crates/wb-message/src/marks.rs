//! The constant texts by which synthetic messages and cleared bodies are known.

use crate::block::Block;
use crate::message::{Content, Message};

/// First line of a digest of the running session.
pub const DIGEST_HEADER: &str = "[session digest — older turns condensed]";
/// First line of a digest of a branch that was left.
pub const BRANCH_HEADER: &str = "[branch digest — archived from a path not taken]";
/// The body that stands for a cleared tool result.
pub const CLEARED_TOOL_RESULT: &str = "[Old tool result content cleared]";
/// The start of a message that gives a file back after a compaction; a blank and the path follow.
pub const RESTORED_FILE_PREFIX: &str = "[Restored file after compaction]";
/// Stands where the middle of a body was cut out.
pub const CLIP_MARK: &str = "\n[… clipped …]\n";

/// The custom types of system and developer texts, which no pass may touch.
pub const PINNED_TYPES: [&str; 2] = ["system", "developer"];

/// Returns the text of a user message that is plain text or one text block.
fn sole_user_text(message: &Message) -> Option<&str> {
    match message {
        Message::User { content: Content::Text(text), .. } => Some(text),
        Message::User { content: Content::Blocks(blocks), .. } => match blocks.as_slice() {
            [Block::Text { text }] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Returns what an earlier digest says, without its header.
pub fn digest_body(message: &Message) -> Option<&str> {
    match message {
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => Some(summary),
        _ => {
            let text = sole_user_text(message)?;
            let body = text.strip_prefix(DIGEST_HEADER).or_else(|| text.strip_prefix(BRANCH_HEADER))?;
            // A user who quotes the header goes on in the same line.
            (body.is_empty() || body.starts_with('\n')).then(|| body.trim_start_matches('\n'))
        }
    }
}

/// Returns the path and the body of a file that an earlier compaction gave back.
pub fn restored_file(message: &Message) -> Option<(&str, &str)> {
    let rest = sole_user_text(message)?.strip_prefix(RESTORED_FILE_PREFIX)?.strip_prefix(' ')?;
    Some(rest.split_once('\n').unwrap_or((rest, "")))
}

/// Tells whether a compaction made this message: a digest or a restored file.
pub fn is_synthetic(message: &Message) -> bool {
    digest_body(message).is_some() || restored_file(message).is_some()
}

/// Tells whether the message is a system or developer text, which stays where it is.
pub fn is_pinned(message: &Message) -> bool {
    matches!(message, Message::Custom { custom_type, .. } if PINNED_TYPES.contains(&custom_type.as_str()))
}

/// Tells whether the user's own words stand in this message: not a digest, not a restored file and not
/// only tool results.
pub fn is_prompt(message: &Message) -> bool {
    match message {
        Message::User { content: Content::Blocks(blocks), .. }
            if !blocks.is_empty() && blocks.iter().all(Block::is_tool_result) =>
        {
            false
        }
        Message::User { .. } => !is_synthetic(message),
        _ => false,
    }
}

/// Tells whether this body is exactly the mark of a cleared result.
pub fn is_cleared(content: &[Block]) -> bool {
    matches!(content, [Block::Text { text }] if text == CLEARED_TOOL_RESULT)
}

/// Returns the body that stands for a cleared tool result.
pub fn cleared_body() -> Vec<Block> {
    vec![Block::text(CLEARED_TOOL_RESULT)]
}
