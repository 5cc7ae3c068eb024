//! Asks a model for a cumulative summary, with the prompts that a host configured.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use wb_message::{Message, text};

use crate::asker::{Cost, Question, Summarizer, ask_in_parts};
use crate::compaction_config::{
    CompactionConfig, CompactionConfigError, MESSAGES_PLACEHOLDER, PREVIOUS_SUMMARY_PLACEHOLDER,
};
use crate::flatten::{neutralise_into, tag_end};
use crate::invoker::ModelInvoker;
use crate::length::words_within;
use crate::reply::{NoDigest, ReplyText};
use crate::summarizer::{ContextSummarizer, ContextSummary, Room, SummarizerError, SummaryRequest};

/// Asks a model for the summary, with the prompts of a [`CompactionConfig`].
///
/// Each part is one request without tools; the summary of a part is the summary so far of the next. Where neither prompt
/// speaks of a length, half of the configured tokens are asked for as words. Of a reply that was cut off its whole
/// sentences are taken. A future that is dropped cancels its request.
#[derive(Clone)]
pub struct DefaultSummarizer {
    shared: Arc<Shared>,
}

struct Shared {
    by: Summarizer,
    config: CompactionConfig,
    /// The tags of the user prompt, which no text between them may hold.
    tags: Vec<String>,
    /// Follows the user prompt.
    length_note: String,
    cost: Mutex<Cost>,
}

impl fmt::Debug for DefaultSummarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DefaultSummarizer");
        shown.field("by", &self.shared.by).field("config", &self.shared.config);
        shown.field("cost", &self.cost()).finish_non_exhaustive()
    }
}

impl DefaultSummarizer {
    /// Builds a summarizer if the config is one that it can work with. The model has two minutes for each summary and
    /// thinks as is the [default](crate::AskOpts); [`by`](Self::by) sets both.
    pub fn new(
        invoker: Arc<dyn ModelInvoker>,
        config: CompactionConfig,
    ) -> Result<Self, CompactionConfigError> {
        Self::by(Summarizer::new(invoker), config)
    }

    /// Builds a summarizer that asks in the given way; the config's model, if it names one, is the one that is asked.
    pub fn by(by: Summarizer, config: CompactionConfig) -> Result<Self, CompactionConfigError> {
        let config = config.validated()?;
        let model = config.summary_model.as_deref().map(str::trim).filter(|model| !model.is_empty());
        let by = match model {
            Some(model) => by.model(Some(model.to_owned())),
            None => by,
        };
        let (tags, length_note) = (tags_of(&config.summarizer_user_prompt), length_note(&config));
        let shared = Shared { by, config, tags, length_note, cost: Mutex::default() };
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
        let card = self.shared.by.card();
        SummaryRequest::render(messages, previous, &self.shared.config, card.as_ref())
    }
}

impl Shared {
    async fn summarize(&self, request: SummaryRequest) -> Result<ContextSummary, SummarizerError> {
        let card = self.by.card();
        let asked = Asked { shared: self, room: Room::of(&self.config, card.as_ref()), request: &request };
        let mut own = Cost::default();
        let mut bill = |spent| {
            own.add(spent);
            locked(&self.cost).add(spent);
        };
        let invoker = self.by.invoker().as_ref();
        let summary = ask_in_parts(&asked, invoker, self.by.opts(), None, &mut bill).await?;
        Ok(ContextSummary { text: summary.text, usage: own.usage })
    }
}

/// One request to the summarizer.
struct Asked<'a> {
    shared: &'a Shared,
    room: Room<'a>,
    request: &'a SummaryRequest,
}

impl Question for Asked<'_> {
    fn system(&self) -> &str {
        &self.shared.config.summarizer_system_prompt
    }

    fn parts(&self) -> &[String] {
        &self.request.parts
    }

    fn max_output_tokens(&self) -> u64 {
        self.shared.config.max_summary_tokens()
    }

    fn max_reply_bytes(&self) -> usize {
        self.room.max_reply_bytes()
    }

    /// Fills the user prompt; a summary so far that is longer than the part leaves room for is clipped in the
    /// middle.
    fn prompt(&self, part: &str, so_far: Option<&str>) -> String {
        let Shared { config, tags, length_note, .. } = self.shared;
        let previous = so_far.or(self.request.previous_summary.as_deref()).unwrap_or_default();
        let max_bytes = self.room.beside(part.len()).max(self.room.summary_bytes());
        let mut previous_safe = String::new();
        neutralise_into(&mut previous_safe, &text::clip(previous.trim(), max_bytes));
        let previous = without_tags(&previous_safe, tags);
        filled(&config.summarizer_user_prompt, &previous, &without_tags(part, tags)) + length_note
    }

    fn judge(&self, reply: &ReplyText, _: Option<&str>) -> Result<String, NoDigest> {
        if reply.text.trim().len() > self.max_reply_bytes() {
            return Err(NoDigest::TooLong);
        }
        match reply.whole_sentences() {
            "" => Err(NoDigest::Truncated),
            text => Ok(text.to_owned()),
        }
    }
}

fn locked(cost: &Mutex<Cost>) -> MutexGuard<'_, Cost> {
    cost.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<NoDigest> for SummarizerError {
    fn from(reason: NoDigest) -> Self {
        match reason {
            NoDigest::Failed(why) => Self::inference(&why),
            NoDigest::TimedOut => Self::TimedOut,
            NoDigest::TooLong => Self::TooLong,
            NoDigest::Truncated => Self::Truncated,
            NoDigest::Blank => Self::EmptySummary,
            other => Self::inference(&other.to_string()),
        }
    }
}

/// In these a prompt says how long the summary is to be.
const MEASURES: [&str; 5] = ["words", "tokens", "sentences", "paragraphs", "characters"];

/// Returns what is added to the user prompt where neither prompt says how long the summary is to be.
fn length_note(config: &CompactionConfig) -> String {
    let says = |prompt: &str| {
        prompt
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| MEASURES.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    if says(&config.summarizer_system_prompt) || says(&config.summarizer_user_prompt) {
        return String::new();
    }
    let n_words = words_within(config.max_summary_tokens()).to_string();
    let note = include_str!("templates/summarizer_length.md").trim_ascii_end();
    ["\n\n", &note.replace("{n_words}", &n_words)].concat()
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
