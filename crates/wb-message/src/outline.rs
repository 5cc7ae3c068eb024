//! The outline: one line per message, for tests, docs and the command line.

use std::fmt::Write as _;

use serde_json::Value;

use crate::block::Block;
use crate::markers::{digest_body, is_cleared, is_pinned, restored_file};
use crate::message::{Content, Message};
use crate::text::one_line;
use crate::tools::ToolVocabulary;

/// Characters of a body that an outline line shows.
const SHOWN_CHARS: usize = 60;

/// Returns the short name of a message's kind, at most nine characters.
pub fn role(message: &Message) -> &'static str {
    match message {
        _ if digest_body(message).is_some() => "digest",
        _ if restored_file(message).is_some() => "restored",
        _ if is_pinned(message) => "pinned",
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::ToolResult { is_error: true, .. } => "error",
        Message::ToolResult { .. } => "result",
        Message::BashExecution { .. } => "shell",
        Message::Custom { .. } => "custom",
        Message::BranchSummary { .. } | Message::CompactionSummary { .. } => "digest",
    }
}

/// Renders a message as one line, without its index.
pub fn line(message: &Message) -> String {
    let what = match message {
        Message::Assistant { content, error_message } => assistant(content, error_message.as_deref()),
        Message::ToolResult { tool_name, content, .. } if is_cleared(content) => {
            format!("{tool_name} (cleared)")
        }
        Message::ToolResult { tool_name, content, .. } => format!("{tool_name} {}", blocks(content)),
        Message::BashExecution { command, exit_code, .. } => {
            let code = exit_code.map_or_else(|| "n/a".to_owned(), |code| code.to_string());
            format!("$ {} [exit {code}]", one_line(command, SHOWN_CHARS))
        }
        Message::Custom { custom_type, content } => format!("({custom_type}) {}", body(content)),
        Message::User { content, .. } => match restored_file(message) {
            Some((path, _)) => path.to_owned(),
            None => digest_body(message).map_or_else(|| body(content), |text| quoted(&text)),
        },
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            quoted(summary)
        }
    };
    format!("{:<9} {}", role(message), one_line(&what, 96)).trim_end().to_owned()
}

/// Renders a transcript, one numbered line per message.
pub fn outline(messages: &[Message]) -> String {
    let mut out = String::new();
    for (at, message) in messages.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{at:>4} {}", line(message));
    }
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text, SHOWN_CHARS))
}

fn body(content: &Content) -> String {
    match content {
        Content::Text(text) => quoted(text),
        Content::Blocks(list) => blocks(list),
    }
}

fn blocks(list: &[Block]) -> String {
    list.iter().map(block).collect::<Vec<_>>().join(" · ")
}

fn assistant(content: &[Block], error: Option<&str>) -> String {
    let mut what = blocks(content);
    if let Some(error) = error {
        what = format!("{what} failed: {}", one_line(error, SHOWN_CHARS));
    }
    what
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => quoted(text),
        Block::Thinking { text, .. } => format!("thinking {}", quoted(text)),
        Block::ToolCall { name, input, .. } => format!("{name}({})", arguments(input)),
        Block::ToolResult { output, .. } => format!("result {}", one_line(&output.to_string(), SHOWN_CHARS)),
        Block::Image { media_type, .. } => format!("[{media_type}]"),
        Block::Command { command, .. } => format!("/{command}"),
    }
}

/// Returns the most informative argument: the path, else the command, pattern, query or address, else all of them.
fn arguments(input: &Value) -> String {
    let named =
        || ["command", "cmd", "pattern", "query", "url"].iter().find_map(|key| input.get(key)?.as_str());
    match ToolVocabulary::UNIVERSAL.path(input).or_else(named) {
        Some(text) => one_line(text, SHOWN_CHARS),
        None => one_line(&input.to_string(), SHOWN_CHARS / 2),
    }
}
