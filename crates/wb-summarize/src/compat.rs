//! Published rendering as it was recorded, kept for whoever must reproduce it; the main path uses none of it.
//!
//! Text in these forms cannot be told from what imitates it: a user can write a role line, and a summary is found
//! wherever its tags stand.

use wb_message::marks::{SUMMARY_CLOSE, SUMMARY_OPEN, Visibility, visibility};
use wb_message::{Block, Content, Message};

/// Renders a transcript as `[Role]: text`, one message after the other with an empty line between them (seed 4).
///
/// Internal messages and those without text are left out; tool calls, reasoning and pictures are not shown. A
/// shell execution, which the published model of a message does not know, is the user's.
pub fn render_transcript(messages: &[Message]) -> String {
    let shown = messages.iter().filter(|message| visibility(message) == Visibility::All);
    let lines = shown.filter_map(|message| {
        let text = text_of(message);
        (!text.is_empty()).then(|| format!("[{}]: {text}", role_of(message)))
    });
    lines.collect::<Vec<_>>().join("\n\n")
}

/// Returns the text between the first opening and the first closing tag of the first internal message in which it
/// is not blank, without white space at its ends (seed 4).
///
/// A closing tag before the opening one, at which the published function panics, is no summary. A summary that
/// quotes the closing tag comes back short, and an older one wins over a newer: read summaries with
/// [`wb_message::marks::summary_text`].
pub fn extract_previous_summary(messages: &[Message]) -> Option<String> {
    let internal = messages.iter().filter(|message| visibility(message) == Visibility::Internal);
    internal.map(text_of).find_map(|text| {
        let start = text.find(SUMMARY_OPEN)? + SUMMARY_OPEN.len();
        let inner = text.get(start..text.find(SUMMARY_CLOSE)?)?.trim();
        (!inner.is_empty()).then(|| inner.to_owned())
    })
}

fn role_of(message: &Message) -> &'static str {
    match message {
        Message::User { .. } | Message::BashExecution { .. } => "User",
        Message::Assistant { .. } => "Assistant",
        Message::ToolResult { .. } => "Tool",
        Message::Custom { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {
            "System"
        }
    }
}

/// Returns the text blocks of a message, joined without a separator.
fn text_of(message: &Message) -> String {
    match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => text.clone(),
        Message::BashExecution { command, output, .. } => format!("$ {command}\n{output}"),
        Message::BranchSummary { .. } | Message::CompactionSummary { .. } => String::new(),
        _ => message.blocks().iter().filter_map(Block::as_text).collect(),
    }
}
