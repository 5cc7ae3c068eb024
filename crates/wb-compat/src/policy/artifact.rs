//! Previews of giant tool outputs.

use wb_message::{Block, Message};

use super::config::ArtifactCompactionConfig;
use super::message::ThreadMessage;

/// Returns the preview of one text: its head and the original size; `None` if the text is small, or
/// as long as its preview.
///
/// A text is large from `threshold_tokens` on, in bytes / 4. The head ends at the limit of
/// characters or after the newline of the last line, whichever comes first.
///
/// Fault: the tail is lost, where errors usually are; blank lines fill the head; a preview of the
/// whole text is longer than the text. Use the previews of `wb-passes`.
pub fn artifact_preview(text: &str, config: &ArtifactCompactionConfig) -> Option<String> {
    let tokens = text.len() / 4;
    if tokens < config.threshold_tokens {
        return None;
    }
    let head = head(text, config);
    let n_chars = head.chars().count();
    let preview =
        format!("{head}\n\n[Content compacted: original ~{tokens} tokens, showing first {n_chars} chars]");
    (preview.len() != text.len()).then_some(preview)
}

fn head<'a>(text: &'a str, config: &ArtifactCompactionConfig) -> &'a str {
    let n_bytes = text.char_indices().nth(config.preview_max_chars).map_or(text.len(), |(at, _)| at);
    let head = &text[..n_bytes];
    let mut lines = head.match_indices('\n').skip(config.preview_max_lines.saturating_sub(1));
    &head[..lines.next().map_or(head.len(), |(at, _)| at + 1)]
}

/// Previews each text of each tool result; other messages and blocks stay.
///
/// Fault: the threshold applies to each text, so a result of many small blocks stays whole. Use
/// the previews of `wb-passes`.
pub fn compact_tool_results(messages: &mut [ThreadMessage], config: &ArtifactCompactionConfig) {
    for message in messages {
        let Message::ToolResult { content, .. } = &mut message.message else { continue };
        for block in content {
            if let Block::Text { text } = block
                && let Some(preview) = artifact_preview(text, config)
            {
                *text = preview;
            }
        }
    }
}
