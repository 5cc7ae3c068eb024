//! A session as the model sees it: messages, the place of each in the file, and the usage that
//! providers counted.

pub(crate) mod note;
pub(crate) mod target_view;
pub(crate) mod missing_role;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use wb_budget::Usage;
use wb_message::markers::is_from_compaction;
use wb_message::{Aside, Block, Edit, Message, Patch, ToolVocabulary};

use crate::parts::error::FormatError;
use crate::parts::span::Span;
use crate::view::note::Note;

/// A conversation of a session as its next request would send it, without the system prompt and the
/// tools, which files do not hold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View {
    /// The name of the format.
    pub format: &'static str,
    /// The messages.
    pub messages: Vec<Message>,
    /// The place of each message.
    pub provenance: Provenance,
    /// The usage that providers counted for requests that sent a beginning of `messages`, in order.
    pub usage: Vec<UsageAt>,
    /// The model that the session continues with, if the file contains it.
    pub model: Option<String>,
    /// The context window of the model in tokens, if the file contains it.
    pub context_window: Option<u64>,
    /// Notes on records that were skipped or changed while reading.
    pub notes: Vec<Note>,
    /// The agent's names for its tools and their arguments.
    pub vocabulary: ToolVocabulary,
}

impl View {
    /// Starts a view without messages.
    pub fn new(format: &'static str, vocabulary: ToolVocabulary) -> Self {
        Self {
            format,
            messages: Vec::new(),
            provenance: Provenance::default(),
            usage: Vec::new(),
            model: None,
            context_window: None,
            notes: Vec::new(),
            vocabulary,
        }
    }

    /// Returns whether the conversation was compacted, or results in it cleared, so that the
    /// session holds more than the messages show.
    pub fn is_compacted(&self) -> bool {
        let is_of_compaction =
            |note: &Note| matches!(note, Note::CompactionApplied { .. } | Note::ClearedResults { .. });
        self.notes.iter().any(is_of_compaction)
    }

    /// Returns whether the session holds words of the user that no message has.
    pub fn has_asides(&self) -> bool {
        self.notes.iter().any(|note| matches!(note, Note::QueuedPrompts { .. }))
    }

    /// Returns a patch that inserts nothing inside of a record: such a message moves before the
    /// record, or after it if an answer must follow the results that only their order distinguishes
    /// from it.
    pub fn with_whole_records(&self, patch: Patch) -> Patch {
        let (mut edits, mut behind) = (Vec::<Edit>::with_capacity(patch.edits.len()), Vec::new());
        for edit in patch.edits {
            let (at, new) = match edit {
                Edit::Fold { range, with } if range.is_empty() => (range.start, with),
                _ => {
                    edits.push(edit);
                    continue;
                }
            };
            let mut before = Vec::new();
            for message in new {
                match self.end_of_equals(&message) {
                    Some(end) => behind.push((at.max(end), message)),
                    None => before.push(message),
                }
            }
            if before.is_empty() {
                continue;
            }
            let free = edits.last().map_or(0, end);
            let seam = (free..=at).rev().find(|at| self.provenance.is_seam(*at)).unwrap_or(at);
            insert(&mut edits, seam, before);
        }
        for (at, answer) in behind {
            let is_inside = |at: usize| edits.iter().any(|edit| start(edit) < at && at < end(edit));
            let is_free = |at: &usize| self.provenance.is_seam(*at) && !is_inside(*at);
            let seam = (at..=self.messages.len()).find(is_free).unwrap_or(at);
            insert(&mut edits, seam, vec![answer]);
        }
        Patch::new(edits)
    }

    /// Returns the end of all results that only their order distinguishes from a new one; nothing
    /// if there are none.
    fn end_of_equals(&self, new: &Message) -> Option<usize> {
        let tool = self.unnamed_tool(new)?;
        let last = self.messages.iter().rposition(|message| self.unnamed_tool(message) == Some(tool));
        last.map(|last| last + 1)
    }

    /// Returns the tool of a result whose call has no id in its record.
    fn unnamed_tool<'a>(&self, message: &'a Message) -> Option<&'a str> {
        match message {
            Message::ToolResult { tool_call_id, tool_name, .. }
                if self.provenance.is_unnamed(tool_call_id) =>
            {
                Some(tool_name)
            }
            _ => None,
        }
    }
}

/// Inserts messages, after others that are inserted at the same place.
fn insert(edits: &mut Vec<Edit>, at: usize, new: Vec<Message>) {
    let there = edits.iter_mut().rev().find_map(|edit| match edit {
        Edit::Fold { range, with } if range.end == at => Some(with),
        _ => None,
    });
    match there {
        Some(with) => with.extend(new),
        None => edits.push(Edit::Fold { range: at..at, with: new }),
    }
}

/// One native record's share in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The record: a line, an element of a list, a row.
    pub record: Span,
    /// The blocks of the message that are in the record.
    pub blocks: Range<usize>,
}

impl Place {
    /// Creates the place of a message that is in one record.
    pub fn whole(record: Span, message: &Message) -> Self {
        // A text that is not a list of blocks counts as one block.
        Self { record, blocks: 0..message.blocks().len().max(1) }
    }
}

/// For each message the records that it was read from: one message may have several, one record
/// several messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    places: Vec<Place>,
    /// For each message, where its places end.
    ends: Vec<u32>,
    altered: HashSet<usize>,
    fixed: Vec<usize>,
    joined: Vec<usize>,
    unnamed: HashSet<String>,
}

impl Provenance {
    /// Reserves space for `n_messages` more messages with one place each.
    pub fn reserve(&mut self, n_messages: usize) {
        self.places.reserve(n_messages);
        self.ends.reserve(n_messages);
    }

    /// Adds the places of the next message.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a session has fewer than four thousand million records"
    )]
    pub fn push(&mut self, places: impl IntoIterator<Item = Place>) {
        self.places.extend(places);
        self.ends.push(self.places.len() as u32);
    }

    /// Returns how many messages there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the places of a message in the order of its blocks; none for an index that is too
    /// large.
    pub fn places(&self, at: usize) -> &[Place] {
        let Some(end) = self.ends.get(at) else { return &[] };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.places[start as usize..*end as usize]
    }

    /// Notes that the body of a message is not that of its record: the host's own clearing is in
    /// force.
    pub fn alter(&mut self, at: usize) {
        self.altered.insert(at);
    }

    /// Returns whether the body of a message is not that of its record.
    pub fn is_altered(&self, at: usize) -> bool {
        self.altered.contains(&at)
    }

    /// Notes that a message can be given no other body: its records hold none that can be replaced.
    /// Messages are noted in their order.
    pub fn fix(&mut self, at: usize) {
        self.fixed.push(at);
    }

    /// Returns the messages that can be given no other body, ascending.
    pub fn fixed(&self) -> &[usize] {
        &self.fixed
    }

    /// Notes that no record can be divided: messages of one record stay or go together.
    pub fn join_records(&mut self) {
        self.joined = (1..self.len()).filter(|at| !self.is_seam(*at)).collect();
    }

    /// Returns the messages that stay or go with the one before them, ascending.
    pub fn joined(&self) -> &[usize] {
        &self.joined
    }

    /// Notes that a call got its id while it was read: only their order matches calls with results.
    pub fn name_call(&mut self, id: String) {
        self.unnamed.insert(id);
    }

    /// Returns whether the id of a call or of a result is in no record.
    pub fn is_unnamed(&self, id: &str) -> bool {
        self.unnamed.contains(id)
    }

    /// Returns messages in which the calls that got their ids while they were read are identified
    /// by their order, so that planned messages with such ids can be compared with messages read
    /// again.
    pub fn with_ids_by_order<'a>(&self, messages: &'a [Message]) -> Cow<'a, [Message]> {
        if self.unnamed.is_empty() {
            return Cow::Borrowed(messages);
        }
        let (mut messages, mut order) = (messages.to_vec(), HashMap::new());
        for id in messages.iter_mut().flat_map(ids_mut).filter(|id| self.is_unnamed(id)) {
            let nth = order.len();
            *id = format!("unnamed {}", order.entry(std::mem::take(id)).or_insert(nth));
        }
        Cow::Owned(messages)
    }

    /// Returns whether a cut before this message divides no record.
    pub fn is_seam(&self, at: usize) -> bool {
        let (Some(before), false) = (at.checked_sub(1), at >= self.len()) else { return true };
        let before: HashSet<&Span> = self.places(before).iter().map(|place| &place.record).collect();
        !self.places(at).iter().any(|place| before.contains(&place.record))
    }
}

/// Visits the ids of the calls and the result of a message.
fn ids_mut(message: &mut Message) -> Vec<&mut String> {
    match message {
        Message::Assistant { content, .. } => content.iter_mut().filter_map(id_mut).collect(),
        Message::ToolResult { tool_call_id, .. } => vec![tool_call_id],
        _ => Vec::new(),
    }
}

fn id_mut(block: &mut Block) -> Option<&mut String> {
    match block {
        Block::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn start(edit: &Edit) -> usize {
    match edit {
        Edit::Body { at, .. } => *at,
        Edit::Fold { range, .. } => range.start,
    }
}

/// Returns the index of the first message after an edit.
fn end(edit: &Edit) -> usize {
    match edit {
        Edit::Body { at, .. } => at + 1,
        Edit::Fold { range, .. } => range.end,
    }
}

/// The usage that a provider counted for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageAt {
    /// The index of the assistant message that answers the request; its prompt was every message
    /// before, plus the system prompt and the tools, which files do not hold.
    pub at: usize,
    /// The tokens.
    pub usage: Usage,
    /// The model that answered.
    pub model: Option<String>,
}

/// Forgets usage counted before a compaction changed messages in place: the prompts of those
/// requests were longer than the messages now, and the first one after it was shorter than the last
/// one before. The usage of another model is no sign of that.
pub fn forget_stale_usage(messages: &[Message], usage: &mut Vec<UsageAt>) {
    if usage.is_empty() {
        return;
    }
    let Some(first) = messages.iter().position(is_from_compaction) else { return };
    let drops = |pair: &[UsageAt]| {
        pair[1].usage.prompt_tokens() < pair[0].usage.prompt_tokens() && pair[1].model == pair[0].model
    };
    let fresh_from = usage.windows(2).rposition(drops).map_or(usage.len(), |at| at + 1);
    let fresh = usage.split_off(fresh_from);
    usage.retain(|counted| counted.at <= first);
    usage.extend(fresh);
}

/// One segment of a session in which the context only grew: from the start or from a compaction to
/// the next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Segment {
    /// The messages that the model saw, as they were at the end of the segment.
    pub messages: Vec<Message>,
    /// The usage that providers counted in this segment; empty if no request was made in it.
    pub usage: Vec<UsageAt>,
    /// The user's words in this segment that no message has, in order.
    pub asides: Vec<Aside>,
}

impl Segment {
    /// Builds a segment.
    pub fn new(messages: Vec<Message>, usage: Vec<UsageAt>) -> Self {
        Self { messages, usage, asides: Vec::new() }
    }
}

impl From<View> for Segment {
    fn from(view: View) -> Self {
        Self::new(view.messages, view.usage)
    }
}

/// The segments of a conversation, oldest first; each is read on demand.
pub struct Segments<'a> {
    left: Range<usize>,
    read: Box<dyn FnMut(usize) -> Result<Segment, FormatError> + 'a>,
}

impl<'a> Segments<'a> {
    /// Creates `n` segments, each of which `read` returns for its index.
    pub fn new(n: usize, read: impl FnMut(usize) -> Result<Segment, FormatError> + 'a) -> Self {
        Self { left: 0..n, read: Box::new(read) }
    }

    /// Builds one that was read.
    pub fn one(segment: Segment) -> Self {
        let mut segment = Some(segment);
        Self::new(1, move |_| segment.take().ok_or(FormatError::Empty))
    }

    /// Adds the last of later ones.
    pub(crate) fn and_last_of(mut self, mut later: Self) -> Self {
        let n = self.left.end;
        Self::new(n + 1, move |at| {
            if at < n { (self.read)(at) } else { later.next_back().unwrap_or(Err(FormatError::Empty)) }
        })
    }
}

impl fmt::Debug for Segments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Iterator for Segments<'_> {
    type Item = Result<Segment, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.next().map(&mut self.read)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for Segments<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left.next_back().map(&mut self.read)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_that_got_their_ids_here_are_known_by_their_order() {
        let talk = |ids: [&str; 2]| {
            let calls = ids.map(|id| Block::call(id, "ls", json!({})));
            let results = ids.map(|id| Message::tool_result(id, "ls", "a.rs"));
            [vec![Message::assistant_blocks(calls.to_vec())], results.to_vec()].concat()
        };
        let named = |ids: &[&str]| {
            let mut provenance = Provenance::default();
            for id in ids {
                provenance.name_call((*id).to_owned());
            }
            provenance
        };
        let (planned, read) = (named(&["call-1", "call-7", "call-8"]), named(&["call-1", "call-2"]));
        let (before, after) = (talk(["call-7", "call-8"]), talk(["call-1", "call-2"]));
        assert_eq!(planned.with_ids_by_order(&before), read.with_ids_by_order(&after));
        let crossed = [after[0].clone(), after[2].clone(), after[1].clone()];
        assert_ne!(planned.with_ids_by_order(&before), read.with_ids_by_order(&crossed));
        // An id that is in the record is compared as is.
        assert_ne!(
            planned.with_ids_by_order(&talk(["call-7", "c"])),
            read.with_ids_by_order(&talk(["call-1", "d"]))
        );
        assert_eq!(Provenance::default().with_ids_by_order(&before), Cow::Borrowed(&before));
    }

    fn place(at: u64) -> Place {
        Place { record: Span { at, len: 1, ..Span::default() }, blocks: 0..1 }
    }

    #[test]
    fn a_cut_between_messages_of_one_record_is_no_seam() {
        let mut provenance = Provenance::default();
        provenance.push([place(0), place(1)]);
        provenance.push([place(1)]);
        provenance.push([place(2)]);
        let seams: Vec<bool> = (0..5).map(|at| provenance.is_seam(at)).collect();
        assert_eq!(seams, [true, false, true, true, true]);
        assert_eq!(
            (provenance.places(0).len(), provenance.places(1).len(), provenance.places(9).len()),
            (2, 1, 0)
        );
    }

    #[test]
    fn a_smaller_count_of_another_model_is_none_of_a_compaction() {
        let counted = |at: usize, tokens: u64, model: &str| UsageAt {
            at,
            usage: Usage { input_tokens: tokens, ..Usage::EMPTY },
            model: Some(model.to_owned()),
        };
        let messages = [Message::CompactionSummary { summary: "done".to_owned(), tokens_before: 9 }];
        for (model, n_left) in [("a", 1), ("b", 0)] {
            let mut usage = vec![counted(2, 900, "a"), counted(4, 300, model)];
            forget_stale_usage(&messages, &mut usage);
            assert_eq!(usage.len(), n_left, "{model}");
        }
    }
}
