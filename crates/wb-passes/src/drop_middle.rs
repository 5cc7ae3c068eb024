//! Drops what fits least: neither the task, nor the latest request, nor the newest messages.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{DROPPED_MARK, digest_body, is_dropped_mark, is_pinned, is_prompt};
use wb_message::{Edit, Message, Patch, runs};

use crate::groups::Groups;
use crate::pass::{Goal, Pass};

/// Messages at the start that are kept before older ones by default.
const DROP_KEEP_FIRST: usize = 2;
/// Messages at the end that are kept before all others by default.
const DROP_KEEP_RECENT: usize = 10;

/// Drops messages by whole groups (a reply with the results of its calls, or a message alone) until the transcript
/// fits, and leaves [`DROPPED_MARK`] at the first gap; an earlier mark goes into the new one.
///
/// What stays at any weight is the core: pinned messages, calls in flight, the first prompt and the last one; where
/// there is no prompt and nothing in flight, the newest group. A prompt after a digest that is planned already is not
/// the first: that one is in the digest. The rest of the room is given to the newest group, the
/// newest turn if it fits whole, and earlier digests, which are what is left of the past; then to the newest
/// `keep_recent` messages and the first `keep_first`, and then to all others from the newest on. A group that is too
/// large is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DropMiddle {
    /// How many messages at the start come before older ones.
    pub keep_first: usize,
    /// How many messages at the end come before all others.
    pub keep_recent: usize,
}

impl Default for DropMiddle {
    fn default() -> Self {
        Self { keep_first: DROP_KEEP_FIRST, keep_recent: DROP_KEEP_RECENT }
    }
}

/// Builds the mark of a drop.
fn mark(timestamp: i64) -> Message {
    Message::User { content: DROPPED_MARK.into(), timestamp }
}

impl Pass for DropMiddle {
    fn name(&self) -> &'static str {
        "drop-middle"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch> {
        let total = view.total_tokens();
        if total <= goal.target_tokens {
            return None;
        }
        let mark_tokens = view.counter.message(&mark(0));
        let groups = Groups::of(view);
        let mut choice = Choice::of(view, &groups, goal.target_tokens.saturating_sub(mark_tokens));
        choice.keep_core(goal.keep);
        self.fill(&mut choice);
        let lighter = choice.kept_tokens.saturating_add(mark_tokens) < total;
        lighter.then(|| choice.patch())
    }
}

impl DropMiddle {
    /// Gives the room that is left to what fits, the most wanted first.
    fn fill(self, choice: &mut Choice<'_>) {
        let n = choice.view.messages.len();
        let recent = n.saturating_sub(self.keep_recent);
        let turn = choice.view.messages.iter().rposition(|message| is_prompt(message)).unwrap_or(n);
        let turn = if choice.fits_from(turn) { turn } else { n };
        let from = turn.min(recent);
        let messages = &choice.view.messages;
        choice.offer(newest(choice.view).into_iter());
        choice.offer((turn..n).rev());
        choice.offer((0..n).rev().filter(|&at| digest_body(messages[at]).is_some()));
        choice.offer((from..n).rev());
        choice.offer(0..n.min(self.keep_first));
        choice.offer((0..from).rev());
    }
}

/// What is kept so far, by groups.
#[derive(Debug)]
struct Choice<'a> {
    view: &'a WeighedTranscript<'a>,
    groups: &'a Groups,
    keeps: Vec<bool>,
    kept_tokens: u64,
    /// What the kept groups may weigh, in tokens.
    room_tokens: u64,
}

impl<'a> Choice<'a> {
    fn of(view: &'a WeighedTranscript<'a>, groups: &'a Groups, room_tokens: u64) -> Self {
        Self { view, groups, keeps: vec![false; groups.members.len()], kept_tokens: 0, room_tokens }
    }

    /// Keeps a message with its group at any weight; an earlier mark is never kept.
    fn keep(&mut self, at: usize) {
        let group = self.groups.of[at];
        if !self.keeps[group] && !is_dropped_mark(self.view.messages[at]) {
            self.keeps[group] = true;
            self.kept_tokens = self.kept_tokens.saturating_add(self.groups.tokens[group]);
        }
    }

    /// Keeps what no drop may take, and what it is kept to keep.
    fn keep_core(&mut self, kept: &[usize]) {
        let messages = &self.view.messages;
        let is_after_digest = |at: usize| kept.iter().any(|at_kept| *at_kept < at);
        let task = messages.iter().position(|message| is_prompt(message)).filter(|at| !is_after_digest(*at));
        let latest = messages.iter().rposition(|message| is_prompt(message));
        let asked = [task, latest, self.view.pairing.in_flight()];
        let lone = newest(self.view).filter(|_| asked == [None; 3]);
        let pinned = (0..messages.len()).filter(|&at| is_pinned(messages[at]));
        for at in asked.into_iter().flatten().chain(lone).chain(pinned).chain(kept.iter().copied()) {
            self.keep(at);
        }
    }

    /// Keeps each of the messages that fits with its group.
    fn offer(&mut self, places: impl Iterator<Item = usize>) {
        for at in places {
            let tokens = self.groups.tokens[self.groups.of[at]];
            if self.kept_tokens.saturating_add(tokens) <= self.room_tokens {
                self.keep(at);
            }
        }
    }

    /// Returns whether all from `start` on fits with what is kept.
    fn fits_from(&self, start: usize) -> bool {
        let mut whole = Self { keeps: self.keeps.clone(), ..*self };
        (start..self.view.messages.len()).for_each(|at| whole.keep(at));
        whole.kept_tokens <= self.room_tokens
    }

    /// Folds what is not kept. The mark goes to the first gap that separates no call from its result; if every gap
    /// does, it goes to the last place before the gaps that does not.
    fn patch(&self) -> Patch {
        let gaps = self.gaps();
        let dropped = gaps.iter().flat_map(|gap| &self.view.messages[gap.clone()]);
        let mark = mark(dropped.filter_map(|message| message.timestamp()).max().unwrap_or(0));
        let legal = |gap: &Range<usize>| self.view.pairing.is_legal(gap.start);
        let marked = gaps.iter().position(legal);
        let first = gaps.first().map_or(0, |gap| gap.start);
        let fold = |range| Edit::Fold { range, with: Vec::new() };
        let mut edits: Vec<Edit> = gaps.into_iter().map(fold).collect();
        if let Some(Edit::Fold { with, .. }) = marked.map(|at| &mut edits[at]) {
            with.push(mark);
        } else {
            let before = self.view.pairing.legal_at_or_before(first).unwrap_or(0);
            edits.insert(0, Edit::Fold { range: before..before, with: vec![mark] });
        }
        Patch { edits }
    }

    /// Returns the runs of messages that are not kept.
    fn gaps(&self) -> Vec<Range<usize>> {
        runs((0..self.view.messages.len()).filter(|&at| !self.keeps[self.groups.of[at]]))
    }
}

/// Returns the newest message that is neither pinned nor a mark.
fn newest(view: &WeighedTranscript<'_>) -> Option<usize> {
    view.messages.iter().rposition(|message| !is_pinned(message) && !is_dropped_mark(message))
}
