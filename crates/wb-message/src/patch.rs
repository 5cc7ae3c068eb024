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
        // A stable sort asks for a buffer even where there is nothing to do.
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

    /// Tells whether the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Tells for each message of the output, given the input's length, where it comes from.
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

fn check_pairs(folded: &[Range<usize>], pairing: &Pairing) -> Result<(), PatchError> {
    for pair in pairing.pairs() {
        let (call, result) = (pair.call.message as usize, pair.result as usize);
        if goes(folded, call) != goes(folded, result) {
            return Err(PatchError::SplitPair { call, result });
        }
    }
    match pairing.in_flight() {
        Some(call) if goes(folded, call) => Err(PatchError::InFlight { call }),
        _ => Ok(()),
    }
}

/// Tells whether one of the ranges, which are ascending, takes a message.
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
mod tests {
    use super::*;
    use serde_json::json;

    fn transcript() -> Vec<Message> {
        vec![
            Message::user("first"),
            Message::assistant_blocks(vec![Block::call("c", "read", json!({"path": "a"}))]),
            Message::tool_result("c", "read", "long body"),
            Message::bash("ls", "out", Some(0)),
            Message::user("second"),
        ]
    }

    fn answer(at: usize, id: &str) -> Edit {
        Edit::Fold { range: at..at, with: vec![Message::tool_error(id, "read", "lost")] }
    }

    fn fold(range: Range<usize>) -> Patch {
        Patch { edits: vec![Edit::Fold { range, with: vec![Message::user("digest")] }] }
    }

    #[test]
    fn applying_and_reverting_is_the_identity_for_folds_and_bodies_together() {
        let before = transcript();
        let mut messages = before.clone();
        let patch = Patch::new(vec![
            Edit::Body { at: 3, content: vec![Block::text("cut")] },
            Edit::Body { at: 4, content: vec![Block::text("2nd")] },
            Edit::Fold { range: 0..3, with: vec![Message::user("digest"), Message::user("file")] },
        ]);
        let undo = patch.clone().apply(&mut messages).unwrap();
        assert_eq!(Patch::of(&undo, &messages), patch);
        let expected = [
            Message::user("digest"),
            Message::user("file"),
            Message::bash("ls", "cut", Some(0)),
            Message::user("2nd"),
        ];
        assert_eq!(messages, expected);
        assert_eq!(undo.folded().count(), 3);
        undo.revert(&mut messages);
        assert_eq!(messages, before);
    }

    #[test]
    fn messages_appended_after_a_patch_survive_its_undo() {
        let before = transcript();
        let mut messages = before.clone();
        let undo = fold(0..3).apply(&mut messages).unwrap();
        messages.push(Message::assistant("late"));
        undo.revert(&mut messages);
        assert_eq!(messages[..5], before);
        assert_eq!(messages[5], Message::assistant("late"));
    }

    #[test]
    fn a_split_pair_is_refused_and_nothing_changes() {
        let mut messages = transcript();
        assert_eq!(fold(0..2).apply(&mut messages).err(), Some(PatchError::SplitPair { call: 1, result: 2 }));
        assert_eq!(messages, transcript());
    }

    #[test]
    fn a_call_in_flight_cannot_be_folded() {
        let mut messages = transcript()[..2].to_vec();
        assert_eq!(fold(0..2).apply(&mut messages).err(), Some(PatchError::InFlight { call: 1 }));
    }

    #[test]
    fn pinned_messages_cannot_be_touched() {
        let mut messages = vec![Message::custom("system", "be kind"), Message::user("a"), Message::user("b")];
        assert_eq!(fold(0..2).apply(&mut messages).err(), Some(PatchError::Pinned { at: 0 }));
    }

    #[test]
    fn an_index_without_a_next_is_refused() {
        let mut messages = transcript();
        let patch = Patch::new(vec![Edit::Body { at: usize::MAX, content: vec![] }]);
        assert_eq!(patch.apply(&mut messages).err(), Some(PatchError::Misplaced { edit: 0 }));
    }

    #[test]
    fn edits_out_of_range_or_overlapping_are_refused() {
        let mut messages = transcript();
        assert_eq!(fold(3..9).apply(&mut messages).err(), Some(PatchError::Misplaced { edit: 0 }));
        let twice = Patch {
            edits: vec![
                Edit::Fold { range: 0..3, with: vec![] },
                Edit::Body { at: 2, content: vec![Block::text("x")] },
            ],
        };
        assert_eq!(twice.apply(&mut messages).err(), Some(PatchError::Misplaced { edit: 1 }));
    }

    #[test]
    fn a_body_edit_must_keep_the_calls() {
        let mut messages = transcript();
        let patch = Patch { edits: vec![Edit::Body { at: 1, content: vec![Block::text("no call")] }] };
        assert_eq!(patch.apply(&mut messages).err(), Some(PatchError::CallsChanged { at: 1 }));
    }

    #[test]
    fn a_fold_may_answer_a_dangling_call_but_bring_no_orphan() {
        let mut messages = vec![transcript().swap_remove(1), Message::assistant("x"), Message::user("u")];
        let answer = |id: &str| Patch { edits: vec![answer(1, id)] };
        assert_eq!(answer("other").apply(&mut messages).err(), Some(PatchError::NewOrphan { edit: 0 }));
        assert!(answer("c").apply(&mut messages).is_ok());
        assert!(Pairing::of(&messages).dangling().is_empty());
    }

    #[test]
    fn an_answer_is_for_a_dangling_call_and_not_for_its_neighbour_or_one_that_comes_later_or_goes() {
        let calls = ["open", "done"].map(|id| Block::call(id, "read", json!({})));
        let gone = transcript().swap_remove(1);
        let both = Message::assistant_blocks(calls.to_vec());
        let mut messages = vec![gone, both, Message::tool_result("done", "read", "x"), Message::user("u")];
        let takes_it = Edit::Fold { range: 0..1, with: vec![] };
        for bad in [answer(3, "done"), answer(1, "open"), answer(3, "c")] {
            let patch = Patch { edits: vec![takes_it.clone(), bad] };
            assert_eq!(patch.apply(&mut messages).err(), Some(PatchError::NewOrphan { edit: 1 }));
        }
        assert!(Patch { edits: vec![answer(3, "open")] }.apply(&mut messages).is_ok());
    }

    #[test]
    fn many_answers_and_bodies_cost_about_linear_time() {
        let n = 40_000;
        let call = |at| vec![Block::call(format!("c{at}"), "read", json!({}))];
        let pair = |at| [Message::assistant_blocks(call(at)), Message::user("a longer text")];
        let mut messages: Vec<Message> = (0..n).flat_map(pair).collect();
        let body = |at| Edit::Body { at, content: vec![Block::text("short")] };
        let edits = (0..n).flat_map(|at| [answer(2 * at + 1, &format!("c{at}")), body(2 * at + 1)]);
        let patch = Patch { edits: edits.collect() };
        let undo = patch.clone().apply(&mut messages).unwrap();
        assert!(Pairing::of(&messages).dangling().is_empty());
        assert_eq!(Patch::of(&undo, &messages), patch);
    }

    #[test]
    fn a_heavier_result_is_refused_and_taken_back() {
        let weigh = |message: &Message| format!("{message:?}").len() as u64;
        let mut messages = transcript();
        let pairing = Pairing::of(&messages);
        let mut prefix = vec![0];
        for message in &messages {
            prefix.push(prefix[prefix.len() - 1] + weigh(message));
        }
        let heavy =
            Patch { edits: vec![Edit::Fold { range: 0..1, with: vec![Message::user("x".repeat(900))] }] };
        let refused = heavy.apply_weighed(&mut messages, &pairing, &prefix, &weigh);
        assert!(matches!(refused, Err(PatchError::Heavier { .. })));
        assert_eq!(messages, transcript());
        let before: u64 = messages.iter().map(weigh).sum();
        let lighter = fold(0..3).apply_weighed(&mut messages, &pairing, &prefix, &weigh).unwrap();
        let after: u64 = messages.iter().map(weigh).sum();
        assert_eq!(before - lighter.removed_tokens + lighter.added_tokens, after);
    }

    #[test]
    fn a_patch_survives_json() {
        let patch = fold(0..3);
        let wire = serde_json::to_string(&patch).unwrap();
        assert_eq!(serde_json::from_str::<Patch>(&wire).unwrap(), patch);
    }

    #[test]
    fn origins_tell_where_each_message_comes_from() {
        assert_eq!(fold(1..3).origins(4), [Origin::Kept(0), Origin::New, Origin::Kept(3)]);
    }
}
