//! Asks for a digest: one path for both scopes, a model where there is one, the local digest where not.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wb_budget::{DIGEST_TOKENS, ModelCard, Tariff, Usage};
use wb_message::{Block, Conversation, Message, Pairing, ToolVocabulary, Turn, text};

use crate::digest::shortened_digest;
use crate::fallback::{carried_digest, local_sections};
use crate::fit::{input_bytes, scrollbacks};
use crate::heard::{Heard, Unusable};
use crate::invoker::{ModelInvoker, StreamOptions, ThinkingLevel};
use crate::prompt::frame_prompt;
use crate::scope::{CONDENSER_BRIEF, CondenseScope, has_headings};

/// What [`summarize`] works with; all of it is optional.
#[derive(Default)]
pub struct SummarizeDeps {
    /// The model; none gives the local digest.
    pub invoke: Option<Arc<dyn ModelInvoker>>,
    /// What the digest stands for.
    pub scope: CondenseScope,
    /// An earlier digest to carry.
    pub prior_digest: Option<String>,
    /// Stops the request when cancelled.
    pub cancel: Option<CancellationToken>,
    /// The most tokens of the digest; [`DIGEST_TOKENS`] where none is given.
    pub max_tokens: Option<u64>,
}

impl fmt::Debug for SummarizeDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SummarizeDeps");
        shown.field("invoke", &self.invoke.is_some()).field("scope", &self.scope);
        shown.field("prior_digest", &self.prior_digest).field("max_tokens", &self.max_tokens);
        shown.finish_non_exhaustive()
    }
}

/// A digest as a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The digest under its header, in the user's role.
    pub message: Message,
    /// How many messages it stands for.
    pub covered_count: usize,
}

/// Why there is no digest from a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoDigest {
    /// No model was given.
    NoModel,
    /// No model was asked: what it may write would be too short to be worth its price.
    NoRoom,
    /// The request failed.
    Failed(String),
    /// The request was cancelled.
    Cancelled,
    /// The request took longer than allowed.
    TimedOut,
    /// The model refused.
    Refused,
    /// The reply was cut off at its limit.
    Truncated,
    /// The reply holds no text.
    Blank,
    /// The reply holds none of the six headings.
    Headingless,
}

impl fmt::Display for NoDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str("no model was given"),
            Self::NoRoom => f.write_str("too small for a model"),
            Self::Failed(why) => write!(f, "the model failed: {}", text::one_line(why, 160)),
            Self::Cancelled => f.write_str("the request was cancelled"),
            Self::TimedOut => f.write_str("the model took too long"),
            Self::Refused => f.write_str("the model refused"),
            Self::Truncated => f.write_str("the reply was cut off"),
            Self::Blank => f.write_str("the reply was blank"),
            Self::Headingless => f.write_str("the reply had no headings"),
        }
    }
}

/// What asking a model has cost so far, a failed request included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// What the provider counted.
    pub usage: Usage,
    /// How many requests were made.
    pub n_requests: usize,
}

/// Everything that a model needs to write a digest; it owns its text and holds no transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestRequest {
    /// What the digest stands for.
    pub scope: CondenseScope,
    /// The earlier digest to carry.
    pub prior: Option<String>,
    /// The most bytes of a carried digest; what exceeds them is shortened by its entries.
    pub max_prior_bytes: usize,
    /// The rendered transcript, in as many parts as requests.
    pub scrollbacks: Vec<String>,
    /// The most tokens of a reply.
    pub max_output_tokens: u64,
    /// The model to ask, where the host names one.
    pub model: Option<String>,
}

impl DigestRequest {
    /// Renders messages for a summarizer with the given card.
    pub fn new(
        messages: &[Message],
        scope: CondenseScope,
        prior: Option<String>,
        card: Option<&ModelCard>,
        max_output_tokens: u64,
    ) -> Self {
        let reply_bytes = Tariff::SEED.chars_within(max_output_tokens);
        // However long an earlier digest is or a model answers, half of the input is left to the transcript.
        let max_prior_bytes = input_bytes(card, max_output_tokens, 0) / 2;
        let prior = prior.map(|prior| carried(&prior, max_prior_bytes).into_owned());
        let prior_bytes = prior.as_ref().map_or(0, String::len).max(reply_bytes.min(max_prior_bytes));
        let max_bytes = input_bytes(card, max_output_tokens, prior_bytes);
        let scrollbacks = scrollbacks(messages, max_bytes);
        let max_prior_bytes = prior_bytes;
        Self { scope, prior, max_prior_bytes, scrollbacks, max_output_tokens, model: None }
    }

    /// Asks the model for a digest, once per part; each request carries the digest of the parts before it.
    ///
    /// `cost` is added to as it arises, so that it is known where nothing came of it. A failed, cancelled, refused, truncated, blank or heading-less reply ends it with the reason. What is
    /// cancelled before it is asked costs nothing.
    pub async fn ask(
        &self,
        invoker: &dyn ModelInvoker,
        cancel: Option<&CancellationToken>,
        cost: &mut Cost,
    ) -> Result<String, NoDigest> {
        let mut digest: Option<String> = None;
        for scrollback in &self.scrollbacks {
            if cancel.is_some_and(CancellationToken::is_cancelled) {
                return Err(NoDigest::Cancelled);
            }
            let prior = digest.as_deref().or(self.prior.as_deref());
            let prior = prior.map(|prior| carried(prior, self.max_prior_bytes));
            let prompt = frame_prompt(self.scope, prior.as_deref(), scrollback);
            cost.n_requests += 1;
            let stream = invoker.invoke(conversation(prompt), self.options(cancel));
            let mut heard = Heard::default();
            let end = heard.listen(stream, cancel, MAX_REPLY_BYTES).await;
            cost.usage = cost.usage.plus(heard.usage);
            end?;
            digest = Some(judged(heard)?);
        }
        digest.ok_or(NoDigest::Blank)
    }

    fn options(&self, cancel: Option<&CancellationToken>) -> StreamOptions {
        StreamOptions {
            cancel: cancel.cloned(),
            thinking: Some(ThinkingLevel::High),
            max_output_tokens: Some(self.max_output_tokens),
            model: self.model.clone(),
        }
    }
}

/// Shortens a digest by its entries, and where that is not enough in bytes, to its head and tail.
fn carried(digest: &str, max_bytes: usize) -> Cow<'_, str> {
    if digest.len() <= max_bytes {
        return Cow::Borrowed(digest);
    }
    Cow::Owned(text::clip(&shortened_digest(digest, max_bytes), max_bytes).into_owned())
}

fn conversation(prompt: String) -> Conversation {
    Conversation {
        system: Some(CONDENSER_BRIEF.to_owned()),
        turns: vec![Turn::User { blocks: vec![Block::text(prompt)] }],
        tools: None,
    }
}

/// No digest is longer; a stream that goes on is left.
const MAX_REPLY_BYTES: usize = 1 << 20;

impl From<Unusable> for NoDigest {
    fn from(reason: Unusable) -> Self {
        match reason {
            Unusable::Failed(why) => Self::Failed(why),
            Unusable::Cancelled => Self::Cancelled,
            Unusable::Refused => Self::Refused,
            Unusable::Truncated => Self::Truncated,
            Unusable::Blank => Self::Blank,
        }
    }
}

/// Accepts a complete reply with text and headings.
fn judged(mut heard: Heard) -> Result<String, NoDigest> {
    let text = heard.take_text()?;
    if has_headings(&text) { Ok(text) } else { Err(NoDigest::Headingless) }
}

/// Builds the message that carries a digest; a string with room for the header is used as it is.
pub fn digest_message(scope: CondenseScope, digest: impl Into<String>, timestamp: i64) -> Message {
    let mut text = digest.into();
    text.insert_str(0, "\n\n");
    text.insert_str(0, scope.header());
    Message::User { content: text.into(), timestamp }
}

/// Returns the newest timestamp among messages, 0 where none has one.
pub fn newest_timestamp<M: std::borrow::Borrow<Message>>(messages: &[M]) -> i64 {
    messages.iter().rev().find_map(|m| m.borrow().timestamp()).unwrap_or(0)
}

/// Condenses messages into one digest; it always succeeds.
///
/// Without a model, or where the model gives no usable digest, the local digest stands in. Earlier digests among
/// the messages are carried along with `prior_digest`. For no messages no model is asked.
pub async fn summarize(messages: &[Message], deps: SummarizeDeps) -> Summary {
    let carried: Vec<String> = carried_digest(messages).into_iter().chain(deps.prior_digest).collect();
    let prior = (!carried.is_empty()).then(|| carried.join("\n\n"));
    let max_tokens = deps.max_tokens.unwrap_or(DIGEST_TOKENS);
    let digest = match &deps.invoke {
        None => Err(NoDigest::NoModel),
        Some(_) if messages.is_empty() => Err(NoDigest::Blank),
        Some(invoker) => {
            let card = invoker.card();
            let request = DigestRequest::new(messages, deps.scope, prior.clone(), card.as_ref(), max_tokens);
            request.ask(invoker.as_ref(), deps.cancel.as_ref(), &mut Cost::default()).await
        }
    };
    let max_chars = Tariff::SEED.chars_within(max_tokens);
    let digest = digest.map_or_else(
        |_| {
            let pairing = Pairing::of(messages);
            let vocabulary = ToolVocabulary::default();
            local_sections(messages, &pairing, &vocabulary, prior.as_deref()).render(max_chars)
        },
        |digest| shortened_digest(&digest, max_chars).into_owned(),
    );
    let message = digest_message(deps.scope, digest, newest_timestamp(messages));
    Summary { message, covered_count: messages.len() }
}

/// Condenses the messages of a branch that was left; the scope is always [`CondenseScope::Branch`].
pub async fn condense_scope(messages: &[Message], mut deps: SummarizeDeps) -> Summary {
    deps.scope = CondenseScope::Branch;
    summarize(messages, deps).await
}
