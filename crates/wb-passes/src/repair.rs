//! Closes the loose ends of a transcript: calls without a result, results without a call, and second results.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::block::shown_text;
use wb_message::markers::INTERNAL_TYPE;
use wb_message::pairing::CallPosition;
use wb_message::text::escape_xml;
use wb_message::{Block, Content, Edit, Message, Pairing, Patch, Undo, text};

use crate::pass::{Goal, Pass};

pub use wb_message::markers::INTERRUPTED;

/// Opens the note that stands for a result without a call.
const ORPHAN_OPEN: &str = "<tool-result-without-call>";
/// Closes the note that stands for a result without a call.
const ORPHAN_CLOSE: &str = "</tool-result-without-call>";
/// The most bytes that a note takes from an orphan result, about 500 tokens.
pub const MAX_ORPHAN_BYTES: usize = 2_000;
/// The most characters of a tool's name in a note, before escapes.
const MAX_NAME_CHARS: usize = 64;

/// What becomes of a result without an earlier call, and of a second result for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrphanPolicy {
    /// It goes.
    #[default]
    Drop,
    /// Its head and tail stay in an internal note, which is no one's turn.
    Wrap,
}

/// Answers calls without a result, and drops or wraps results without a call and second results, which are orphans too.
///
/// A call is answered by an error result of [`INTERRUPTED`], right after its message and the results that follow
/// it, in the order of the calls. Where that would part an earlier call from its result, it is answered behind all the
/// replies and results in a row, which providers get as one reply and its results. If a call of the same id in the same message has a later answer, it is
/// answered right after that one, for results of equal ids answer first-in first-out.
///
/// A result that stands too late, after a user message, answers its call anyway and stays where it is. A user message in
/// which orphans stand next to results that have their call cannot be taken apart by a patch; these orphans are left and
/// counted.
///
/// It may make a transcript heavier, so a pipeline runs it as a step of its own kind. Time is linear.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Repair {
    /// What becomes of a result without an earlier call.
    pub orphans: OrphanPolicy,
    /// Whether calls in flight are answered too, for a request that is about to be sent.
    pub in_flight: bool,
}

/// What a repair did, in results.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// Calls that were answered.
    pub answered: usize,
    /// Orphans that were dropped.
    pub dropped: usize,
    /// Orphans that became notes.
    pub wrapped: usize,
    /// Orphans that stand next to results with a call, and stayed.
    pub left: usize,
    /// What takes it back; nothing if nothing was changed.
    pub undo: Option<Undo>,
}

impl Pass for Repair {
    fn name(&self) -> &'static str {
        "repair"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, _: Goal<'_>) -> Option<Patch> {
        let edits = self.edits(&view.messages, &view.pairing, &mut Repaired::default());
        (!edits.is_empty()).then(|| Patch::new(edits))
    }
}

impl Repair {
    /// Plans the repair of a transcript; nothing where there is nothing to repair.
    pub fn patch(self, messages: &[Message]) -> Option<Patch> {
        let edits = self.edits(
            &messages.iter().collect::<Vec<_>>(),
            &Pairing::new(messages),
            &mut Repaired::default(),
        );
        (!edits.is_empty()).then(|| Patch::new(edits))
    }

    /// Repairs a transcript in place.
    pub fn repair(self, messages: &mut Vec<Message>) -> Repaired {
        let pairing = Pairing::new(messages);
        let mut done = Repaired::default();
        let edits = self.edits(&messages.iter().collect::<Vec<_>>(), &pairing, &mut done);
        if edits.is_empty() {
            return done;
        }
        match Patch::new(edits).apply_paired(messages, &pairing) {
            Ok(undo) => Repaired { undo: Some(undo), ..done },
            // Nothing was changed, so nothing was done.
            Err(_) => Repaired::default(),
        }
    }

    fn edits(self, messages: &[&Message], pairing: &Pairing, done: &mut Repaired) -> Vec<Edit> {
        let mut answers = self.answers(messages, pairing);
        done.answered = answers.len();
        answers.sort_by_key(|(place, _)| *place);
        let mut edits = Vec::new();
        for (place, answer) in answers {
            match edits.last_mut() {
                Some(Edit::Fold { range, with }) if range.start == place => with.push(answer),
                _ => edits.push(Edit::Fold { range: place..place, with: vec![answer] }),
            }
        }
        let repeated = pairing.pairs().iter().filter(|pair| pair.repeated).map(|pair| pair.result);
        let mut orphans: Vec<u32> = pairing.orphans().iter().copied().chain(repeated).collect();
        orphans.sort_unstable();
        for results in orphans.chunk_by(|one, next| one == next) {
            edits.extend(self.orphan(results[0] as usize, results.len(), messages, done));
        }
        edits
    }

    /// Returns the answers that are missing, each with the index that it is to stand before.
    fn answers(self, messages: &[&Message], pairing: &Pairing) -> Vec<(usize, Message)> {
        let twins = last_answers(messages, pairing);
        let mut answers = Vec::with_capacity(pairing.dangling().len());
        let mut row = Row::default();
        for calls in pairing.dangling().chunk_by(|one, next| one.message == next.message) {
            let at = calls[0].message as usize;
            if self.in_flight || pairing.in_flight() != Some(at) {
                let end = end_of_results(messages, pairing, at);
                let behind = if pairing.is_legal(end) { end } else { row.end(messages, pairing, end) };
                answers.extend(calls.iter().filter_map(|call| {
                    let place = if row.is_last(*call, messages) { behind } else { end };
                    answer(*call, place, messages, &twins)
                }));
            }
        }
        answers
    }

    /// Returns the edit that takes the orphans of one message.
    fn orphan(self, at: usize, n: usize, messages: &[&Message], done: &mut Repaired) -> Option<Edit> {
        let message = messages[at];
        if message.answered_ids().count() > n {
            done.left += n;
            return None;
        }
        let mut with = match self.orphans {
            OrphanPolicy::Drop => vec![],
            OrphanPolicy::Wrap => notes(message),
        };
        done.wrapped += with.len();
        done.dropped += n - with.len();
        with.extend(without_results(message));
        Some(Edit::Fold { range: at..at + 1, with })
    }
}

/// Replies and results in a row.
#[derive(Debug, Default)]
struct Row<'a> {
    messages: Range<usize>,
    /// The last message that calls by each id; made with the first row.
    last_calls: HashMap<&'a str, usize>,
}

impl<'a> Row<'a> {
    /// Returns the index after the row that a message is in.
    fn end(&mut self, messages: &'a [&Message], pairing: &Pairing, at: usize) -> usize {
        if self.last_calls.is_empty() {
            let ids = |(at, message): (usize, &&'a Message)| message.calls().map(move |(id, ..)| (id, at));
            self.last_calls = messages.iter().enumerate().flat_map(ids).collect();
        }
        if !self.messages.contains(&at) {
            let is_reply = |at: usize| matches!(messages[at], Message::Assistant { .. });
            let is_in = |at: &usize| is_reply(*at) || is_answer(messages, pairing, *at);
            self.messages = at..(at..messages.len()).find(|at| !is_in(at)).unwrap_or(messages.len());
        }
        self.messages.end
    }

    /// Returns whether no later message calls by the id of a call, so that an answer further back is its own.
    fn is_last(&self, call: CallPosition, messages: &[&Message]) -> bool {
        let last = call.find(messages).and_then(|(id, ..)| self.last_calls.get(id));
        last == Some(&(call.message as usize))
    }
}

/// The last answers to calls of messages that dangling calls stand in, by message and id.
type LastAnswers<'a> = HashMap<(u32, &'a str), usize>;

fn last_answers<'a>(messages: &'a [&Message], pairing: &Pairing) -> LastAnswers<'a> {
    let dangles = |call: CallPosition| {
        pairing.dangling().binary_search_by_key(&call.message, |open| open.message).is_ok()
    };
    let beside = pairing.pairs().iter().filter(|pair| dangles(pair.call));
    let keyed = beside.filter_map(|pair| {
        let (id, _, _) = pair.call.find(messages)?;
        Some(((pair.call.message, id), pair.result as usize))
    });
    keyed.collect()
}

/// Returns the answer to a call and the index that it is to stand before.
fn answer(
    call: CallPosition,
    end_of_results: usize,
    messages: &[&Message],
    twins: &LastAnswers<'_>,
) -> Option<(usize, Message)> {
    let (id, name, _) = call.find(messages)?;
    let after_twin = twins.get(&(call.message, id)).map_or(0, |result| result + 1);
    Some((end_of_results.max(after_twin), Message::tool_error(id, name, INTERRUPTED)))
}

/// Returns the index after a reply and the results that follow it.
fn end_of_results(messages: &[&Message], pairing: &Pairing, reply: usize) -> usize {
    let rest = (reply + 1..messages.len()).take_while(|at| is_answer(messages, pairing, *at));
    rest.last().unwrap_or(reply) + 1
}

/// Returns whether a message carries results of calls before it and nothing else.
fn is_answer(messages: &[&Message], pairing: &Pairing, at: usize) -> bool {
    let is_orphan = || pairing.orphans().binary_search_by(|it| (*it as usize).cmp(&at)).is_ok();
    is_results(messages[at]) && !is_orphan()
}

/// Returns whether a message carries results and nothing else.
fn is_results(message: &Message) -> bool {
    match message {
        Message::ToolResult { .. } => true,
        Message::User { content, .. } => {
            !content.blocks().is_empty() && content.blocks().iter().all(Block::is_tool_result)
        }
        _ => false,
    }
}

/// Returns what is left of a user message without its results, nothing if that is all there was.
fn without_results(message: &Message) -> Option<Message> {
    let Message::User { content, timestamp } = message else { return None };
    let rest: Vec<Block> = content.blocks().iter().filter(|block| !block.is_tool_result()).cloned().collect();
    let timestamp = *timestamp;
    (!rest.is_empty()).then_some(Message::User { content: Content::Blocks(rest), timestamp })
}

/// Returns a note for each result of a message.
fn notes(message: &Message) -> Vec<Message> {
    if let Message::ToolResult { tool_name, content, .. } = message {
        return vec![note(tool_name, &shown_text(content))];
    }
    let outputs = message.blocks().iter().filter_map(|block| match block {
        Block::ToolResult { output, .. } => Some(output),
        _ => None,
    });
    outputs
        .map(|output| note("", &output.as_str().map_or_else(|| output.to_string(), str::to_owned)))
        .collect()
}

/// Builds an internal note; `<`, `>` and `&` are escaped, so that no result can end its own frame.
fn note(tool: &str, body: &str) -> Message {
    let (tool, body) = (escape_xml(&text::one_line(tool, MAX_NAME_CHARS)), escape_xml(body));
    let body = text::clip(&body, MAX_ORPHAN_BYTES);
    Message::custom(INTERNAL_TYPE, format!("{ORPHAN_OPEN}\ntool: {tool}\n{body}\n{ORPHAN_CLOSE}"))
}
