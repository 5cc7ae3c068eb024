//! The patch: a compaction as data over the indices of its input.
//!
//! A pass plans and never rewrites. [`Patch::apply`] moves messages without cloning, is the one
//! place that refuses to split a pair, and returns an [`Undo`].

mod error;
mod undo;

use std::borrow::Borrow;
use std::cell::LazyCell;
use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::markers::is_pinned;
use crate::message::Message;
use crate::pairing::Pairing;
use undo::origins;

pub use error::PatchError;
pub use undo::{Origin, Undo};

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
        /// The messages to remove.
        range: Range<usize>,
        /// The messages to put in their place.
        with: Vec<Message>,
    },
}

impl Edit {
    fn range(&self) -> Range<usize> {
        match self {
            // An index from outside may be `usize::MAX`, which is outside every transcript.
            Self::Body { at, .. } => *at..at.saturating_add(1),
            Self::Fold { range, .. } => range.clone(),
        }
    }
}

/// A list of edits in ascending order, without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// The edits.
    pub edits: Vec<Edit>,
}

/// The result of applying a weighed patch.
#[derive(Debug)]
pub struct AppliedPatch {
    /// Reverts the patch.
    pub undo: Undo,
    /// Weight of the removed messages and bodies, in tokens.
    pub removed_tokens: u64,
    /// Weight of the new messages and bodies, in tokens.
    pub added_tokens: u64,
}

impl Patch {
    /// Builds a patch from edits in any order.
    pub fn new(mut edits: Vec<Edit>) -> Self {
        let position = |edit: &Edit| (edit.range().start, edit.range().end);
        // A stable sort allocates a buffer even if there is nothing to do.
        if !edits.is_sorted_by_key(position) {
            edits.sort_by_key(position);
        }
        Self { edits }
    }

    /// Rebuilds an applied patch, for storage, from its undo and the transcript after it.
    ///
    /// Messages may have been appended since. Only new messages and bodies are cloned.
    pub fn from_undo(undo: &Undo, messages: &[Message]) -> Self {
        let folds =
            undo.new_messages(messages).map(|(range, with)| Edit::Fold { range, with: with.to_vec() });
        let bodies = undo.new_bodies(messages).map(|(at, content)| Edit::Body { at, content });
        Self::new(folds.chain(bodies).collect())
    }

    /// Returns whether the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns the origin of each message of the output, given the input's length.
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
        let removed: Vec<Range<usize>> = self.folds().map(|(range, _)| range).collect();
        check_pairs(&removed, pairing)?;
        let open = LazyCell::new(|| open_calls(&removed, messages, pairing));
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
        let mut previous_end = 0;
        for (at, edit) in self.edits.iter().enumerate() {
            let range = edit.range();
            let is_in_order = previous_end <= range.start && range.start <= range.end;
            let is_empty_body = range.is_empty() && matches!(edit, Edit::Body { .. });
            if !is_in_order || range.end > messages.len() || is_empty_body {
                return Err(PatchError::Misplaced { edit: at });
            }
            if let Some(pin) = range.clone().find(|&at| is_pinned(messages[at].borrow())) {
                return Err(PatchError::Pinned { at: pin });
            }
            previous_end = range.end;
        }
        Ok(())
    }

    /// Applies the patch after pairing the transcript.
    pub fn apply(self, messages: &mut Vec<Message>) -> Result<Undo, PatchError> {
        let pairing = Pairing::new(messages);
        self.apply_paired(messages, &pairing)
    }

    /// Applies the patch to a paired and weighed transcript; refuses a result that is not lighter.
    ///
    /// `prefix` holds the running sums of the weights, one entry more than messages; `weigh` weighs
    /// new messages.
    pub fn apply_weighed(
        self,
        messages: &mut Vec<Message>,
        pairing: &Pairing,
        prefix: &[u64],
        weigh: &dyn Fn(&Message) -> u64,
    ) -> Result<AppliedPatch, PatchError> {
        let applied = self.apply_measured(messages, pairing, prefix, weigh)?;
        let (removed_tokens, added_tokens) = (applied.removed_tokens, applied.added_tokens);
        if added_tokens >= removed_tokens {
            applied.undo.revert(messages);
            return Err(PatchError::Heavier { removed_tokens, added_tokens });
        }
        Ok(applied)
    }

    /// Does the same as [`Self::apply_weighed`] for a patch that may add weight, such as one that
    /// answers lost calls.
    pub fn apply_measured(
        self,
        messages: &mut Vec<Message>,
        pairing: &Pairing,
        prefix: &[u64],
        weigh: &dyn Fn(&Message) -> u64,
    ) -> Result<AppliedPatch, PatchError> {
        if prefix.len() != messages.len() + 1 {
            return Err(PatchError::ForeignPairing);
        }
        let tokens = |range: Range<usize>| {
            prefix.get(range.end).zip(prefix.get(range.start)).map(|(end, start)| end.saturating_sub(*start))
        };
        let removed_tokens: u64 = self.edits.iter().filter_map(|edit| tokens(edit.range())).sum();
        let undo = self.apply_paired(messages, pairing)?;
        let added_tokens: u64 = undo.changed_messages(messages).map(weigh).sum();
        Ok(AppliedPatch { undo, removed_tokens, added_tokens })
    }

    /// Applies the patch to a paired transcript; messages are moved, never cloned.
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

/// Checks that calls are removed with their results; a second result may go alone, since the call
/// keeps its first.
fn check_pairs(removed: &[Range<usize>], pairing: &Pairing) -> Result<(), PatchError> {
    for pair in pairing.pairs() {
        let (call, result) = (pair.call.message as usize, pair.result as usize);
        match (contains(removed, call), contains(removed, result)) {
            (false, true) if pair.repeated => {}
            (call_goes, result_goes) if call_goes != result_goes => {
                return Err(PatchError::SplitPair { call, result });
            }
            _ => {}
        }
    }
    match pairing.in_flight() {
        Some(call) if contains(removed, call) => Err(PatchError::InFlight { call }),
        _ => Ok(()),
    }
}

/// Returns whether one of the ascending ranges contains an index.
fn contains(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.contains(&at))
}

/// Checks that each new result answers a call of the same fold or an earlier dangling call that
/// stays.
fn check_answers(
    edit: usize,
    start: usize,
    with: &[Message],
    open: &dyn Fn(&str) -> Option<usize>,
) -> Result<(), PatchError> {
    let pairing = Pairing::new(with);
    let answers_dangling = |id: &str| open(id).is_some_and(|call| call < start);
    // The orphans list a message once for each result in it.
    for results in pairing.orphans().chunk_by(|one, next| one == next) {
        if !with[results[0] as usize].answered_ids().all(answers_dangling) {
            return Err(PatchError::NewOrphan { edit });
        }
    }
    Ok(())
}

/// Maps each id to the message of its first dangling call that stays.
fn open_calls<'a, M: Borrow<Message>>(
    removed: &[Range<usize>],
    messages: &'a [M],
    pairing: &Pairing,
) -> HashMap<&'a str, usize> {
    let mut open = HashMap::new();
    for call in pairing.dangling() {
        let at = call.message as usize;
        if let Some((id, _, _)) = call.find(messages).filter(|_| !contains(removed, at)) {
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
