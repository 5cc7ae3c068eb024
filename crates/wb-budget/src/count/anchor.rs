//! Anchoring: the provider's count of a prefix replaces its estimate.
//!
//! The request answered by message `at` had the prompt `messages[..at]` plus the system prompt and tool schemas, which
//! no transcript contains. Its usage counts prompt and answer exactly. Only later messages are still estimated, scaled
//! by a running ratio of real to estimated growth. When a compaction voids the anchor, the unseen tokens (real minus
//! estimated) are carried over.

use std::sync::Arc;

use wb_message::Message;
use wb_message::pairing::id_key;

use super::TokenCounter;
use crate::card::{ModelCard, Usage};

/// The weight of the initial ratio of 1, in estimated tokens: about one file. Between 1 000 and 8 000 the mean
/// one-step error over the recorded sessions differs by 2 %.
const PRIOR_TOKENS: u64 = 4096;
/// The growth that the ratio remembers, in estimated tokens; above it, earlier growth counts half. With 25 000, 50 000,
/// 100 000 and no limit, the mean one-step error over the recorded sessions differs by 2 %.
const MEMORY_TOKENS: u64 = 65_536;
/// The most real tokens per estimated token. The worst measured text is emoji, 5 426 real against 834 estimated, a
/// factor of 6.5.
const REAL_PER_ESTIMATED: u64 = 8;
/// The most estimated tokens per real token. The least dense measured text has 4.3 bytes per token over the recorded
/// sessions, a factor of 1.2; answers that are not resent lower it further.
const ESTIMATED_PER_REAL: u64 = 4;
/// Growth beyond [`REAL_PER_ESTIMATED`] that a host may have added unseen (reminders, attached files), in tokens. The
/// most in the recorded sessions is 8 608.
const UNSEEN_GROWTH_TOKENS: u64 = 32_768;
/// A prompt below this fraction (one half) of the previous one was compacted. In the recorded sessions no other prompt
/// falls below 0.80 of it, and compactions land at 0.49 or lower.
const BACKWARDS_PART: u64 = 2;

/// The reason that reported usage was refused; the estimate is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UsageRefused {
    /// The message is not the assistant's.
    #[error("message {at} is not an answer of the model, so usage cannot be anchored to it")]
    NotAnAnswer {
        /// Index of the message.
        at: usize,
    },
    /// The prompt has no tokens: the request failed, was aborted or was not counted.
    #[error("the usage counts no prompt tokens")]
    Zero,
    /// The usage exceeds the model's window.
    #[error("{context_tokens} tokens do not fit the model's window of {context_window}")]
    AboveWindow {
        /// Prompt and answer as reported.
        context_tokens: u64,
        /// The window on the card of the model that answered.
        context_window: u64,
    },
    /// The message is older than a compaction, so its usage counts removed messages.
    #[error("message {at} is older than the last compaction, so its usage counts removed messages")]
    BeforeCompaction {
        /// Index of the message.
        at: usize,
    },
    /// A later message is anchored already.
    #[error("message {at} is not later than message {anchored_at}, which is already anchored")]
    OutOfOrder {
        /// Index of the message.
        at: usize,
        /// Index of the anchored message.
        anchored_at: usize,
    },
    /// The prompt grew by more than the new messages explain, like a cumulative count.
    #[error("the prompt grew by {grown_tokens} tokens, the new messages explain at most {explained_tokens}")]
    Jump {
        /// Growth since the earlier prompt and its answer.
        grown_tokens: u64,
        /// The most growth that new messages and unseen additions explain.
        explained_tokens: u64,
    },
    /// The prompt shrank to less than half without a compaction, like the count of another conversation.
    #[error("the prompt shrank from {before_tokens} to {prompt_tokens} tokens without a compaction")]
    Backwards {
        /// The reported prompt.
        prompt_tokens: u64,
        /// The earlier prompt.
        before_tokens: u64,
    },
}

/// The running ratio of real to estimated growth.
///
/// It starts at 1. Each growth between two requests counts by its size, clamped between a quarter and eight times its
/// estimate, and older growth is halved. Integers only: the same input gives the same ratio everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calibration {
    real_tokens: u64,
    estimated_tokens: u64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { real_tokens: PRIOR_TOKENS, estimated_tokens: PRIOR_TOKENS }
    }
}

impl Calibration {
    /// Returns real tokens per estimated token, initially 1.
    pub(crate) fn ratio(&self) -> f64 {
        self.real_tokens as f64 / self.estimated_tokens as f64
    }

    /// Converts estimated to expected real tokens, rounded.
    pub(crate) fn scale(&self, estimated_tokens: u64) -> u64 {
        let divisor = u128::from(self.estimated_tokens);
        let product = u128::from(estimated_tokens) * u128::from(self.real_tokens);
        u64::try_from((product + divisor / 2) / divisor).unwrap_or(u64::MAX)
    }

    /// Converts real to estimated tokens, rounded; the inverse of [`Self::scale`].
    pub(crate) fn unscale(&self, real_tokens: u64) -> u64 {
        Self { real_tokens: self.estimated_tokens, estimated_tokens: self.real_tokens.max(1) }
            .scale(real_tokens)
    }

    fn learn(&mut self, grown_tokens: u64, estimated_tokens: u64) {
        let most = estimated_tokens.saturating_mul(REAL_PER_ESTIMATED);
        let grown = grown_tokens.clamp(estimated_tokens / ESTIMATED_PER_REAL, most);
        self.real_tokens = self.real_tokens.saturating_add(grown);
        self.estimated_tokens = self.estimated_tokens.saturating_add(estimated_tokens);
        while self.estimated_tokens > MEMORY_TOKENS {
            self.real_tokens /= 2;
            self.estimated_tokens /= 2;
        }
    }
}

/// A counter whose weights are scaled to the provider's count.
pub(crate) struct CalibratedCounter {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) calibration: Calibration,
}

impl TokenCounter for CalibratedCounter {
    fn text(&self, text: &str) -> u64 {
        self.calibration.scale(self.counter.text(text))
    }

    fn message(&self, message: &Message) -> u64 {
        self.calibration.scale(self.counter.message(message))
    }
}

/// A request with known usage.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    /// Index of the answer.
    at: usize,
    prompt_tokens: u64,
    /// Prompt and answer.
    context_tokens: u64,
    /// The estimate of the messages before the answer.
    estimated_prompt: u64,
    /// The estimate of these messages and the answer.
    estimated_context: u64,
    /// The possible error of `context_tokens`: 0 if it was counted.
    doubt_tokens: u64,
}

/// The estimate and the count of one transcript.
#[derive(Clone, Copy, Debug)]
struct Point {
    estimated_tokens: u64,
    real_tokens: u64,
}

/// The facts learned from reported usage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchors {
    model: Option<u64>,
    calibration: Calibration,
    /// Counted requests in the order of their answers.
    counted: Vec<Anchor>,
    /// The last usage that was refused by comparison; a second one that agrees with it is accepted.
    suspect: Option<Anchor>,
    /// The estimate right after a compaction, which an older count would exceed.
    resumed: Option<Anchor>,
    /// The shortest counted prompt.
    lowest: Option<Point>,
    /// The last voided anchor.
    voided: Option<Point>,
    /// The first message that is newer than the last compaction.
    fresh_from: usize,
    /// The host's figure for tokens outside the transcript, until usage is known.
    pub(crate) overhead_tokens: u64,
}

impl Anchors {
    pub(crate) fn calibration(&self) -> Calibration {
        self.calibration
    }

    pub(crate) fn is_anchored(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Returns the tokens of the context, given the estimate of all messages.
    pub(crate) fn context_tokens(&self, total_tokens: u64) -> u64 {
        match self.counted.last() {
            Some(anchor) => {
                let since = total_tokens.saturating_sub(anchor.estimated_context);
                anchor.context_tokens.saturating_add(self.calibration.scale(since))
            }
            None => self.unanchored(total_tokens),
        }
    }

    fn unanchored(&self, total_tokens: u64) -> u64 {
        self.unseen_tokens(total_tokens).saturating_add(self.calibration.scale(total_tokens))
    }

    /// Returns the tokens outside the transcript at a given estimate, learned from the count of the most similar size:
    /// only the difference between the two sizes depends on the ratio.
    pub(crate) fn unseen_tokens(&self, total_tokens: u64) -> u64 {
        let current = self.counted.last().map(Anchor::point);
        let points = [self.lowest, self.voided, current];
        let nearest =
            points.into_iter().flatten().min_by_key(|point| point.estimated_tokens.abs_diff(total_tokens));
        nearest.map_or(self.overhead_tokens, |point| {
            point.real_tokens.saturating_sub(self.calibration.scale(point.estimated_tokens))
        })
    }

    /// Adds the usage of the request answered by message `at`; the estimates exclude and include that message.
    pub(crate) fn observe(
        &mut self,
        at: usize,
        usage: &Usage,
        card: Option<&ModelCard>,
        (estimated_prompt, estimated_context): (u64, u64),
    ) -> Result<(), UsageRefused> {
        self.check_alone(at, usage, card)?;
        let next = Anchor {
            at,
            prompt_tokens: usage.prompt_tokens(),
            context_tokens: usage.context_tokens(),
            estimated_prompt,
            estimated_context,
            doubt_tokens: 0,
        };
        if self.switches_model(card) {
            // The scale and the unseen tokens belong to the previous model.
            (self.calibration, self.lowest, self.voided) = (Calibration::default(), None, None);
        } else {
            self.compare(&next)?;
        }
        self.accept(next);
        Ok(())
    }

    fn check_alone(&self, at: usize, usage: &Usage, card: Option<&ModelCard>) -> Result<(), UsageRefused> {
        let context_tokens = usage.context_tokens();
        let context_window = card.map_or(0, |card| card.context_window);
        if usage.prompt_tokens() == 0 {
            return Err(UsageRefused::Zero);
        }
        if context_window > 0 && context_tokens > context_window {
            return Err(UsageRefused::AboveWindow { context_tokens, context_window });
        }
        if at < self.fresh_from {
            return Err(UsageRefused::BeforeCompaction { at });
        }
        match self.counted.last() {
            Some(last) if at <= last.at => Err(UsageRefused::OutOfOrder { at, anchored_at: last.at }),
            _ => Ok(()),
        }
    }

    /// Records the model if the card names one, and returns whether it changed.
    fn switches_model(&mut self, card: Option<&ModelCard>) -> bool {
        let Some(card) = card.filter(|card| !card.id.is_empty()) else { return false };
        let before = self.model.replace(id_key(&card.id));
        before.is_some_and(|before| Some(before) != self.model)
    }

    /// Compares a count with the previous one and learns from the growth.
    fn compare(&mut self, next: &Anchor) -> Result<(), UsageRefused> {
        let Some(before) = self.counted.last().copied().or(self.resumed) else { return Ok(()) };
        let before = match (next.check_after(&before), self.suspect) {
            (Ok(()), _) => before,
            (Err(_), Some(suspect)) if next.at > suspect.at && next.check_after(&suspect).is_ok() => suspect,
            (Err(refused), _) => {
                self.suspect = Some(*next);
                return Err(refused);
            }
        };
        if before.doubt_tokens == 0 {
            let grown = next.prompt_tokens.saturating_sub(before.context_tokens);
            self.calibration.learn(grown, next.estimated_since(&before));
        }
        Ok(())
    }

    fn accept(&mut self, next: Anchor) {
        let point = Point { estimated_tokens: next.estimated_prompt, real_tokens: next.prompt_tokens };
        if self.lowest.is_none_or(|lowest| point.estimated_tokens <= lowest.estimated_tokens) {
            self.lowest = Some(point);
        }
        self.suspect = None;
        self.resumed = None;
        self.counted.push(next);
    }

    /// Voids every count that covers message `first` or a later one.
    pub(crate) fn forget_from(&mut self, first: usize) {
        let kept = self.counted.partition_point(|anchor| anchor.at < first);
        if let Some(last) = self.counted.last().filter(|last| last.at >= first) {
            self.voided = Some(last.point());
        }
        self.counted.truncate(kept);
        self.suspect = self.suspect.filter(|suspect| suspect.at < first);
    }

    /// Follows a truncation of the transcript to `n` messages.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.forget_from(n);
        self.resumed = self.resumed.filter(|resumed| resumed.at <= n);
        self.fresh_from = self.fresh_from.min(n);
    }

    /// Follows a change from message `first` on, after which the transcript has `n` messages. If the last count covers
    /// the change, all counts are void: as a point it is more accurate than an older count.
    pub(crate) fn follow_change(&mut self, first: usize, n: usize, total_tokens: u64) {
        if self.counted.last().is_some_and(|last| last.at >= first) {
            self.forget_from(0);
        }
        self.fresh_from = n;
        (self.resumed, self.suspect) = (None, None);
        if self.counted.is_empty() && self.lowest.is_some() {
            let context_tokens = self.unanchored(total_tokens);
            self.resumed = Some(Anchor {
                at: n,
                prompt_tokens: 0,
                context_tokens,
                estimated_prompt: total_tokens,
                estimated_context: total_tokens,
                doubt_tokens: context_tokens,
            });
        }
    }
}

impl Anchor {
    fn point(&self) -> Point {
        Point { estimated_tokens: self.estimated_context, real_tokens: self.context_tokens }
    }

    /// Returns the estimate of the messages since an earlier count.
    fn estimated_since(&self, before: &Self) -> u64 {
        self.estimated_prompt.saturating_sub(before.estimated_context)
    }

    /// Checks that this count can follow an earlier one.
    fn check_after(&self, before: &Self) -> Result<(), UsageRefused> {
        let grown_tokens = self.prompt_tokens.saturating_sub(before.context_tokens);
        let explained_tokens = self
            .estimated_since(before)
            .saturating_mul(REAL_PER_ESTIMATED)
            .saturating_add(UNSEEN_GROWTH_TOKENS)
            .saturating_add(before.doubt_tokens);
        if grown_tokens > explained_tokens {
            return Err(UsageRefused::Jump { grown_tokens, explained_tokens });
        }
        let (prompt_tokens, before_tokens) = (self.prompt_tokens, before.prompt_tokens);
        if prompt_tokens < before_tokens / BACKWARDS_PART {
            return Err(UsageRefused::Backwards { prompt_tokens, before_tokens });
        }
        Ok(())
    }
}
