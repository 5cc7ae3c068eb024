//! [`Plan`] is what a pipeline would do to a transcript: [`Plan::local`] and [`Plan::ask`] turn it
//! into a [`Ready`] change, without a model or with one.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures_util::future::Either;
use tokio_util::sync::CancellationToken;
use wb_budget::{Budget, ModelCard, TokenHeuristic};
use wb_facts::Facts;
use wb_invoke::ThinkingLevel;
use wb_message::{Conversation, Message, prefix_fingerprint};
use wb_summarize::{
    AskCosts, CachedConversation, CondenseScope, Cost, DigestRequest, DigestSource, LocalDigest, NoDigest,
    Summarizer, carried_digest,
};

use crate::digest_writer::{Credentials, DigestWriter, by_message_number};
use crate::draft::Draft;
use crate::ready::{InputFigures, Ready};
use crate::report::CompactionReport;
use crate::step::Trigger;
use crate::turns::message_to_turn;

/// The least tokens of a digest that is more than a count; for less no model is asked.
pub(crate) const USEFUL_DIGEST_TOKENS: u64 = 120;

/// The preview of a change to a transcript, which it borrows.
pub struct Plan<'a> {
    pub(crate) draft: Draft<'a>,
    pub(crate) head: Option<Head<'a>>,
    pub(crate) budget: Budget,
    /// Is true if the transcript was over budget.
    pub(crate) is_over: bool,
    pub(crate) trigger: Trigger,
    pub(crate) may_add: bool,
    /// The conversation with the model, if that model also writes the digests.
    pub(crate) sent: Option<SentConversation<'a>>,
    /// Is true if the transcript may change before the change is applied.
    pub(crate) is_guarded: bool,
    pub(crate) credentials: Credentials,
    /// The tool with which the model looks up what is folded.
    pub(crate) recall_tool: Option<Arc<str>>,
    pub(crate) report: CompactionReport,
}

/// A conversation as its model received it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentConversation<'a> {
    /// System text and tools.
    pub(crate) head: &'a Conversation,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// The part of it in the provider's cache.
    pub(crate) cached_tokens: u64,
    pub(crate) card: &'a ModelCard,
}

/// The head that becomes one digest: all messages of the input before the cut, including those that
/// earlier steps changed.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    /// The index in the input of the first message of the tail.
    pub(crate) cut: usize,
    /// The facts of the session, up to its end.
    pub(crate) facts: Cow<'a, Facts>,
    /// The number of messages that the digest replaces.
    pub(crate) n_elided: usize,
    /// The most tokens of a model's text.
    pub(crate) own_tokens: u64,
    /// The size of the user's words, in addition to a model's text.
    pub(crate) floor: Floor,
    /// The tokens of the lines added to it.
    pub(crate) lines_tokens: u64,
    /// The weight of the shortest digest, in tokens.
    pub(crate) least_tokens: u64,
    pub(crate) timestamp: i64,
}

/// The size of what no compaction drops: the user's requests, constraints and open tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Floor {
    pub(crate) tokens: u64,
    pub(crate) chars: usize,
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("report", &self.report).finish_non_exhaustive()
    }
}

impl Plan<'_> {
    /// Returns the index of the first message of the tail, if the head becomes a digest.
    pub fn cut(&self) -> Option<usize> {
        self.head.as_ref().map(|head| head.cut)
    }

    /// Returns the tokens of the transcript after the change, at most.
    pub fn tokens_after(&self) -> u64 {
        self.draft.total()
    }

    /// Returns the least number of tokens saved.
    pub(crate) fn tokens_saved(&self) -> u64 {
        self.draft.input.total_tokens().saturating_sub(self.tokens_after())
    }

    /// Returns the tokens of the transcript before the first changed message.
    pub(crate) fn stable_tokens(&self) -> u64 {
        self.draft.stable_tokens()
    }

    /// Returns whether the plan has a digest that is long enough to ask a model for it.
    pub(crate) fn wants_model(&self) -> bool {
        self.head.is_some() && self.digest_tokens() >= USEFUL_DIGEST_TOKENS
    }

    /// Skips the check for a changed transcript, for a caller that has it locked until the result
    /// is applied.
    #[must_use]
    pub fn without_guard(self) -> Self {
        Self { is_guarded: false, ..self }
    }

    /// Sets whether credentials in the digest are replaced by marks, which is the default.
    #[must_use]
    pub fn redact(self, redacts: bool) -> Self {
        let credentials = if redacts { Credentials::Marked } else { Credentials::Kept };
        Self { credentials, ..self }
    }

    /// Names the tool with which the model looks up what is folded; the digest closes with it.
    #[must_use]
    pub fn recall_tool(self, tool: Option<Arc<str>>) -> Self {
        Self { recall_tool: tool, ..self }
    }

    /// Makes the change without a model: the digest is built from the transcript itself.
    pub fn local(self) -> Ready {
        self.local_because(NoDigest::NoModel)
    }

    /// Asks a model, if there is one and the plan has a digest; the local digest replaces a reply
    /// that is no use.
    ///
    /// The request is rendered now, so that the future owns all that it needs and turns may go on
    /// meanwhile. A cancel and a dropped future change nothing.
    pub fn ask(
        self,
        summarizer: Option<&Summarizer>,
        cancel: Option<&CancellationToken>,
    ) -> impl Future<Output = Ready> + Send + 'static + use<> {
        let cancel = cancel.cloned().unwrap_or_default();
        let Some(summarizer) = summarizer.cloned() else {
            return Either::Left(std::future::ready(self.local().with_cancel(cancel)));
        };
        // A model without a known window gets the window that is budgeted.
        let card = summarizer.input_card(self.budget.window.map(ModelCard::with_window));
        let writer = self.writer();
        let addition = self.head.as_ref().map(|head| {
            let chars = |tokens| TokenHeuristic::DEFAULT.chars_within(tokens);
            let (own, lines) = (chars(self.own_tokens(head)), chars(head.lines_tokens));
            self.with_local_digest(head, |digest| digest.addition(own, lines, head.floor.chars))
        });
        let addition = addition.unwrap_or_default();
        let request = self.request(card.as_ref(), addition.verbatim());
        let (ask_costs, cached) =
            request.as_ref().and_then(|request| self.cached_request(request, &summarizer)).unzip();
        // The reply is checked against these facts when it arrives, and the turns may have gone on.
        let facts =
            self.head.as_ref().filter(|_| request.is_some()).map(|head| head.facts.clone().into_owned());
        let mut ready = self.local_because(NoDigest::NoRoom);
        Either::Right(async move {
            if let Some(request) = request {
                let mut cost = Cost::default();
                ready.report.ask_costs = ask_costs;
                let digest = match &cached.flatten() {
                    Some(cached) => request.ask_cached(cached, &summarizer, Some(&cancel), &mut cost).await,
                    None => request.ask(&summarizer, Some(&cancel), &mut cost).await,
                };
                ready.take_reply((digest, cost), &writer, &addition, &facts.unwrap_or_default());
            }
            ready.with_cancel(cancel)
        })
    }

    fn digest_tokens(&self) -> u64 {
        self.draft.hole().map_or(0, |(_, room)| room)
    }

    fn own_tokens(&self, head: &Head<'_>) -> u64 {
        self.digest_tokens().min(head.own_tokens)
    }

    fn writer(&self) -> DigestWriter {
        let head = self.head.as_ref();
        DigestWriter {
            max_tokens: self.digest_tokens(),
            floor_chars: head.map_or(0, |head| head.floor.chars),
            timestamp: head.map_or(0, |head| head.timestamp),
            counter: self.draft.input.counter.clone(),
            credentials: self.credentials,
        }
    }

    /// Gives `render` the local digest, which leaves out what the result contains anyway.
    fn with_local_digest<R>(&self, head: &Head<'_>, render: impl FnOnce(&LocalDigest<'_>) -> R) -> R {
        let visible = self.draft.visible();
        let messages = &self.draft.input.messages;
        let n_messages = messages.len();
        let has_line = |at: usize, line: &str| visible.has_line(at, line);
        let shows = by_message_number(&head.facts, messages, &has_line);
        let n_before = (head.facts.n_messages() as usize).saturating_sub(n_messages);
        let digest = LocalDigest::new(&head.facts, head.n_elided).with_total(head.n_elided + n_before);
        render(&digest.omit_visible(&shows).with_recall_tool(self.recall_tool.as_deref()))
    }

    fn local_because(mut self, reason: NoDigest) -> Ready {
        let digest = self.head.as_ref().map(|head| {
            let floor = head.floor.chars;
            // Beyond the floor, a shorter digest loses lines and the rest in proportion.
            let most = (head.own_tokens + head.lines_tokens).max(1);
            let for_lines = |max_chars: usize| {
                let chars = max_chars.saturating_sub(floor) as u128 * u128::from(head.lines_tokens)
                    / u128::from(most);
                usize::try_from(chars).unwrap_or(max_chars)
            };
            let render = |digest: &LocalDigest<'_>, max_chars: usize| match head.lines_tokens {
                0 if floor == 0 => digest.render(max_chars),
                _ => digest.render_with(max_chars, for_lines(max_chars), floor.min(max_chars)),
            };
            let fit = |digest: &LocalDigest<'_>| self.writer().fit(|max_chars| render(digest, max_chars));
            (self.with_local_digest(head, fit), DigestSource::Local(reason))
        });
        let digest = digest.map(|((message, n_redacted), source)| {
            self.report.redacted = n_redacted;
            (message, source)
        });
        self.into_ready(digest)
    }

    /// Renders the request to a model; `None` without a digest, or with one too short for its
    /// price.
    fn request(&self, card: Option<&ModelCard>, verbatim: String) -> Option<DigestRequest> {
        let head = self.head.as_ref().filter(|_| self.wants_model())?;
        let messages = &self.draft.input.messages[..head.cut];
        let scope = CondenseScope::Session;
        let carried = carried_digest(messages);
        Some(DigestRequest::with_verbatim(messages, scope, carried, verbatim, card, self.own_tokens(head)))
    }

    /// Compares a request that continues the conversation, up to the cut, with a separate one;
    /// returns the conversation too if that costs less.
    fn cached_request(
        &self,
        request: &DigestRequest,
        summarizer: &Summarizer,
    ) -> Option<(AskCosts, Option<CachedConversation>)> {
        let (sent, head, input) = (self.sent?, self.head.as_ref()?, &self.draft.input);
        sent.card.prices.as_ref()?;
        let overhead = self.report.context_tokens.saturating_sub(self.report.tokens_before);
        let mut cached = CachedConversation {
            conversation: sent.head.clone(),
            thinking: sent.thinking,
            tokens: input.prefix[head.cut].saturating_add(overhead),
            cached_tokens: sent.cached_tokens,
        };
        let costs = request.ask_costs(&cached, summarizer, sent.card, input.counter.as_ref())?;
        let cached = costs.is_cached().then(|| {
            let head = input.messages[..head.cut].iter().copied().cloned();
            cached.conversation.turns = head.map(message_to_turn).collect();
            cached
        });
        Some((costs, cached))
    }

    fn into_ready(self, digest: Option<(Message, DigestSource)>) -> Ready {
        let fingerprint = self.is_guarded.then(|| prefix_fingerprint(&self.draft.input.messages));
        let (message, source) = digest.unzip();
        let head_cut = self.head.as_ref().map(|head| head.cut);
        let facts = self.head.and_then(|head| match head.facts {
            Cow::Owned(facts) => Some(Box::new(facts)),
            Cow::Borrowed(_) => None,
        });
        let report = CompactionReport { digest: source, facts, ..self.report };
        let (input, patch, digest_at) = self.draft.into_patch(message);
        Ready {
            patch,
            digest_at,
            n_messages: input.messages.len(),
            fingerprint,
            input: InputFigures {
                budget: self.budget,
                is_over: self.is_over,
                trigger: self.trigger,
                may_add: self.may_add,
                head_cut,
                prefix: input.prefix.into_owned(),
                pairing: input.pairing.into_owned(),
                counter: input.counter,
            },
            cancel: CancellationToken::new(),
            is_cancelled: false,
            run: None,
            report,
        }
    }
}
