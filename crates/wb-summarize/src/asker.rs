//! The one place that sends a head to a model: in parts, within a time limit, and with its cost counted.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Usage};
use wb_message::{Conversation, text};

use crate::compaction_config::{CompactionConfig, CompactionConfigError};
use crate::length::max_reply_bytes;
use crate::own_prompts::OwnPrompts;
use crate::reply::{NoDigest, ReplyCollector, ReplyText};
use wb_invoke::invoker::{ModelInvoker, StreamOptions, ThinkingLevel};
use wb_invoke::timer::{DEFAULT_TIMEOUT, within};

/// How much a model thinks about a digest if nothing else is said: much.
///
/// A digest takes the place of the head for good: what it misses, the agent no longer knows. It is asked for once in
/// many turns, so that the thought costs little compared with what is saved in each of them.
pub const DEFAULT_THINKING: ThinkingLevel = ThinkingLevel::High;

/// How a model is asked for one digest, in however many parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskOpts {
    /// How long all parts of one digest may take together; [`Duration::MAX`] sets no limit.
    pub timeout: Duration,
    /// The model, by the name that the invoker's provider knows; none is the invoker's own.
    pub model: Option<String>,
    /// How much to think; none leaves it to the provider.
    pub thinking: Option<ThinkingLevel>,
    /// Whether the provider's cache is used, which is of no use to a prompt that is sent once.
    pub prompt_cache: bool,
}

impl Default for AskOpts {
    /// Two minutes ([`DEFAULT_TIMEOUT`]), the invoker's own model, [`DEFAULT_THINKING`], no cache.
    fn default() -> Self {
        let thinking = Some(DEFAULT_THINKING);
        Self { timeout: DEFAULT_TIMEOUT, model: None, thinking, prompt_cache: false }
    }
}

/// Who is asked for digests, and how.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use wb_invoke::{ThinkingLevel, from_fn};
/// use wb_summarize::Summarizer;
///
/// let model = from_fn(async |conversation| -> Result<String, String> { Ok(format!("{conversation:?}")) });
/// let summarizer = Summarizer::new(Arc::new(model))
///     .timeout(Duration::from_secs(30))
///     .model(Some("small-and-cheap".to_owned()))
///     .thinking(Some(ThinkingLevel::Low));
/// assert_eq!(summarizer.opts().timeout.as_secs(), 30);
/// ```
#[derive(Clone)]
pub struct Summarizer {
    invoker: Arc<dyn ModelInvoker>,
    opts: AskOpts,
    own_prompts: Option<OwnPrompts>,
    instructions: Option<String>,
}

/// The most bytes of a user's instructions that a prompt takes.
pub const MAX_INSTRUCTIONS_BYTES: usize = 8_000;

impl fmt::Debug for Summarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summarizer").field("opts", &self.opts).finish_non_exhaustive()
    }
}

impl Summarizer {
    /// Builds a summarizer that asks with the default [`AskOpts`].
    pub fn new(invoker: Arc<dyn ModelInvoker>) -> Self {
        Self { invoker, opts: AskOpts::default(), own_prompts: None, instructions: None }
    }

    /// Sets how long all parts of one digest may take together; [`Duration::MAX`] sets no limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.opts.timeout = timeout;
        self
    }

    /// Names the model; none is the invoker's own.
    #[must_use]
    pub fn model(mut self, model: Option<String>) -> Self {
        self.opts.model = model;
        self
    }

    /// Sets how much to think; none leaves it to the provider.
    #[must_use]
    pub fn thinking(mut self, thinking: Option<ThinkingLevel>) -> Self {
        self.opts.thinking = thinking;
        self
    }

    /// Says what the user wants of a digest besides what is asked for anyway; at most [`MAX_INSTRUCTIONS_BYTES`] of it,
    /// and a blank text says nothing.
    #[must_use]
    pub fn instructions(mut self, instructions: Option<&str>) -> Self {
        let said = instructions.map(str::trim).filter(|text| !text.is_empty());
        self.instructions = said.map(|text| text::clip(text, MAX_INSTRUCTIONS_BYTES).into_owned());
        self
    }

    /// Takes model and prompts from a config where it names them; with a user prompt of one's own, the digest is asked for
    /// in free form.
    pub fn configured(mut self, config: &CompactionConfig) -> Result<Self, CompactionConfigError> {
        let config = config.clone().validated()?;
        self.own_prompts = OwnPrompts::of(&config);
        let model = config.summary_model.filter(|model| !model.trim().is_empty());
        self.opts.model = model.or(self.opts.model);
        Ok(self)
    }

    /// Returns who is asked.
    pub fn invoker(&self) -> &Arc<dyn ModelInvoker> {
        &self.invoker
    }

    /// Returns how it is asked.
    pub fn opts(&self) -> &AskOpts {
        &self.opts
    }

    /// Returns what is known of the model, so that its input can be fitted to its window.
    pub fn card(&self) -> Option<ModelCard> {
        self.invoker.card()
    }

    pub(crate) fn own_prompts(&self) -> Option<&OwnPrompts> {
        self.own_prompts.as_ref()
    }

    pub(crate) fn said_instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Returns the card that a request is fitted to: that of the model, else the given one, without what prompts and instructions
    /// of one's own take of the window.
    pub fn input_card(&self, else_card: Option<ModelCard>) -> Option<ModelCard> {
        let mut card = self.card().or(else_card)?;
        // A token has two bytes at the least, on the average of a text.
        let n_bytes = self.own_prompts.as_ref().map_or(0, OwnPrompts::len);
        let prompts_tokens = (n_bytes + self.instructions.as_ref().map_or(0, String::len)) as u64 / 2;
        if card.context_window > 0 {
            card.context_window = card.context_window.saturating_sub(prompts_tokens).max(1);
        }
        Some(card)
    }
}

/// What is asked in parts. Requests for digests differ in this, and in nothing else.
pub trait Question: Sync {
    /// Returns the rendered transcript, a request for each part.
    fn parts(&self) -> &[String];

    /// Returns the most tokens of a reply.
    fn max_output_tokens(&self) -> u64;

    /// Returns after how many bytes of text a reply is no longer listened to: more than its tokens can have.
    fn max_reply_bytes(&self) -> usize {
        max_reply_bytes(self.max_output_tokens())
    }

    /// Writes the request for a part; `so_far` is what came of the parts before, nothing for the first one.
    fn conversation(&self, part: &str, so_far: Option<&str>) -> Conversation;

    /// Returns what of a reply can be used, which is not blank; `so_far` as for its request.
    fn judge(&self, reply: &ReplyText, so_far: Option<&str>) -> Result<String, NoDigest>;
}

/// A digest in the words of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelDigest {
    /// The digest; not blank.
    pub text: String,
    /// Whether a reply reached its limit, so that less is said than the model had to say.
    pub cut_off: bool,
}

/// What asking a model has cost so far, a failed request included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// What the provider counted.
    pub usage: Usage,
    /// How many requests were made.
    pub n_requests: usize,
}

impl Cost {
    /// Adds what another piece of work has cost.
    pub fn add(&mut self, other: Self) {
        self.usage = self.usage.plus(other.usage);
        self.n_requests = self.n_requests.saturating_add(other.n_requests);
    }
}

/// Takes what is spent, as it is spent.
type Bill<'a> = &'a mut (dyn FnMut(Cost) + Send);

/// Asks a model once for each part; each request carries what came of the parts before it.
///
/// The first failed, cancelled or refused reply ends it with the reason, as do a panic of the invoker and a reply that
/// the question cannot use; a reply that was cut off and can be used does not. What is cancelled before it is asked costs
/// nothing. When the time limit is over or the future is dropped, the request that is on its way is cancelled and what is
/// known of its cost is counted.
pub async fn ask_in_parts(
    question: &impl Question,
    invoker: &dyn ModelInvoker,
    opts: &AskOpts,
    cancel: Option<&CancellationToken>,
    bill: Bill<'_>,
) -> Result<ModelDigest, NoDigest> {
    let limit = (opts.timeout < Duration::MAX).then_some(opts.timeout);
    let asker = Asker { question, invoker, opts, cancel };
    // What an invoker does wrong must not end the agent.
    let asking = AssertUnwindSafe(asker.ask(bill)).catch_unwind();
    match within(limit, asking).await {
        Some(done) => done.unwrap_or_else(|panic| Err(NoDigest::Failed(panic_message(panic.as_ref())))),
        None => Err(NoDigest::TimedOut),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("no message"))
}

struct Asker<'a, Q> {
    question: &'a Q,
    invoker: &'a dyn ModelInvoker,
    opts: &'a AskOpts,
    cancel: Option<&'a CancellationToken>,
}

impl<Q: Question> Asker<'_, Q> {
    async fn ask(&self, bill: Bill<'_>) -> Result<ModelDigest, NoDigest> {
        let mut digest: Option<ModelDigest> = None;
        for part in self.question.parts() {
            let so_far = digest.as_ref().map(|digest| digest.text.as_str());
            let conversation = self.question.conversation(part, so_far);
            let reply = self.request(conversation, &mut *bill).await?;
            let text = self.question.judge(&reply, so_far)?;
            let cut_off = reply.cut_off || digest.is_some_and(|digest| digest.cut_off);
            digest = Some(ModelDigest { text, cut_off });
        }
        digest.ok_or(NoDigest::Blank)
    }

    /// Sends one request and listens to its end; its own token is cancelled with that of the caller, and when it is
    /// left.
    async fn request(&self, conversation: Conversation, bill: Bill<'_>) -> Result<ReplyText, NoDigest> {
        let cancel = self.cancel.map_or_else(CancellationToken::new, CancellationToken::child_token);
        if cancel.is_cancelled() {
            return Err(NoDigest::Cancelled);
        }
        let _guard = cancel.clone().drop_guard();
        let mut billed = Billed::request(bill);
        let stream = self.invoker.invoke(conversation, self.options(&cancel));
        billed.reply.listen(stream, &cancel, self.question.max_reply_bytes()).await?;
        billed.reply.take_text()
    }

    fn options(&self, cancel: &CancellationToken) -> StreamOptions {
        StreamOptions {
            cancel: Some(cancel.clone()),
            thinking: self.opts.thinking,
            max_output_tokens: Some(self.question.max_output_tokens()),
            prompt_cache: self.opts.prompt_cache,
            model: self.opts.model.clone(),
        }
    }
}

/// A request on its way; what it cost is billed when it is dropped, whatever came of it.
struct Billed<'a> {
    bill: Bill<'a>,
    reply: ReplyCollector,
}

impl<'a> Billed<'a> {
    fn request(bill: Bill<'a>) -> Self {
        bill(Cost { usage: Usage::EMPTY, n_requests: 1 });
        Self { bill, reply: ReplyCollector::default() }
    }
}

impl Drop for Billed<'_> {
    fn drop(&mut self) {
        (self.bill)(Cost { usage: self.reply.usage, n_requests: 0 });
    }
}
