//! Drops the oldest history until the transcript fits.

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{DROPPED_MARK, Visibility, digest_body, is_dropped_mark, is_pinned, visibility};
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
/// Digests of what is gone already go last, and only as many as the target takes. If a reply would be left in
/// front, which providers refuse, [`DROPPED_MARK`] stands before it.
///
/// What is dropped is the least that reaches the next whole step of [`STEPS_PER_TARGET`]. It depends on nothing
/// but the transcript: where a host truncates a growing transcript anew for each request, the same messages are
/// dropped until a step is used up, and what is sent in between has a stable prefix. A new
/// prompt releases the one before, where that stood alone before the cut. If a step cannot be
/// reached, all goes that may; the result may then be above the target, which the caller tells by
/// [`Irreducible::from_weights`](wb_budget::Irreducible::from_weights).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch> {
        let excess = view.total_tokens().checked_sub(goal.target_tokens).filter(|excess| *excess > 0)?;
        let step = (goal.target_tokens / STEPS_PER_TARGET).max(1);
        let wanted = excess.div_ceil(step).saturating_mul(step);
        let mut history = History::of(view, self.first_recent(&view.messages));
        let dropped = history.drop_most(wanted, excess);
        if dropped == 0 || !history.starts_with_a_reply() {
            return (dropped > 0).then(|| Patch { edits: history.folds(None) });
        }
        let mark = Message::user(DROPPED_MARK);
        let mark_tokens = view.counter.message(&mark);
        let dropped = dropped
            + history.drop_most(
                (wanted + mark_tokens).saturating_sub(dropped),
                (excess + mark_tokens).saturating_sub(dropped),
            );
        (dropped > mark_tokens)
            .then(|| Patch { edits: history.folds(Some(mark).filter(|_| history.starts_with_a_reply())) })
    }
}

impl Truncate {
    /// Returns the index of the oldest of the recent messages.
    fn first_recent(self, messages: &[&Message]) -> usize {
        let counts = |at: &usize| {
            let message = messages[*at];
            !is_pinned(message) && visibility(message) == Visibility::All
        };
        match self.min_recent_messages.checked_sub(1) {
            Some(nth) => (0..messages.len()).rev().filter(counts).nth(nth).unwrap_or(0),
            None => messages.len(),
        }
    }
}

/// Returns whether a message of the user says nothing, so that no request has it.
fn is_blank(message: &Message) -> bool {
    let (Message::User { content, .. } | Message::Custom { content, .. }) = message else { return false };
    content.texts().all(|text| text.trim().is_empty())
        && message.blocks().iter().all(|block| block.as_text().is_some())
}

/// The messages of a transcript in groups that stay or go together, each known by its first message.
#[derive(Debug)]
struct History<'a> {
    view: &'a WeighedTranscript<'a>,
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
    fn of(view: &'a WeighedTranscript<'a>, first_recent: usize) -> Self {
        let first: Vec<usize> = view.pairing.groups().into_iter().map(|at| at as usize).collect();
        let n = first.len();
        let (mut tokens, mut stays) = (vec![0; n], vec![false; n]);
        let (prompt, in_flight) = (last_prompt_start(&view.messages), view.pairing.in_flight());
        for (at, &group) in first.iter().enumerate() {
            tokens[group] += view.weight(at);
            stays[group] |= at >= first_recent || [prompt, in_flight].contains(&Some(at));
            stays[group] |= is_pinned(view.messages[at]);
        }
        Self { view, first, tokens, stays, gone: vec![false; n] }
    }

    /// Drops the oldest groups but digests until they weigh `wanted`, and digests too until all weighs `needed`.
    fn drop_most(&mut self, wanted: u64, needed: u64) -> u64 {
        let messages = |message: &Message| digest_body(message).is_none() && !is_dropped_mark(message);
        let dropped = self.drop_until(wanted, messages);
        dropped + self.drop_until(needed.saturating_sub(dropped), |message| !is_dropped_mark(message))
    }

    /// Returns whether a drop leaves a message in front that providers refuse there: a reply or a result.
    fn starts_with_a_reply(&self) -> bool {
        let goes = |at: usize| self.gone[self.first[at]];
        let stays = |at: &usize| {
            let message = self.view.messages[*at];
            !goes(*at) && !is_pinned(message) && !is_blank(message)
        };
        let Some(first) = (0..self.first.len()).find(stays) else { return false };
        let is_reply =
            matches!(self.view.messages[first], Message::Assistant { .. } | Message::ToolResult { .. });
        is_reply && (0..first).any(goes)
    }

    /// Drops the oldest groups whose first message may go, until they weigh so much; returns what they weigh.
    fn drop_until(&mut self, wanted: u64, may_go: impl Fn(&Message) -> bool) -> u64 {
        let mut dropped = 0;
        for at in 0..self.first.len() {
            if dropped >= wanted {
                break;
            }
            let is_kept_group = self.first[at] == at && !self.stays[at] && !self.gone[at];
            if is_kept_group && may_go(self.view.messages[at]) {
                self.gone[at] = true;
                dropped += self.tokens[at];
            }
        }
        dropped
    }

    /// Returns a fold for each run of messages that go; the first one leaves the mark.
    fn folds(&self, mut mark: Option<Message>) -> Vec<Edit> {
        let gone = (0..self.first.len()).filter(|&at| self.gone[self.first[at]]);
        let fold = |range| Edit::Fold { range, with: mark.take().into_iter().collect() };
        runs(gone).into_iter().map(fold).collect()
    }
}
