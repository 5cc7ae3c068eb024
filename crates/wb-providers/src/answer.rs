//! An answer under construction: its parts, usage, stop reason and queued emissions.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_invoke::{Emission, Reply, StopReason};
use wb_message::Block;

/// The progress of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    #[default]
    Begun,
    /// The stream may end, or report usage first.
    MayEnd,
    /// Nothing follows.
    Ended,
}

/// A block under construction.
#[derive(Debug)]
enum Part {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Call {
        /// The provider's name for the call within the stream.
        key: String,
        id: String,
        name: String,
        arguments: String,
    },
}

/// Assembles an answer and queues an emission for each piece.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    model: String,
    parts: Vec<Part>,
    /// The usage of earlier attempts.
    earlier: Usage,
    usage: Usage,
    stop: Option<StopReason>,
    is_refused: bool,
    progress: Progress,
    queue: VecDeque<Emission>,
    has_begun: bool,
}

impl Answer {
    /// Returns an empty answer that keeps the usage so far.
    pub(crate) fn restart(self) -> Self {
        Self { earlier: self.earlier.plus(self.usage), queue: self.queue, ..Self::default() }
    }

    /// Sets the model's name, unless it is empty.
    pub(crate) fn set_model(&mut self, model: &str) {
        if !model.is_empty() {
            model.clone_into(&mut self.model);
        }
    }

    /// Adds text.
    pub(crate) fn text(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push_str(delta),
            _ => self.parts.push(Part::Text(delta.to_owned())),
        }
        self.emit(Emission::Text { delta: delta.to_owned() });
    }

    /// Adds the text of a refusal, which overrides the provider's stop reason.
    pub(crate) fn refusal(&mut self, delta: &str) {
        self.is_refused |= !delta.is_empty();
        self.text(delta);
    }

    /// Adds reasoning.
    pub(crate) fn thinking(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Thinking { text, signature: None }) => text.push_str(delta),
            _ => self.parts.push(Part::Thinking { text: delta.to_owned(), signature: None }),
        }
        self.emit(Emission::Thinking { delta: delta.to_owned() });
    }

    /// Adds a signature to the last reasoning, or to hidden reasoning.
    pub(crate) fn signature(&mut self, delta: &str) {
        match self.parts.last_mut() {
            _ if delta.is_empty() => {}
            Some(Part::Thinking { signature, .. }) => signature.get_or_insert_default().push_str(delta),
            _ => self.parts.push(Part::Thinking { text: String::new(), signature: Some(delta.to_owned()) }),
        }
    }

    /// Starts a tool call, unless it has already started.
    pub(crate) fn call(&mut self, key: &str, id: &str, name: &str) {
        if self.parts.iter().any(|part| matches!(part, Part::Call { key: known, .. } if known == key)) {
            return;
        }
        let id = if id.is_empty() { format!("call_{}", self.n_calls() + 1) } else { id.to_owned() };
        let name = name.to_owned();
        self.emit(Emission::ToolCallStart { id: id.clone(), name: name.clone() });
        self.parts.push(Part::Call { key: key.to_owned(), id, name, arguments: String::new() });
    }

    /// Appends to the arguments of a tool call.
    pub(crate) fn arguments(&mut self, key: &str, delta: &str) {
        let id = self.parts.iter_mut().rev().find_map(|part| match part {
            Part::Call { key: known, id, arguments, .. } if known == key && !delta.is_empty() => {
                arguments.push_str(delta);
                Some(id.clone())
            }
            _ => None,
        });
        if let Some(id) = id {
            self.emit(Emission::ToolCallDelta { id, args_delta: delta.to_owned() });
        }
    }

    /// Returns the number of tool calls so far.
    pub(crate) fn n_calls(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Call { .. })).count()
    }

    /// Returns the usage of this attempt so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Sets the usage of this attempt so far.
    pub(crate) fn count(&mut self, usage: Usage) {
        if usage != self.usage {
            self.usage = usage;
            self.queue.push_back(Emission::Usage { usage: self.earlier.plus(usage) });
        }
    }

    /// Sets the stop reason; the stream may end from now on.
    pub(crate) fn stop(&mut self, stop: StopReason) {
        self.stop = Some(stop);
        self.may_end();
    }

    /// Allows the stream to end.
    pub(crate) fn may_end(&mut self) {
        self.progress = self.progress.max(Progress::MayEnd);
    }

    /// Marks the end of the stream.
    pub(crate) fn end(&mut self) {
        self.progress = Progress::Ended;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.progress == Progress::Ended
    }

    /// Returns whether the answer is complete.
    pub(crate) fn is_whole(&self) -> bool {
        self.progress >= Progress::MayEnd
    }

    /// Returns whether the model has produced output, which a retry would repeat.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Removes the next queued emission.
    pub(crate) fn next(&mut self) -> Option<Emission> {
        self.queue.pop_front()
    }

    /// Queues the stop reason and the complete answer.
    pub(crate) fn conclude(&mut self, stop: Option<StopReason>) {
        let reported = if self.is_refused { Some(StopReason::Refusal) } else { self.stop };
        let stop = stop.or(reported).unwrap_or(StopReason::Complete);
        let blocks = std::mem::take(&mut self.parts).into_iter().map(Part::block).collect();
        let reply = Reply {
            model: std::mem::take(&mut self.model),
            blocks,
            usage: self.earlier.plus(self.usage),
            stop,
        };
        self.queue.extend([Emission::Stop { stop }, Emission::Done { reply }]);
    }

    fn emit(&mut self, emission: Emission) {
        self.has_begun = true;
        self.queue.push_back(emission);
    }
}

impl Part {
    fn block(self) -> Block {
        match self {
            Self::Text(text) => Block::Text { text },
            Self::Thinking { text, signature } => Block::Thinking { text, signature },
            Self::Call { id, name, arguments, .. } => Block::ToolCall { id, name, input: input(arguments) },
        }
    }
}

/// Parses a call's arguments: an empty text is an empty object, invalid JSON stays text.
fn input(arguments: String) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(&arguments).unwrap_or(Value::String(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn concluded(mut answer: Answer) -> (Vec<Emission>, Reply) {
        answer.conclude(None);
        let mut emissions: Vec<_> = std::iter::from_fn(|| answer.next()).collect();
        let Some(Emission::Done { reply }) = emissions.pop() else { panic!("an answer ends with itself") };
        (emissions, reply)
    }

    #[test]
    fn pieces_become_blocks_in_order() {
        let mut answer = Answer::default();
        answer.set_model("m-1");
        for delta in ["Let ", "me see."] {
            answer.thinking(delta);
        }
        answer.signature("c2ln");
        answer.text("It is ");
        answer.text("");
        answer.text("late.");
        answer.call("0", "a", "read");
        answer.call("1", "", "ls");
        answer.call("0", "", "");
        answer.arguments("0", "{\"path\":");
        answer.arguments("1", "");
        answer.arguments("0", "\"x\"}");
        answer.arguments("7", "lost");
        answer.stop(StopReason::ToolCalls);
        assert!(answer.is_whole() && !answer.has_ended() && answer.has_begun());
        let (emissions, reply) = concluded(answer);
        assert_eq!(emissions.len(), 9);
        let thinking = Block::Thinking { text: "Let me see.".into(), signature: Some("c2ln".into()) };
        let calls = [Block::call("a", "read", json!({"path": "x"})), Block::call("call_2", "ls", json!({}))];
        assert_eq!(reply.blocks, [vec![thinking, Block::text("It is late.")], calls.to_vec()].concat());
        assert_eq!((reply.model.as_str(), reply.stop), ("m-1", StopReason::ToolCalls));
    }

    #[test]
    fn a_refusal_overrides_the_stop_reason() {
        let mut answer = Answer::default();
        answer.refusal("I will not.");
        answer.stop(StopReason::Complete);
        let (_, reply) = concluded(answer);
        assert_eq!((reply.stop, reply.blocks), (StopReason::Refusal, vec![Block::text("I will not.")]));
    }

    #[test]
    fn invalid_json_arguments_stay_text() {
        let mut answer = Answer::default();
        answer.call("k", "a", "bash");
        answer.arguments("k", "{\"cut");
        assert_eq!(concluded(answer).1.blocks, [Block::call("a", "bash", json!("{\"cut"))]);
    }

    #[test]
    fn unchanged_usage_is_emitted_once() {
        let mut answer = Answer::default();
        let usage = Usage { input_tokens: 5, ..Usage::EMPTY };
        answer.count(Usage::EMPTY);
        answer.count(usage);
        answer.count(usage);
        assert!(!answer.has_begun(), "the request can still be made again");
        assert_eq!(concluded(answer).0.len(), 2);
    }
}
