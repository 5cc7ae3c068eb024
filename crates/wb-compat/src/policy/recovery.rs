//! The recovery of answers cut off at their limit.

use serde::{Deserialize, Serialize};
use wb_message::Message;

use super::message::{ThreadMessage, Visibility};

/// The most continuations of an answer by default.
pub const DEFAULT_MAX_CONTINUATION_RETRIES: usize = 2;

/// The request to continue, in our words: only length and hash of the published text were recorded.
const CONTINUATION: &str = "Your answer was cut off at its length limit. Continue where it stopped, and split what \
                            is left into smaller steps.";

/// The reason that a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model reached its limit of tokens.
    MaxTokens,
    /// The model waits for tools.
    ToolUse,
    /// The model wrote a stop sequence.
    StopSequence,
}

/// The end of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferenceEnd {
    /// The stop reason, if the provider reported one.
    pub stop_reason: Option<StopReason>,
    /// The text.
    pub text: String,
    /// True if a call was cut off within its arguments.
    pub has_incomplete_tool_calls: bool,
    /// The number of complete calls.
    pub n_tool_calls: usize,
}

/// The continuations of a run.
///
/// Fault: it counts over a whole run, so an early answer uses up the retries of a later one, and
/// the parts of an answer are not joined. Use `TruncationState` of `wb-conductor`, which counts per
/// step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationState {
    /// The number of continuations.
    pub truncation_retries: usize,
}

/// Returns whether an answer was cut off at its limit with an incomplete call, or with text and no
/// calls.
pub fn needs_truncation_recovery(end: &InferenceEnd) -> bool {
    let is_text_alone = end.n_tool_calls == 0 && !end.text.is_empty();
    end.stop_reason == Some(StopReason::MaxTokens) && (end.has_incomplete_tool_calls || is_text_alone)
}

/// Returns whether to continue an answer, and counts it; never with a `max_retries` of 0.
pub fn should_retry(end: &InferenceEnd, state: &mut TruncationState, max_retries: usize) -> bool {
    let retries = needs_truncation_recovery(end) && state.truncation_retries < max_retries;
    state.truncation_retries += usize::from(retries);
    retries
}

/// Builds the internal user message that asks for the rest, in our words.
pub fn continuation_message(id: impl Into<String>) -> ThreadMessage {
    let message = Message::user(CONTINUATION);
    ThreadMessage { id: Some(id.into()), visibility: Visibility::Internal, mark: None, message }
}
