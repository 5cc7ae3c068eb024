//! Sends a head to a model: in parts, within a time limit, and with its cost counted.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Usage};
use wb_message::{Conversation, text};

use crate::compaction_config::{CompactionConfig, CompactionConfigError};
use crate::custom_prompts::CustomPrompts;
use crate::length::max_reply_bytes;
use crate::reply::{NoDigest, ReplyCollector, ReplyText};
use wb_invoke::invoker::{ModelInvoker, StreamOptions, ThinkingLevel};
use wb_invoke::timer::{DEFAULT_TIMEOUT, within};

/// The default effort of a model for a digest: high.
///
/// A digest replaces the head for good: the agent no longer knows what it omits. It is requested
/// once in many turns, so the effort costs little compared with what each of them saves.
pub const DEFAULT_THINKING: ThinkingLevel = ThinkingLevel::High;

/// The options for one digest, in any number of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskOpts {
    /// The time limit for all parts of one digest together; [`Duration::MAX`] sets none.
    pub timeout: Duration,
    /// The model, by the name that the invoker's provider knows; none is the invoker's own.
    pub model: Option<String>,
    /// The effort of the model; none leaves it to the provider.
    pub thinking: Option<ThinkingLevel>,
    /// True to use the provider's cache, which does not help a prompt that is sent once.
    pub prompt_cache: bool,
}

impl Default for AskOpts {
    /// Two minutes ([`DEFAULT_TIMEOUT`]), the invoker's own model, [`DEFAULT_THINKING`], no cache.
    fn default() -> Self {
        let thinking = Some(DEFAULT_THINKING);
        Self { timeout: DEFAULT_TIMEOUT, model: None, thinking, prompt_cache: false }
    }
}

/// A model that writes digests, and its options.
///
/// ```
/// use std::time::Duration;
/// use wb_invoke::{ThinkingLevel, from_fn};
/// use wb_summarize::Summarizer;
///
/// let model = from_fn(async |conversation| -> Result<String, String> {
///     Ok(format!("{conversation:?}"))
/// });
/// let summarizer = Summarizer::new(model)
///     .timeout(Duration::from_secs(30))
///     .model(Some("small-and-cheap".to_owned()))
///     .thinking(Some(ThinkingLevel::Low));
/// assert_eq!(summarizer.opts().timeout.as_secs(), 30);
/// ```
#[derive(Clone)]
pub struct Summarizer {
    invoker: Arc<dyn ModelInvoker>,
    opts: AskOpts,
    custom_prompts: Option<CustomPrompts>,
    instructions: Option<String>,
}

/// The most bytes of a user's instructions that a prompt takes.
pub const MAX_INSTRUCTIONS_BYTES: usize = 8_000;

impl fmt::Debug for Summarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summarizer").field("opts", &self.opts).finish_non_exhaustive()
    }
}

impl<I: ModelInvoker + 'static> From<I> for Summarizer {
    fn from(invoker: I) -> Self {
        Self::new(invoker)
    }
}

impl Summarizer {
    /// Builds a summarizer that asks a model, or a shared one, with the default [`AskOpts`].
    pub fn new(invoker: impl ModelInvoker + 'static) -> Self {
        Self {
            invoker: Arc::new(invoker),
            opts: AskOpts::default(),
            custom_prompts: None,
            instructions: None,
        }
    }

    /// Sets the time limit for all parts of one digest together; [`Duration::MAX`] sets none.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.opts.timeout = timeout;
        self
    }

    /// Sets the model by its name; none is the invoker's own.
    #[must_use]
    pub fn model(mut self, model: Option<String>) -> Self {
        self.opts.model = model;
        self
    }

    /// Sets the effort of the model; none leaves it to the provider.
    #[must_use]
    pub fn thinking(mut self, thinking: Option<ThinkingLevel>) -> Self {
        self.opts.thinking = thinking;
        self
    }

    /// Sets the user's instructions for a digest, in addition to the usual request. At most
    /// [`MAX_INSTRUCTIONS_BYTES`] of them are used, and a blank text is ignored.
    #[must_use]
    pub fn instructions(mut self, instructions: Option<&str>) -> Self {
        let given = instructions.map(str::trim).filter(|text| !text.is_empty());
        self.instructions = given.map(|text| text::clip(text, MAX_INSTRUCTIONS_BYTES).into_owned());
        self
    }

    /// Takes model and prompts from a config if it names them; with a custom user prompt, the
    /// digest is requested in free form.
    pub fn configured(mut self, config: &CompactionConfig) -> Result<Self, CompactionConfigError> {
        let config = config.clone().validated()?;
        self.custom_prompts = CustomPrompts::from_config(&config);
        let model = config.summary_model.filter(|model| !model.trim().is_empty());
        self.opts.model = model.or(self.opts.model);
        Ok(self)
    }

    /// Returns the model.
    pub fn invoker(&self) -> &Arc<dyn ModelInvoker> {
        &self.invoker
    }

    /// Returns its options.
    pub fn opts(&self) -> &AskOpts {
        &self.opts
    }

    /// Returns the model's card, so that its input can be fitted to its window.
    pub fn card(&self) -> Option<ModelCard> {
        self.invoker.card()
    }

    pub(crate) fn custom_prompts(&self) -> Option<&CustomPrompts> {
        self.custom_prompts.as_ref()
    }

    pub(crate) fn custom_instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Returns the card that a request is fitted to: that of the model, else the given one, less
    /// the tokens of custom prompts and instructions.
    pub fn input_card(&self, else_card: Option<ModelCard>) -> Option<ModelCard> {
        let mut card = self.card().or(else_card)?;
        // A token has two bytes at the least, on the average of a text.
        let n_bytes = self.custom_prompts.as_ref().map_or(0, CustomPrompts::len);
        let prompts_tokens = (n_bytes + self.instructions.as_ref().map_or(0, String::len)) as u64 / 2;
        if card.context_window > 0 {
            card.context_window = card.context_window.saturating_sub(prompts_tokens).max(1);
        }
        Some(card)
    }
}

/// The question that is asked in parts, which is all that differs between requests for digests.
pub trait Question: Sync {
    /// Returns the rendered transcript, a request for each part.
    fn parts(&self) -> &[String];

    /// Returns the most tokens of a reply.
    fn max_output_tokens(&self) -> u64;

    /// Returns the size in bytes at which a reply is abandoned: more than its tokens can have.
    fn max_reply_bytes(&self) -> usize {
        max_reply_bytes(self.max_output_tokens())
    }

    /// Writes the request for a part; `so_far` is the result of the parts before, if any.
    fn conversation(&self, part: &str, so_far: Option<&str>) -> Conversation;

    /// Returns the usable part of a reply, which is not blank; `so_far` as for its request.
    fn judge(&self, reply: &ReplyText, so_far: Option<&str>) -> Result<String, NoDigest>;
}

/// A digest in the words of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelDigest {
    /// The digest; not blank.
    pub text: String,
    /// True if a reply reached its limit, so that the model had more to say.
    pub cut_off: bool,
}

/// The cost of asking a model so far, including failed requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The usage that the provider counted.
    pub usage: Usage,
    /// The number of requests.
    pub n_requests: usize,
}

impl Cost {
    /// Adds what another piece of work has cost.
    pub fn add(&mut self, other: Self) {
        self.usage = self.usage.plus(other.usage);
        self.n_requests = self.n_requests.saturating_add(other.n_requests);
    }
}

/// A function that receives each cost as it arises.
type Bill<'a> = &'a mut (dyn FnMut(Cost) + Send);

/// Asks a model once for each part; each request carries the result of the parts before it.
///
/// The first failed, cancelled or refused reply ends it with the reason, as do a panic of the
/// invoker and an unusable reply; a cut-off reply that can be used does not. A cancel before the
/// first request costs nothing. When the time limit is over or the future is dropped, the current
/// request is cancelled and its known cost is counted.
pub async fn ask_in_parts(
    question: &impl Question,
    invoker: &dyn ModelInvoker,
    opts: &AskOpts,
    cancel: Option<&CancellationToken>,
    bill: Bill<'_>,
) -> Result<ModelDigest, NoDigest> {
    let limit = (opts.timeout < Duration::MAX).then_some(opts.timeout);
    let asker = Asker { question, invoker, opts, cancel };
    // A bug in an invoker must not end the agent.
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

    /// Sends one request and collects its reply; its token is cancelled with the caller's, and on
    /// return.
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

/// A request in progress; its cost is counted when it is dropped, whatever its outcome.
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
