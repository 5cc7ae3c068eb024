//! The one way to a summary: the model if there is one, else the local digest.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wb_budget::{DIGEST_TOKENS, TokenCounter, TokenHeuristic};
use wb_invoke::timer::DEFAULT_TIMEOUT;
use wb_invoke::{ModelInvoker, ThinkingLevel};
use wb_message::markers::digest_body;
use wb_message::{Message, ToolVocabulary};
use wb_summarize::{AskOpts, Cost, NoDigest, ask_in_parts, carried_digest, local_digest};

use crate::document2::compaction_result::{CompactError, SummarySource};
use crate::document2::prompt::{Focus, SummaryTask};
use crate::document2::request::SummaryRequest;

/// The input of one summary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) task: SummaryTask,
    pub(crate) messages: &'a [Message],
    pub(crate) previous: Option<&'a str>,
    pub(crate) max_output_tokens: u64,
}

/// A run on its way: what it asks, what it has cost, and what failed.
pub(crate) struct SummaryRun<'a> {
    invoker: Option<&'a dyn ModelInvoker>,
    focus: Focus,
    opts: AskOpts,
    cancel: Option<CancellationToken>,
    pub(crate) cost: Cost,
    n_of_model: usize,
    failed: Option<NoDigest>,
}

impl<'a> SummaryRun<'a> {
    pub(crate) fn new(
        invoker: Option<&'a dyn ModelInvoker>,
        focus: Focus,
        timeout: Option<Duration>,
        cancel: Option<CancellationToken>,
    ) -> Self {
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        // As recorded: a summary of a session is always thought about much.
        let opts = AskOpts { timeout, thinking: Some(ThinkingLevel::High), ..AskOpts::default() };
        Self { invoker, focus, opts, cancel, cost: Cost::default(), n_of_model: 0, failed: None }
    }

    /// Returns the error of a run that was cancelled.
    pub(crate) fn cancelled(&self) -> CompactError {
        CompactError::Cancelled { usage: self.cost.usage }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Summarizes one piece; only a cancelled run is an error.
    pub(crate) async fn summarize(&mut self, piece: Piece<'_>) -> Result<String, CompactError> {
        match self.ask(piece).await {
            _ if self.is_cancelled() => Err(self.cancelled()),
            Ok(summary) => {
                self.n_of_model += 1;
                Ok(summary)
            }
            Err(why) => {
                self.failed.get_or_insert(why);
                Ok(local_summary(piece.messages, piece.previous, local_tokens(&piece)))
            }
        }
    }

    async fn ask(&mut self, piece: Piece<'_>) -> Result<String, NoDigest> {
        let invoker = self.invoker.ok_or(NoDigest::NoModel)?;
        if self.failed == Some(NoDigest::TimedOut) {
            // It would not be quicker now.
            return Err(NoDigest::TimedOut);
        }
        let Piece { task, messages, previous, max_output_tokens } = piece;
        let card = invoker.card();
        let request =
            SummaryRequest::new(task, messages, previous, card.as_ref(), max_output_tokens, &self.focus);
        let mut bill = |spent| self.cost.add(spent);
        let asked = ask_in_parts(&request, invoker, &self.opts, self.cancel.as_ref(), &mut bill);
        asked.await.map(|summary| summary.text)
    }

    pub(crate) fn source(&self) -> SummarySource {
        match &self.failed {
            None => SummarySource::Model,
            Some(why) if self.n_of_model > 0 => SummarySource::Partly(why.clone()),
            Some(why) => SummarySource::Local(why.clone()),
        }
    }
}

/// Writes a digest from the messages themselves, of at most about `max_tokens` tokens; earlier
/// summaries are included.
fn local_summary(messages: &[Message], previous: Option<&str>, max_tokens: u64) -> String {
    let carried = carried_digest(messages);
    let prior: Vec<&str> = previous.into_iter().chain(carried.as_deref()).collect();
    let prior = (!prior.is_empty()).then(|| prior.join("\n\n"));
    let others: Vec<&Message> = messages.iter().filter(|message| digest_body(message).is_none()).collect();
    let digest = local_digest(&others, &ToolVocabulary::default(), prior.as_deref());
    digest.render(TokenHeuristic::DEFAULT.chars_within(max_tokens))
}

/// The divisor for a local digest's size: one part in `LOCAL_PART` of the text it replaces, and at
/// least `LEAST_LOCAL_TOKENS`.
const LOCAL_PART: u64 = 4;
const LEAST_LOCAL_TOKENS: u64 = 250;

/// Returns the most tokens of a local digest.
fn local_tokens(piece: &Piece<'_>) -> u64 {
    let heuristic = &TokenHeuristic::DEFAULT;
    let previous = piece.previous.map_or(0, |previous| heuristic.text_tokens(previous));
    let replaced = tokens_of(piece.messages, heuristic).saturating_add(previous);
    (replaced / LOCAL_PART).clamp(LEAST_LOCAL_TOKENS, DIGEST_TOKENS)
}

/// A summary that is lighter than what it replaces.
pub(crate) struct Lighter {
    pub(crate) summary: String,
    pub(crate) source: SummarySource,
}

/// The reason where a reply was complete and yet of no use.
const NOT_LIGHTER: &str = "the summary was not lighter than what it stands for";

/// Accepts a summary smaller than `before` tokens; otherwise replaces it by a local digest of that
/// size, of all the messages in one.
pub(crate) fn lighter(
    run: &SummaryRun<'_>,
    counter: &dyn TokenCounter,
    summary: String,
    before: u64,
    messages: impl FnOnce() -> Vec<Message>,
    previous: Option<&str>,
) -> Result<Lighter, CompactError> {
    if counter.text(&summary) < before {
        return Ok(Lighter { summary, source: run.source() });
    }
    let summary = local_summary(&messages(), previous, DIGEST_TOKENS.min(before));
    let after = counter.text(&summary);
    if after >= before {
        return Err(CompactError::NotLighter { before, after, usage: run.cost.usage });
    }
    let why = run.failed.clone().unwrap_or_else(|| NoDigest::Failed(NOT_LIGHTER.to_owned()));
    Ok(Lighter { summary, source: SummarySource::Local(why) })
}

pub(crate) fn tokens_of(messages: &[Message], counter: &dyn TokenCounter) -> u64 {
    messages.iter().map(|message| counter.message(message)).fold(0, u64::saturating_add)
}
