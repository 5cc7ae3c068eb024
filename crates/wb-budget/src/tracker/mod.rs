//! The tracker: the weights of a growing transcript, without its messages.
//!
//! A host weighs each appended message once, here. The size of the context then costs O(1), a cut O(log n). The
//! provider's count, given by [`ContextTracker::anchor`], replaces the estimate.
//!
//! ```
//! use wb_budget::{ContextTracker, ModelCard, Usage};
//! use wb_message::Message;
//!
//! let card = ModelCard::with_window(200_000);
//! let mut tracker = ContextTracker::new();
//! tracker.push(&Message::user("why is the build red?"));
//! let at = tracker.push(&Message::assistant("A test fails."));
//! // 9 000 tokens of system prompt and tools are in no message.
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
use crate::count::anchor::{Anchors, CalibratedCounter, Calibration, UsageRefused};
use crate::count::heuristic::TokenHeuristic;
use crate::gate::TokenEstimate;
use crate::transcript::WeighedTranscript;
use sums::Sums;

/// The weights, legal cuts and real usage of a transcript that its host owns.
///
/// The host reports every change: [`push`](Self::push), [`pop`](Self::pop), [`truncate`](Self::truncate),
/// [`replace`](Self::replace), and [`apply`](Self::apply) or [`rebuild`](Self::rebuild) after a compaction.
#[derive(Clone)]
pub struct ContextTracker {
    counter: Arc<dyn TokenCounter>,
    sums: Sums,
    anchors: Anchors,
    ids: CallIds,
    /// Empty after a truncation or a change, until the next [`Self::push`] or [`Self::view`].
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
    /// Creates an empty tracker that weighs by [`TokenHeuristic::DEFAULT`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty tracker that weighs by another counter.
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

    /// Creates a tracker of existing messages, weighed by [`TokenHeuristic::DEFAULT`].
    pub fn from_messages(messages: &[Message]) -> Self {
        let mut tracker = Self::new();
        tracker.extend(messages);
        tracker
    }

    /// Sets the tokens of system prompt and tool schemas, until usage is known.
    #[must_use]
    pub fn with_overhead_tokens(mut self, overhead_tokens: u64) -> Self {
        self.anchors.overhead_tokens = overhead_tokens;
        self
    }

    /// Appends a message and returns its index; it is weighed once.
    pub fn push(&mut self, message: &Message) -> usize {
        self.sums.push(self.counter.message(message));
        self.ids.push(message);
        self.pairing.follow(&self.ids);
        self.fingerprints.push(quick_fingerprint(message));
        self.len() - 1
    }

    /// Returns a view of the tracked transcript, weighed on the provider's scale; `messages` is that transcript.
    ///
    /// No message is weighed and no text is read.
    ///
    /// # Panics
    /// Panics if the number of messages differs from that of the tracker.
    pub fn view<'a>(&'a mut self, messages: &'a [Message]) -> WeighedTranscript<'a> {
        assert_eq!(messages.len(), self.len(), "the tracker does not know every message");
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

    /// Returns whether these are the tracked messages from `first` on, by their number and their
    /// [`quick_fingerprint`]s: an edit that keeps every length goes unnoticed.
    pub fn knows_from(&self, first: usize, messages: &[Message]) -> bool {
        let same = |from: &[Message]| {
            self.fingerprints[first..].iter().copied().eq(from.iter().map(quick_fingerprint))
        };
        messages.len() == self.len() && messages.get(first..).is_none_or(same)
    }

    /// Removes the newest message and returns its weight in tokens.
    pub fn pop(&mut self) -> Option<u64> {
        let last = self.len().checked_sub(1)?;
        let weight = self.sums.weight(last);
        self.truncate(last);
        weight
    }

    /// Keeps only the first `n` messages.
    pub fn truncate(&mut self, n: usize) {
        if n < self.len() {
            self.sums.truncate(n);
            self.ids.truncate(n);
            self.fingerprints.truncate(n);
            self.pairing.clear();
            self.anchors.truncate(n);
        }
    }

    /// Weighs a changed message again and returns the old weight, `None` if `at` is out of range.
    ///
    /// Counts that cover the message are void; those of later answers are refused from now on.
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
            self.follow_change(at);
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

    /// Follows an applied patch: `after` is the whole transcript after it.
    ///
    /// Only what the patch brought is weighed. If an edit stands in what was counted, the counts are void, and
    /// those of the messages that are there now are refused. The calibration and the learned overhead stay. Where
    /// the patch does not lead from the tracked transcript to `after`, this is [`ContextTracker::rebuild`].
    pub fn apply(&mut self, patch: &Patch, after: &[Message]) {
        let edited = edited_bodies(patch);
        self.follow_origins(&patch.origins(self.len()), |at| edited.binary_search(&at).is_ok(), after);
    }

    /// Follows an applied patch by its undo; otherwise like [`Self::apply`].
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

    /// Weighs a transcript again after any change, such as a compaction by the host.
    ///
    /// All counts are void, and those of the given messages are refused from now on. The calibration and the learned
    /// overhead stay.
    pub fn rebuild(&mut self, messages: &[Message]) {
        self.sums = Sums::default();
        self.ids = CallIds::default();
        self.fingerprints.clear();
        self.pairing.clear();
        self.extend(messages);
        self.follow_change(0);
    }

    fn follow_change(&mut self, first: usize) {
        self.anchors.follow_change(first, self.len(), self.total_tokens());
    }

    /// Adds the provider's count of the request answered by message `at`.
    ///
    /// The prompt is `messages[..at]` with the unseen system prompt and tools. The card belongs to the answering
    /// model: its window limits the count (0 is unknown), and a new id restarts the calibration. Impossible usage is
    /// refused; a second count that agrees with a refused one is accepted.
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

    /// Returns a message's weight by [`Self::calibrated`] in tokens, `None` if `at` is out of range; O(1).
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

    /// Returns the estimated weight of `messages[..at]` in tokens, or of all if `at` is out of range; O(1).
    pub fn prefix_tokens(&self, at: usize) -> u64 {
        self.sums.prefix(at)
    }

    /// Returns the tokens of the whole context, system prompt and tools included if known; O(1).
    ///
    /// Anchored: the provider's count plus the calibrated estimate of later messages. Else the calibrated estimate of
    /// all messages plus the learned overhead, or the host's.
    pub fn context_tokens(&self) -> u64 {
        self.anchors.context_tokens(self.total_tokens())
    }

    /// Returns whether [`Self::context_tokens`] is based on the provider's count; O(1).
    pub fn is_anchored(&self) -> bool {
        self.anchors.is_anchored()
    }

    /// Returns whether estimates are on a provider's scale, since it has counted; O(1).
    pub fn is_calibrated(&self) -> bool {
        self.is_anchored() || self.anchors.calibration() != Calibration::default()
    }

    /// Returns the size of the context and of a model's window; O(1).
    pub fn estimate(&self, card: &ModelCard) -> TokenEstimate {
        TokenEstimate {
            context_tokens: self.context_tokens(),
            context_window: card.context_window,
            anchored: self.anchors.is_anchored(),
        }
    }

    /// Returns the tokens in no message (system prompt, tool schemas): the learned figure, else the host's.
    pub fn overhead_tokens(&self) -> u64 {
        self.anchors.unseen_tokens(self.total_tokens())
    }

    /// Returns the value of [`Self::overhead_tokens`] at another weight of all messages by [`Self::calibrated`], as after
    /// a compaction.
    pub fn overhead_tokens_at(&self, tokens: u64) -> u64 {
        self.anchors.unseen_tokens(self.anchors.calibration().unscale(tokens))
    }

    /// Returns the running ratio of real to estimated tokens, initially 1.
    pub fn ratio(&self) -> f64 {
        self.anchors.calibration().ratio()
    }

    /// Returns the counter with the current ratio, so that a compaction weighs on the provider's scale.
    pub fn calibrated(&self) -> Arc<dyn TokenCounter> {
        let calibration = self.anchors.calibration();
        Arc::new(CalibratedCounter { counter: self.counter.clone(), calibration })
    }

    /// Plans a cut whose tail weighs at most `tail_tokens`, like [`crate::plan_cut`]; O(log n), but O(n) right after a
    /// truncation.
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
