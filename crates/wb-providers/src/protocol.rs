//! The differences between protocols: URLs, headers, parameters and events.

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

/// A protocol for models over HTTP.
pub(crate) trait Protocol: Send + Sync + fmt::Debug {
    fn dialect(&self) -> Dialect;

    /// Returns the environment variables for the key.
    fn key_names(&self) -> &'static [&'static str];

    /// Returns whether requests need a key.
    fn needs_key(&self) -> bool {
        true
    }

    /// Returns the default base URL.
    fn base_url(&self) -> &'static str;

    /// Returns the path segments below the base, and the query.
    fn path(&self, model: &str) -> (Vec<String>, Option<&'static str>);

    /// Returns the header with the key, unless no header can hold it.
    fn key_header(&self, key: &Key) -> Option<(HeaderName, HeaderValue)>;

    /// Returns the headers of every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns whether a model of this name reasons before it answers.
    fn reasons(&self, model: &str) -> bool;

    /// Adds the parameters to a request body.
    fn fill(&self, body: &mut Map<String, Value>, params: &RequestParams<'_>);

    /// Adds an event to the answer.
    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure>;
}

/// The parameters of a request, apart from the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestParams<'a> {
    /// The provider's name of the model.
    pub(crate) model: &'a str,
    /// The limit for the visible answer.
    pub(crate) visible_tokens: Option<u64>,
    /// The level of thinking; `None` is the provider's default.
    pub(crate) thinking: Option<ThinkingLevel>,
    /// True if the model reasons.
    pub(crate) reasons: bool,
    /// True if the provider should cache the prompt.
    pub(crate) prompt_cache: bool,
    /// The model's output limit in tokens; 0 if unknown.
    pub(crate) max_output_tokens: u64,
}

impl RequestParams<'_> {
    /// Returns the level of thinking if the model reasons.
    pub(crate) fn level(&self) -> Option<ThinkingLevel> {
        self.thinking.filter(|_| self.reasons)
    }

    /// Returns the tokens to reserve for reasoning, for providers that count it as output.
    pub(crate) fn thinking_tokens(&self) -> u64 {
        match (self.reasons, self.thinking) {
            (false, _) | (true, Some(ThinkingLevel::Off)) => 0,
            (true, level) => level.unwrap_or(ThinkingLevel::Medium).reserve_tokens(),
        }
    }

    /// Returns the limit for the visible answer and reasoning together.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        let most = if self.max_output_tokens == 0 { u64::MAX } else { self.max_output_tokens };
        Some(self.visible_tokens?.saturating_add(self.thinking_tokens()).clamp(1, most))
    }

    /// Returns the level of thinking in the words that providers share.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        Some(match self.level()? {
            ThinkingLevel::Off | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::Max => "high",
        })
    }
}

/// Parses the data of an event.
pub(crate) fn parse_json(event: &SseEvent) -> Result<Value, Failure> {
    serde_json::from_str(&event.data)
        .map_err(|error| Failure::permanent(format!("the stream holds malformed JSON: {error}")))
}

/// Returns the text at a JSON pointer, empty if it is missing.
pub(crate) fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number at a JSON pointer.
pub(crate) fn number_at(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path).and_then(Value::as_u64)
}

/// Creates the usage from a provider whose prompt count includes cached tokens.
pub(crate) fn usage_with_cached(prompt: u64, cached: Option<u64>, output: u64) -> Usage {
    let input_tokens = prompt.saturating_sub(cached.unwrap_or(0));
    Usage { input_tokens, output_tokens: output, cache_read_tokens: cached, cache_write_tokens: None }
}

/// Returns the number after a prefix: the major version of `gpt-5.1` is 5.
pub(crate) fn version_after(model: &str, prefix: &str) -> Option<u32> {
    let rest = model.strip_prefix(prefix)?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..n_digits].parse().ok()
}
