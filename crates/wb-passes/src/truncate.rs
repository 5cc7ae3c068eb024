//! Drops the oldest history until the transcript fits.

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{DROPPED_MARK, Visibility, digest_body, is_dropped_mark, is_pinned, visibility};
use wb_message::{Edit, Message, Patch, last_prompt_start, runs};

use crate::pass::{Goal, Pass};

/// The divisor of the target that gives the step in which the dropped weight grows.
///
/// Without steps every appended message would move the cut, and a provider's cache would never see
/// the same prefix twice. An eighth is also the distance of a condensed transcript from the limit.
pub const STEPS_PER_TARGET: u64 = 8;

/// Drops the oldest history if the transcript is heavier than the goal's target.
///
/// A call and its results go together or stay together. These stay:
/// - system and developer texts;
/// - the newest `min_recent_messages` messages and all between them, not counting system texts and
///   a host's internal notes;
/// - the user's latest prompt, even if it is older;
/// - the calls in flight;
/// - all messages in a group with one of these.
///
/// Earlier digests go last, and only as many as the target requires. If the result would start with
/// a reply, which providers refuse, [`DROPPED_MARK`] precedes it.
///
/// The dropped weight is the least that reaches the next whole step of [`STEPS_PER_TARGET`], and
/// depends only on the transcript. So if a host truncates a growing transcript again for each
/// request, the same messages are dropped until a step is used up, and the requests in between
/// share a stable prefix. A new prompt releases the previous one if that was alone before the cut.
/// If a step cannot be reached, everything that may go is dropped; the result may then be above the
/// target, which the caller detects with
/// [`Irreducible::from_weights`](wb_budget::Irreducible::from_weights).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Truncate {
    /// The fewest recent messages to keep, even over budget.
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
        let mut history = History::new(view, self.first_recent(&view.messages));
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

/// Returns whether a message has only blank text, so that no request contains it.
fn is_blank(message: &Message) -> bool {
    let (Message::User { content, .. } | Message::Custom { content, .. }) = message else { return false };
    content.texts().all(|text| text.trim().is_empty())
        && message.blocks().iter().all(|block| block.as_text().is_some())
}

/// The messages in groups that stay or go together, each identified by its first message.
#[derive(Debug)]
struct History<'a> {
    view: &'a WeighedTranscript<'a>,
    /// The first message of each message's group.
    first: Vec<usize>,
    /// The weight of a group, at its first message; elsewhere 0.
    tokens: Vec<u64>,
    /// True if a group must stay, at its first message.
    stays: Vec<bool>,
    /// True if a group was dropped, at its first message.
    dropped: Vec<bool>,
}

impl<'a> History<'a> {
    fn new(view: &'a WeighedTranscript<'a>, first_recent: usize) -> Self {
        let first: Vec<usize> = view.pairing.groups().into_iter().map(|at| at as usize).collect();
        let n = first.len();
        let (mut tokens, mut stays) = (vec![0; n], vec![false; n]);
        let (prompt, in_flight) = (last_prompt_start(&view.messages), view.pairing.in_flight());
        for (at, &group) in first.iter().enumerate() {
            tokens[group] += view.weight(at);
            stays[group] |= at >= first_recent || [prompt, in_flight].contains(&Some(at));
            stays[group] |= is_pinned(view.messages[at]);
        }
        Self { view, first, tokens, stays, dropped: vec![false; n] }
    }

    /// Drops the oldest groups without digests until they weigh `wanted`, then digests until all
    /// weigh `needed`.
    fn drop_most(&mut self, wanted: u64, needed: u64) -> u64 {
        let no_digest = |message: &Message| digest_body(message).is_none() && !is_dropped_mark(message);
        let dropped = self.drop_until(wanted, no_digest);
        dropped + self.drop_until(needed.saturating_sub(dropped), |message| !is_dropped_mark(message))
    }

    /// Returns whether a drop leaves a reply or a result at the start, which providers refuse.
    fn starts_with_a_reply(&self) -> bool {
        let goes = |at: usize| self.dropped[self.first[at]];
        let stays = |at: &usize| {
            let message = self.view.messages[*at];
            !goes(*at) && !is_pinned(message) && !is_blank(message)
        };
        let Some(first) = (0..self.first.len()).find(stays) else { return false };
        let is_reply =
            matches!(self.view.messages[first], Message::Assistant { .. } | Message::ToolResult { .. });
        is_reply && (0..first).any(goes)
    }

    /// Drops the oldest groups whose first message may go until they weigh `wanted`; returns their
    /// weight.
    fn drop_until(&mut self, wanted: u64, may_go: impl Fn(&Message) -> bool) -> u64 {
        let mut tokens = 0;
        for at in 0..self.first.len() {
            if tokens >= wanted {
                break;
            }
            let is_free_group = self.first[at] == at && !self.stays[at] && !self.dropped[at];
            if is_free_group && may_go(self.view.messages[at]) {
                self.dropped[at] = true;
                tokens += self.tokens[at];
            }
        }
        tokens
    }

    /// Returns a fold for each run of dropped messages; the first one leaves the mark.
    fn folds(&self, mut mark: Option<Message>) -> Vec<Edit> {
        let dropped = (0..self.first.len()).filter(|&at| self.dropped[self.first[at]]);
        let fold = |range| Edit::Fold { range, with: mark.take().into_iter().collect() };
        runs(dropped).into_iter().map(fold).collect()
    }
}
