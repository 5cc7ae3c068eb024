//! Summaries: the transcript for a summarizer, and the stored summary.

use wb_message::Message;

use super::estimate::{message_tokens, total_tokens};
use super::message::{Role, SUMMARY_CLOSE, SUMMARY_OPEN, SUMMARY_TYPE, ThreadMessage, Visibility};

/// Renders a transcript as `[Role]: text`, one message after the other with an empty line between
/// them.
///
/// Internal messages and those without text are left out.
///
/// Fault: tool calls with their arguments, reasoning and pictures are left out, and a user can
/// write a role line. Use `wb_summarize::flatten_transcript` or the request of
/// `wb_summarize::Summarizer`.
pub fn render_transcript(messages: &[ThreadMessage]) -> String {
    let lines = messages.iter().filter(|message| !message.is_internal()).filter_map(|message| {
        let text = message.text();
        (!text.is_empty()).then(|| format!("[{}]: {text}", message.role().name()))
    });
    lines.collect::<Vec<_>>().join("\n\n")
}

/// A closing tag precedes the opening one; the message is that of the published panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("begin > end ({begin} > {end}) when slicing `{text}`")]
pub struct SummaryTagsError {
    /// The end of the opening tag, in bytes.
    pub begin: usize,
    /// The start of the closing tag, in bytes.
    pub end: usize,
    /// The text with the tags.
    pub text: String,
}

/// Returns the text of the first stored summary that is not blank, trimmed.
///
/// Fault: an older summary wins over a newer one, and one that quotes the closing tag is cut short.
/// Use `markers::summary_text` of `wb-message`.
///
/// # Panics
/// Panics if a closing tag precedes the opening one; [`try_extract_previous_summary`] does not.
#[track_caller]
pub fn extract_previous_summary(messages: &[ThreadMessage]) -> Option<String> {
    try_extract_previous_summary(messages).unwrap_or_else(|error| panic!("{error}"))
}

/// Does the same as [`extract_previous_summary`]; fails if a closing tag precedes the opening one.
pub fn try_extract_previous_summary(messages: &[ThreadMessage]) -> Result<Option<String>, SummaryTagsError> {
    for message in messages.iter().filter(|message| is_internal_system(message)) {
        let text = message.text();
        let (Some(open), Some(end)) = (text.find(SUMMARY_OPEN), text.find(SUMMARY_CLOSE)) else { continue };
        let begin = open + SUMMARY_OPEN.len();
        let Some(inner) = text.get(begin..end) else {
            return Err(SummaryTagsError { begin, end, text });
        };
        if !inner.trim().is_empty() {
            return Ok(Some(inner.trim().to_owned()));
        }
    }
    Ok(None)
}

fn is_internal_system(message: &ThreadMessage) -> bool {
    message.is_internal() && message.role() == Role::System
}

/// Builds the stored message of a summary: internal, of the system, in tags.
///
/// Fault: nothing is escaped, so a summary can close its frame. Use `markers::conversation_summary`
/// of `wb-message`.
pub fn summary_message(summary: &str, id: impl Into<String>) -> ThreadMessage {
    let text = format!("{SUMMARY_OPEN}\n{summary}\n{SUMMARY_CLOSE}");
    let message = Message::custom(SUMMARY_TYPE, text);
    ThreadMessage { id: Some(id.into()), visibility: Visibility::Internal, mark: None, message }
}

/// The result of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedSummary {
    /// The index of the last replaced message.
    pub boundary_index: usize,
    /// The weight of the replaced messages in tokens.
    pub pre_tokens: usize,
    /// The weight of the summary in tokens.
    pub post_tokens: usize,
}

/// Replaces everything up to the first message with the boundary's id by a summary with the id
/// `summary_id`; returns `None` without such a message.
///
/// Fault: system prompts go too, a call can be separated from its result, and the result can be
/// heavier than the replaced messages. Use a `Patch` of `wb-message`, which refuses these.
pub fn apply_summary(
    messages: &mut Vec<ThreadMessage>,
    boundary_message_id: &str,
    summary: &str,
    summary_id: impl Into<String>,
) -> Option<AppliedSummary> {
    let is_boundary = |message: &ThreadMessage| message.id.as_deref() == Some(boundary_message_id);
    let boundary_index = messages.iter().position(is_boundary)?;
    let pre_tokens = total_tokens(&messages[..=boundary_index]);
    let summary = summary_message(summary, summary_id);
    let post_tokens = message_tokens(&summary);
    messages.splice(..=boundary_index, [summary]);
    Some(AppliedSummary { boundary_index, pre_tokens, post_tokens })
}

/// Removes everything before the last internal system message that contains the opening tag, as a
/// thread is loaded.
///
/// Fault: a reminder that mentions the tag counts, system prompts go too, and a summary at the end
/// of an append-only log takes the latest turn with it. Use `trim_to_compaction_boundary` of
/// `wb-conductor`.
pub fn trim_to_compaction_boundary(messages: &mut Vec<ThreadMessage>) {
    let is_summary =
        |message: &ThreadMessage| is_internal_system(message) && message.text().contains(SUMMARY_OPEN);
    if let Some(at) = messages.iter().rposition(is_summary) {
        messages.drain(..at);
    }
}

/// Returns the saved part of `pre_tokens` if `post_tokens` remain, in millionths, rounded to the
/// nearest; at least 0.
pub fn savings_ratio_ppm(pre_tokens: u64, post_tokens: u64) -> u64 {
    let saved = u128::from(pre_tokens.saturating_sub(post_tokens));
    let pre = u128::from(pre_tokens.max(1));
    u64::try_from((saved * 1_000_000 + pre / 2) / pre).unwrap_or(u64::MAX)
}
