//! Model cards, prices and reported usage.

use serde::{Deserialize, Serialize};

/// The facts about a model that a budget needs; addresses and modalities belong to the caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelCard {
    /// The provider's id of the model.
    pub id: String,
    /// The provider's name, such as `anthropic`.
    pub provider: String,
    /// The context window in tokens, prompt and answer together.
    pub context_window: u64,
    /// The most tokens of one answer; 0 if unknown.
    pub max_output_tokens: u64,
    /// Whether the model can reason before it answers.
    pub reasoning: bool,
    /// The prices, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// The prices of a million tokens in US dollars, by the four parts of a [`Usage`].
///
/// ```
/// use wb_budget::{Prices, Usage};
///
/// let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, as_of: "2026-01-31".into() };
/// let usage = Usage { input_tokens: 1_000_000, output_tokens: 100_000, ..Usage::EMPTY };
/// assert_eq!(prices.cost(&usage), 4.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    /// Prompt tokens outside the cache.
    pub input: f64,
    /// Prompt tokens read from the cache.
    pub cached: f64,
    /// Prompt tokens written to the cache.
    pub write: f64,
    /// Tokens of the answer.
    pub output: f64,
    /// The date of these prices, such as `2026-01-31`; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub as_of: String,
}

impl Prices {
    /// Returns the cost of a request in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.cache_read_tokens.unwrap_or(0), self.cached),
            (usage.cache_write_tokens.unwrap_or(0), self.write),
            (usage.output_tokens, self.output),
        ];
        parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6
    }
}

impl ModelCard {
    /// Builds a card with only a window, in tokens.
    pub fn with_window(context_window: u64) -> Self {
        Self { context_window, ..Self::default() }
    }
}

/// The tokens of one request as the provider counted them; the four parts are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Prompt tokens outside the cache.
    pub input_tokens: u64,
    /// Answer tokens, reasoning included.
    pub output_tokens: u64,
    /// Prompt tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
}

impl Usage {
    /// No tokens at all.
    pub const EMPTY: Self =
        Self { input_tokens: 0, output_tokens: 0, cache_read_tokens: None, cache_write_tokens: None };

    /// Adds the tokens of another request; a part unknown in both stays unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (None, None) => None,
            _ => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: add(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: add(self.cache_write_tokens, other.cache_write_tokens),
        }
    }

    /// Returns the tokens of the whole prompt: the input and both cache parts.
    pub fn prompt_tokens(&self) -> u64 {
        let cached = self.cache_read_tokens.unwrap_or(0).saturating_add(self.cache_write_tokens.unwrap_or(0));
        self.input_tokens.saturating_add(cached)
    }

    /// Returns the tokens of prompt and answer together.
    pub fn context_tokens(&self) -> u64 {
        self.prompt_tokens().saturating_add(self.output_tokens)
    }
}
