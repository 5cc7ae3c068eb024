//! Goes on where an answer was cut off at its limit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_invoke::{Emission, Reply, StopReason};
use wb_message::markers::INTERNAL_TYPE;
use wb_message::{Block, Message};

/// How often an answer is continued within one step where nothing else is configured; 0 never does.
pub const DEFAULT_MAX_CONTINUATIONS: u32 = 2;

/// What a model is told after an answer that was cut off.
pub const CONTINUATION_PROMPT: &str = "Your last answer was cut off at the output limit. \
Go on exactly where its text ends, without repeating any of it, and do the rest in smaller pieces. \
None of its tool calls was run: make those that you still need anew, with less in each.";

/// Builds the message that asks a model to go on; a host's own, shown to nobody else.
pub fn continuation_message() -> Message {
    Message::custom(INTERNAL_TYPE, CONTINUATION_PROMPT)
}

/// A tool call as it was streamed; its arguments may be cut off anywhere.
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
    /// Returns the call where its arguments are a whole JSON object; arguments that say nothing are an empty one
    /// unless `cut`.
    fn whole(&self, cut: bool) -> Option<Block> {
        let input = match serde_json::from_str(&self.args) {
            Ok(input @ Value::Object(_)) => input,
            Err(_) if self.args.trim().is_empty() && !cut => Value::Object(Map::new()),
            _ => return None,
        };
        Some(Block::call(&*self.id, &*self.name, input))
    }
}

/// The calls of an answer; only complete ones may be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedCalls {
    /// Calls with whole arguments, in order.
    pub complete: Vec<Block>,
    /// Calls whose arguments are no JSON object, in order.
    pub incomplete: Vec<CallDraft>,
}

/// What is known of an answer, while it streams and afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyDraft {
    /// The text so far.
    pub text: String,
    /// The tool calls so far.
    pub calls: Vec<CallDraft>,
    /// Why the model stopped, once it did.
    pub stop: Option<StopReason>,
}

impl ReplyDraft {
    /// Reads a whole answer; the arguments of a call that are a string are taken as the text of its JSON.
    pub fn of(reply: &Reply) -> Self {
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

    /// Takes in one emission. Of a whole answer at the end its text counts, and those calls and arguments that were
    /// not streamed: what was streamed is what the model wrote, whatever was made of it since.
    pub fn take(&mut self, emission: &Emission) {
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
            Emission::Done { reply } => self.finish(Self::of(reply)),
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
            let known = streamed.iter().position(|known| known.id == call.id).map(|at| streamed.remove(at));
            self.calls.push(known.filter(|known| !known.args.is_empty()).unwrap_or(call));
        }
        self.calls.append(&mut streamed);
    }

    /// Sorts the calls; in an answer that was cut off, a last call without arguments is incomplete.
    pub fn sorted_calls(&self) -> SortedCalls {
        let mut sorted = SortedCalls::default();
        for (at, call) in self.calls.iter().enumerate() {
            match self.whole(at, call) {
                Some(block) => sorted.complete.push(block),
                None => sorted.incomplete.push(call.clone()),
            }
        }
        sorted
    }

    fn whole(&self, at: usize, call: &CallDraft) -> Option<Block> {
        call.whole(self.stop == Some(StopReason::MaxOutput) && at + 1 == self.calls.len())
    }
}

/// Tells whether an answer was cut off at its limit with something left to say: a call is incomplete, or there is
/// text and no call at all.
pub fn needs_truncation_recovery(draft: &ReplyDraft) -> bool {
    let mut calls = draft.calls.iter().enumerate();
    let says_more = draft.calls.is_empty() && !draft.text.is_empty();
    let is_cut = draft.stop == Some(StopReason::MaxOutput);
    is_cut && (says_more || calls.any(|(at, call)| draft.whole(at, call).is_none()))
}

/// The continuations of one step, and what was said before each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TruncationState {
    /// How often the answer was continued.
    pub retries: u32,
    /// The text of the answers that were continued, in order.
    pub parts: Vec<String>,
}

impl TruncationState {
    /// Tells whether an answer is to be continued; where it is, counts it and keeps its text.
    pub fn should_retry(&mut self, draft: &ReplyDraft, max_continuations: u32) -> bool {
        if self.retries >= max_continuations || !needs_truncation_recovery(draft) {
            return false;
        }
        self.retries += 1;
        if !draft.text.is_empty() {
            // After a call that was cut off the model starts a new text; else it goes on inside the old one.
            let gap = if draft.calls.is_empty() { "" } else { "\n\n" };
            self.parts.push([&draft.text, gap].concat());
        }
        true
    }

    /// Returns what is appended to the transcript before the model is asked again, or nothing where the answer is
    /// final: what it said so far, then the [`continuation_message`]. Calls are left out, none of them was run.
    pub fn continued(&mut self, draft: &ReplyDraft, max_continuations: u32) -> Option<Vec<Message>> {
        let said = |draft: &ReplyDraft| Some(&draft.text).filter(|text| !text.trim().is_empty()).cloned();
        self.should_retry(draft, max_continuations).then(|| {
            said(draft).map(Message::assistant).into_iter().chain([continuation_message()]).collect()
        })
    }

    /// Ends the step: returns all parts and the last text as one answer and starts anew.
    pub fn finish(&mut self, last: &str) -> String {
        let parts = std::mem::take(self).parts;
        parts.iter().map(String::as_str).chain([last]).collect()
    }
}
