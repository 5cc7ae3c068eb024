//! [`Draft`] is an overlay over the borrowed input: it copies and moves nothing but what is new.
//! Each step is a patch over the draft; at the end all of them are one patch over the input.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::mem::{replace, take};
use std::ops::Range;

use wb_budget::{WeighedTranscript, prefix_sums};
use wb_message::markers::{cleared_body, is_cleared};
use wb_message::{Block, Edit, Message, Origin, Pairing, Patch, PatchError};

/// One place of a draft.
#[derive(Debug)]
enum Slot {
    /// An unchanged message of the input.
    Kept(usize),
    /// A message of the input with a cleared body, and its weight; built only if a step reads it.
    Cleared(usize, u64, OnceCell<Box<Message>>),
    /// A message of the input with another body.
    Edited(Box<EditedMessage>),
    /// A message that a step inserted, and its weight.
    New(Box<Message>, u64),
    /// The place of the digest, and the most that it may weigh.
    Hole(Box<Message>, u64),
}

/// A message with another body; the whole of it is built only if a step reads it.
#[derive(Debug)]
struct EditedMessage {
    at: usize,
    content: Vec<Block>,
    weight: u64,
    message: OnceCell<Message>,
}

impl EditedMessage {
    fn message(&self, input: &WeighedTranscript<'_>) -> &Message {
        self.message.get_or_init(|| input.messages[self.at].with_body(self.content.clone()))
    }
}

impl Slot {
    fn with_body(self, content: Vec<Block>, weight: u64) -> Self {
        let body = |at, content: Vec<Block>| {
            if is_cleared(&content) {
                return Self::Cleared(at, weight, OnceCell::new());
            }
            Self::Edited(Box::new(EditedMessage { at, content, weight, message: OnceCell::new() }))
        };
        match self {
            Self::Kept(at) | Self::Cleared(at, ..) => body(at, content),
            Self::Edited(edited) => body(edited.at, content),
            Self::New(message, _) => Self::New(Box::new(message.with_body(content)), weight),
            hole @ Self::Hole(..) => hole,
        }
    }
}

/// Tools whose cleared results are weighed once.
const MOST_TOOLS: usize = 16;

/// The input with all that the steps so far have planned.
pub(crate) struct Draft<'a> {
    pub(crate) input: WeighedTranscript<'a>,
    slots: Vec<Slot>,
    /// Running sums of the weights; `None` while those of the input are right.
    prefix: Option<Vec<u64>>,
    /// `None` while the input's pairing is right, since edits of bodies separate nothing.
    pairing: Option<Pairing>,
    /// The weight of a cleared result by tool. A transcript has few tools and many results.
    cleared: Vec<(String, u64)>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(input: WeighedTranscript<'a>) -> Self {
        let slots = (0..input.messages.len()).map(Slot::Kept).collect();
        Self { input, slots, prefix: None, pairing: None, cleared: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the running sums of the weights.
    pub(crate) fn prefix(&self) -> &[u64] {
        self.prefix.as_deref().unwrap_or(&self.input.prefix)
    }

    /// Returns the weight in tokens, the digest counted with the most that it may weigh.
    pub(crate) fn total(&self) -> u64 {
        self.prefix()[self.slots.len()]
    }

    pub(crate) fn pairing(&self) -> &Pairing {
        self.pairing.as_ref().unwrap_or(&self.input.pairing)
    }

    pub(crate) fn weight(&self, at: usize) -> u64 {
        let prefix = self.prefix();
        prefix[at + 1] - prefix[at]
    }

    pub(crate) fn range_weight(&self, range: &Range<usize>) -> u64 {
        let prefix = self.prefix();
        prefix[range.end] - prefix[range.start]
    }

    /// Returns the weight of the messages before the first changed one.
    pub(crate) fn stable_tokens(&self) -> u64 {
        let is_kept = |(at, slot): &(usize, &Slot)| matches!(slot, Slot::Kept(origin) if origin == at);
        let n_stable = self.slots.iter().enumerate().take_while(is_kept).count();
        self.input.prefix[n_stable]
    }

    /// Returns the index in the input of the message at a place.
    pub(crate) fn origin(&self, at: usize) -> Option<usize> {
        match &self.slots[at] {
            Slot::Kept(at) | Slot::Cleared(at, ..) => Some(*at),
            Slot::Edited(edited) => Some(edited.at),
            Slot::New(..) | Slot::Hole(..) => None,
        }
    }

    /// Returns the message at a place, with the body that it has in the input.
    pub(crate) fn original(&self, at: usize) -> &Message {
        match &self.slots[at] {
            Slot::New(message, _) | Slot::Hole(message, _) => message,
            Slot::Kept(at) | Slot::Cleared(at, ..) => self.input.messages[*at],
            Slot::Edited(edited) => self.input.messages[edited.at],
        }
    }

    fn originals(&self) -> Cow<'_, [&Message]> {
        if self.has_only_input() {
            return Cow::Borrowed(&self.input.messages);
        }
        Cow::Owned((0..self.len()).map(|at| self.original(at)).collect())
    }

    /// Returns whether it has each message of the input and no other, with any bodies.
    pub(crate) fn has_only_input(&self) -> bool {
        self.pairing.is_none()
    }

    /// Returns the place of the digest and the most that it may weigh.
    pub(crate) fn hole(&self) -> Option<(usize, u64)> {
        self.slots.iter().enumerate().find_map(|(at, slot)| match slot {
            Slot::Hole(_, room) => Some((at, *room)),
            _ => None,
        })
    }

    /// Changes the most that the digest may weigh.
    pub(crate) fn resize_hole(&mut self, room: u64) {
        if let Some((at, _)) = self.hole()
            && let Slot::Hole(_, tokens) = &mut self.slots[at]
        {
            *tokens = room;
            self.sum();
        }
    }

    /// Returns the messages of the input from `cut` on whose bodies the result lacks, in order.
    pub(crate) fn hidden(&self, cut: usize) -> Vec<usize> {
        let visible = self.visible();
        (cut..visible.slots.len()).filter(|&at| visible.slots[at].is_none()).collect()
    }

    /// Returns the part of the input that the result still contains.
    pub(crate) fn visible(&self) -> VisibleInput<'_> {
        let mut slots = vec![None; self.input.messages.len()];
        for slot in &self.slots {
            match slot {
                Slot::Kept(at) => slots[*at] = Some(slot),
                Slot::Edited(edited) => slots[edited.at] = Some(slot),
                Slot::Cleared(..) | Slot::New(..) | Slot::Hole(..) => {}
            }
        }
        VisibleInput { slots }
    }

    /// Returns the transcript after the steps so far.
    pub(crate) fn view(&self) -> WeighedTranscript<'_> {
        let cleared = |at: usize| Box::new(self.input.messages[at].with_body(cleared_body()));
        let message = |slot| match slot {
            &Slot::Kept(at) => self.input.messages[at],
            Slot::Cleared(at, _, message) => message.get_or_init(|| cleared(*at)),
            Slot::Edited(edited) => edited.message(&self.input),
            Slot::New(message, _) | Slot::Hole(message, _) => message,
        };
        WeighedTranscript {
            messages: self.slots.iter().map(message).collect(),
            prefix: Cow::Borrowed(self.prefix()),
            pairing: Cow::Borrowed(self.pairing()),
            counter: self.input.counter.clone(),
            turns: None,
            fixed: self.fixed(),
        }
    }

    /// Returns the places of the messages with a fixed body.
    pub(crate) fn fixed(&self) -> Cow<'_, [usize]> {
        if self.has_only_input() || self.input.fixed.is_empty() {
            return Cow::Borrowed(&self.input.fixed);
        }
        let is_fixed = |at: &usize| self.origin(*at).is_some_and(|origin| self.input.is_fixed(origin));
        (0..self.len()).filter(is_fixed).collect()
    }

    /// Returns the places of the messages that are joined to the one before.
    fn joined(&self) -> Vec<usize> {
        let joined = self.input.pairing.joined();
        if joined.is_empty() {
            return Vec::new();
        }
        let is_joined = |at: &usize| {
            let of_input = self.origin(*at).and_then(|origin| u32::try_from(origin).ok());
            of_input.is_some_and(|origin| joined.binary_search(&origin).is_ok())
        };
        (1..self.len()).filter(is_joined).collect()
    }

    /// Applies a patch that a step planned over [`Self::view`].
    ///
    /// A patch that breaks a rule, replaces the digest, makes more turns than before, or adds
    /// weight without permission is refused, and nothing changes.
    pub(crate) fn apply(&mut self, patch: Patch, may_add: bool) -> Result<(), PatchError> {
        // Edits of bodies leave calls and results alone, so the original bodies are as good here.
        patch.check(&self.originals(), self.pairing())?;
        let weights = self.new_weights(&patch, may_add)?;
        self.check_digest_and_turns(&patch)?;
        let folds = patch.edits.iter().any(|edit| matches!(edit, Edit::Fold { .. }));
        if folds {
            self.splice(patch, weights);
            self.sum();
            let originals: Vec<&Message> = (0..self.len()).map(|at| self.original(at)).collect();
            let mut pairing = Pairing::new(&originals);
            self.joined().into_iter().for_each(|at| pairing.join(at));
            self.pairing = Some(pairing);
        } else {
            self.edit(patch, weights);
            self.sum();
        }
        Ok(())
    }

    /// Returns the weight of each message that a patch inserts or edits, in the order of its edits.
    fn new_weights(&mut self, patch: &Patch, may_add: bool) -> Result<Vec<u64>, PatchError> {
        let (mut weights, mut removed_tokens) = (Vec::with_capacity(patch.edits.len()), 0_u64);
        for edit in &patch.edits {
            match edit {
                Edit::Body { at, content } => {
                    removed_tokens = removed_tokens.saturating_add(self.weight(*at));
                    weights.push(self.edited_weight(*at, content));
                }
                Edit::Fold { range, with } => {
                    removed_tokens += self.range_weight(range);
                    weights.extend(with.iter().map(|message| self.input.counter.message(message)));
                }
            }
        }
        let added_tokens = weights.iter().copied().fold(0, u64::saturating_add);
        if added_tokens >= removed_tokens && !may_add {
            return Err(PatchError::Heavier { removed_tokens, added_tokens });
        }
        Ok(weights)
    }

    fn edited_weight(&mut self, at: usize, content: &[Block]) -> u64 {
        let message = self.original(at);
        let tool = match message {
            Message::ToolResult { tool_name, .. } if is_cleared(content) => Some(tool_name),
            _ => None,
        };
        let is_same = |known: &&(String, u64)| tool.is_some_and(|tool| known.0 == *tool);
        if let Some((_, weight)) = self.cleared.iter().find(is_same) {
            return *weight;
        }
        let weight = self.input.counter.message(&message.with_body(content.to_vec()));
        if let Some(tool) = tool.cloned().filter(|_| self.cleared.len() < MOST_TOOLS) {
            self.cleared.push((tool, weight));
        }
        weight
    }

    fn check_digest_and_turns(&self, patch: &Patch) -> Result<(), PatchError> {
        let digest = self.hole().map(|(at, _)| at);
        for (nth, edit) in patch.edits.iter().enumerate() {
            let replaces_digest = match edit {
                Edit::Body { at, .. } => digest == Some(*at),
                Edit::Fold { range, .. } => digest.is_some_and(|at| range.contains(&at)),
            };
            if replaces_digest {
                return Err(PatchError::Misplaced { edit: nth });
            }
        }
        match &self.input.turns {
            Some(turns)
                if self.n_turns(&patch.origins(self.len())) > turns.last().map_or(0, |last| last + 1) =>
            {
                Err(PatchError::MoreTurns)
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of turns, or of messages without turns, in the result of a patch.
    fn n_turns(&self, origins: &[Origin]) -> usize {
        let Some(turns) = &self.input.turns else { return origins.len() };
        let (mut n_turns, mut open) = (0, None);
        for origin in origins {
            let turn = origin.input_index().and_then(|at| self.origin(at)).map(|at| turns[at]);
            n_turns += usize::from(turn.is_none() || turn != open);
            open = turn;
        }
        n_turns
    }

    /// Returns the number of messages, or turns of a host, that can be added without exceeding the
    /// number in the input.
    pub(crate) fn n_free(&self) -> usize {
        let Some(turns) = &self.input.turns else {
            return self.input.messages.len().saturating_sub(self.len());
        };
        let origins: Vec<_> = (0..self.len()).map(Origin::Kept).collect();
        turns.last().map_or(0, |last| last + 1).saturating_sub(self.n_turns(&origins))
    }

    /// Edits bodies in place.
    fn edit(&mut self, patch: Patch, weights: Vec<u64>) {
        for (edit, weight) in patch.edits.into_iter().zip(weights) {
            if let Edit::Body { at, content } = edit {
                let slot = replace(&mut self.slots[at], Slot::Kept(0));
                self.slots[at] = slot.with_body(content, weight);
            }
        }
    }

    fn splice(&mut self, patch: Patch, weights: Vec<u64>) {
        let mut weights = weights.into_iter();
        let mut old = take(&mut self.slots).into_iter();
        let mut next = 0;
        for edit in patch.edits {
            match edit {
                Edit::Fold { range, with } => {
                    self.slots.extend(old.by_ref().take(range.start - next));
                    old.by_ref().take(range.len()).for_each(drop);
                    let new = with.into_iter().zip(weights.by_ref());
                    self.slots.extend(new.map(|(message, weight)| Slot::New(Box::new(message), weight)));
                    next = range.end;
                }
                Edit::Body { at, content } => {
                    self.slots.extend(old.by_ref().take(at - next));
                    let weight = weights.next().unwrap_or(0);
                    self.slots.extend(old.next().map(|slot| slot.with_body(content, weight)));
                    next = at + 1;
                }
            }
        }
        self.slots.extend(old);
    }

    fn sum(&mut self) {
        let weights = self.slots.iter().map(|slot| match slot {
            Slot::Kept(at) => self.input.weight(*at),
            Slot::Edited(edited) => edited.weight,
            Slot::Cleared(_, weight, _) | Slot::New(_, weight) | Slot::Hole(_, weight) => *weight,
        });
        self.prefix = Some(prefix_sums(weights));
    }

    /// Applies a patch whose only new message is the place of the digest, which may weigh `room`.
    pub(crate) fn apply_with_hole(&mut self, patch: Patch, room: u64) -> Result<(), PatchError> {
        let place = first_new_place(&patch);
        self.apply(patch, true)?;
        let slot = replace(&mut self.slots[place], Slot::Kept(0));
        self.slots[place] = match slot {
            Slot::New(message, _) => Slot::Hole(message, room),
            other => other,
        };
        self.sum();
        Ok(())
    }

    /// Returns the input, and all steps as one patch over it with the digest in its place: the
    /// edit, and the index among the messages that the edit inserts.
    pub(crate) fn into_patch(
        self,
        mut digest: Option<Message>,
    ) -> (WeighedTranscript<'a>, Patch, Option<(usize, usize)>) {
        let n = self.input.messages.len();
        let n_bodies =
            self.slots.iter().filter(|slot| matches!(slot, Slot::Cleared(..) | Slot::Edited(_))).count();
        let mut builder = PatchBuilder::default();
        builder.edits.reserve(n_bodies + 1);
        let mut digest_at = None;
        for slot in self.slots {
            match slot {
                Slot::Kept(at) => builder.keep(at),
                Slot::Cleared(at, ..) => {
                    builder.keep(at);
                    builder.edits.push(Edit::Body { at, content: cleared_body() });
                }
                Slot::Edited(edited) => {
                    builder.keep(edited.at);
                    builder.edits.push(Edit::Body { at: edited.at, content: edited.content });
                }
                Slot::New(message, _) => builder.with.push(*message),
                Slot::Hole(..) => {
                    digest_at = Some((builder.edits.len(), builder.with.len()));
                    builder.with.extend(digest.take());
                }
            }
        }
        builder.fold(n);
        (self.input, Patch { edits: builder.edits }, digest_at)
    }
}

/// The part of an input that a result still contains, by indices of the input.
pub(crate) struct VisibleInput<'d> {
    slots: Vec<Option<&'d Slot>>,
}

impl VisibleInput<'_> {
    /// Returns whether a line of a message is still there.
    pub(crate) fn has_line(&self, at: usize, line: &str) -> bool {
        match self.slots.get(at).copied().flatten() {
            Some(Slot::Edited(edited)) => {
                edited.content.iter().filter_map(Block::as_text).any(|text| text.contains(line))
            }
            slot => slot.is_some(),
        }
    }
}

/// Returns the place after a patch of the first message that it inserts.
fn first_new_place(patch: &Patch) -> usize {
    let mut n_removed = 0;
    for edit in &patch.edits {
        match edit {
            Edit::Fold { range, with } if !with.is_empty() => return range.start - n_removed,
            Edit::Fold { range, .. } => n_removed += range.len(),
            Edit::Body { .. } => {}
        }
    }
    0
}

/// Collects the folds between messages that stay.
#[derive(Default)]
struct PatchBuilder {
    edits: Vec<Edit>,
    with: Vec<Message>,
    next: usize,
}

impl PatchBuilder {
    fn keep(&mut self, at: usize) {
        self.fold(at);
        self.next = at + 1;
    }

    fn fold(&mut self, end: usize) {
        let range: Range<usize> = self.next..end;
        if !range.is_empty() || !self.with.is_empty() {
            self.edits.push(Edit::Fold { range, with: take(&mut self.with) });
        }
    }
}
