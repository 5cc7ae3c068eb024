//! The patch: a compaction as data over the indices of its input.
//!
//! A pass plans, it does not rewrite. [`Patch::apply`] moves messages and never clones them, is the one place
//! that refuses to split a pair, and returns what takes it back.

use std::borrow::Borrow;
use std::cell::LazyCell;
use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::markers::is_pinned;
use crate::message::Message;
use crate::pairing::Pairing;
use crate::patch_error::PatchError;
use crate::undo::{Origin, Undo, origins};

/// One change of a [`Patch`]; indices are those of the transcript that the patch was planned on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
pub enum Edit {
    /// Replaces the body of one message; its role, ids, names and flags stay.
    Body {
        /// Index of the message.
        at: usize,
        /// The new body.
        content: Vec<Block>,
    },
    /// Replaces a range of messages by others; an empty range inserts.
    Fold {
        /// The messages that go.
        range: Range<usize>,
        /// The messages that take their place.
        with: Vec<Message>,
    },
}

impl Edit {
    fn range(&self) -> Range<usize> {
        match self {
            // An index from outside may be any number; one without a next is outside of every transcript.
            Self::Body { at, .. } => *at..at.saturating_add(1),
            Self::Fold { range, .. } => range.clone(),
        }
    }
}

/// A list of edits in ascending order that do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// The edits.
    pub edits: Vec<Edit>,
}

/// A patch that was applied, and what it weighs.
#[derive(Debug)]
pub struct Weighed {
    /// What takes it back.
    pub undo: Undo,
    /// Weight of what the patch took, in tokens.
    pub removed_tokens: u64,
    /// Weight of what the patch brought, in tokens.
    pub added_tokens: u64,
}

impl Patch {
    /// Builds a patch from edits in any order of kinds, sorted by position.
    pub fn new(mut edits: Vec<Edit>) -> Self {
        let place = |edit: &Edit| (edit.range().start, edit.range().end);
        // A stable sort asks for a buffer even if there is nothing to do.
        if !edits.is_sorted_by_key(place) {
            edits.sort_by_key(place);
        }
        Self { edits }
    }

    /// Gives the patch back that an applied compaction was, for whoever stores it: `undo` is of that compaction,
    /// `messages` is the transcript after it, to which more may have been appended. Only what is new is cloned.
    pub fn of(undo: &Undo, messages: &[Message]) -> Self {
        let folds =
            undo.new_messages(messages).map(|(range, with)| Edit::Fold { range, with: with.to_vec() });
        let bodies = undo.new_bodies(messages).map(|(at, content)| Edit::Body { at, content });
        Self::new(folds.chain(bodies).collect())
    }

    /// Returns whether the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns for each message of the output, given the input's length, where it comes from.
    pub fn origins(&self, n_messages: usize) -> Vec<Origin> {
        origins(self.folds(), n_messages)
    }

    fn folds(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Fold { range, with } => Some((range.clone(), with.len())),
            Edit::Body { .. } => None,
        })
    }

    /// Checks the patch against a transcript and its pairing.
    pub fn check<M: Borrow<Message>>(&self, messages: &[M], pairing: &Pairing) -> Result<(), PatchError> {
        if pairing.len() != messages.len() {
            return Err(PatchError::ForeignPairing);
        }
        self.check_places(messages)?;
        let folded: Vec<Range<usize>> = self.folds().map(|(range, _)| range).collect();
        check_pairs(&folded, pairing)?;
        let open = LazyCell::new(|| open_calls(&folded, messages, pairing));
        let open = |id: &str| open.get(id).copied();
        for (at, edit) in self.edits.iter().enumerate() {
            match edit {
                Edit::Body { at, content } => check_body(*at, messages[*at].borrow(), content)?,
                Edit::Fold { range, with } => check_answers(at, range.start, with, &open)?,
            }
        }
        Ok(())
    }

    fn check_places<M: Borrow<Message>>(&self, messages: &[M]) -> Result<(), PatchError> {
        let mut free_from = 0;
        for (at, edit) in self.edits.iter().enumerate() {
            let range = edit.range();
            let is_nothing = range.is_empty() && matches!(edit, Edit::Body { .. });
            if range.start < free_from || range.end < range.start || range.end > messages.len() || is_nothing
            {
                return Err(PatchError::Misplaced { edit: at });
            }
            if let Some(pin) = range.clone().find(|&at| is_pinned(messages[at].borrow())) {
                return Err(PatchError::Pinned { at: pin });
            }
            free_from = range.end;
        }
        Ok(())
    }

    /// Applies the patch after pairing the transcript.
    pub fn apply(self, messages: &mut Vec<Message>) -> Result<Undo, PatchError> {
        let pairing = Pairing::of(messages);
        self.apply_paired(messages, &pairing)
    }

    /// Applies the patch to a transcript that was paired and weighed already, and refuses a result that is not
    /// lighter.
    ///
    /// `prefix` holds the running sums of the weights, one entry more than messages; `weigh` weighs what is new.
    pub fn apply_weighed(
        self,
        messages: &mut Vec<Message>,
        pairing: &Pairing,
        prefix: &[u64],
        weigh: &dyn Fn(&Message) -> u64,
    ) -> Result<Weighed, PatchError> {
        let done = self.apply_measured(messages, pairing, prefix, weigh)?;
        let (removed_tokens, added_tokens) = (done.removed_tokens, done.added_tokens);
        if added_tokens >= removed_tokens {
            done.undo.revert(messages);
            return Err(PatchError::Heavier { removed_tokens, added_tokens });
        }
        Ok(done)
    }

    /// As [`Self::apply_weighed`], for a patch that may add weight, such as one that answers lost calls.
    pub fn apply_measured(
        self,
        messages: &mut Vec<Message>,
        pairing: &Pairing,
        prefix: &[u64],
        weigh: &dyn Fn(&Message) -> u64,
    ) -> Result<Weighed, PatchError> {
        if prefix.len() != messages.len() + 1 {
            return Err(PatchError::ForeignPairing);
        }
        let gone = |range: Range<usize>| {
            prefix.get(range.end).zip(prefix.get(range.start)).map(|(end, start)| end.saturating_sub(*start))
        };
        let removed_tokens: u64 = self.edits.iter().filter_map(|edit| gone(edit.range())).sum();
        let undo = self.apply_paired(messages, pairing)?;
        let added_tokens: u64 = undo.brought(messages).map(weigh).sum();
        Ok(Weighed { undo, removed_tokens, added_tokens })
    }

    /// Applies the patch to a transcript that was paired already; messages are moved, never cloned.
    pub fn apply_paired(self, messages: &mut Vec<Message>, pairing: &Pairing) -> Result<Undo, PatchError> {
        self.check(messages, pairing)?;
        let n_folds = self.folds().count();
        let mut undo = Undo::with_capacity(self.edits.len() - n_folds, n_folds);
        let mut folds = Vec::with_capacity(n_folds);
        for edit in self.edits {
            match edit {
                Edit::Body { at, content } => undo.replace_body(messages, at, content),
                Edit::Fold { range, with } => folds.push((range, with)),
            }
        }
        if !folds.is_empty() {
            undo.fold(messages, folds);
        }
        Ok(undo)
    }
}

/// A call and its result go together; a second result may go alone, since the call keeps its first.
fn check_pairs(folded: &[Range<usize>], pairing: &Pairing) -> Result<(), PatchError> {
    for pair in pairing.pairs() {
        let (call, result) = (pair.call.message as usize, pair.result as usize);
        let goes_alone = goes(folded, result) && !goes(folded, call);
        if goes(folded, call) != goes(folded, result) && !(pair.repeated && goes_alone) {
            return Err(PatchError::SplitPair { call, result });
        }
    }
    match pairing.in_flight() {
        Some(call) if goes(folded, call) => Err(PatchError::InFlight { call }),
        _ => Ok(()),
    }
}

/// Returns whether one of the ranges, which are ascending, takes a message.
fn goes(folded: &[Range<usize>], at: usize) -> bool {
    let next = folded.partition_point(|range| range.end <= at);
    folded.get(next).is_some_and(|range| range.contains(&at))
}

/// A folded-in result must answer a call of its own fold or a dangling one that stays before it.
fn check_answers(
    edit: usize,
    start: usize,
    with: &[Message],
    open: &dyn Fn(&str) -> Option<usize>,
) -> Result<(), PatchError> {
    let own = Pairing::of(with);
    let answers_dangling = |id: &str| open(id).is_some_and(|call| call < start);
    // A message stands among the orphans once for each result in it.
    for results in own.orphans().chunk_by(|one, next| one == next) {
        if !with[results[0] as usize].answered_ids().all(answers_dangling) {
            return Err(PatchError::NewOrphan { edit });
        }
    }
    Ok(())
}

/// Returns for each id the message of its first dangling call that stays.
fn open_calls<'a, M: Borrow<Message>>(
    folded: &[Range<usize>],
    messages: &'a [M],
    pairing: &Pairing,
) -> HashMap<&'a str, usize> {
    let mut open = HashMap::new();
    for call in pairing.dangling() {
        let at = call.message as usize;
        if let Some((id, _, _)) = call.find(messages).filter(|_| !goes(folded, at)) {
            open.entry(id).or_insert(at);
        }
    }
    open
}

fn check_body(at: usize, message: &Message, content: &[Block]) -> Result<(), PatchError> {
    let same_calls = message.blocks().iter().filter_map(call_key).eq(content.iter().filter_map(call_key));
    if same_calls { Ok(()) } else { Err(PatchError::CallsChanged { at }) }
}

fn call_key(block: &Block) -> Option<(bool, &str)> {
    match block {
        Block::ToolCall { id, .. } => Some((true, id)),
        Block::ToolResult { call_id, .. } => Some((false, call_id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
