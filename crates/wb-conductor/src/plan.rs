//! From a plan to a change: without a model, or with one; applied at once or not at all.

use std::borrow::Cow;
use std::fmt;
use std::mem::take;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wb_budget::{Budget, ContextTracker, ModelCard, TokenCounter, TokenHeuristic, Worth};
use wb_facts::{Facts, audit, corrected};
use wb_invoke::ThinkingLevel;
use wb_message::markers::{digest_body, is_cleared, restored_file};
use wb_message::{
    AppliedPatch, Conversation, Edit, Message, Pairing, Patch, PatchError, Turn, prefix_fingerprint,
};
use wb_summarize::{
    Addition, AskCosts, CachedConversation, CondenseScope, Cost, DigestRequest, LocalDigest, ModelDigest,
    NoDigest, Summarizer, carried_digest, digest_message,
};

use crate::draft::Draft;
use crate::report::{CompactionReport, DigestSource, Unchanged};
use crate::turns::{Projection, TurnsUndo, message_to_turn, project};

/// A digest needs about this many tokens to be more than a count; for less no model is asked.
pub(crate) const USEFUL_DIGEST_TOKENS: u64 = 120;

/// What a pipeline would do to a transcript, which it borrows: a preview, and the last that sees the transcript before
/// the change is applied.
pub struct Plan<'a> {
    pub(crate) draft: Draft<'a>,
    pub(crate) head: Option<Head<'a>>,
    pub(crate) budget: Budget,
    /// Whether the transcript was over budget.
    pub(crate) is_over: bool,
    pub(crate) may_add: bool,
    /// The conversation that the transcript was sent in, where the model that answers in it writes the digests too.
    pub(crate) sent: Option<Sent<'a>>,
    /// Whether the transcript may be changed before the change is applied.
    pub(crate) is_guarded: bool,
    pub(crate) report: CompactionReport,
}

/// A conversation as its model has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent<'a> {
    /// System text and tools.
    pub(crate) head: &'a Conversation,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Tokens of it that are in the provider's cache.
    pub(crate) cached_tokens: u64,
    pub(crate) card: &'a ModelCard,
}

/// The head that becomes one digest: all messages of the input before the cut, whatever earlier steps made of them.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    /// Index in the input of the first message of the tail.
    pub(crate) cut: usize,
    /// What the session shows, to its very end.
    pub(crate) facts: Cow<'a, Facts>,
    /// How many messages the digest stands for.
    pub(crate) n_elided: usize,
    /// The most tokens of what a model writes.
    pub(crate) own_tokens: u64,
    /// The tokens of the lines that are added to it.
    pub(crate) lines_tokens: u64,
    /// What the shortest digest weighs, in tokens.
    pub(crate) least_tokens: u64,
    pub(crate) timestamp: i64,
}

/// A change that is ready to be applied. It owns all that it needs and holds no transcript.
#[derive(Debug)]
pub struct Ready {
    patch: Patch,
    /// The edit that brings the digest, and the digest's place among what it brings.
    digest_at: Option<(usize, usize)>,
    n_messages: usize,
    /// None where nobody can have changed the transcript meanwhile.
    fingerprint: Option<u64>,
    end: End,
    cancel: CancellationToken,
    is_cancelled: bool,
    report: CompactionReport,
}

/// What is needed to end a run: the figures of the input.
struct End {
    budget: Budget,
    is_over: bool,
    may_add: bool,
    head_cut: Option<usize>,
    prefix: Vec<u64>,
    pairing: Pairing,
    counter: Arc<dyn TokenCounter>,
}

/// Renders a digest within its bound, so that what later steps were planned against stays true.
#[derive(Clone)]
struct Writer {
    max_tokens: u64,
    timestamp: i64,
    counter: Arc<dyn TokenCounter>,
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("report", &self.report).finish_non_exhaustive()
    }
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Writer {
    /// Renders ever shorter until the message weighs what it may.
    fn fit(&self, render: impl Fn(usize) -> String) -> Message {
        let mut max_chars = TokenHeuristic::DEFAULT.chars_within(self.max_tokens);
        loop {
            let message = digest_message(CondenseScope::Session, render(max_chars), self.timestamp);
            if max_chars < 16 || self.counter.message(&message) <= self.max_tokens {
                return message;
            }
            max_chars -= max_chars / 16 + 1;
        }
    }
}

/// Tells by the number of a message what is told by its index: the last message of the facts is the last one of the
/// transcript.
pub(crate) fn within_transcript<R>(
    facts: &Facts,
    n_messages: usize,
    shows: &dyn Fn(usize, &str) -> bool,
    tell: impl FnOnce(&dyn Fn(u32, &str) -> bool) -> R,
) -> R {
    let n_before = i64::from(facts.n_messages()) - i64::try_from(n_messages).unwrap_or(i64::MAX);
    tell(&|message, line| usize::try_from(i64::from(message) - n_before).is_ok_and(|at| shows(at, line)))
}

impl Plan<'_> {
    /// Returns the most that the result weighs, in tokens.
    fn tokens_at_most(&self) -> u64 {
        self.draft.total()
    }

    /// Returns the least that is saved, in tokens.
    pub fn tokens_saved(&self) -> u64 {
        self.draft.input.total_tokens().saturating_sub(self.tokens_at_most())
    }

    /// Returns the tokens of the transcript before the first message that is changed.
    pub fn stable_tokens(&self) -> u64 {
        self.draft.stable_tokens()
    }

    pub(crate) fn weighed(mut self, worth: Option<Worth>) -> Self {
        self.report.worth = worth;
        self
    }

    /// Tells whether a digest is to be written that is long enough to ask a model for it.
    pub fn wants_model(&self) -> bool {
        self.head.is_some() && self.digest_tokens() >= USEFUL_DIGEST_TOKENS
    }

    fn digest_tokens(&self) -> u64 {
        self.draft.hole().map_or(0, |(_, room)| room)
    }

    fn writer(&self) -> Writer {
        let timestamp = self.head.as_ref().map_or(0, |head| head.timestamp);
        Writer { max_tokens: self.digest_tokens(), timestamp, counter: self.draft.input.counter.clone() }
    }

    /// Makes the change without a model: the digest is taken from the transcript itself.
    pub fn local(self) -> Ready {
        self.local_because(NoDigest::NoModel)
    }

    pub(crate) fn local_because(self, reason: NoDigest) -> Ready {
        let digest = self.head.as_ref().map(|head| {
            // What a shorter digest lacks is taken from its lines and from the rest alike.
            let most = (head.own_tokens + head.lines_tokens).max(1);
            let for_lines = |max_chars: usize| {
                let chars = max_chars as u128 * u128::from(head.lines_tokens) / u128::from(most);
                usize::try_from(chars).unwrap_or(max_chars)
            };
            let render = |digest: &LocalDigest<'_>, max_chars| match head.lines_tokens {
                0 => digest.render(max_chars),
                _ => digest.render_with(max_chars, for_lines(max_chars)),
            };
            let message =
                self.beside_shown(head, |digest| self.writer().fit(|max_chars| render(digest, max_chars)));
            (message, DigestSource::Local(reason))
        });
        self.ready(digest)
    }

    /// Tells a digest beside what a reader will see anyway.
    fn beside_shown<R>(&self, head: &Head<'_>, tell: impl FnOnce(&LocalDigest<'_>) -> R) -> R {
        let shown = self.draft.shown();
        let n_messages = self.draft.input.messages.len();
        within_transcript(&head.facts, n_messages, &|at, line| shown.shows(at, line), |shows| {
            let n_before = (head.facts.n_messages() as usize).saturating_sub(n_messages);
            tell(&LocalDigest::new(&head.facts, head.n_elided).in_all(head.n_elided + n_before).beside(shows))
        })
    }

    /// Asks a model for the digest, if one is to be written; the local one takes its place where nothing comes of it.
    ///
    /// What is asked is rendered now, so that the future owns all that it needs and turns may go on meanwhile. A cancel
    /// and a dropped future change nothing.
    pub fn ask(
        self,
        by: &Summarizer,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Ready> + Send + 'static + use<> {
        let (by, cancel) = (by.clone(), cancel.clone());
        // A model that tells no window is taken for the one whose window is budgeted.
        let card = by.input_card(self.budget.window.map(ModelCard::with_window));
        let writer = self.writer();
        let addition = self.head.as_ref().map(|head| {
            let chars = |tokens| TokenHeuristic::DEFAULT.chars_within(tokens);
            let (own, lines) = (chars(self.own_tokens(head)), chars(head.lines_tokens));
            self.beside_shown(head, |digest| digest.addition(own, lines))
        });
        let addition = addition.unwrap_or_default();
        let request = self.request(card.as_ref(), addition.kept());
        let (asked, behind) = request.as_ref().and_then(|request| self.behind(request, &by)).unzip();
        let behind = behind.filter(|_| asked.is_some_and(|costs: AskCosts| costs.is_behind()));
        // The reply is held against the facts when it comes, and the turns may have gone on by then.
        let facts =
            self.head.as_ref().filter(|_| request.is_some()).map(|head| head.facts.clone().into_owned());
        let mut ready = self.local_because(NoDigest::NoRoom);
        async move {
            if let Some(request) = request {
                let mut cost = Cost::default();
                ready.report.asked = asked;
                let digest = match &behind {
                    Some(behind) => request.ask_behind(behind, &by, Some(&cancel), &mut cost).await,
                    None => request.ask(&by, Some(&cancel), &mut cost).await,
                };
                (ready.report.usage, ready.report.n_requests) = (cost.usage, cost.n_requests);
                ready.take_reply(digest, &writer, &addition, &facts.unwrap_or_default());
            }
            ready.cancelled_by(cancel)
        }
    }

    /// Says that nobody can change the transcript before the result is applied.
    #[must_use]
    pub fn held(self) -> Self {
        Self { is_guarded: false, ..self }
    }

    /// Renders what a model is asked; nothing where no digest is written, or one that is too short for its price.
    fn request(&self, card: Option<&ModelCard>, kept: String) -> Option<DigestRequest> {
        let head = self.head.as_ref().filter(|_| self.wants_model())?;
        let messages = &self.draft.input.messages[..head.cut];
        let scope = CondenseScope::Session;
        let carried = carried_digest(messages);
        Some(DigestRequest::beside(messages, scope, carried, kept, card, self.own_tokens(head)))
    }

    /// Weighs a request behind the conversation, up to the cut, against one by itself.
    fn behind(&self, request: &DigestRequest, by: &Summarizer) -> Option<(AskCosts, CachedConversation)> {
        let (sent, head, input) = (self.sent?, self.head.as_ref()?, self.draft.input);
        sent.card.prices.as_ref()?;
        let turns = input.messages[..head.cut].iter().copied().cloned().map(message_to_turn).collect();
        let unseen = self.report.context_tokens.saturating_sub(self.report.tokens_before);
        let behind = CachedConversation {
            conversation: Conversation { turns, ..sent.head.clone() },
            thinking: sent.thinking,
            tokens: input.prefix[head.cut].saturating_add(unseen),
            cached_tokens: sent.cached_tokens,
        };
        let costs = request.ask_costs(&behind, by, sent.card, input.counter.as_ref())?;
        Some((costs, behind))
    }

    fn own_tokens(&self, head: &Head<'_>) -> u64 {
        self.digest_tokens().min(head.own_tokens)
    }

    fn ready(self, digest: Option<(Message, DigestSource)>) -> Ready {
        let input = self.draft.input;
        let fingerprint = self.is_guarded.then(|| prefix_fingerprint(&input.messages));
        let (message, source) = digest.unzip();
        let end = End {
            budget: self.budget,
            is_over: self.is_over,
            may_add: self.may_add,
            head_cut: self.head.as_ref().map(|head| head.cut),
            prefix: input.prefix.to_vec(),
            pairing: input.pairing.clone().into_owned(),
            counter: input.counter.clone(),
        };
        let n_messages = input.messages.len();
        let facts = self.head.and_then(|head| match head.facts {
            Cow::Owned(facts) => Some(Box::new(facts)),
            Cow::Borrowed(_) => None,
        });
        let report = CompactionReport { digest: source, facts, ..self.report };
        let (patch, digest_at) = self.draft.into_patch(message);
        Ready {
            patch,
            digest_at,
            n_messages,
            fingerprint,
            end,
            cancel: CancellationToken::new(),
            is_cancelled: false,
            report,
        }
    }
}

impl Ready {
    /// Puts the model's digest in the place of the local one, or says why the local one stays. What the session does not
    /// bear out is struck, and what is missing is added.
    fn take_reply(
        &mut self,
        reply: Result<ModelDigest, NoDigest>,
        writer: &Writer,
        addition: &Addition,
        facts: &Facts,
    ) {
        let place = self.digest_at.and_then(|(edit, nth)| match self.patch.edits.get_mut(edit) {
            Some(Edit::Fold { with, .. }) => with.get_mut(nth),
            _ => None,
        });
        match (reply, place) {
            (Ok(digest), Some(place)) => {
                let findings = audit(&digest.text, facts);
                let text = corrected(&digest.text, &findings);
                *place = writer.fit(|max_chars| addition.added_to(&text, max_chars));
                self.report.findings = findings;
                self.report.digest = Some(DigestSource::Model { cut_off: digest.cut_off });
            }
            (Ok(_), None) => {}
            (Err(NoDigest::Cancelled), _) => self.is_cancelled = true,
            (Err(reason), _) => self.report.digest = Some(DigestSource::Local(reason)),
        }
    }

    /// Lets a token cancel the change until it is applied.
    pub(crate) fn cancelled_by(self, cancel: CancellationToken) -> Self {
        Self { cancel, ..self }
    }

    /// Returns the whole change as data over the indices of the transcript that it was planned on.
    pub fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Applies the change to the transcript that it was planned on, to which messages may have been appended since.
    ///
    /// Where the planned messages have changed, the result would not be lighter, or the host cancelled, the transcript
    /// stays as it is and the report says why.
    pub fn apply(self, messages: &mut Vec<Message>) -> CompactionReport {
        let same = messages.len() >= self.n_messages
            && self.fingerprint.is_none_or(|known| known == prefix_fingerprint(&messages[..self.n_messages]));
        self.apply_if(same, messages)
    }

    /// As [`Self::apply`], for a transcript that a tracker follows; the tracker follows the change.
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

    /// As [`Self::apply`], for the turns that it was planned on; what takes the change back comes with the report.
    pub fn apply_to_turns(self, turns: &mut Vec<Turn>) -> (CompactionReport, Option<TurnsUndo>) {
        let (after, done) = self.apply_to_projection(project(take(turns)));
        *turns = after;
        done
    }

    /// As [`Self::apply_to_turns`], for turns that were taken apart already.
    pub(crate) fn apply_to_projection(
        self,
        mut projection: Projection,
    ) -> (Vec<Turn>, (CompactionReport, Option<TurnsUndo>)) {
        let n_before = projection.messages.len();
        let mut report = self.apply(&mut projection.messages);
        match report.undo.take() {
            None => (projection.back(), (report, None)),
            Some(undo) => {
                let (after, undo) = TurnsUndo::of(projection, undo, n_before);
                (after, (report, Some(undo)))
            }
        }
    }

    fn apply_if(self, same: bool, messages: &mut Vec<Message>) -> CompactionReport {
        if !same {
            return self.report.not_changed(Unchanged::PrefixChanged);
        }
        if self.is_cancelled || self.cancel.is_cancelled() {
            return self.report.not_changed(Unchanged::Cancelled);
        }
        let Self { patch, mut end, mut report, n_messages, .. } = self;
        if messages.len() > n_messages {
            end.take_in(messages, n_messages);
            report.tokens_before = end.total();
            report.messages_before = messages.len();
        }
        end.splice(messages, patch, report)
    }
}

impl End {
    fn total(&self) -> u64 {
        self.prefix.last().copied().unwrap_or(0)
    }

    /// Weighs and pairs what was appended since the change was planned.
    fn take_in(&mut self, messages: &[Message], n_messages: usize) {
        self.pairing = Pairing::new(messages);
        for message in &messages[n_messages..] {
            self.prefix.push(self.total().saturating_add(self.counter.message(message)));
        }
    }

    fn splice(
        self,
        messages: &mut Vec<Message>,
        patch: Patch,
        mut report: CompactionReport,
    ) -> CompactionReport {
        note_bodies(&patch, &mut report);
        let weigh = |message: &Message| self.counter.message(message);
        let done = if self.may_add {
            patch.apply_measured(messages, &self.pairing, &self.prefix, &weigh)
        } else {
            patch.apply_weighed(messages, &self.pairing, &self.prefix, &weigh)
        };
        match done {
            Ok(done) => self.done(messages, done, report),
            Err(PatchError::Heavier { .. }) => report.not_changed(Unchanged::NotLighter),
            Err(error) => report.not_changed(Unchanged::Refused(error)),
        }
    }

    fn done(
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

/// Notes which bodies were cleared and which were shortened.
fn note_bodies(patch: &Patch, report: &mut CompactionReport) {
    let clears = |edit: &&Edit| matches!(edit, Edit::Body { content, .. } if is_cleared(content));
    report.cleared.reserve_exact(patch.edits.iter().filter(clears).count());
    for edit in &patch.edits {
        match edit {
            Edit::Body { at, content } if is_cleared(content) => report.cleared.push(*at),
            Edit::Body { at, .. } => report.previewed.push(*at),
            Edit::Fold { .. } => {}
        }
    }
}
