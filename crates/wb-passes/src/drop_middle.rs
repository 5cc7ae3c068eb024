//! Drops the middle of a transcript and keeps the task, the latest request and the newest messages.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{DROPPED_MARK, digest_body, is_dropped_mark, is_pinned, is_prompt};
use wb_message::{Edit, Message, Patch, runs};

use crate::groups::Groups;
use crate::pass::{Goal, Pass};

/// Messages at the start to prefer, by default.
const DROP_KEEP_FIRST: usize = 2;
/// Messages at the end to prefer, by default.
const DROP_KEEP_RECENT: usize = 10;

/// Drops whole groups (a reply with the results of its calls, or a single message) until the
/// transcript fits, and leaves [`DROPPED_MARK`] at the first gap; the new mark replaces an earlier
/// one.
///
/// The core stays at any weight: pinned messages, calls in flight, the first and the last prompt;
/// without prompts and calls in flight, the newest group. The first prompt after a planned digest
/// is not the task, which is in the digest. The remaining room goes to the newest group, the newest
/// turn if it fits whole, and earlier digests, which are all that is left of the past; then to the
/// newest `keep_recent` messages, the first `keep_first`, and all others from the newest on. A
/// group that does not fit is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DropMiddle {
    /// The number of preferred messages at the start.
    pub keep_first: usize,
    /// The number of preferred messages at the end.
    pub keep_recent: usize,
}

impl Default for DropMiddle {
    fn default() -> Self {
        Self { keep_first: DROP_KEEP_FIRST, keep_recent: DROP_KEEP_RECENT }
    }
}

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
        let groups = Groups::new(view);
        let mut choice = Choice::new(view, &groups, goal.target_tokens.saturating_sub(mark_tokens));
        choice.keep_core(goal.keep);
        self.fill(&mut choice);
        let lighter = choice.kept_tokens.saturating_add(mark_tokens) < total;
        lighter.then(|| choice.patch())
    }
}

impl DropMiddle {
    /// Fills the remaining room with groups that fit, the preferred ones first.
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

/// The groups to keep.
#[derive(Debug)]
struct Choice<'a> {
    view: &'a WeighedTranscript<'a>,
    groups: &'a Groups,
    keeps: Vec<bool>,
    kept_tokens: u64,
    /// The most tokens of kept groups.
    room_tokens: u64,
}

impl<'a> Choice<'a> {
    fn new(view: &'a WeighedTranscript<'a>, groups: &'a Groups, room_tokens: u64) -> Self {
        Self { view, groups, keeps: vec![false; groups.members.len()], kept_tokens: 0, room_tokens }
    }

    /// Keeps a message and its group at any weight; an earlier mark is never kept.
    fn keep(&mut self, at: usize) {
        let group = self.groups.by_message[at];
        if !self.keeps[group] && !is_dropped_mark(self.view.messages[at]) {
            self.keeps[group] = true;
            self.kept_tokens = self.kept_tokens.saturating_add(self.groups.tokens[group]);
        }
    }

    /// Keeps the core, and the messages that the goal names.
    fn keep_core(&mut self, goal_keep: &[usize]) {
        let messages = &self.view.messages;
        let is_after_digest = |at: usize| goal_keep.iter().any(|kept| *kept < at);
        let task = messages.iter().position(|message| is_prompt(message)).filter(|at| !is_after_digest(*at));
        let latest = messages.iter().rposition(|message| is_prompt(message));
        let core = [task, latest, self.view.pairing.in_flight()];
        let fallback = newest(self.view).filter(|_| core == [None; 3]);
        let pinned = (0..messages.len()).filter(|&at| is_pinned(messages[at]));
        let goal_keep = goal_keep.iter().copied();
        for at in core.into_iter().flatten().chain(fallback).chain(pinned).chain(goal_keep) {
            self.keep(at);
        }
    }

    /// Keeps each of the messages whose group fits.
    fn offer(&mut self, places: impl Iterator<Item = usize>) {
        for at in places {
            let tokens = self.groups.tokens[self.groups.by_message[at]];
            if self.kept_tokens.saturating_add(tokens) <= self.room_tokens {
                self.keep(at);
            }
        }
    }

    /// Returns whether all messages from `start` on fit in addition to the kept ones.
    fn fits_from(&self, start: usize) -> bool {
        let mut whole = Self { keeps: self.keeps.clone(), ..*self };
        (start..self.view.messages.len()).for_each(|at| whole.keep(at));
        whole.kept_tokens <= self.room_tokens
    }

    /// Folds the gaps. The mark goes to the first gap at a legal cut, else to the last legal cut
    /// before the gaps.
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

    /// Returns the runs of messages to drop.
    fn gaps(&self) -> Vec<Range<usize>> {
        runs((0..self.view.messages.len()).filter(|&at| !self.keeps[self.groups.by_message[at]]))
    }
}

/// Returns the newest message that is neither pinned nor a mark.
fn newest(view: &WeighedTranscript<'_>) -> Option<usize> {
    view.messages.iter().rposition(|message| !is_pinned(message) && !is_dropped_mark(message))
}
