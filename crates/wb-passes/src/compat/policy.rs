//! The truncation, previews and repair of seed 4 as its published crate answers.
//!
//! A tool's message is a `ToolResult`; a system message is a pinned text or a conversation summary.

use std::collections::HashSet;

use wb_budget::Weigher;
use wb_message::marks::{SUMMARY_TYPE, is_pinned};
use wb_message::{Block, Message};

use crate::artifact::ArtifactCompactionConfig;
use crate::repair::INTERRUPTED;

/// Messages of an output, each with its index in the input; a synthetic one has none.
pub type Traced = Vec<(Option<usize>, Message)>;

fn traced(messages: Vec<Message>) -> Traced {
    messages.into_iter().enumerate().map(|(at, message)| (Some(at), message)).collect()
}

fn is_system(message: &Message) -> bool {
    is_pinned(message)
        || matches!(message, Message::Custom { custom_type, .. } if custom_type == SUMMARY_TYPE)
}

fn is_tool(message: &Message) -> bool {
    matches!(message, Message::ToolResult { .. })
}

/// Returns the tokens of one tool's schema: name and description a token per byte, the parameters' JSON a quarter
/// of its bytes, and 10.
pub fn tool_schema_tokens(name: &str, description: &str, parameters_json: &str) -> u64 {
    (name.len() + description.len() + parameters_json.len() / 4 + 10) as u64
}

/// Returns how much of a history is dropped: the newest `min_recent` messages stay, then as many before them as
/// the budget takes, then whatever [`adjust_split`] drags back.
pub fn find_split(history: &[Message], budget: u64, min_recent: usize, weigher: &dyn Weigher) -> usize {
    let newest = history.len().saturating_sub(min_recent);
    let mut used: u64 = history[newest..].iter().map(|message| weigher.weigh(message)).sum();
    let mut split = newest;
    for message in history[..newest].iter().rev() {
        used = used.saturating_add(weigher.weigh(message));
        if used > budget {
            break;
        }
        split -= 1;
    }
    adjust_split(history, split)
}

/// Moves a split back to before the tool results that it stands at.
pub fn adjust_split(history: &[Message], mut split: usize) -> usize {
    while split > 0 && history.get(split).is_some_and(is_tool) {
        split -= 1;
    }
    split
}

/// Returns the preview of one text: its head and how large the whole was; nothing where its length stays.
pub fn artifact_preview(text: &str, config: &ArtifactCompactionConfig) -> Option<String> {
    let tokens = text.len() / 4;
    if tokens < config.threshold_tokens {
        return None;
    }
    let head = &text[..text.char_indices().nth(config.preview_max_chars).map_or(text.len(), |(at, _)| at)];
    let mut lines = head.match_indices('\n').skip(config.preview_max_lines.saturating_sub(1));
    let head = &head[..lines.next().map_or(head.len(), |(at, _)| at + 1)];
    let n_chars = head.chars().count();
    let preview =
        format!("{head}\n\n[Content compacted: original ~{tokens} tokens, showing first {n_chars} chars]");
    (preview.len() != text.len()).then_some(preview)
}

/// Previews each text of each tool result on its own.
pub fn preview_tool_results(messages: &mut [Message], config: &ArtifactCompactionConfig) {
    for message in messages {
        let Message::ToolResult { content, .. } = message else { continue };
        for block in content {
            if let Block::Text { text } = block
                && let Some(preview) = artifact_preview(text, config)
            {
                *text = preview;
            }
        }
    }
}

/// Previews, drops the oldest history and answers dangling calls, as one request is prepared.
///
/// `available_tokens` is the window less the answer and the schemas. What fits after the previews is not repaired.
pub fn truncate(
    mut messages: Vec<Message>,
    available_tokens: u64,
    min_recent: usize,
    artifact: &ArtifactCompactionConfig,
    weigher: &dyn Weigher,
) -> Traced {
    preview_tool_results(&mut messages, artifact);
    let weigh = |messages: &[Message]| messages.iter().map(|message| weigher.weigh(message)).sum::<u64>();
    if weigh(&messages) <= available_tokens {
        return traced(messages);
    }
    let n_system = messages.iter().take_while(|message| is_system(message)).count();
    let budget = available_tokens.saturating_sub(weigh(&messages[..n_system]));
    let n_dropped = find_split(&messages[n_system..], budget, min_recent, weigher);
    let mut kept = traced(messages);
    kept.drain(n_system..n_system + n_dropped);
    patched(kept)
}

/// Answers each call whose id no tool result anywhere has.
pub fn patch_dangling_tool_calls(messages: Vec<Message>) -> Traced {
    patched(traced(messages))
}

fn patched(messages: Traced) -> Traced {
    let ids = messages.iter().filter_map(|(_, message)| result_id(message));
    let answered: HashSet<String> = ids.map(str::to_owned).collect();
    let mut out = Traced::with_capacity(messages.len());
    let mut owed = Vec::new();
    for (from, message) in messages {
        if !is_tool(&message) {
            out.append(&mut owed);
        }
        let open = message.calls().filter(|(id, _, _)| !answered.contains(*id));
        owed.extend(open.map(|(id, name, _)| (None, Message::tool_result(id, name, INTERRUPTED))));
        out.push((from, message));
    }
    out.append(&mut owed);
    out
}

fn result_id(message: &Message) -> Option<&str> {
    match message {
        Message::ToolResult { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}

/// Removes each call whose id no tool result anywhere has. Results stay, orphans too.
pub fn strip_unpaired_tool_calls(mut messages: Vec<Message>) -> Vec<Message> {
    let answered: HashSet<String> = messages.iter().filter_map(result_id).map(str::to_owned).collect();
    for message in &mut messages {
        if let Message::Assistant { content, .. } = message {
            content.retain(|block| !matches!(block, Block::ToolCall { id, .. } if !answered.contains(id)));
        }
    }
    messages
}
