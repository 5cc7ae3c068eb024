//! Continuation of answers that were cut off at the output limit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_invoke::{Emission, Reply, StopReason};
use wb_message::markers::INTERNAL_TYPE;
use wb_message::{Block, Message};

/// The default number of continuations of an answer within one step; 0 means none.
pub const DEFAULT_MAX_CONTINUATIONS: u32 = 2;

/// The prompt after an answer that was cut off.
pub const CONTINUATION_PROMPT: &str = "Your last answer was cut off at the output limit. \
Go on exactly where its text ends, without repeating any of it, and do the rest in smaller pieces. \
None of its tool calls was run: make those that you still need anew, with less in each.";

/// Builds the message that asks a model to continue; it is internal to the host.
pub fn continuation_message() -> Message {
    Message::custom(INTERNAL_TYPE, CONTINUATION_PROMPT)
}

/// A tool call as streamed; its arguments may be cut off anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallDraft {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments so far, as text.
    pub args: String,
}

impl CallDraft {
    /// Returns the call if its arguments are a whole JSON object; blank arguments are an empty
    /// object unless `is_cut`.
    fn complete(&self, is_cut: bool) -> Option<Block> {
        let input = match serde_json::from_str(&self.args) {
            Ok(input @ Value::Object(_)) => input,
            Err(_) if self.args.trim().is_empty() && !is_cut => Value::Object(Map::new()),
            _ => return None,
        };
        Some(Block::call(&*self.id, &*self.name, input))
    }
}

/// The contents of an answer, while it streams and afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyDraft {
    /// The text so far.
    pub text: String,
    /// The tool calls so far.
    pub calls: Vec<CallDraft>,
    /// The reason why the model stopped, once it did.
    pub stop: Option<StopReason>,
}

impl ReplyDraft {
    /// Reads a whole answer; string arguments of a call are the text of its JSON.
    pub fn from_reply(reply: &Reply) -> Self {
        let mut draft = Self { stop: Some(reply.stop), ..Self::default() };
        for block in &reply.blocks {
            match block {
                Block::Text { text } => draft.text.push_str(text),
                Block::ToolCall { id, name, input } => {
                    let args = match input {
                        Value::String(raw) => raw.clone(),
                        Value::Null => String::new(),
                        input => input.to_string(),
                    };
                    draft.calls.push(CallDraft { id: id.clone(), name: name.clone(), args });
                }
                _ => {}
            }
        }
        draft
    }

    /// Adds one emission. A whole answer at the end sets the text, and those calls and arguments
    /// that were not streamed: the stream is what the model wrote, while a gateway may have edited
    /// the answer.
    pub fn push(&mut self, emission: &Emission) {
        match emission {
            Emission::Text { delta } => self.text.push_str(delta),
            Emission::ToolCallStart { id, name } => {
                self.calls.push(CallDraft { id: id.clone(), name: name.clone(), args: String::new() });
            }
            Emission::ToolCallDelta { id, args_delta } => {
                if let Some(call) = self.calls.iter_mut().rfind(|call| call.id == *id) {
                    call.args.push_str(args_delta);
                }
            }
            Emission::Stop { stop } => self.stop = Some(*stop),
            Emission::Done { reply } => self.finish(Self::from_reply(reply)),
            _ => {}
        }
    }

    fn finish(&mut self, whole: Self) {
        self.stop = whole.stop;
        if !whole.text.is_empty() {
            self.text = whole.text;
        }
        let mut streamed = std::mem::take(&mut self.calls);
        for call in whole.calls {
            let found = streamed.iter().position(|known| known.id == call.id).map(|at| streamed.remove(at));
            self.calls.push(found.filter(|known| !known.args.is_empty()).unwrap_or(call));
        }
        self.calls.append(&mut streamed);
    }

    /// Returns the calls that a host may run: those whose arguments are a JSON object. In an answer
    /// that was cut off, a last call without arguments is incomplete.
    pub fn complete_calls(&self) -> Vec<Block> {
        self.calls.iter().enumerate().filter_map(|(at, call)| self.complete(at, call)).collect()
    }

    fn complete(&self, at: usize, call: &CallDraft) -> Option<Block> {
        call.complete(self.stop == Some(StopReason::MaxOutput) && at + 1 == self.calls.len())
    }
}

/// Returns whether an answer was cut off at its limit and needs a continuation: a call is
/// incomplete, or there is text and no call.
pub fn needs_truncation_recovery(draft: &ReplyDraft) -> bool {
    let mut calls = draft.calls.iter().enumerate();
    let has_only_text = draft.calls.is_empty() && !draft.text.is_empty();
    let is_cut = draft.stop == Some(StopReason::MaxOutput);
    is_cut && (has_only_text || calls.any(|(at, call)| draft.complete(at, call).is_none()))
}

/// The continuations of one step, and the text before each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TruncationState {
    /// The number of continuations.
    pub retries: u32,
    /// The text of the answers that were continued, in order.
    pub parts: Vec<String>,
}

impl TruncationState {
    /// Returns whether to continue an answer; if so, counts it and keeps its text.
    pub fn should_retry(&mut self, draft: &ReplyDraft, max_continuations: u32) -> bool {
        if self.retries >= max_continuations || !needs_truncation_recovery(draft) {
            return false;
        }
        self.retries += 1;
        if !draft.text.is_empty() {
            // After a cut call the model starts a new text; else it continues the old one.
            let gap = if draft.calls.is_empty() { "" } else { "\n\n" };
            self.parts.push([&draft.text, gap].concat());
        }
        true
    }

    /// Returns the messages to append before the model is asked again, or `None` if the answer is
    /// final: its text so far, then the [`continuation_message`]. Calls are omitted, since none of
    /// them was run.
    pub fn continuation(&mut self, draft: &ReplyDraft, max_continuations: u32) -> Option<Vec<Message>> {
        self.should_retry(draft, max_continuations).then(|| {
            let text = Some(&draft.text).filter(|text| !text.trim().is_empty()).cloned();
            text.map(Message::assistant).into_iter().chain([continuation_message()]).collect()
        })
    }

    /// Ends the step: returns all parts and the last text as one answer, and starts a new one.
    pub fn finish(&mut self, last: &str) -> String {
        let parts = std::mem::take(self).parts;
        parts.iter().map(String::as_str).chain([last]).collect()
    }
}
