//! Asks for a digest: one path for both scopes, a model if there is one, else the local digest.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wb_budget::{DIGEST_TOKENS, ModelCard, TokenCounter, TokenHeuristic, Usage};
use wb_message::{Conversation, Message, ToolVocabulary, Turn, text};

use crate::asker::{AskOpts, Cost, ModelDigest, Question, Summarizer, ask_in_parts};
use crate::cached_prefix::{AskCosts, CachedConversation};
use crate::chunking::{Room, transcript_parts};
use crate::custom_prompts::CustomPrompts;
use crate::evidence::without_evidence;
use crate::extractive::{carried_digest, local_digest};
use crate::length::{reply_tokens, words_within};
use crate::prompt::{cached_prompt, frame_prompt};
use crate::reply::{DigestSource, NoDigest, ReplyText, under_headings};
use crate::scope::{CONDENSER_BRIEF, CondenseScope, INSTRUCTIONS_NOTE};
use wb_digest::{Redacted, Section, add_missing_sections, redact, shorten_digest};
use wb_invoke::invoker::ModelInvoker;

/// The optional inputs of [`summarize`].
#[derive(Default)]
pub struct SummarizeDeps {
    /// The model; none gives the local digest.
    pub invoke: Option<Arc<dyn ModelInvoker>>,
    /// The scope of the digest.
    pub scope: CondenseScope,
    /// An earlier digest to carry.
    pub prior_digest: Option<String>,
    /// Stops the request when cancelled.
    pub cancel: Option<CancellationToken>,
    /// The most tokens of the digest; [`DIGEST_TOKENS`] if none is given.
    pub max_tokens: Option<u64>,
    /// True to keep credentials in the digest; by default each becomes a mark.
    pub keep_credentials: bool,
}

impl fmt::Debug for SummarizeDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SummarizeDeps");
        shown.field("invoke", &self.invoke.is_some()).field("scope", &self.scope);
        shown.field("prior_digest", &self.prior_digest).field("max_tokens", &self.max_tokens);
        shown.field("keep_credentials", &self.keep_credentials);
        shown.finish_non_exhaustive()
    }
}

/// A digest as a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The digest under its header, in the user's role.
    pub message: Message,
    /// The number of messages that it replaces.
    pub covered_count: usize,
    /// The writer of its text: the model, the model up to its limit, or the engine with the reason.
    /// An earlier digest is carried by each of them.
    pub source: DigestSource,
    /// The number of credentials that became marks.
    pub redacted: usize,
}

/// Everything that a model needs to write a digest; it owns its text and holds no transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestRequest {
    /// The scope of the digest.
    pub scope: CondenseScope,
    /// The earlier digest to carry.
    pub prior: Option<String>,
    /// The most bytes of a carried digest; what exceeds them is shortened by its entries.
    pub max_prior_bytes: usize,
    /// Text that is added below the digest unchanged, so that the model need not repeat it.
    pub verbatim: String,
    /// The rendered transcript, in as many parts as requests.
    pub parts: Vec<String>,
    /// The requested length of the digest, in words.
    pub n_words: u64,
    /// The most tokens of a reply; more than the words take.
    pub max_output_tokens: u64,
}

impl DigestRequest {
    /// Renders messages for a summarizer with the given card. There is room for a digest of
    /// `max_tokens` tokens; a model that exceeds it may write half as much more, and the digest is
    /// to be shortened.
    pub fn new<M: Borrow<Message>>(
        messages: &[M],
        scope: CondenseScope,
        prior: Option<String>,
        card: Option<&ModelCard>,
        max_tokens: u64,
    ) -> Self {
        Self::with_verbatim(messages, scope, prior, String::new(), card, max_tokens)
    }

    /// Does the same as [`Self::new`] for a digest that `verbatim` is added to unchanged.
    pub fn with_verbatim<M: Borrow<Message>>(
        messages: &[M],
        scope: CondenseScope,
        prior: Option<String>,
        verbatim: String,
        card: Option<&ModelCard>,
        max_tokens: u64,
    ) -> Self {
        let max_output_tokens = reply_tokens(max_tokens, card);
        let n_words = words_within(max_tokens.min(max_output_tokens));
        let room = Room::new(card, max_output_tokens);
        let prior = prior.map(|prior| carried(&without_evidence(&prior), room.half()).into_owned());
        let reply_bytes = TokenHeuristic::DEFAULT.chars_within(max_output_tokens);
        let max_prior_bytes = room.carried_bytes(prior.as_deref(), reply_bytes);
        let verbatim = if verbatim.len() > room.half() / 2 { String::new() } else { verbatim };
        let parts = transcript_parts(messages, room.transcript_bytes(max_prior_bytes + verbatim.len() * 2));
        Self { scope, prior, max_prior_bytes, verbatim, parts, n_words, max_output_tokens }
    }

    /// Returns the first request as it is sent, in the words of a summarizer if there is one; a
    /// request for a further part carries the digest of those before it.
    pub fn prompt(&self, by: Option<&Summarizer>) -> Conversation {
        let part = self.parts.first().map_or("", String::as_str);
        self.question(by).conversation(part, None)
    }

    fn question<'a>(&'a self, by: Option<&'a Summarizer>) -> DigestQuestion<'a> {
        let custom = by.and_then(Summarizer::custom_prompts);
        DigestQuestion { request: self, custom, instructions: by.and_then(Summarizer::custom_instructions) }
    }

    /// Asks a model for the digest, once per part; each request carries the digest of the parts
    /// before it. A reply in prose is the status; without a custom prompt it has at least 25 words.
    ///
    /// `cost` is added to as it arises, so that it is known after a failure or a dropped future. A
    /// failed, cancelled, refused or blank reply ends it with the reason, and so does a short one
    /// without headings. Of a cut-off reply, the whole lines are used if there is text under a
    /// heading; the earlier digest stays under the headings that it did not reach, except for
    /// status and plan. A request that is cancelled before it is sent costs nothing.
    pub async fn ask(
        &self,
        by: &Summarizer,
        cancel: Option<&CancellationToken>,
        cost: &mut Cost,
    ) -> Result<ModelDigest, NoDigest> {
        let mut bill = |spent| cost.add(spent);
        ask_in_parts(&self.question(Some(by)), by.invoker().as_ref(), by.opts(), cancel, &mut bill).await
    }

    /// Asks as [`Self::ask`] does, by one request at the end of the conversation that the digest
    /// covers. A model that calls a tool has written no digest.
    pub async fn ask_cached(
        &self,
        conversation: &CachedConversation,
        by: &Summarizer,
        cancel: Option<&CancellationToken>,
        cost: &mut Cost,
    ) -> Result<ModelDigest, NoDigest> {
        let question = DigestQuestion { request: self, custom: None, instructions: by.custom_instructions() };
        let question =
            CachedQuestion { question, conversation: &conversation.conversation, parts: <[_; 1]>::default() };
        let opts = AskOpts { thinking: conversation.thinking, prompt_cache: true, ..by.opts().clone() };
        let mut bill = |spent| cost.add(spent);
        ask_in_parts(&question, by.invoker().as_ref(), &opts, cancel, &mut bill).await
    }

    /// Compares the costs of asking at the end of a conversation and separately, for their common
    /// model.
    ///
    /// Returns nothing if its prices are unknown, another model writes digests, or prompts are
    /// custom.
    pub fn ask_costs(
        &self,
        conversation: &CachedConversation,
        by: &Summarizer,
        card: &ModelCard,
        counter: &dyn TokenCounter,
    ) -> Option<AskCosts> {
        let prices = card.prices.as_ref()?;
        if by.opts().model.is_some() || by.custom_prompts().is_some() {
            return None;
        }
        let question = DigestQuestion { request: self, custom: None, instructions: by.custom_instructions() };
        let request_tokens = counter.text(&question.cached_prompt());
        let cached = conversation.usage(request_tokens, self.max_output_tokens, prices);
        let has_room = conversation.leaves_room(request_tokens, self.max_output_tokens, card);
        let prompt =
            |part: &String| counter.text(CONDENSER_BRIEF) + counter.text(&question.prompt(part, None));
        let separate = Usage {
            input_tokens: self.parts.iter().map(prompt).sum(),
            output_tokens: self.max_output_tokens.saturating_mul(self.parts.len() as u64),
            ..Usage::EMPTY
        };
        Some(AskCosts::new(cached, has_room, separate, prices))
    }
}

/// The fewest words of a reply without headings that is used. Chosen: refusals are shorter.
const PROSE_WORDS: usize = 25;
/// The heading for a reply in free form.
const STATUS: &str = "# Status";

/// A request in the words of one summarizer.
struct DigestQuestion<'a> {
    request: &'a DigestRequest,
    custom: Option<&'a CustomPrompts>,
    instructions: Option<&'a str>,
}

impl DigestQuestion<'_> {
    /// Returns the host's prompt, if it has one; the digest has no headings then.
    fn free_form(&self) -> Option<&CustomPrompts> {
        self.custom.filter(|custom| custom.asks_in_free_form())
    }

    fn prompt(&self, part: &str, so_far: Option<&str>) -> String {
        let DigestRequest { scope, prior, max_prior_bytes, verbatim, n_words, .. } = self.request;
        let prior = so_far.or(prior.as_deref()).map(|prior| carried(prior, *max_prior_bytes));
        let prompt = match self.free_form() {
            Some(custom) => custom.fill(prior.as_deref(), part, *n_words),
            None => frame_prompt(*scope, prior.as_deref(), verbatim, part, *n_words),
        };
        self.instructed(prompt)
    }

    /// Writes the request after a conversation that contains the transcript and the earlier digest.
    fn cached_prompt(&self) -> String {
        self.instructed(cached_prompt(&self.request.verbatim, self.request.n_words))
    }

    fn instructed(&self, mut prompt: String) -> String {
        if let Some(instructions) = self.instructions {
            prompt.extend(["\n\n", INSTRUCTIONS_NOTE, " ", instructions]);
        }
        prompt
    }
}

impl Question for DigestQuestion<'_> {
    fn parts(&self) -> &[String] {
        &self.request.parts
    }

    fn max_output_tokens(&self) -> u64 {
        self.request.max_output_tokens
    }

    fn max_reply_bytes(&self) -> usize {
        MAX_REPLY_BYTES
    }

    fn conversation(&self, part: &str, so_far: Option<&str>) -> Conversation {
        let system = self.custom.and_then(CustomPrompts::system).unwrap_or(CONDENSER_BRIEF);
        let turns = vec![Turn::user(self.prompt(part, so_far))];
        Conversation { system: Some(system.to_owned()), turns, tools: None }
    }

    fn judge(&self, reply: &ReplyText, so_far: Option<&str>) -> Result<String, NoDigest> {
        let is_prose = || self.free_form().is_some() || is_summary_in_prose(reply);
        if !has_headings(reply) && is_prose() {
            return match reply.whole_sentences() {
                "" => Err(NoDigest::Truncated),
                text => Ok([STATUS, text].join("\n")),
            };
        }
        let text = under_headings(reply.whole_lines(), reply.cut_off, is_heading)?;
        let earlier = so_far.or(self.request.prior.as_deref()).filter(|_| reply.cut_off);
        Ok(earlier.map_or_else(|| text.to_owned(), |earlier| add_missing_sections(text, earlier)))
    }
}

fn is_heading(line: &str) -> bool {
    Section::from_heading(line).is_some()
}

fn has_headings(reply: &ReplyText) -> bool {
    reply.text.lines().any(is_heading)
}

/// Returns whether a reply without headings is long enough to be a summary, not a refusal.
fn is_summary_in_prose(reply: &ReplyText) -> bool {
    reply.text.split_whitespace().nth(PROSE_WORDS - 1).is_some()
}

/// A request at the end of the conversation that it is about.
struct CachedQuestion<'a> {
    question: DigestQuestion<'a>,
    conversation: &'a Conversation,
    /// One empty part: the conversation contains the transcript.
    parts: [String; 1],
}

impl Question for CachedQuestion<'_> {
    fn parts(&self) -> &[String] {
        &self.parts
    }

    fn max_output_tokens(&self) -> u64 {
        self.question.max_output_tokens()
    }

    fn max_reply_bytes(&self) -> usize {
        self.question.max_reply_bytes()
    }

    fn conversation(&self, _: &str, _: Option<&str>) -> Conversation {
        let mut conversation = self.conversation.clone();
        conversation.turns.push(Turn::user(self.question.cached_prompt()));
        conversation
    }

    fn judge(&self, reply: &ReplyText, so_far: Option<&str>) -> Result<String, NoDigest> {
        if reply.called_tools {
            return Err(NoDigest::CalledTools);
        }
        // Prose may go on with the conversation.
        if !has_headings(reply) {
            return Err(NoDigest::MissingHeadings);
        }
        self.question.judge(reply, so_far)
    }
}

/// Shortens a digest by its entries, and where that is not enough in bytes, to its head and tail.
fn carried(digest: &str, max_bytes: usize) -> Cow<'_, str> {
    if digest.len() <= max_bytes {
        return Cow::Borrowed(digest);
    }
    Cow::Owned(text::clip(&shorten_digest(digest, max_bytes), max_bytes).into_owned())
}

/// The most bytes of a reply; a longer stream is not read to its end.
const MAX_REPLY_BYTES: usize = 1 << 20;

/// Builds the message that carries a digest; a string with room for the header is reused.
pub fn digest_message(scope: CondenseScope, digest: impl Into<String>, timestamp: i64) -> Message {
    let mut text = digest.into();
    text.insert_str(0, "\n\n");
    text.insert_str(0, scope.header());
    Message::User { content: text.into(), timestamp }
}

/// Returns the newest timestamp among messages, 0 if none has one.
pub fn newest_timestamp<M: Borrow<Message>>(messages: &[M]) -> i64 {
    messages.iter().rev().find_map(|m| m.borrow().timestamp()).unwrap_or(0)
}

/// Condenses messages into one digest; it always succeeds.
///
/// Without a model, or if the model gives no usable digest within
/// [`DEFAULT_TIMEOUT`](wb_invoke::timer::DEFAULT_TIMEOUT), the local digest is used. Earlier
/// digests among the messages are carried along with `prior_digest`. No model is asked about no
/// messages.
pub async fn summarize(messages: &[Message], deps: SummarizeDeps) -> Summary {
    let carried: Vec<String> =
        carried_digest(messages).into_iter().chain(deps.prior_digest.clone()).collect();
    let prior = (!carried.is_empty()).then(|| carried.join("\n\n"));
    let max_tokens = deps.max_tokens.unwrap_or(DIGEST_TOKENS);
    let digest = match &deps.invoke {
        None => Err(NoDigest::NoModel),
        Some(_) if messages.is_empty() => Err(NoDigest::Blank),
        Some(invoker) => {
            let summarizer = Summarizer::new(invoker.clone());
            let card = summarizer.card();
            let request = DigestRequest::new(messages, deps.scope, prior.clone(), card.as_ref(), max_tokens);
            request.ask(&summarizer, deps.cancel.as_ref(), &mut Cost::default()).await
        }
    };
    let max_chars = TokenHeuristic::DEFAULT.chars_within(max_tokens);
    let (digest, source) = match digest {
        Ok(ModelDigest { text, cut_off }) => (text, DigestSource::Model { cut_off }),
        Err(reason) => {
            let local = local_within(messages, deps.prior_digest.as_deref(), max_chars);
            (local, DigestSource::Local(reason))
        }
    };
    let Redacted { text: digest, n: redacted } =
        if deps.keep_credentials { Redacted { text: digest.into(), n: 0 } } else { redact(&digest) };
    let digest = shorten_digest(&digest, max_chars).into_owned();
    let message = digest_message(deps.scope, digest, newest_timestamp(messages));
    Summary { message, covered_count: messages.len(), source, redacted }
}

fn local_within(messages: &[Message], prior: Option<&str>, max_chars: usize) -> String {
    local_digest(messages, &ToolVocabulary::default(), prior).render(max_chars)
}

/// Builds the digest of messages without a model, in at most [`DIGEST_TOKENS`] tokens; an earlier
/// digest is carried, and credentials become marks. [`digest_message`] adds the header.
///
/// ```
/// use wb_message::Message;
/// use wb_summarize::local_fallback_digest;
///
/// let digest = local_fallback_digest(&[Message::user("Never push to main.")], None);
/// assert!(digest.contains("# Guardrails") && digest.contains("- Never push to main."));
/// ```
pub fn local_fallback_digest(messages: &[Message], prior: Option<&str>) -> String {
    let max_chars = TokenHeuristic::DEFAULT.chars_within(DIGEST_TOKENS);
    let digest = local_within(messages, prior, max_chars);
    shorten_digest(&redact(&digest).text, max_chars).into_owned()
}

/// Condenses the messages of a branch that was left; the scope is always [`CondenseScope::Branch`].
pub async fn condense_scope(messages: &[Message], mut deps: SummarizeDeps) -> Summary {
    deps.scope = CondenseScope::Branch;
    summarize(messages, deps).await
}
