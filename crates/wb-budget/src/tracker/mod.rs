//! The tracker: the weights of a growing transcript, without its messages.
//!
//! A host that appends a message per turn weighs it once, here, and asks as often as it likes: how full the
//! context is in O(1), where to cut in O(log n). What the provider counts, given by
//! [`ContextTracker::anchor`], takes the place of the estimate.
//!
//! ```
//! use wb_budget::{ContextTracker, ModelCard, Usage};
//! use wb_message::Message;
//!
//! let card = ModelCard::with_window(200_000);
//! let mut tracker = ContextTracker::new();
//! tracker.push(&Message::user("why is the build red?"));
//! let at = tracker.push(&Message::assistant("A test fails."));
//! // 9 000 tokens of system prompt and tools that no message shows.
//! let usage = Usage { input_tokens: 9_020, output_tokens: 6, ..Usage::EMPTY };
//! tracker.anchor(at, &usage, Some(&card))?;
//! tracker.push(&Message::user("fix it"));
//! let estimate = tracker.estimate(&card);
//! assert_eq!((estimate.context_tokens, estimate.anchored), (9_026 + 8, true));
//! # Ok::<(), wb_budget::UsageRefused>(())
//! ```

mod sums;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use wb_message::{CallIds, Edit, Message, Origin, Pairing, Patch, Undo, quick_fingerprint};

use crate::card::{ModelCard, Usage};
use crate::count::TokenCounter;
use crate::count::anchor::{Anchors, Calibrated, Calibration, UsageRefused};
use crate::count::heuristic::TokenHeuristic;
use crate::gate::TokenEstimate;
use crate::transcript::WeighedTranscript;
use sums::Sums;

/// The weights, legal cuts and real usage of a transcript that its host owns.
///
/// The host tells every change: [`push`](Self::push), [`pop`](Self::pop), [`truncate`](Self::truncate),
/// [`replace`](Self::replace), and [`apply`](Self::apply) or [`rebuild`](Self::rebuild) after a compaction.
#[derive(Clone)]
pub struct ContextTracker {
    counter: Arc<dyn TokenCounter>,
    sums: Sums,
    anchors: Anchors,
    ids: CallIds,
    /// It has no messages after some were taken back or changed, until another comes or somebody looks.
    pairing: Pairing,
    /// The [`quick_fingerprint`] of each message.
    fingerprints: Vec<u64>,
}

impl Default for ContextTracker {
    fn default() -> Self {
        Self::with_counter(Arc::new(TokenHeuristic::DEFAULT))
    }
}

impl fmt::Debug for ContextTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextTracker")
            .field("len", &self.len())
            .field("total_tokens", &self.total_tokens())
            .field("anchors", &self.anchors)
            .finish_non_exhaustive()
    }
}

impl<'a> Extend<&'a Message> for ContextTracker {
    fn extend<I: IntoIterator<Item = &'a Message>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl ContextTracker {
    /// Starts an empty tracker that weighs by [`TokenHeuristic::DEFAULT`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts an empty tracker that weighs by another counter.
    pub fn with_counter(counter: Arc<dyn TokenCounter>) -> Self {
        Self {
            counter,
            sums: Sums::default(),
            anchors: Anchors::default(),
            ids: CallIds::default(),
            pairing: Pairing::default(),
            fingerprints: Vec::new(),
        }
    }

    /// Starts a tracker over messages that exist already, weighed by [`TokenHeuristic::DEFAULT`].
    pub fn of(messages: &[Message]) -> Self {
        let mut tracker = Self::new();
        tracker.extend(messages);
        tracker
    }

    /// Sets how many tokens the system prompt and the tool schemas take, until a provider's count says it.
    #[must_use]
    pub fn with_overhead_tokens(mut self, overhead_tokens: u64) -> Self {
        self.anchors.overhead_tokens = overhead_tokens;
        self
    }

    /// Appends a message and returns its index; weighs it once, allocates nothing but growth.
    pub fn push(&mut self, message: &Message) -> usize {
        self.sums.push(self.counter.message(message));
        self.ids.push(message);
        self.pairing.follow(&self.ids);
        self.fingerprints.push(quick_fingerprint(message));
        self.len() - 1
    }

    /// Returns the transcript that it was given, weighed on the provider's scale; `messages` are that transcript.
    ///
    /// Nothing is weighed and no text is read.
    ///
    /// # Panics
    /// Panics if there are not as many messages as it was given.
    pub fn view<'a>(&'a mut self, messages: &'a [Message]) -> WeighedTranscript<'a> {
        assert_eq!(messages.len(), self.len(), "the tracker was not told of every message");
        self.pairing.follow(&self.ids);
        let calibration = self.anchors.calibration();
        let sums = self.sums.prefixes();
        let is_scaled = calibration != Calibration::default();
        let scaled = || sums.iter().map(|sum| calibration.scale(*sum)).collect();
        WeighedTranscript {
            messages: messages.iter().collect(),
            prefix: if is_scaled { Cow::Owned(scaled()) } else { Cow::Borrowed(sums) },
            pairing: Cow::Borrowed(&self.pairing),
            counter: self.calibrated(),
            turns: None,
            fixed: Cow::Borrowed(&[]),
        }
    }

    /// Tells whether these are the messages that it was given from `first` on, by their number and their
    /// [`quick_fingerprint`]s: an edit that leaves every length as it was goes unnoticed.
    pub fn knows_from(&self, first: usize, messages: &[Message]) -> bool {
        let same = |from: &[Message]| {
            self.fingerprints[first..].iter().copied().eq(from.iter().map(quick_fingerprint))
        };
        messages.len() == self.len() && messages.get(first..).is_none_or(same)
    }

    /// Takes back the newest message and returns its weight in tokens.
    pub fn pop(&mut self) -> Option<u64> {
        let last = self.len().checked_sub(1)?;
        let weight = self.sums.weight(last);
        self.truncate(last);
        weight
    }

    /// Takes back all but the first `n` messages.
    pub fn truncate(&mut self, n: usize) {
        if n < self.len() {
            self.sums.truncate(n);
            self.ids.truncate(n);
            self.fingerprints.truncate(n);
            self.pairing.clear();
            self.anchors.truncated(n);
        }
    }

    /// Weighs a message anew that the host changed, and returns the old weight; none if `at` is too large.
    ///
    /// Counts that covered the message are void; those of answers after it are refused from now on.
    pub fn replace(&mut self, at: usize, message: &Message) -> Option<u64> {
        self.sums.weight(at)?;
        let old = self.sums.set(at, self.counter.message(message));
        self.fingerprints[at] = quick_fingerprint(message);
        if !self.ids.fits(at, message) {
            self.change_ids(at, message);
            self.pairing.clear();
        }
        if at + 1 == self.len() {
            self.anchors.forget_from(at);
        } else {
            self.anchors.changed(at, self.len(), self.total_tokens());
        }
        Some(old)
    }

    fn change_ids(&mut self, at: usize, message: &Message) {
        let before = self.ids.clone();
        self.ids.truncate(at);
        self.ids.push(message);
        for later in at + 1..before.len() {
            self.ids.push_from(&before, later);
        }
    }

    /// Follows a patch that was applied: `after` is the whole transcript as it is now.
    ///
    /// Only what the patch brought is weighed. If an edit stands in what was counted, the counts are void, and
    /// those of the messages that are there now are refused. The calibration and the learned overhead stay. Where
    /// the patch does not lead from the tracked transcript to `after`, this is [`ContextTracker::rebuild`].
    pub fn apply(&mut self, patch: &Patch, after: &[Message]) {
        let edited = edited_bodies(patch);
        self.follow_origins(&patch.origins(self.len()), |at| edited.binary_search(&at).is_ok(), after);
    }

    /// Follows a change by what takes it back, as [`Self::apply`] does by its patch.
    pub fn follow(&mut self, undo: &Undo, after: &[Message]) {
        self.follow_origins(&undo.origins(self.len()), |at| undo.has_new_body(at), after);
    }

    fn follow_origins(&mut self, origins: &[Origin], edited: impl Fn(usize) -> bool, after: &[Message]) {
        let is_foreign = origins.iter().any(|origin| matches!(origin, Origin::Kept(at) if *at >= self.len()));
        if is_foreign || origins.len() != after.len() {
            return self.rebuild(after);
        }
        let unchanged = |(at, origin): &(usize, &Origin)| **origin == Origin::Kept(*at) && !edited(*at);
        let first = origins.iter().enumerate().take_while(unchanged).count();
        if first == after.len() && first == self.len() {
            return;
        }
        let (sums, ids) = (std::mem::take(&mut self.sums), std::mem::take(&mut self.ids));
        let fingerprints = std::mem::take(&mut self.fingerprints);
        self.pairing.clear();
        for (origin, message) in origins.iter().zip(after) {
            match *origin {
                Origin::Kept(at) if !edited(at) => {
                    self.sums.push(sums.weight(at).unwrap_or(0));
                    self.ids.push_from(&ids, at);
                    self.fingerprints.push(fingerprints[at]);
                }
                _ => {
                    self.sums.push(self.counter.message(message));
                    self.ids.push(message);
                    self.fingerprints.push(quick_fingerprint(message));
                }
            }
        }
        self.follow_change(first);
    }

    /// Weighs a transcript anew that was changed in any way, such as by a compaction of the host's own.
    ///
    /// All counts are void, and those of the given messages are refused from now on. The calibration and the
    /// learned overhead stay.
    pub fn rebuild(&mut self, messages: &[Message]) {
        self.sums = Sums::default();
        self.ids = CallIds::default();
        self.fingerprints.clear();
        self.pairing.clear();
        self.extend(messages);
        self.follow_change(0);
    }

    fn follow_change(&mut self, first: usize) {
        self.anchors.changed(first, self.len(), self.total_tokens());
    }

    /// Takes what the provider counted for the request whose answer is message `at`.
    ///
    /// The prompt is `messages[..at]` with the unseen system prompt and tools. The card is that of the model
    /// that answered: its window bounds what is possible (0 is unknown), and another id than before restarts the
    /// calibration. Usage that cannot be true is refused; a second one that agrees with a refused jump is taken.
    pub fn anchor(&mut self, at: usize, usage: &Usage, card: Option<&ModelCard>) -> Result<(), UsageRefused> {
        if !self.ids.is_answer(at) {
            return Err(UsageRefused::NotAnAnswer { at });
        }
        let estimates = (self.prefix_tokens(at), self.prefix_tokens(at + 1));
        self.anchors.observe(at, usage, card, estimates)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns what a message weighs by [`Self::calibrated`], in tokens; none if `at` is too large; O(1).
    pub fn weight(&self, at: usize) -> Option<u64> {
        self.sums.weight(at).map(|weight| self.anchors.calibration().scale(weight))
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the estimated weight of all messages in tokens, uncalibrated; O(1).
    pub fn total_tokens(&self) -> u64 {
        self.sums.total()
    }

    /// Returns the estimated weight of `messages[..at]` in tokens, of all if `at` is too large; O(1).
    pub fn prefix_tokens(&self, at: usize) -> u64 {
        self.sums.prefix(at)
    }

    /// Returns the tokens of the whole context, system prompt and tools included as far as they are known; O(1).
    ///
    /// Anchored: what the provider counted plus the calibrated estimate of the messages since. Else the
    /// calibrated estimate of all messages plus the learned overhead, or the host's.
    pub fn context_tokens(&self) -> u64 {
        self.anchors.context_tokens(self.total_tokens())
    }

    /// Returns whether [`Self::context_tokens`] rests on what the provider counted; O(1).
    pub fn is_anchored(&self) -> bool {
        self.anchors.is_anchored()
    }

    /// Returns whether a provider has ever counted, so that estimates are on its scale; O(1).
    pub fn is_calibrated(&self) -> bool {
        self.is_anchored() || self.anchors.calibration() != Calibration::default()
    }

    /// Returns how full a model's window is; O(1).
    pub fn estimate(&self, card: &ModelCard) -> TokenEstimate {
        TokenEstimate {
            context_tokens: self.context_tokens(),
            context_window: card.context_window,
            anchored: self.anchors.is_anchored(),
        }
    }

    /// Returns what no message shows (system prompt, tool schemas) in tokens: as learned, else as the host said.
    pub fn overhead_tokens(&self) -> u64 {
        self.anchors.unseen_tokens(self.total_tokens())
    }

    /// Returns what [`Self::overhead_tokens`] will be once all messages weigh so many tokens by [`Self::calibrated`], as
    /// after a compaction.
    pub fn overhead_tokens_at(&self, tokens: u64) -> u64 {
        self.anchors.unseen_tokens(self.anchors.calibration().unscale(tokens))
    }

    /// Returns the running ratio of real to estimated tokens, 1 as long as nothing is known.
    pub fn ratio(&self) -> f64 {
        self.anchors.calibration().ratio()
    }

    /// Returns the tracker's counter with the ratio as it is now: what a compaction weighs by, so that its figures
    /// are on the provider's scale.
    pub fn calibrated(&self) -> Arc<dyn TokenCounter> {
        let calibration = self.anchors.calibration();
        Arc::new(Calibrated { counter: self.counter.clone(), calibration })
    }

    /// Plans a cut whose tail weighs at most `tail_tokens`, as [`crate::plan_cut`] does; O(log n), but O(n) right after
    /// messages were taken back.
    pub fn cut(&self, tail_tokens: u64) -> usize {
        match self.total_tokens().checked_sub(tail_tokens) {
            None | Some(0) => 0,
            Some(head_tokens) => self.paired().snap(self.sums.first_reaching(head_tokens)),
        }
    }

    fn paired(&self) -> Cow<'_, Pairing> {
        if self.pairing.len() == self.len() {
            return Cow::Borrowed(&self.pairing);
        }
        let mut pairing = Pairing::default();
        pairing.follow(&self.ids);
        Cow::Owned(pairing)
    }
}

fn edited_bodies(patch: &Patch) -> Vec<usize> {
    let bodies = patch.edits.iter().filter_map(|edit| match edit {
        Edit::Body { at, .. } => Some(*at),
        Edit::Fold { .. } => None,
    });
    let mut edited: Vec<usize> = bodies.collect();
    edited.sort_unstable();
    edited
}
