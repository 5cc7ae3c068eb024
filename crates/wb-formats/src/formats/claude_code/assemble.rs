//! Lines in the order in which the model sees them, put together to messages.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use wb_budget::Usage;
use wb_message::{Block, Content, Message, markers};

use super::block::Part;
use super::row::{Answer, Body, Origin, Said};
use super::rows::Live;
use wb_record::{Note, Segment, UsageAt};

/// The custom type of what the host puts in the user's place: skills, caveats, the text of a slash command.
const HOST_TYPE: &str = "meta";

/// A conversation, and what was changed in it.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) segment: Segment,
    pub(super) model: Option<String>,
    pub(super) notes: Vec<Note>,
}

/// Puts a conversation together from what its lines say; usage is that of one segment.
pub(super) fn assemble(
    live: &Live,
    segment: &Range<usize>,
    mut said: impl FnMut(usize) -> (Body, i64),
) -> Assembled {
    let mut draft = Draft { tokens_before: live.tokens_before.unwrap_or(0), ..Draft::default() };
    for at in &live.order {
        let (body, timestamp) = said(*at);
        draft.push(body, timestamp, segment.contains(at));
    }
    let model = draft.model.clone();
    let notes = draft.notes(live);
    Assembled { segment: draft.finish(), model, notes }
}

/// A message, or an answer with the results of its calls.
#[derive(Debug)]
enum Slot {
    Single(Message),
    Answer { blocks: Vec<Block>, results: Vec<Message>, request: Option<(Usage, Option<String>)> },
}

#[derive(Debug)]
struct Call {
    slot: usize,
    tool: String,
    is_answered: bool,
}

#[derive(Debug, Default)]
struct Draft {
    slots: Vec<Slot>,
    /// The slot of each answer, by its id.
    answers: HashMap<String, usize>,
    /// The last call of each id.
    calls: HashMap<String, Call>,
    cleared: HashSet<String>,
    model: Option<String>,
    tokens_before: u64,
    n_repeated: usize,
    n_failures: usize,
}

impl Draft {
    fn push(&mut self, body: Body, timestamp: i64, is_current: bool) {
        match body {
            Body::Assistant(answer) if answer.is_failure => self.n_failures += 1,
            Body::Assistant(answer) => self.push_answer(answer, is_current),
            Body::User { parts, origin } => self.push_user(parts, origin, timestamp),
            Body::Attachment { kind, content } => {
                self.slots.push(Slot::Single(Message::custom(kind, content)));
            }
            Body::Clearing { ids } => self.cleared.extend(ids),
            Body::Compaction(_) | Body::Link => {}
        }
    }

    /// Adds blocks to the answer that they belong to.
    fn push_answer(&mut self, answer: Answer, is_current: bool) {
        let known = answer.id.as_ref().and_then(|id| self.answers.get(id)).copied();
        let slot = known.unwrap_or(self.slots.len());
        if known.is_none() {
            self.slots.push(Slot::Answer { blocks: Vec::new(), results: Vec::new(), request: None });
            self.answers.extend(answer.id.map(|id| (id, slot)));
        }
        for block in &answer.blocks {
            if let Block::ToolCall { id, name, .. } = block {
                self.calls.insert(id.clone(), Call { slot, tool: name.clone(), is_answered: false });
            }
        }
        if answer.model.is_some() {
            self.model.clone_from(&answer.model);
        }
        if let Slot::Answer { blocks, request, .. } = &mut self.slots[slot] {
            blocks.extend(answer.blocks);
            if is_current && let (Some(usage), Some(model)) = (answer.usage, &answer.model) {
                // Every line repeats the request; the answer grows from line to line.
                let (total, _) = request.get_or_insert_with(|| (usage, Some(model.clone())));
                total.output_tokens = total.output_tokens.max(usage.output_tokens);
            }
        }
    }

    fn push_user(&mut self, parts: Said, origin: Origin, timestamp: i64) {
        let parts = match parts {
            Said::Text(text) => return self.say(Content::Text(text), origin, timestamp),
            Said::Parts(parts) => parts,
        };
        let mut said = Vec::new();
        for part in parts {
            match part {
                Part::Result { call_id, content, is_error } => self.push_result(call_id, content, is_error),
                Part::Said(block) => said.push(block),
            }
        }
        if !said.is_empty() {
            self.say(Content::Blocks(said), origin, timestamp);
        }
    }

    /// Adds what stands in the user's place as a message of whoever speaks.
    fn say(&mut self, content: Content, origin: Origin, timestamp: i64) {
        let message = match origin {
            Origin::User => Message::User { content, timestamp },
            Origin::Host => Message::custom(HOST_TYPE, content),
            Origin::Digest => Message::CompactionSummary {
                summary: content.texts().collect::<Vec<_>>().join("\n"),
                tokens_before: self.tokens_before,
            },
        };
        self.slots.push(Slot::Single(message));
    }

    /// Puts a result behind the answer with its call; one without a call stays where it is.
    fn push_result(&mut self, tool_call_id: String, content: Vec<Block>, is_error: bool) {
        let call = self.calls.get_mut(&tool_call_id);
        let is_repeated = call.as_ref().is_some_and(|call| call.is_answered);
        let tool_name = call.as_ref().map(|call| call.tool.clone()).unwrap_or_default();
        let result = Message::ToolResult { tool_call_id, tool_name, content, is_error };
        match call {
            _ if is_repeated => self.n_repeated += 1,
            None => self.slots.push(Slot::Single(result)),
            Some(call) => {
                call.is_answered = true;
                if let Slot::Answer { results, .. } = &mut self.slots[call.slot] {
                    results.push(result);
                }
            }
        }
    }

    fn notes(&self, live: &Live) -> Vec<Note> {
        let results = self.slots.iter().flat_map(|slot| match slot {
            Slot::Single(_) => &[],
            Slot::Answer { results, .. } => results.as_slice(),
        });
        let n_cleared = results.filter(|result| self.is_cleared(result)).count();
        let counted = |n: usize, note: Note| (n > 0).then_some(note);
        let notes = [
            counted(live.n_abandoned, Note::AbandonedLines { n: live.n_abandoned }),
            counted(self.n_repeated, Note::RepeatedResults { n: self.n_repeated }),
            counted(self.n_failures, Note::FailureMessages { n: self.n_failures }),
            live.tokens_before.map(|tokens_before| Note::CompactionApplied { tokens_before }),
            counted(n_cleared, Note::ClearedResults { n: n_cleared }),
        ];
        notes.into_iter().flatten().collect()
    }

    fn is_cleared(&self, message: &Message) -> bool {
        matches!(message, Message::ToolResult { tool_call_id, .. } if self.cleared.contains(tool_call_id))
    }

    fn finish(mut self) -> Segment {
        let (mut messages, mut usage) = (Vec::new(), Vec::new());
        for slot in std::mem::take(&mut self.slots) {
            match slot {
                Slot::Single(message) => messages.push(message),
                Slot::Answer { blocks, results, request } => {
                    let at = messages.len();
                    usage.extend(request.map(|(usage, model)| UsageAt { at, usage, model }));
                    messages.push(Message::assistant_blocks(blocks));
                    messages.extend(results.into_iter().map(|result| self.as_sent(result)));
                }
            }
        }
        Segment::new(messages, usage)
    }

    /// Returns the result as the model gets it.
    fn as_sent(&self, mut message: Message) -> Message {
        let is_cleared = self.is_cleared(&message);
        if let Message::ToolResult { content, .. } = &mut message
            && is_cleared
        {
            *content = markers::cleared_body();
        }
        message
    }
}
