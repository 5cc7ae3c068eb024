//! Summaries: what is shown to a summarizer, how a summary is stored, found again and swapped in.

use wb_message::Message;

use super::estimate::{message_tokens, total_tokens};
use super::message::{Role, SUMMARY_CLOSE, SUMMARY_OPEN, SUMMARY_TYPE, ThreadMessage, Visibility};

/// Renders a transcript as `[Role]: text`, one message after the other with an empty line between them.
///
/// Internal messages and those without text are left out.
///
/// Fault: tool calls with their arguments, reasoning and pictures are not shown, and a user can write a role line. Use
/// `wb_summarize::flatten_transcript` or the request of `wb_summarize::DefaultSummarizer`.
pub fn render_transcript(messages: &[ThreadMessage]) -> String {
    let lines = messages.iter().filter(|message| !message.is_internal()).filter_map(|message| {
        let text = message.text();
        (!text.is_empty()).then(|| format!("[{}]: {text}", message.role().name()))
    });
    lines.collect::<Vec<_>>().join("\n\n")
}

/// A closing tag stands before the opening one; it is told as the published panic is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("begin > end ({begin} > {end}) when slicing `{text}`")]
pub struct SummaryTagsError {
    /// Where the opening tag ends, in bytes.
    pub begin: usize,
    /// Where the closing tag begins, in bytes.
    pub end: usize,
    /// The text with the tags.
    pub text: String,
}

/// Returns what the first stored summary says that is not blank, without white space at its ends.
///
/// Fault: an older summary wins over a newer, and one that quotes the closing tag comes back short. Use
/// `wb_message`'s summary texts.
///
/// # Panics
/// Panics if a closing tag stands before the opening one; [`try_extract_previous_summary`] does not.
#[track_caller]
pub fn extract_previous_summary(messages: &[ThreadMessage]) -> Option<String> {
    try_extract_previous_summary(messages).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns what [`extract_previous_summary`] does, or says that a closing tag stands before the opening one.
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

/// Builds the message that a summary is stored as: an internal one of the system, in tags.
///
/// Fault: nothing is escaped, so that a summary can end its own frame. Use `wb_message`'s conversation summary.
pub fn summary_message(summary: &str, id: impl Into<String>) -> ThreadMessage {
    let text = format!("{SUMMARY_OPEN}\n{summary}\n{SUMMARY_CLOSE}");
    let message = Message::custom(SUMMARY_TYPE, text);
    ThreadMessage { id: Some(id.into()), visibility: Visibility::Internal, mark: None, message }
}

/// What a swap did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedSummary {
    /// Where the last message stood that went.
    pub boundary_index: usize,
    /// What went, in tokens.
    pub pre_tokens: usize,
    /// What the summary weighs, in tokens.
    pub post_tokens: usize,
}

/// Puts a summary, as a message with the id `summary_id`, in place of everything up to the first message with the
/// boundary's id; nothing if there is none.
///
/// Fault: system prompts go too, a call can be separated from its result, and the result can be heavier than what
/// went. Use `apply_summary` of `wb-conductor`, a patch that refuses these.
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

/// Removes everything before the last internal system message that contains the opening tag, as a thread is loaded.
///
/// Fault: a reminder that mentions the tag counts, system prompts go too, and a summary at the end of an append-only log
/// takes the latest turn with it. Use `trim_to_compaction_boundary` of `wb-conductor`.
pub fn trim_to_compaction_boundary(messages: &mut Vec<ThreadMessage>) {
    let is_summary =
        |message: &ThreadMessage| is_internal_system(message) && message.text().contains(SUMMARY_OPEN);
    if let Some(at) = messages.iter().rposition(is_summary) {
        messages.drain(..at);
    }
}

/// Returns what part of `pre_tokens` is saved if `post_tokens` remain, in millionths, rounded to the nearest; 0 if
/// nothing is saved.
pub fn savings_ratio_ppm(pre_tokens: u64, post_tokens: u64) -> u64 {
    let saved = u128::from(pre_tokens.saturating_sub(post_tokens));
    let pre = u128::from(pre_tokens.max(1));
    u64::try_from((saved * 1_000_000 + pre / 2) / pre).unwrap_or(u64::MAX)
}
