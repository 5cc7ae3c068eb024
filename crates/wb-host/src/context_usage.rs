//! What a context holds and what it may hold, on the provider's scale as far as it is known.

use wb_budget::ModelCard;
use wb_message::Conversation;
use wb_session::{CompactionSettings, ContextEstimate, ContextGauge, Session, SessionError};

use crate::counter::Counter;

/// What a request is made of besides the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingRequest {
    /// The model that is asked; without a window nothing is above the limit.
    pub card: ModelCard,
    /// Estimated tokens of what the log does not hold yet, such as a prompt that waits.
    pub queued_tokens: u64,
    /// Tokens of the system prompt and the tools. They count if no provider's count has them in it.
    pub overhead_tokens: u64,
}

impl PendingRequest {
    /// Takes as overhead what a conversation's system text and tools weigh; its turns are not looked at.
    ///
    /// ```
    /// use wb_budget::ModelCard;
    /// use wb_host::{SessionFlow, PendingRequest};
    /// use wb_message::Conversation;
    /// use wb_session::CompactionSettings;
    ///
    /// let flow = SessionFlow::new(CompactionSettings::default());
    /// let request = Conversation { system: Some("You port programs. ".repeat(180)), ..Conversation::default() };
    /// let pending = PendingRequest { card: ModelCard::with_window(48_000), ..PendingRequest::default() };
    /// let pending = pending.with_overhead_of(&request, flow.counter());
    /// assert_eq!(pending.overhead_tokens, 950);
    /// ```
    #[must_use]
    pub fn with_overhead_of(self, conversation: &Conversation, counter: &Counter) -> Self {
        Self { overhead_tokens: counter.overhead(conversation), ..self }
    }
}

/// What a context holds and what it may hold, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextUsage {
    /// What it holds, with what is queued.
    pub tokens: u64,
    /// What it may hold: the window less the reserve, of which half of the window counts at most.
    pub limit_tokens: u64,
    /// Whether no provider's count is in `tokens`.
    pub is_estimated: bool,
}

impl ContextUsage {
    /// Returns whether it holds more than it may.
    pub fn is_over(&self) -> bool {
        self.tokens > self.limit_tokens
    }
}

/// Weighs the context of one session, again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContextMeter {
    counter: Counter,
    gauge: ContextGauge,
    ratio: Ratio,
    estimate: ContextEstimate,
    /// What is sent besides the messages of the log.
    beside_tokens: u64,
}

impl ContextMeter {
    pub(crate) fn new(counter: Counter) -> Self {
        Self { counter, ..Self::default() }
    }

    /// Returns what is counted with.
    pub(crate) fn counter(&self) -> &Counter {
        &self.counter
    }

    /// Weighs the context at a session's leaf.
    pub(crate) fn weigh(
        &mut self,
        session: &Session,
        pending: &PendingRequest,
        settings: &CompactionSettings,
    ) -> Result<ContextUsage, SessionError> {
        self.estimate = self.gauge.read(session, &*self.counter)?;
        let PendingRequest { card, queued_tokens, overhead_tokens } = pending;
        self.beside_tokens = queued_tokens.saturating_add(*overhead_tokens);
        let is_estimated = self.estimate.last_usage_index.is_none();
        let tokens = if is_estimated {
            self.ratio.counted(self.estimate.tokens).saturating_add(*overhead_tokens)
        } else {
            self.ratio.learn(&self.estimate, *overhead_tokens);
            self.estimate.tokens
        };
        let tokens = tokens.saturating_add(*queued_tokens);
        Ok(ContextUsage { tokens, limit_tokens: limit(card.context_window, settings), is_estimated })
    }

    /// Returns the tokens of the last prompt that a provider counted, if that was of this context.
    pub(crate) fn counted_prompt(&self) -> Option<u64> {
        self.estimate.last_usage_index.map(|_| self.estimate.prompt_tokens)
    }

    /// Returns what all messages were estimated at when they were weighed last; no count is in it.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        self.estimate.estimated_tokens
    }

    /// Returns how many tokens of a limit are left for the messages of the log; all of them where what is sent besides
    /// leaves nothing.
    pub(crate) fn room(&self, limit_tokens: u64) -> u64 {
        match limit_tokens.saturating_sub(self.beside_tokens) {
            0 => limit_tokens,
            room => room,
        }
    }

    /// Returns what a provider would count for something that is estimated at so many tokens.
    pub(crate) fn counted(&self, estimated: u64) -> u64 {
        self.ratio.counted(estimated)
    }

    /// Returns the estimate of something that a provider would count so many tokens for.
    pub(crate) fn estimate_of(&self, counted: u64) -> u64 {
        self.ratio.estimated(counted)
    }
}

fn limit(window_tokens: u64, settings: &CompactionSettings) -> u64 {
    match window_tokens {
        0 => u64::MAX,
        window => window - settings.reserve_tokens.min(window / 2),
    }
}

/// The fewest estimated tokens of a count that sets the scale; in smaller ones the overhead has too much weight.
const MIN_TOKENS: u64 = 1_000;
/// The largest ratio that is believed; text in any script stays below it.
const MAX_RATIO: u64 = 8;

/// How many tokens a provider counts for what is estimated at how many; never fewer.
#[derive(Clone, Copy, Debug, Default)]
struct Ratio {
    counted: u64,
    estimated: u64,
}

impl Ratio {
    fn learn(&mut self, estimate: &ContextEstimate, overhead_tokens: u64) {
        let estimated = estimate.estimated_tokens.saturating_sub(estimate.trailing_tokens);
        let counted = estimate.usage_tokens.saturating_sub(overhead_tokens);
        if estimated >= MIN_TOKENS {
            let counted = counted.clamp(estimated, estimated.saturating_mul(MAX_RATIO));
            *self = Self { counted, estimated };
        }
    }

    fn counted(self, estimated: u64) -> u64 {
        scaled(estimated, self.counted, self.estimated)
    }

    fn estimated(self, counted: u64) -> u64 {
        scaled(counted, self.estimated, self.counted)
    }
}

fn scaled(tokens: u64, times: u64, over: u64) -> u64 {
    if over == 0 {
        return tokens;
    }
    u64::try_from(u128::from(tokens) * u128::from(times) / u128::from(over)).unwrap_or(u64::MAX)
}
