//! A transcript on its way down: an overlay over the borrowed input, in which nothing is moved or copied but what is
//! new. Every step is a patch that is taken in here; at the end all of them are one patch over the input.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::mem::take;
use std::ops::Range;

use wb_budget::{WeighedTranscript, prefix_sums};
use wb_message::markers::{cleared_body, is_cleared};
use wb_message::{Block, Edit, Message, Origin, Pairing, Patch, PatchError};

/// One place of a draft.
#[derive(Debug)]
enum Slot {
    /// A message of the input as it is.
    Kept(usize),
    /// A message of the input whose body was cleared, and its weight; it is built only if somebody looks.
    Cleared(usize, u64, OnceCell<Box<Message>>),
    /// A message of the input with another body.
    Edited(Box<Edited>),
    /// A message that a step brought, and its weight.
    New(Box<Message>, u64),
    /// Where the digest will stand, and the most that it may weigh.
    Hole(Box<Message>, u64),
}

/// A message with another body; the whole of it is built only if somebody looks.
#[derive(Debug)]
struct Edited {
    at: usize,
    content: Vec<Block>,
    weight: u64,
    message: OnceCell<Message>,
}

impl Edited {
    fn message(&self, input: &WeighedTranscript<'_>) -> &Message {
        self.message.get_or_init(|| input.messages[self.at].with_body(self.content.clone()))
    }
}

/// Tools whose cleared results are weighed once.
const MOST_TOOLS: usize = 16;

/// The input with all that the steps so far have planned.
pub(crate) struct Draft<'a> {
    pub(crate) input: &'a WeighedTranscript<'a>,
    slots: Vec<Slot>,
    /// Running sums of the weights.
    pub(crate) prefix: Cow<'a, [u64]>,
    /// None as long as the input's own is right, since edits of bodies separate nothing.
    pairing: Option<Pairing>,
    /// What a cleared result weighs, by tool: nothing else of it is left. A transcript has few tools and many results.
    cleared: Vec<(String, u64)>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(input: &'a WeighedTranscript<'a>) -> Self {
        let slots = (0..input.messages.len()).map(Slot::Kept).collect();
        Self { input, slots, prefix: Cow::Borrowed(&input.prefix), pairing: None, cleared: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the weight in tokens, the digest counted with the most that it may weigh.
    pub(crate) fn total(&self) -> u64 {
        self.prefix[self.slots.len()]
    }

    pub(crate) fn pairing(&self) -> &Pairing {
        self.pairing.as_ref().unwrap_or(&self.input.pairing)
    }

    fn weight(&self, at: usize) -> u64 {
        self.prefix[at + 1] - self.prefix[at]
    }

    /// Returns the weight of the messages before the first one that is changed.
    pub(crate) fn stable_tokens(&self) -> u64 {
        let is_kept = |(at, slot): &(usize, &Slot)| matches!(slot, Slot::Kept(origin) if origin == at);
        let n_stable = self.slots.iter().enumerate().take_while(is_kept).count();
        self.input.prefix[n_stable]
    }

    /// Returns the index in the input that a place stands for.
    pub(crate) fn origin(&self, at: usize) -> Option<usize> {
        match &self.slots[at] {
            Slot::Kept(at) | Slot::Cleared(at, ..) => Some(*at),
            Slot::Edited(edited) => Some(edited.at),
            Slot::New(..) | Slot::Hole(..) => None,
        }
    }

    /// Returns the message that a place stands for, with the body that it has in the input.
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

    /// Tells whether it has each message of the input and no other, whatever became of their bodies.
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

    /// Allows the digest another weight.
    pub(crate) fn resize_hole(&mut self, room: u64) {
        if let Some((at, _)) = self.hole()
            && let Slot::Hole(_, tokens) = &mut self.slots[at]
        {
            *tokens = room;
            self.sum();
        }
    }

    /// Returns the messages of the input from `cut` on whose bodies a reader will not see any more, in order.
    pub(crate) fn hidden(&self, cut: usize) -> Vec<usize> {
        let mut shown = vec![false; self.input.messages.len()];
        for slot in &self.slots {
            match slot {
                Slot::Kept(at) => shown[*at] = true,
                Slot::Edited(edited) => shown[edited.at] = true,
                Slot::Cleared(..) | Slot::New(..) | Slot::Hole(..) => {}
            }
        }
        (cut..shown.len()).filter(|&at| !shown[at]).collect()
    }

    /// Returns what of the input a reader will still see.
    pub(crate) fn shown(&self) -> Shown<'_> {
        let mut slots = vec![None; self.input.messages.len()];
        for slot in &self.slots {
            match slot {
                Slot::Kept(at) => slots[*at] = Some(slot),
                Slot::Edited(edited) => slots[edited.at] = Some(slot),
                Slot::Cleared(..) | Slot::New(..) | Slot::Hole(..) => {}
            }
        }
        Shown { slots }
    }

    /// Returns the transcript as the steps before have left it.
    pub(crate) fn view(&self) -> WeighedTranscript<'_> {
        let cleared = |at: usize| Box::new(self.input.messages[at].with_body(cleared_body()));
        let message = |slot| match slot {
            &Slot::Kept(at) => self.input.messages[at],
            Slot::Cleared(at, _, message) => message.get_or_init(|| cleared(*at)),
            Slot::Edited(edited) => edited.message(self.input),
            Slot::New(message, _) | Slot::Hole(message, _) => message,
        };
        WeighedTranscript {
            messages: self.slots.iter().map(message).collect(),
            prefix: Cow::Borrowed(&self.prefix),
            pairing: Cow::Borrowed(self.pairing()),
            counter: self.input.counter.clone(),
            turns: None,
            fixed: self.fixed(),
        }
    }

    /// Returns the places of the messages whose body stays as it is.
    fn fixed(&self) -> Cow<'_, [usize]> {
        if self.has_only_input() || self.input.fixed.is_empty() {
            return Cow::Borrowed(&self.input.fixed);
        }
        let is_fixed = |at: &usize| self.origin(*at).is_some_and(|origin| self.input.is_fixed(origin));
        (0..self.len()).filter(is_fixed).collect()
    }

    /// Takes in what a step planned over [`Self::view`].
    ///
    /// A patch that breaks a rule, takes the digest, makes more turns than before, or adds weight without being
    /// allowed to is refused, and nothing changes.
    pub(crate) fn take_in(&mut self, patch: Patch, may_add: bool) -> Result<(), PatchError> {
        // Edits of bodies leave calls and results alone, so that what stood there before tells as much.
        patch.check(&self.originals(), self.pairing())?;
        let brought = self.weigh_brought(&patch, may_add)?;
        self.check_digest_and_turns(&patch)?;
        let folds = patch.edits.iter().any(|edit| matches!(edit, Edit::Fold { .. }));
        if folds {
            self.splice(patch, brought);
            self.sum();
            let originals: Vec<&Message> = (0..self.len()).map(|at| self.original(at)).collect();
            self.pairing = Some(Pairing::new(&originals));
        } else {
            self.edit(patch, brought);
            self.sum();
        }
        Ok(())
    }

    /// Returns the weight of each message that a patch brings or edits, in the order of its edits.
    fn weigh_brought(&mut self, patch: &Patch, may_add: bool) -> Result<Vec<u64>, PatchError> {
        let (mut weights, mut removed_tokens) = (Vec::with_capacity(patch.edits.len()), 0_u64);
        for edit in &patch.edits {
            match edit {
                Edit::Body { at, content } => {
                    removed_tokens = removed_tokens.saturating_add(self.weight(*at));
                    weights.push(self.edited_weight(*at, content));
                }
                Edit::Fold { range, with } => {
                    removed_tokens += self.prefix[range.end] - self.prefix[range.start];
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
            let takes = match edit {
                Edit::Body { at, .. } => digest == Some(*at),
                Edit::Fold { range, .. } => digest.is_some_and(|at| range.contains(&at)),
            };
            if takes {
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

    /// Returns how many turns, or messages where there are none, the result of a patch has.
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

    /// Returns how many messages, or turns of a host, may still be added without there being more than before.
    pub(crate) fn n_free(&self) -> usize {
        let Some(turns) = &self.input.turns else {
            return self.input.messages.len().saturating_sub(self.len());
        };
        let origins: Vec<_> = (0..self.len()).map(Origin::Kept).collect();
        turns.last().map_or(0, |last| last + 1).saturating_sub(self.n_turns(&origins))
    }

    /// Edits bodies where they stand.
    fn edit(&mut self, patch: Patch, weights: Vec<u64>) {
        for (edit, weight) in patch.edits.into_iter().zip(weights) {
            if let Edit::Body { at, content } = edit {
                let slot = std::mem::replace(&mut self.slots[at], Slot::Kept(0));
                self.slots[at] = slot.edited(content, weight);
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
                    self.slots.extend(old.next().map(|slot| slot.edited(content, weight)));
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
        self.prefix = Cow::Owned(prefix_sums(weights));
    }

    /// Takes in a patch whose only new message stands for the digest, which may weigh so much.
    pub(crate) fn dig(&mut self, patch: Patch, room: u64) -> Result<(), PatchError> {
        let place = place_of_new(&patch);
        self.take_in(patch, true)?;
        let slot = std::mem::replace(&mut self.slots[place], Slot::Kept(0));
        self.slots[place] = match slot {
            Slot::New(message, _) => Slot::Hole(message, room),
            other => other,
        };
        self.sum();
        Ok(())
    }

    /// Returns all steps as one patch over the input with the digest in its place, and that place: the edit, and which
    /// of the messages that it brings.
    pub(crate) fn into_patch(self, mut digest: Option<Message>) -> (Patch, Option<(usize, usize)>) {
        let n = self.input.messages.len();
        let n_bodies =
            self.slots.iter().filter(|slot| matches!(slot, Slot::Cleared(..) | Slot::Edited(_))).count();
        let mut folder = Folder::default();
        folder.edits.reserve(n_bodies + 1);
        let mut digest_at = None;
        for slot in self.slots {
            match slot {
                Slot::Kept(at) => folder.keep(at),
                Slot::Cleared(at, ..) => {
                    folder.keep(at);
                    folder.edits.push(Edit::Body { at, content: cleared_body() });
                }
                Slot::Edited(edited) => {
                    folder.keep(edited.at);
                    folder.edits.push(Edit::Body { at: edited.at, content: edited.content });
                }
                Slot::New(message, _) => folder.with.push(*message),
                Slot::Hole(..) => {
                    digest_at = Some((folder.edits.len(), folder.with.len()));
                    folder.with.extend(digest.take());
                }
            }
        }
        folder.fold(n);
        (Patch { edits: folder.edits }, digest_at)
    }
}

/// What of an input a reader will still see, by its indices.
pub(crate) struct Shown<'d> {
    slots: Vec<Option<&'d Slot>>,
}

impl Shown<'_> {
    /// Tells whether a line of a message is still there.
    pub(crate) fn shows(&self, at: usize, line: &str) -> bool {
        match self.slots.get(at).copied().flatten() {
            Some(Slot::Edited(edited)) => {
                edited.content.iter().filter_map(Block::as_text).any(|text| text.contains(line))
            }
            slot => slot.is_some(),
        }
    }
}

/// Returns where the first message that a patch brings stands after it.
fn place_of_new(patch: &Patch) -> usize {
    let mut n_gone = 0;
    for edit in &patch.edits {
        match edit {
            Edit::Fold { range, with } if !with.is_empty() => return range.start - n_gone,
            Edit::Fold { range, .. } => n_gone += range.len(),
            Edit::Body { .. } => {}
        }
    }
    0
}

impl Slot {
    /// Returns the place with another body.
    fn edited(self, content: Vec<Block>, weight: u64) -> Self {
        let body = |at, content: Vec<Block>| {
            if is_cleared(&content) {
                return Self::Cleared(at, weight, OnceCell::new());
            }
            Self::Edited(Box::new(Edited { at, content, weight, message: OnceCell::new() }))
        };
        match self {
            Self::Kept(at) | Self::Cleared(at, ..) => body(at, content),
            Self::Edited(edited) => body(edited.at, content),
            Self::New(message, _) => Self::New(Box::new(message.with_body(content)), weight),
            hole @ Self::Hole(..) => hole,
        }
    }
}

/// Collects the folds between messages that stay.
#[derive(Default)]
struct Folder {
    edits: Vec<Edit>,
    with: Vec<Message>,
    next: usize,
}

impl Folder {
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
