//! Lines in the order in which the model sees them, assembled to messages.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::ops::Range;

use wb_budget::Usage;
use wb_message::{Block, Content, Message, markers};
use wb_record::{Note, Place, Provenance, Segment, UsageAt};

use super::body::{Bodies, Body};
use super::head::{Answer, Kind, Origin};
use super::live::Live;
use super::rows::{Row, Rows};
use crate::shapes::anthropic_block::{UserBody, UserPart};

/// The custom type of host content in the user's place: skills, caveats, the text of a slash
/// command.
pub(crate) const HOST_TYPE: &str = "meta";

/// A conversation, the positions of its messages, and notes on it.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) segment: Segment,
    pub(crate) provenance: Provenance,
    pub(crate) model: Option<String>,
    pub(crate) notes: Vec<Note>,
}

impl Assembled {
    /// Returns the number of messages before the first one that is in a line at an offset or after.
    pub(crate) fn n_before(&self, offset: u64) -> usize {
        let is_after = |at: &usize| self.provenance.places(*at).iter().all(|it| it.record.at >= offset);
        (0..self.provenance.len()).find(is_after).unwrap_or(self.provenance.len())
    }
}

/// Assembles a conversation from the content of its lines; usage is that of one range of lines.
pub(crate) fn assemble(rows: &Rows, live: &Live, lines: &Range<usize>, mut bodies: Bodies<'_>) -> Assembled {
    let mut draft = SlotDraft { tokens_before: live.tokens_before.unwrap_or(0), ..SlotDraft::default() };
    for at in &live.order {
        draft.push(&rows.all[*at], bodies.take(*at), lines.contains(at));
    }
    let (model, notes) = (draft.model.map(str::to_owned), draft.notes(live));
    let (segment, provenance) = draft.finish();
    Assembled { segment, provenance, model, notes }
}

/// A message, or an answer with the results of its calls.
#[derive(Debug)]
enum Slot {
    Single(Message, Place),
    Answer {
        blocks: Vec<Block>,
        places: Vec<Place>,
        results: Vec<(Message, Place)>,
        request: Option<UsageAt>,
    },
    /// A result that appears in the line of its answer.
    Moved,
}

#[derive(Debug)]
struct KnownCall {
    slot: usize,
    tool: String,
    is_answered: bool,
}

#[derive(Debug, Default)]
struct SlotDraft<'a> {
    slots: Vec<Slot>,
    /// The slot of each answer, by its id.
    answers: HashMap<&'a str, usize>,
    /// The last call of each id.
    calls: HashMap<String, KnownCall>,
    /// The slots of the results of each id that no line before them calls.
    early: HashMap<String, Vec<usize>>,
    cleared: HashSet<String>,
    model: Option<&'a str>,
    tokens_before: u64,
    /// The starts of the lines that hold a second result of a call, which is not sent.
    repeated: Vec<u64>,
    n_failures: usize,
    /// The start of the last failure, as long as no answer follows it.
    last_failure: Option<NonZeroU64>,
}

impl<'a> SlotDraft<'a> {
    fn push(&mut self, row: &'a Row, body: Body, is_current: bool) {
        match (&row.kind, body) {
            (Kind::Answer(answer), _) if answer.is_failure => {
                self.n_failures += 1;
                self.last_failure = NonZeroU64::new(row.span().at);
            }
            (Kind::Answer(answer), Body::Answer(blocks)) => self.push_answer(row, answer, blocks, is_current),
            (_, Body::User { said, origin }) => self.push_user(row, said, origin),
            (_, Body::Attachment { kind, content }) => self.push_single(row, Message::custom(kind, content)),
            (_, Body::Clearing { ids }) => self.cleared.extend(ids),
            _ => {}
        }
    }

    fn push_single(&mut self, row: &Row, message: Message) {
        let place = Place::whole(row.span(), &message);
        self.slots.push(Slot::Single(message, place));
    }

    /// Adds blocks to the answer that they belong to.
    fn push_answer(&mut self, row: &Row, answer: &'a Answer, new: Vec<Block>, is_current: bool) {
        self.last_failure = None;
        let known = answer.id.as_deref().and_then(|id| self.answers.get(id)).copied();
        let slot = known.unwrap_or(self.slots.len());
        if known.is_none() {
            let (blocks, places, results) = (Vec::new(), Vec::new(), Vec::new());
            self.slots.push(Slot::Answer { blocks, places, results, request: None });
            self.answers.extend(answer.id.as_deref().map(|id| (id, slot)));
        }
        for block in &new {
            if let Block::ToolCall { id, name, .. } = block {
                // If several calls of one answer share an id, a result answers the first.
                let first = self.calls.get(id).filter(|call| call.slot == slot);
                let tool = first.map_or(name, |call| &call.tool).clone();
                let is_answered = self.take_early(slot, id, &tool);
                self.calls.insert(id.clone(), KnownCall { slot, tool, is_answered });
            }
        }
        self.model = answer.model.as_deref().or(self.model);
        if let Slot::Answer { blocks, places, request, .. } = &mut self.slots[slot] {
            places.push(Place { record: row.span(), blocks: blocks.len()..blocks.len() + new.len() });
            blocks.extend(new);
            if is_current {
                count(request, answer);
            }
        }
    }

    /// Takes a result that precedes the line with its call; returns whether there is one.
    fn take_early(&mut self, slot: usize, id: &str, tool: &str) -> bool {
        let Some(early) = self.early.get_mut(id) else { return false };
        let nth = early.partition_point(|at| *at <= slot);
        if nth == early.len() {
            return false;
        }
        let moved = std::mem::replace(&mut self.slots[early.remove(nth)], Slot::Moved);
        let Slot::Single(mut result, place) = moved else { return false };
        if let Message::ToolResult { tool_name, .. } = &mut result {
            tool.clone_into(tool_name);
        }
        if let Slot::Answer { results, .. } = &mut self.slots[slot] {
            results.push((result, place));
        }
        true
    }

    fn push_user(&mut self, row: &Row, said: UserBody, origin: Origin) {
        let parts = match said {
            UserBody::Text(text) => return self.say(row, Content::Text(text), origin),
            UserBody::Parts(parts) => parts,
        };
        let mut said = Vec::new();
        for part in parts {
            match part {
                UserPart::Result { call_id, content, is_error } => {
                    self.push_result(row, call_id, content, is_error);
                }
                UserPart::Block(block) => said.push(block),
            }
        }
        if !said.is_empty() {
            self.say(row, Content::Blocks(said), origin);
        }
    }

    /// Adds text in the user's place as a message of its speaker.
    fn say(&mut self, row: &Row, content: Content, origin: Origin) {
        let message = match origin {
            Origin::User => Message::User { content, timestamp: row.timestamp },
            Origin::Host => Message::custom(HOST_TYPE, content),
            Origin::Digest => {
                Message::CompactionSummary { summary: digest(&content), tokens_before: self.tokens_before }
            }
        };
        self.push_single(row, message);
    }

    /// Puts a result after the answer with its call. One without a call stays in place; a second
    /// one is left out.
    fn push_result(&mut self, row: &Row, tool_call_id: String, content: Vec<Block>, is_error: bool) {
        let call = self.calls.get_mut(&tool_call_id);
        let is_repeated = call.as_ref().is_some_and(|call| call.is_answered);
        let tool_name = call.as_ref().map(|call| call.tool.clone()).unwrap_or_default();
        let is_refusal = row.refusal.is_of(&tool_name);
        let result = Message::ToolResult { tool_call_id, tool_name, content, is_error, is_refusal };
        match call {
            _ if is_repeated => self.repeated.push(row.span().at),
            None => {
                if let Some(id) = result.answered_ids().next() {
                    self.early.entry(id.to_owned()).or_default().push(self.slots.len());
                }
                self.push_single(row, result);
            }
            Some(call) => {
                call.is_answered = true;
                let place = Place::whole(row.span(), &result);
                if let Slot::Answer { results, .. } = &mut self.slots[call.slot] {
                    results.push((result, place));
                }
            }
        }
    }

    fn notes(&self, live: &Live) -> Vec<Note> {
        let results = self.slots.iter().flat_map(|slot| match slot {
            Slot::Single(..) | Slot::Moved => &[],
            Slot::Answer { results, .. } => results.as_slice(),
        });
        let n_cleared = results.filter(|(result, _)| self.is_cleared(result)).count();
        let counted = |n: usize, note: Note| (n > 0).then_some(note);
        let notes = [
            counted(live.n_abandoned, Note::AbandonedLines { n: live.n_abandoned }),
            counted(self.repeated.len(), Note::RepeatedResults { n: self.repeated.len() }),
            counted(self.n_failures, Note::FailureMessages { n: self.n_failures, last: self.last_failure }),
            live.tokens_before.map(Note::compaction),
            counted(n_cleared, Note::ClearedResults { n: n_cleared }),
        ];
        notes.into_iter().flatten().collect()
    }

    fn is_cleared(&self, message: &Message) -> bool {
        matches!(message, Message::ToolResult { tool_call_id, .. } if self.cleared.contains(tool_call_id))
    }

    fn finish(mut self) -> (Segment, Provenance) {
        let (mut messages, mut usage) = (Vec::new(), Vec::new());
        let mut provenance = Provenance::default();
        let repeated: HashSet<u64> = self.repeated.drain(..).collect();
        for slot in std::mem::take(&mut self.slots) {
            match slot {
                Slot::Single(mut message, place) => {
                    if self.clear(&mut message) || repeated.contains(&place.record.at) {
                        provenance.alter(messages.len());
                    }
                    messages.push(message);
                    provenance.push([place]);
                }
                Slot::Moved => {}
                Slot::Answer { blocks, places, results, request } => {
                    usage.extend(request.map(|request| UsageAt { at: messages.len(), ..request }));
                    messages.push(Message::assistant_blocks(blocks));
                    provenance.push(places);
                    for (mut result, place) in results {
                        if self.clear(&mut result) || repeated.contains(&place.record.at) {
                            provenance.alter(messages.len());
                        }
                        messages.push(result);
                        provenance.push([place]);
                    }
                }
            }
        }
        (Segment::new(messages, usage), provenance)
    }

    /// Gives a result that was cleared the body that the model gets; returns whether it was.
    fn clear(&self, message: &mut Message) -> bool {
        let is_cleared = self.is_cleared(message);
        if let Message::ToolResult { content, .. } = message
            && is_cleared
        {
            *content = markers::cleared_body();
        }
        is_cleared
    }
}

/// Returns the text of a digest without our header.
fn digest(content: &Content) -> String {
    let text = content.texts().collect::<Vec<_>>().join("\n");
    let body = markers::digest_body(&Message::user(text.as_str())).map(Cow::into_owned);
    body.unwrap_or(text)
}

/// Notes the usage of a request, which each line of its answer repeats, with the largest answer.
fn count(request: &mut Option<UsageAt>, answer: &Answer) {
    if let (Some(usage), Some(model)) = (answer.usage, &answer.model) {
        let first = || UsageAt { at: 0, usage, model: Some(model.to_string()) };
        let total: &mut Usage = &mut request.get_or_insert_with(first).usage;
        total.output_tokens = total.output_tokens.max(usage.output_tokens);
    }
}
