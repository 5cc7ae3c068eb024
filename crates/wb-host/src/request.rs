//! Asks a model for a summary and judges what it says.

use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Tariff};
use wb_message::{Conversation, Message, Turn};
use wb_session::split_file_tags;
use wb_summarize::fit::input_bytes;
use wb_summarize::{
    ASSUMED_WINDOW_TOKENS, Cost, Heard, ModelInvoker, NoDigest, StreamOptions, ThinkingLevel,
};

use crate::parts::{clip_lines, parts};
use crate::prompt::{CONVERSATION_TAG, Focus, SUMMARIZER_BRIEF, SummaryTask, prompt};

/// Bytes of a reply per token that it may have: no text has so many, so a longer one did not keep to its limit.
const MAX_BYTES_PER_TOKEN: u64 = 8;

/// What a model is asked; it owns its text.
#[derive(Debug)]
pub(crate) struct SummaryRequest {
    task: SummaryTask,
    parts: Vec<String>,
    previous: Option<String>,
    max_previous_bytes: usize,
    max_output_tokens: u64,
}

impl SummaryRequest {
    /// Serializes messages for a model with the given card; half of its input at most goes to what was summarized
    /// before.
    pub(crate) fn new(
        task: SummaryTask,
        messages: &[Message],
        previous: Option<&str>,
        card: Option<&ModelCard>,
        max_output_tokens: u64,
    ) -> Self {
        let max_output_tokens = max_output_tokens.min(most_output_tokens(card)).max(1);
        let half = input_bytes(card, max_output_tokens, 0) / 2;
        let previous = previous.map(|text| clip_lines(text.to_owned(), half));
        let reply_bytes = Tariff::SEED.chars_within(max_output_tokens).min(half);
        let max_previous_bytes = previous.as_ref().map_or(0, String::len).max(reply_bytes);
        let parts = parts(messages, input_bytes(card, max_output_tokens, max_previous_bytes));
        Self { task, parts, previous, max_previous_bytes, max_output_tokens }
    }

    /// Asks once per part; each request carries the summary of what came before.
    pub(crate) async fn ask(
        &self,
        invoker: &dyn ModelInvoker,
        focus: &Focus,
        cancel: Option<&CancellationToken>,
        cost: &mut Cost,
    ) -> Result<String, NoDigest> {
        let mut summary: Option<String> = None;
        for part in &self.parts {
            if cancel.is_some_and(CancellationToken::is_cancelled) {
                return Err(NoDigest::Cancelled);
            }
            let previous = summary.take().map(|text| clip_lines(text, self.max_previous_bytes));
            let prompt = prompt(self.task, part, previous.as_deref().or(self.previous.as_deref()), focus);
            cost.n_requests += 1;
            let mut heard = Heard::default();
            let stream = invoker.invoke(conversation(prompt), self.options(cancel));
            let end = heard.listen(stream, cancel, self.max_reply_bytes()).await;
            cost.usage = cost.usage.plus(heard.usage);
            end?;
            summary = Some(judged(heard, self.task, self.max_reply_bytes())?);
        }
        summary.ok_or(NoDigest::Blank)
    }

    fn max_reply_bytes(&self) -> usize {
        usize::try_from(self.max_output_tokens.saturating_mul(MAX_BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
    }

    fn options(&self, cancel: Option<&CancellationToken>) -> StreamOptions {
        StreamOptions {
            cancel: cancel.cloned(),
            thinking: Some(ThinkingLevel::High),
            max_output_tokens: Some(self.max_output_tokens),
            model: None,
        }
    }
}

/// Returns the most tokens that a reply may have: what the card tells, and half of the window, so that the prompt has
/// the other half.
fn most_output_tokens(card: Option<&ModelCard>) -> u64 {
    let known = |tokens: fn(&ModelCard) -> u64| card.map(tokens).filter(|tokens| *tokens > 0);
    let window = known(|card| card.context_window).unwrap_or(ASSUMED_WINDOW_TOKENS);
    known(|card| card.max_output_tokens).unwrap_or(u64::MAX).min(window / 2)
}

fn conversation(prompt: String) -> Conversation {
    Conversation { system: Some(SUMMARIZER_BRIEF.to_owned()), turns: vec![Turn::user(prompt)], tools: None }
}

/// Accepts a complete reply in the form that was asked for; lists of files in it are left out, since we append them.
fn judged(mut heard: Heard, task: SummaryTask, max_bytes: usize) -> Result<String, NoDigest> {
    let failed = |why: &str| Err(NoDigest::Failed(why.to_owned()));
    if heard.called_tools() {
        return failed("the reply called a tool");
    }
    let text = heard.take_text()?;
    match split_file_tags(&text).0.trim() {
        "" => Err(NoDigest::Blank),
        text if text.len() > max_bytes => failed("the reply was longer than asked for"),
        text if text.contains(CONVERSATION_TAG) => failed("the reply repeats what it was asked"),
        text if task.is_in_format(text) => Ok(text.to_owned()),
        _ => Err(NoDigest::Headingless),
    }
}
