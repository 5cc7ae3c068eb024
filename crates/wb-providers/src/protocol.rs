//! What protocols differ in: where a request goes, what its body asks for, and how its events are read.

use std::fmt;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use wb_budget::Usage;
use wb_dialect::Dialect;
use wb_invoke::ThinkingLevel;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::key::Key;
use crate::sse::SseEvent;

/// One way of speaking to models over HTTP.
pub(crate) trait Protocol: Send + Sync + fmt::Debug {
    /// Returns how conversations are written.
    fn dialect(&self) -> Dialect;

    /// Returns the environment variables that hold its key.
    fn key_names(&self) -> &'static [&'static str];

    /// Tells whether nobody is served without a key.
    fn needs_key(&self) -> bool {
        true
    }

    /// Returns where requests go if nothing else is said.
    fn base_url(&self) -> &'static str;

    /// Returns the path below the base, in segments, and what follows a question mark.
    fn path(&self, model: &str) -> (Vec<String>, Option<&'static str>);

    /// Returns the header that carries the key; nothing for a key that no header can hold.
    fn key_header(&self, key: &Key) -> Option<(HeaderName, HeaderValue)>;

    /// Returns the headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Tells by its name whether a model reasons before it answers.
    fn reasons(&self, model: &str) -> bool;

    /// Adds what a request asks for beside the conversation.
    fn fill(&self, body: &mut Map<String, Value>, ask: &Ask<'_>);

    /// Takes an event into the answer.
    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure>;
}

/// What a request asks for beside the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// The model, by its name at the provider.
    pub(crate) model: &'a str,
    /// The most tokens of the visible answer.
    pub(crate) visible_tokens: Option<u64>,
    /// How much to think; none leaves it to the provider.
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Whether the model reasons.
    pub(crate) reasons: bool,
    /// Whether the prompt is to be kept in the provider's cache.
    pub(crate) prompt_cache: bool,
    /// The most tokens that the model can write; 0 if unknown.
    pub(crate) most_tokens: u64,
}

impl Ask<'_> {
    /// Returns how much the model is to think, if it can.
    pub(crate) fn level(&self) -> Option<ThinkingLevel> {
        self.thinking.filter(|_| self.reasons)
    }

    /// Returns how many tokens the reasoning may take, for a provider that counts them as part of the answer.
    pub(crate) fn thinking_tokens(&self) -> u64 {
        match (self.reasons, self.thinking) {
            (false, _) | (true, Some(ThinkingLevel::Off)) => 0,
            (true, level) => level.unwrap_or(ThinkingLevel::Medium).reserve_tokens(),
        }
    }

    /// Returns the most tokens of visible answer and reasoning together.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        let most = if self.most_tokens == 0 { u64::MAX } else { self.most_tokens };
        Some(self.visible_tokens?.saturating_add(self.thinking_tokens()).clamp(1, most))
    }

    /// Returns how much to think in the three words that providers share.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        Some(match self.level()? {
            ThinkingLevel::Off | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::Max => "high",
        })
    }
}

/// Reads the JSON of an event.
pub(crate) fn json_of(event: &SseEvent) -> Result<Value, Failure> {
    serde_json::from_str(&event.data)
        .map_err(|error| Failure::lasting(format!("the stream holds malformed JSON: {error}")))
}

/// Returns the text at a path; nothing there is an empty one.
pub(crate) fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number at a path, if one is there.
pub(crate) fn number_at(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path).and_then(Value::as_u64)
}

/// Counts the tokens of a provider that counts cached tokens as part of the prompt.
pub(crate) fn usage_of(prompt: u64, cached: Option<u64>, output: u64) -> Usage {
    let input_tokens = prompt.saturating_sub(cached.unwrap_or(0));
    Usage { input_tokens, output_tokens: output, cache_read_tokens: cached, cache_write_tokens: None }
}

/// Returns the number after a prefix: the major version of `gpt-5.1` is 5.
pub(crate) fn version_after(model: &str, prefix: &str) -> Option<u32> {
    let rest = model.strip_prefix(prefix)?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..n_digits].parse().ok()
}
