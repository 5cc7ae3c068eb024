//! Drops the oldest history until the transcript fits.

use wb_budget::View;
use wb_message::marks::{Visibility, digest_body, is_pinned, visibility};
use wb_message::{Edit, Message, Patch, last_prompt_start, runs};

use crate::pass::{Goal, Pass};

/// What is dropped grows in steps of the target divided by this.
///
/// Without steps every appended message would move the cut, and a provider's cache would never see the same
/// prefix twice. An eighth is what a condensed transcript is kept below the limit too.
pub const STEPS_PER_TARGET: u64 = 8;

/// Drops the oldest history where the transcript is heavier than the goal's target.
///
/// A call and its results go together or stay together, wherever they stand. These stay:
/// - system and developer texts;
/// - the newest `min_recent_messages` messages and what stands between them. System texts and a host's internal
///   notes use up no place among these;
/// - the user's latest prompt, also where it is older than these;
/// - the calls in flight;
/// - whatever shares a call with one of these.
///
/// Digests of what is gone already go last, and only as many as the target takes.
///
/// What is dropped is the least that reaches the next whole step of [`STEPS_PER_TARGET`]. It depends on nothing
/// but the transcript: where a host truncates a growing transcript anew for each request, the same messages are
/// dropped until a step is used up, and what is sent in between has a stable prefix. A new
/// prompt releases the one before, where that stood alone before the cut. Where a step cannot be
/// reached, all goes that may; the result may then be above the target, which the caller tells by
/// [`Irreducible::above`](wb_budget::Irreducible::above).
#[derive(Clone, Copy, Debug)]
pub struct Truncate {
    /// The fewest recent messages that stay, even over budget.
    pub min_recent_messages: usize,
}

impl Default for Truncate {
    fn default() -> Self {
        Self { min_recent_messages: wb_budget::CONTEXT_WINDOW_POLICY.min_recent_messages }
    }
}

impl Pass for Truncate {
    fn name(&self) -> &'static str {
        "truncate"
    }

    fn plan(&self, view: View<'_>, goal: Goal<'_>) -> Option<Patch> {
        let excess = view.total_tokens().checked_sub(goal.target_tokens).filter(|excess| *excess > 0)?;
        let step = (goal.target_tokens / STEPS_PER_TARGET).max(1);
        let wanted = excess.div_ceil(step).saturating_mul(step);
        let mut history = History::of(view, self.first_recent(view.messages));
        let dropped = history.drop_until(wanted, |message| digest_body(message).is_none());
        let dropped = dropped + history.drop_until(excess.saturating_sub(dropped), |_| true);
        (dropped > 0).then(|| Patch { edits: history.folds() })
    }
}

impl Truncate {
    /// Returns the index of the oldest of the recent messages.
    fn first_recent(self, messages: &[Message]) -> usize {
        let counts = |at: &usize| {
            let message = &messages[*at];
            !is_pinned(message) && visibility(message) == Visibility::All
        };
        match self.min_recent_messages.checked_sub(1) {
            Some(nth) => (0..messages.len()).rev().filter(counts).nth(nth).unwrap_or(0),
            None => messages.len(),
        }
    }
}

/// The messages of a transcript in groups that stay or go together, each known by its first message.
#[derive(Debug)]
struct History<'a> {
    messages: &'a [Message],
    /// The first message of each message's group.
    first: Vec<usize>,
    /// The weight of a group at its first message, elsewhere 0.
    tokens: Vec<u64>,
    /// At a group's first message: whether the group stays.
    stays: Vec<bool>,
    /// At a group's first message: whether the group was dropped.
    gone: Vec<bool>,
}

impl<'a> History<'a> {
    fn of(view: View<'a>, first_recent: usize) -> Self {
        let first: Vec<usize> = view.pairing.groups().into_iter().map(|at| at as usize).collect();
        let n = first.len();
        let (mut tokens, mut stays) = (vec![0; n], vec![false; n]);
        let (prompt, in_flight) = (last_prompt_start(view.messages), view.pairing.in_flight());
        for (at, &group) in first.iter().enumerate() {
            tokens[group] += view.weight(at);
            stays[group] |= at >= first_recent || [prompt, in_flight].contains(&Some(at));
            stays[group] |= is_pinned(&view.messages[at]);
        }
        Self { messages: view.messages, first, tokens, stays, gone: vec![false; n] }
    }

    /// Drops the oldest groups whose first message may go, until they weigh so much; returns what they weigh.
    fn drop_until(&mut self, wanted: u64, may_go: impl Fn(&Message) -> bool) -> u64 {
        let mut dropped = 0;
        for at in 0..self.first.len() {
            if dropped >= wanted {
                break;
            }
            let is_kept_group = self.first[at] == at && !self.stays[at] && !self.gone[at];
            if is_kept_group && may_go(&self.messages[at]) {
                self.gone[at] = true;
                dropped += self.tokens[at];
            }
        }
        dropped
    }

    /// Returns a fold for each run of messages that go.
    fn folds(&self) -> Vec<Edit> {
        let gone = (0..self.first.len()).filter(|&at| self.gone[self.first[at]]);
        runs(gone).into_iter().map(|range| Edit::Fold { range, with: vec![] }).collect()
    }
}
