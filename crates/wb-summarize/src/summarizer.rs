//! The seam to a summarizer that keeps one cumulative summary, and what it is given.

use futures::future::BoxFuture;
use wb_budget::{ModelCard, Usage};
use wb_message::markers::summary_text;
use wb_message::{Message, text};

use crate::chunking::{input_bytes, transcript_parts};
use crate::compaction_config::CompactionConfig;
use crate::extractive::carried_digest;

/// Longest text of a token, in bytes, that a summary may have on average; prose has four to five.
const MAX_BYTES_PER_TOKEN: usize = 8;

/// What the summarizer's window has room for, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room<'a> {
    card: Option<&'a ModelCard>,
    max_output_tokens: u64,
    prompt_bytes: usize,
}

impl<'a> Room<'a> {
    /// Measures what the prompts of a config leave of a window; without a card a window is assumed.
    pub(crate) fn of(config: &CompactionConfig, card: Option<&'a ModelCard>) -> Self {
        let prompt_bytes = config.summarizer_system_prompt.len() + config.summarizer_user_prompt.len();
        Self { card, max_output_tokens: config.max_summary_tokens(), prompt_bytes }
    }

    /// Returns what is left after so many other bytes; something is always left.
    pub(crate) fn beside(self, n_bytes: usize) -> usize {
        input_bytes(self.card, self.max_output_tokens, self.prompt_bytes + n_bytes)
    }

    /// Returns the longest reply that is taken for a summary.
    pub(crate) fn max_reply_bytes(self) -> usize {
        usize::try_from(self.max_output_tokens).unwrap_or(usize::MAX).saturating_mul(MAX_BYTES_PER_TOKEN)
    }

    /// Returns what is kept free for a summary so far: the longest reply, but half of the window at the most.
    pub(crate) fn summary_bytes(self) -> usize {
        self.max_reply_bytes().min(self.beside(0) / 2)
    }
}

/// What a summarizer is given; it holds no transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The rendered messages, cut to the summarizer's window: to be summarized one after the other.
    pub parts: Vec<String>,
    /// The summary so far, if there is one.
    pub previous_summary: Option<String>,
}

impl SummaryRequest {
    /// Renders messages for a summarizer with the given card; `None` where they have nothing to show that is new.
    ///
    /// Tool calls are shown with their arguments, internal messages never, and no body can open a line as someone
    /// else. The summary so far is `previous`, else the newest complete conversation summary among the messages;
    /// digests of other kinds that stand after that are carried with it. Together they take at most half of the
    /// window, clipped in the middle; the messages take what is left, in as many parts as they need.
    pub fn render(
        messages: &[Message],
        previous: Option<&str>,
        config: &CompactionConfig,
        card: Option<&ModelCard>,
    ) -> Option<Self> {
        let room = Room::of(config, card);
        let carried = carried_summary(messages, previous);
        let carried = carried.map(|carried| text::clip(&carried, room.beside(0) / 2).into_owned());
        let n_carried = carried.as_ref().map_or(0, String::len).max(room.summary_bytes());
        let mut parts = transcript_parts(messages, room.beside(n_carried));
        parts.retain(|part| !part.trim().is_empty());
        (!parts.is_empty()).then_some(Self { parts, previous_summary: carried })
    }
}

/// Joins the summary so far and the digests of other kinds that it does not cover.
fn carried_summary(messages: &[Message], previous: Option<&str>) -> Option<String> {
    let said = |message: &Message| summary_text(message).is_some_and(|text| !text.trim().is_empty());
    let newest = messages.iter().rposition(said);
    let previous = previous.map(str::trim).filter(|previous| !previous.is_empty());
    let Some(previous) = previous else { return carried_digest(&messages[newest.unwrap_or(0)..]) };
    let other = carried_digest(&messages[newest.map_or(0, |at| at + 1)..]);
    Some(other.map_or_else(|| previous.to_owned(), |other| [previous, "\n\n", &other].concat()))
}

/// A cumulative summary, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSummary {
    /// The summary; not blank.
    pub text: String,
    /// What the requests for it cost.
    pub usage: Usage,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummarizerError {
    /// The request failed, was refused or was cancelled.
    #[error("the summarizer failed: {0}")]
    Inference(String),
    /// The summary was blank.
    #[error("the summary was blank")]
    EmptySummary,
    /// The model took longer than allowed.
    #[error("the summarizer took too long")]
    TimedOut,
    /// The summary was cut off at its limit before it said anything that can be used.
    #[error("the summary was cut off at its limit")]
    Truncated,
    /// The model did not keep to its limit.
    #[error("the summary is far longer than its limit")]
    TooLong,
}

impl SummarizerError {
    /// Longest reason in characters, since a host may keep it.
    const MAX_REASON_CHARS: usize = 300;

    pub(crate) fn inference(why: &str) -> Self {
        Self::Inference(text::one_line(why, Self::MAX_REASON_CHARS))
    }
}

/// Makes the summary that stands for older messages. Retrying is asking again.
pub trait ContextSummarizer: Send + Sync {
    /// Summarizes what is given on top of the summary so far.
    fn summarize(
        &self,
        request: SummaryRequest,
    ) -> BoxFuture<'static, Result<ContextSummary, SummarizerError>>;

    /// Renders messages for this summarizer, as [`SummaryRequest::render`]; a summarizer that knows its window and
    /// its prompts fits them.
    fn request(&self, messages: &[Message], previous: Option<&str>) -> Option<SummaryRequest> {
        SummaryRequest::render(messages, previous, &CompactionConfig::default(), None)
    }
}

const _: fn(&dyn ContextSummarizer) = |_| ();
