//! Answers that were cut off at their limit: whether to ask for the rest.

use serde::{Deserialize, Serialize};
use wb_message::Message;

use super::message::{ThreadMessage, Visibility};

/// How often an answer is continued if nothing is configured.
pub const DEFAULT_MAX_CONTINUATION_RETRIES: usize = 2;

/// Our own words: of the published text only length and hash were recorded.
const CONTINUATION: &str = "Your answer was cut off at its length limit. Continue where it stopped, and split what \
                            is left into smaller steps.";

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It reached its limit of tokens.
    MaxTokens,
    /// It waits for tools.
    ToolUse,
    /// It wrote a text that ends an answer.
    StopSequence,
}

/// How one answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferenceEnd {
    /// Why it stopped, if the provider said so.
    pub stop_reason: Option<StopReason>,
    /// What it says.
    pub text: String,
    /// Whether a call was cut off within its arguments.
    pub has_incomplete_tool_calls: bool,
    /// How many complete calls it makes.
    pub n_tool_calls: usize,
}

/// How often answers of a run were continued.
///
/// Fault: it counts over a whole run, so that an early answer uses up the retries of a later one, and what was said
/// before a continuation is not put together with it. Use `TruncationState` of `wb-conductor`, which is one step's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationState {
    /// How often.
    pub truncation_retries: usize,
}

/// Tells if an answer was cut off at its limit with a call incomplete, or with some text and no calls.
pub fn needs_truncation_recovery(end: &InferenceEnd) -> bool {
    let is_text_alone = end.n_tool_calls == 0 && !end.text.is_empty();
    end.stop_reason == Some(StopReason::MaxTokens) && (end.has_incomplete_tool_calls || is_text_alone)
}

/// Tells if an answer is to be continued, and counts it; never with a `max_retries` of 0.
pub fn should_retry(end: &InferenceEnd, state: &mut TruncationState, max_retries: usize) -> bool {
    let retries = needs_truncation_recovery(end) && state.truncation_retries < max_retries;
    state.truncation_retries += usize::from(retries);
    retries
}

/// Builds the internal user message that asks for the rest, in our own words.
pub fn continuation_message(id: impl Into<String>) -> ThreadMessage {
    let message = Message::user(CONTINUATION);
    ThreadMessage { id: Some(id.into()), visibility: Visibility::Internal, mark: None, message }
}
