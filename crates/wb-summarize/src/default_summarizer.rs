//! Asks a model for a cumulative summary, with the prompts that a host configured (seed 4).

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use wb_budget::Usage;
use wb_message::{Conversation, Message, Turn, text};

use crate::compaction_config::{
    CompactionConfig, CompactionConfigError, MESSAGES_PLACEHOLDER, PREVIOUS_SUMMARY_PLACEHOLDER,
};
use crate::condense::Cost;
use crate::flatten::{neutralise_into, tag_end};
use crate::heard::{Heard, Unusable};
use crate::invoker::{ModelInvoker, StreamOptions, ThinkingLevel};
use crate::summarizer::{ContextSummarizer, ContextSummary, Room, SummarizerError, SummaryRequest};

/// Asks a model for the summary, with the prompts of a [`CompactionConfig`].
///
/// Each part is one request without tools and reasoning; the summary of a part is the summary so far of the next.
/// Only a complete reply is accepted. A future that is dropped cancels its request.
#[derive(Clone)]
pub struct DefaultSummarizer {
    shared: Arc<Shared>,
}

struct Shared {
    invoker: Arc<dyn ModelInvoker>,
    config: CompactionConfig,
    /// The tags of the user prompt, which no text between them may hold.
    tags: Vec<String>,
    cost: Mutex<Cost>,
}

impl fmt::Debug for DefaultSummarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DefaultSummarizer");
        shown.field("config", &self.shared.config).field("cost", &self.cost()).finish_non_exhaustive()
    }
}

impl DefaultSummarizer {
    /// Builds a summarizer if the config is one that it can work with.
    pub fn new(
        invoker: Arc<dyn ModelInvoker>,
        config: CompactionConfig,
    ) -> Result<Self, CompactionConfigError> {
        let config = config.validated()?;
        let tags = tags_of(&config.summarizer_user_prompt);
        let shared = Shared { invoker, config, tags, cost: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns what the requests of this summarizer and its clones have cost so far, those that failed included.
    pub fn cost(&self) -> Cost {
        *locked(&self.shared.cost)
    }
}

impl ContextSummarizer for DefaultSummarizer {
    fn summarize(
        &self,
        request: SummaryRequest,
    ) -> BoxFuture<'static, Result<ContextSummary, SummarizerError>> {
        let shared = self.shared.clone();
        async move { shared.summarize(request).await }.boxed()
    }

    fn request(&self, messages: &[Message], previous: Option<&str>) -> Option<SummaryRequest> {
        let card = self.shared.invoker.card();
        SummaryRequest::render(messages, previous, &self.shared.config, card.as_ref())
    }
}

impl Shared {
    async fn summarize(&self, request: SummaryRequest) -> Result<ContextSummary, SummarizerError> {
        let card = self.invoker.card();
        let room = Room::of(&self.config, card.as_ref());
        let SummaryRequest { parts, previous_summary: mut summary } = request;
        let mut usage = Usage::EMPTY;
        for part in &parts {
            let prompt = self.prompt(room, summary.as_deref().unwrap_or_default(), part);
            let billed = self.ask(prompt, room.max_reply_bytes()).await;
            usage = usage.plus(billed.usage());
            summary = Some(billed.judged(room.max_reply_bytes())?);
        }
        let text = summary.filter(|_| !parts.is_empty()).ok_or(SummarizerError::EmptySummary)?;
        Ok(ContextSummary { text, usage })
    }

    /// Sends one request and listens to its end.
    async fn ask(&self, prompt: String, max_reply_bytes: usize) -> Billed<'_> {
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        let conversation = Conversation {
            system: Some(self.config.summarizer_system_prompt.clone()),
            turns: vec![Turn::user(prompt)],
            tools: None,
        };
        let mut billed = Billed::request(&self.cost);
        let stream = self.invoker.invoke(conversation, self.options(cancel));
        // A request that nobody can cancel is listened to up to its end.
        let _ = billed.heard.listen(stream, None, max_reply_bytes).await;
        billed
    }

    fn options(&self, cancel: CancellationToken) -> StreamOptions {
        let model = self.config.summary_model.as_deref().map(str::trim).filter(|model| !model.is_empty());
        StreamOptions {
            cancel: Some(cancel),
            thinking: Some(ThinkingLevel::Off),
            max_output_tokens: Some(self.config.max_summary_tokens()),
            model: model.map(str::to_owned),
        }
    }

    /// Fills the user prompt; a summary so far that is longer than the part leaves room for is clipped in the
    /// middle.
    fn prompt(&self, room: Room<'_>, previous: &str, part: &str) -> String {
        let max_bytes = room.beside(part.len()).max(room.summary_bytes());
        let mut previous_safe = String::new();
        neutralise_into(&mut previous_safe, &text::clip(previous.trim(), max_bytes));
        let previous = without_tags(&previous_safe, &self.tags);
        filled(&self.config.summarizer_user_prompt, &previous, &without_tags(part, &self.tags))
    }
}

fn locked(cost: &Mutex<Cost>) -> MutexGuard<'_, Cost> {
    cost.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request on its way; what it cost is added to the whole when it is dropped, whatever came of it.
struct Billed<'a> {
    cost: &'a Mutex<Cost>,
    heard: Heard,
}

impl Drop for Billed<'_> {
    fn drop(&mut self) {
        let mut cost = locked(self.cost);
        cost.usage = cost.usage.plus(self.heard.usage);
    }
}

impl<'a> Billed<'a> {
    fn request(cost: &'a Mutex<Cost>) -> Self {
        locked(cost).n_requests += 1;
        Self { cost, heard: Heard::default() }
    }

    fn usage(&self) -> Usage {
        self.heard.usage
    }

    /// Accepts a complete reply with text that keeps to its limit.
    fn judged(mut self, max_bytes: usize) -> Result<String, SummarizerError> {
        let text = self.heard.take_text()?;
        if text.len() > max_bytes { Err(SummarizerError::TooLong) } else { Ok(text) }
    }
}

impl From<Unusable> for SummarizerError {
    fn from(reason: Unusable) -> Self {
        match reason {
            Unusable::Failed(why) => Self::inference(&why),
            Unusable::Cancelled => Self::inference("the request was cancelled"),
            Unusable::Refused => Self::inference("the model refused"),
            Unusable::Truncated => Self::Truncated,
            Unusable::Blank => Self::EmptySummary,
        }
    }
}

/// Fills both placeholders in one pass, so that those inside of what is filled in stay text.
fn filled(template: &str, previous: &str, messages: &str) -> String {
    let mut out = String::with_capacity(template.len() + previous.len() + messages.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (filling, after) = if let Some(after) = from.strip_prefix(MESSAGES_PLACEHOLDER) {
            (messages, after)
        } else if let Some(after) = from.strip_prefix(PREVIOUS_SUMMARY_PLACEHOLDER) {
            (previous, after)
        } else {
            from.split_at(1)
        };
        out.push_str(filling);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Longest tag in bytes and most tags that are looked for in a user prompt.
const MAX_TAG_BYTES: usize = 64;
const MAX_TAGS: usize = 16;

/// Returns the names of the tags of a prompt, such as `new-conversation`.
fn tags_of(prompt: &str) -> Vec<String> {
    let tag = |from: &str| {
        let (name, _) = from.split_once('>')?;
        let name = name.strip_prefix('/').unwrap_or(name);
        let is_tag = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let named = !name.is_empty() && name.len() <= MAX_TAG_BYTES && name.chars().all(is_tag);
        named.then(|| name.to_owned())
    };
    let mut tags: Vec<String> = prompt.split('<').skip(1).filter_map(tag).collect();
    tags.dedup();
    tags.truncate(MAX_TAGS);
    tags
}

/// Writes the tags in a text with square brackets, as a model may read them; the text keeps its length.
fn without_tags<'a>(text: &'a str, tags: &[String]) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('<') {
        let Some(end) = tag_end(text, at, tags).filter(|_| at >= copied) else { continue };
        out.push_str(&text[copied..at]);
        out.push('[');
        out.push_str(&text[at + 1..end - 1]);
        out.push(']');
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_in_what_is_filled_in_stays_text() {
        let template = "{ {previous_summary} | {messages} | {other} {";
        let filled = filled(template, "p {messages}", "m {previous_summary} {messages}");
        assert_eq!(filled, "{ p {messages} | m {previous_summary} {messages} | {other} {");
    }

    #[test]
    fn only_plain_tags_of_the_prompt_are_tags() {
        let prompt = "a < b <old-one>{previous_summary}</old-one> <x y> <> </> <2>{messages}";
        assert_eq!(tags_of(prompt), ["old-one", "2"]);
        assert!(tags_of(&format!("<{}>", "x".repeat(MAX_TAG_BYTES + 1))).is_empty());
        let many = (0..100).map(|n| format!("<t{n}>")).collect::<Vec<_>>().concat();
        assert_eq!(tags_of(&many).len(), MAX_TAGS);
    }

    #[test]
    fn tags_in_a_text_lose_their_brackets_and_the_text_keeps_its_length() {
        let tags = tags_of("<s>{messages}</s>");
        let text = "é<<s></S>ü<t>< / s ></s";
        let safe = without_tags(text, &tags);
        assert_eq!(safe, "é<[s][/S]ü<t>[ / s ]</s");
        assert_eq!(safe.len(), text.len());
        assert!(matches!(without_tags("<t>", &tags), Cow::Borrowed(_)));
    }
}
