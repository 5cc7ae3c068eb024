//! [`Ready`] is a change that can be applied: at once and whole, or not at all. It holds no
//! transcript.

use std::fmt;
use std::mem::take;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wb_budget::{Budget, ContextTracker, TokenCounter};
use wb_facts::{Facts, audit, corrected};
use wb_message::markers::{digest_body, restored_file};
use wb_message::{AppliedPatch, Edit, Message, Pairing, Patch, PatchError, Turn, prefix_fingerprint};
use wb_summarize::{Addition, Cost, DigestSource, ModelDigest, NoDigest};

use crate::breaker::Run;
use crate::digest_writer::DigestWriter;
use crate::report::{CompactionReport, Unchanged};
use crate::step::Trigger;
use crate::turns::{Projection, TurnsUndo, project};

/// A change that is ready to be applied. It owns all that it needs and holds no transcript.
#[derive(Debug)]
pub struct Ready {
    pub(crate) patch: Patch,
    /// The edit that inserts the digest, and the digest's index among the inserted messages.
    pub(crate) digest_at: Option<(usize, usize)>,
    pub(crate) n_messages: usize,
    /// `None` if the transcript cannot have changed.
    pub(crate) fingerprint: Option<u64>,
    pub(crate) input: InputFigures,
    pub(crate) cancel: CancellationToken,
    pub(crate) is_cancelled: bool,
    /// `None` for a change that no model could be asked for.
    pub(crate) run: Option<Run>,
    pub(crate) report: CompactionReport,
}

/// The figures of the input, which checking and reporting a change need.
pub(crate) struct InputFigures {
    pub(crate) budget: Budget,
    pub(crate) is_over: bool,
    pub(crate) trigger: Trigger,
    pub(crate) may_add: bool,
    pub(crate) head_cut: Option<usize>,
    pub(crate) prefix: Vec<u64>,
    pub(crate) pairing: Pairing,
    pub(crate) counter: Arc<dyn TokenCounter>,
}

/// The tokens that a forced digest saves at least, unless that is less than 40 % of a short
/// transcript.
const LEAST_SAVED_TOKENS: u64 = 1_000;

impl fmt::Debug for InputFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFigures").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Ready {
    /// Replaces the local digest by the model's, or records why the local one stays. Claims that
    /// the session contradicts are removed, and missing facts are added.
    pub(crate) fn take_reply(
        &mut self,
        (reply, cost): (Result<ModelDigest, NoDigest>, Cost),
        writer: &DigestWriter,
        addition: &Addition,
        facts: &Facts,
    ) {
        (self.report.usage, self.report.n_requests) = (cost.usage, cost.n_requests);
        let place = self.digest_at.and_then(|(edit, nth)| match self.patch.edits.get_mut(edit) {
            Some(Edit::Fold { with, .. }) => with.get_mut(nth),
            _ => None,
        });
        match (reply, place) {
            (Ok(digest), Some(place)) => {
                let findings = audit(&digest.text, facts);
                let text = corrected(&digest.text, &findings);
                (*place, self.report.redacted) = writer.fit(|max_chars| addition.add_to(&text, max_chars));
                self.report.findings = findings;
                self.report.digest = Some(DigestSource::Model { cut_off: digest.cut_off });
            }
            (Ok(_), None) => {}
            (Err(NoDigest::Cancelled), _) => self.is_cancelled = true,
            (Err(reason), _) => self.report.digest = Some(DigestSource::Local(reason)),
        }
    }

    /// Lets a token cancel the change until it is applied.
    pub(crate) fn with_cancel(self, cancel: CancellationToken) -> Self {
        Self { cancel, ..self }
    }

    pub(crate) fn with_run(self, run: Run) -> Self {
        Self { run: Some(run), ..self }
    }

    /// Returns the index of the first message of the tail, if the head becomes a digest.
    pub fn cut(&self) -> Option<usize> {
        self.input.head_cut
    }

    /// Returns the whole change as data over the indices of the transcript that it was planned on.
    pub fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Applies the change to the transcript that it was planned on; messages may have been
    /// appended.
    ///
    /// If the planned messages have changed, the result would not be lighter, or the host
    /// cancelled, the transcript is unchanged and the report says why.
    pub fn apply(self, messages: &mut Vec<Message>) -> CompactionReport {
        let is_same = messages.len() >= self.n_messages
            && self.fingerprint.is_none_or(|known| known == prefix_fingerprint(&messages[..self.n_messages]));
        if !is_same {
            return self.report.into_unchanged(Unchanged::PrefixChanged);
        }
        if self.is_cancelled || self.cancel.is_cancelled() {
            return self.report.into_unchanged(Unchanged::Cancelled);
        }
        let Self { patch, mut input, mut report, n_messages, .. } = self;
        if messages.len() > n_messages {
            input.extend(messages, n_messages);
            report.tokens_before = input.total();
            report.messages_before = messages.len();
        }
        input.apply(messages, patch, report)
    }

    /// Applies the change as [`Self::apply`] does; the tracker follows it.
    pub fn apply_tracked(
        self,
        messages: &mut Vec<Message>,
        tracker: &mut ContextTracker,
    ) -> CompactionReport {
        let report = self.apply(messages);
        if let Some(undo) = &report.undo {
            tracker.follow(undo, messages);
        }
        report
    }

    /// Applies the change as [`Self::apply`] does, to turns; the undo comes with the report.
    pub(crate) fn apply_to_turns(self, turns: &mut Vec<Turn>) -> (CompactionReport, Option<TurnsUndo>) {
        let (after, done) = self.apply_to_projection(project(take(turns)));
        *turns = after;
        done
    }

    /// Applies the change as [`Self::apply_to_turns`] does, to turns in their projected form.
    pub(crate) fn apply_to_projection(
        self,
        mut projection: Projection,
    ) -> (Vec<Turn>, (CompactionReport, Option<TurnsUndo>)) {
        let n_before = projection.messages.len();
        let mut report = self.apply(&mut projection.messages);
        match report.undo.take() {
            None => (projection.into_turns(), (report, None)),
            Some(undo) => {
                let (after, undo) = projection.into_turns_with_undo(undo, n_before);
                (after, (report, Some(undo)))
            }
        }
    }
}

impl InputFigures {
    fn total(&self) -> u64 {
        self.prefix.last().copied().unwrap_or(0)
    }

    /// Weighs and pairs the messages appended since the change was planned.
    fn extend(&mut self, messages: &[Message], n_messages: usize) {
        self.pairing = Pairing::new(messages);
        for message in &messages[n_messages..] {
            self.prefix.push(self.total().saturating_add(self.counter.message(message)));
        }
    }

    fn apply(
        self,
        messages: &mut Vec<Message>,
        patch: Patch,
        mut report: CompactionReport,
    ) -> CompactionReport {
        report.note_bodies(&patch);
        let weigh = |message: &Message| self.counter.message(message);
        let done = if self.may_add {
            patch.apply_measured(messages, &self.pairing, &self.prefix, &weigh)
        } else {
            patch.apply_weighed(messages, &self.pairing, &self.prefix, &weigh)
        };
        match done {
            Ok(done) => {
                let report = self.completed(messages, done, report);
                self.revert_if_not_worth_it(messages, report)
            }
            Err(PatchError::Heavier { .. }) => report.into_unchanged(Unchanged::NotLighter),
            Err(error) => report.into_unchanged(Unchanged::Refused(error)),
        }
    }

    /// Reverts a digest that saves too little, unless the next request may not fit without it.
    fn revert_if_not_worth_it(
        &self,
        messages: &mut Vec<Message>,
        mut report: CompactionReport,
    ) -> CompactionReport {
        let before = report.tokens_before;
        let saves = before.saturating_sub(report.tokens_after);
        let is_small = saves < LEAST_SAVED_TOKENS && saves.saturating_mul(100) < before.saturating_mul(40);
        let is_worth_it = saves.saturating_mul(10) >= before && (!is_small || self.budget.is_over(before));
        let must_save = self.trigger == Trigger::Overflow || self.budget.is_tight(before);
        if report.digest.is_none() || is_worth_it || must_save {
            return report;
        }
        if let Some(undo) = report.undo.take() {
            undo.revert(messages);
        }
        // Within its limit, a transcript that stays has no target to miss.
        let is_over = self.budget.is_over(before);
        report.target_tokens = report.target_tokens.filter(|_| is_over);
        report.irreducible = self.budget.irreducible(before, is_over);
        report.into_unchanged(Unchanged::NotWorthIt { saves })
    }

    /// Completes the report of a change that was applied.
    fn completed(
        &self,
        messages: &[Message],
        done: AppliedPatch,
        mut report: CompactionReport,
    ) -> CompactionReport {
        report.folded = done.undo.folded().count();
        let mut kept_end = 0;
        for (range, new) in done.undo.new_messages(messages) {
            kept_end = range.end;
            for message in new {
                match restored_file(message) {
                    Some((path, _)) => report.restored.push(path.to_owned()),
                    None if digest_body(message).is_some() && report.digest.is_some() => {
                        report.digest_tokens = self.counter.message(message);
                    }
                    None => {}
                }
            }
        }
        report.cut = self.head_cut.unwrap_or(kept_end);
        report.tokens_after = self.total() - done.removed_tokens + done.added_tokens;
        report.messages_after = messages.len();
        report.irreducible = self.budget.irreducible(report.tokens_after, self.is_over);
        report.undo = Some(done.undo);
        report
    }
}
