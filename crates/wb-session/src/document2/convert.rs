//! Messages as a model takes them: prompts, answers and results, nothing else.

use std::fmt::Write as _;

use wb_message::{Block, Content, Message};

/// The text before the digest of a compaction; a blank line and an opening tag follow.
pub const COMPACTION_SUMMARY_PREFIX: &str =
    "Earlier messages of this session were condensed into this summary:";
/// The text before the digest of a branch; a blank line and an opening tag follow.
pub const BRANCH_SUMMARY_PREFIX: &str =
    "Another branch of this session was tried and left; this is its summary:";

/// Converts messages into those that a model takes, moving them.
///
/// Prompts, answers and results pass unchanged. A message of an extension becomes a user message
/// with its content, a shell command one with command, output and exit code, and a digest one with
/// its text between tags.
pub fn convert_to_llm(messages: impl IntoIterator<Item = Message>) -> Vec<Message> {
    messages.into_iter().map(convert).collect()
}

fn convert(message: Message) -> Message {
    match message {
        Message::User { .. } | Message::Assistant { .. } | Message::ToolResult { .. } => message,
        Message::Custom { content, .. } => user(match content {
            Content::Text(text) => vec![Block::Text { text }],
            Content::Blocks(blocks) => blocks,
        }),
        Message::BashExecution { command, output, exit_code } => {
            user_text(shell_text(&command, &output, exit_code))
        }
        Message::BranchSummary { summary, .. } => {
            user_text(format!("{BRANCH_SUMMARY_PREFIX}\n\n<summary>\n{summary}</summary>"))
        }
        Message::CompactionSummary { summary, .. } => {
            user_text(format!("{COMPACTION_SUMMARY_PREFIX}\n\n<summary>\n{summary}\n</summary>"))
        }
    }
}

fn user(blocks: Vec<Block>) -> Message {
    Message::User { content: Content::Blocks(blocks), timestamp: 0 }
}

fn user_text(text: String) -> Message {
    user(vec![Block::Text { text }])
}

fn shell_text(command: &str, output: &str, exit_code: Option<i32>) -> String {
    let mut text = format!("Ran `{command}`\n");
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        let _ = write!(text, "```\n{output}\n```");
    }
    if let Some(code) = exit_code.filter(|code| *code != 0) {
        let _ = write!(text, "\n\nCommand exited with code {code}");
    }
    text
}
