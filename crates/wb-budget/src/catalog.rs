//! The catalog of known models, with the date and the source of each figure.
//!
//! The table is `data/models.json`; `cargo xtask catalog` checks it. Hosts may override entries.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::card::{ModelCard, Prices};

/// The window of an unknown model in tokens: that of the models that most agents run.
pub const DEFAULT_WINDOW: u64 = 200_000;

const TABLE: &str = include_str!("../data/models.json");

static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| Catalog::from_json(TABLE).unwrap_or_default());

/// The known facts about a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CatalogEntry {
    /// The facts for a budget.
    #[serde(flatten)]
    pub card: ModelCard,
    /// Other ids of the same model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The rules of the provider's cache, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheRules>,
    /// The prices of long prompts, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_prompts: Option<LongPrompts>,
    /// The vocabulary such as `o200k_base`, if public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// The form of its requests: `anthropic`, `openai`, `openai-responses` or `gemini`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dialect: String,
    /// The web pages with the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The date of the figures, such as `2026-01-31`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub as_of: String,
    /// The announced date of the model's retirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
}

/// The lifetime of a provider's cache, and the price of a longer one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CacheRules {
    /// Seconds after the last use; [`Prices::write`] is the price of this lifetime.
    pub life_seconds: u64,
    /// Seconds of the longer lifetime, 0 if there is none.
    pub long_life_seconds: u64,
    /// The price of a million tokens written for the longer lifetime, in US dollars.
    pub long_write: f64,
}

/// The prices of requests with long prompts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LongPrompts {
    /// The prompt length in tokens above which these prices apply, to all tokens of the prompt.
    pub above_tokens: u64,
    /// The prices.
    pub prices: Prices,
}

impl CatalogEntry {
    /// Returns the prices of a request with `prompt_tokens`.
    pub fn prices_at(&self, prompt_tokens: u64) -> Option<&Prices> {
        let long = self.long_prompts.as_ref().filter(|long| prompt_tokens > long.above_tokens);
        long.map(|long| &long.prices).or(self.card.prices.as_ref())
    }

    fn is_named(&self, id: &str) -> bool {
        self.card.id == id || self.aliases.iter().any(|alias| alias == id)
    }
}

/// No entry matches a model's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model {id:?} is not in the catalog{}: a window of {DEFAULT_WINDOW} tokens and no prices are assumed",
    Suggestion(near.as_deref())
)]
pub struct UnknownModel {
    /// The unknown id.
    pub id: String,
    /// An id of the catalog with a similar beginning.
    pub near: Option<String>,
}

struct Suggestion<'a>(Option<&'a str>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, " ({near} is)"))
    }
}

/// The known models, sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// The entries.
    pub models: Vec<CatalogEntry>,
}

impl Catalog {
    /// Returns the built-in catalog.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Parses a table in the form of `data/models.json`.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Overrides entries: a known id keeps the fields that the override leaves out.
    #[must_use]
    pub fn with_overrides(mut self, entries: impl IntoIterator<Item = ModelOverride>) -> Self {
        for entry in entries {
            let at = self.models.binary_search_by(|model| model.card.id.as_str().cmp(&entry.id));
            let at = at.unwrap_or_else(|at| {
                let known = self.find(&entry.id).cloned().unwrap_or_default();
                let card = ModelCard { id: entry.id.clone(), ..known.card };
                self.models.insert(at, CatalogEntry { card, aliases: Vec::new(), ..known });
                at
            });
            entry.apply_to(&mut self.models[at]);
        }
        self
    }

    /// Finds a model by its id as providers, gateways and agents write it.
    ///
    /// The forms are tried in this order, then again without a gateway's prefix (`anthropic/`,
    /// `models/`, `us.anthropic.`): the id or an alias verbatim; without an agent's suffix (`[1m]`,
    /// `:thinking`); without a date or version at the end (`-20250929`, `@20250929`, `-2025-04-14`,
    /// `-v1:0`, `-latest`), where a dot counts as a hyphen.
    pub fn find(&self, id: &str) -> Option<&CatalogEntry> {
        let id = id.trim().to_ascii_lowercase();
        forms(&id).into_iter().find_map(|form| self.named(form))
    }

    /// Finds a model; the error states the defaults for an unknown one.
    pub fn look_up(&self, id: &str) -> Result<&CatalogEntry, UnknownModel> {
        self.find(id).ok_or_else(|| UnknownModel { id: id.to_owned(), near: self.similar_id(id) })
    }

    fn named(&self, id: &str) -> Option<&CatalogEntry> {
        if id.is_empty() {
            return None;
        }
        let exact = self.models.iter().find(|model| model.is_named(id));
        exact.or_else(|| {
            let hyphens = id.replace('.', "-");
            self.models.iter().find(|model| model.card.id.replace('.', "-") == hyphens)
        })
    }

    /// Returns the id with the longest common prefix, if that is more than the maker's name.
    fn similar_id(&self, id: &str) -> Option<String> {
        let id = base(id).to_ascii_lowercase();
        let shared = |other: &str| other.bytes().zip(id.bytes()).take_while(|(one, two)| one == two).count();
        let ids = self.models.iter().map(|model| model.card.id.as_str());
        let best = ids.max_by_key(|other| shared(other))?;
        (shared(best) >= id.len().div_ceil(2).max(4)).then(|| best.to_owned())
    }
}

/// A model in settings; missing fields keep the catalog's values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ModelOverride {
    /// The model's id; in settings, the name of the table.
    #[serde(skip)]
    pub id: String,
    /// The context window in tokens.
    pub context_window: Option<u64>,
    /// The most tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// Prompt tokens outside the cache, in US dollars per million.
    pub input: Option<f64>,
    /// Prompt tokens read from the cache; defaults to `input` if that is given.
    pub cached: Option<f64>,
    /// Prompt tokens written to the cache; defaults to `input` if that is given.
    pub write: Option<f64>,
    /// Tokens of the answer.
    pub output: Option<f64>,
}

impl ModelOverride {
    fn apply_to(&self, entry: &mut CatalogEntry) {
        // Settings have no date and no source.
        (entry.as_of, entry.sources) = (String::new(), Vec::new());
        let card = &mut entry.card;
        card.context_window = self.context_window.unwrap_or(card.context_window);
        card.max_output_tokens = self.max_output_tokens.unwrap_or(card.max_output_tokens);
        if [self.input, self.cached, self.write, self.output].iter().all(Option::is_none) {
            return;
        }
        // Prices in settings apply to every prompt.
        entry.long_prompts = None;
        let old = card.prices.take().unwrap_or_default();
        let or_input = |price: Option<f64>, old: f64| price.or(self.input).unwrap_or(old);
        card.prices = Some(Prices {
            input: self.input.unwrap_or(old.input),
            cached: or_input(self.cached, old.cached),
            write: or_input(self.write, old.write),
            output: self.output.unwrap_or(old.output),
            as_of: String::new(),
        });
    }
}

/// Removes a gateway's prefix.
fn base(id: &str) -> &str {
    let id = id.rsplit('/').next().unwrap_or(id);
    ["us.", "eu.", "apac.", "global."].iter().find_map(|region| id.strip_prefix(region)).map_or_else(
        || id.strip_prefix("anthropic.").unwrap_or(id),
        |rest| rest.strip_prefix("anthropic.").unwrap_or(rest),
    )
}

/// Returns the forms of an id to look up, the most exact first.
fn forms(id: &str) -> Vec<&str> {
    let mut forms = Vec::new();
    for id in [id, base(id)] {
        let bare = without_suffix(id);
        forms.extend([id, bare, without_version(bare)]);
    }
    forms
}

/// Removes a suffix added by an agent or a gateway.
fn without_suffix(id: &str) -> &str {
    let id = id.strip_suffix("[1m]").unwrap_or(id);
    let suffixes = [":thinking", ":free", ":beta", ":exacto"];
    suffixes.iter().find_map(|suffix| id.strip_suffix(suffix)).unwrap_or(id)
}

/// Removes a date, a version or `-latest` from the end of an id.
fn without_version(id: &str) -> &str {
    let id = id.strip_suffix("-latest").unwrap_or(id);
    let id = id
        .split_once("-v1")
        .filter(|(_, rest)| rest.is_empty() || rest.starts_with(':'))
        .map_or(id, |it| it.0);
    let is_date = |end: &str, shape: &str| {
        end.len() == shape.len()
            && end.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                _ => byte == shape,
            })
    };
    let shapes = ["-20000000", "@20000000", "-2000-00-00"];
    let cut = |shape: &str| {
        let at = id.len().checked_sub(shape.len())?;
        let end = id.get(at..)?;
        (is_date(end, &shape.replace('2', "0")) && end[1..].starts_with("20")).then(|| &id[..at])
    };
    shapes.into_iter().find_map(cut).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(id: &str) -> Option<&'static str> {
        Catalog::built_in().find(id).map(|entry| entry.card.id.as_str())
    }

    #[test]
    fn models_are_found_under_providers_and_gateways_ids() {
        for id in [
            "claude-opus-4-5",
            "claude-opus-4-5-20251101",
            "claude-opus-4-5@20251101",
            "claude-opus-4.5",
            "anthropic/claude-opus-4.5",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            "litellm_proxy/anthropic.claude-opus-4-5-20251101-v1:0",
            "Claude-Opus-4-5-latest",
            "openrouter/anthropic/claude-opus-4.5:thinking",
        ] {
            assert_eq!(id_of(id), Some("claude-opus-4-5"), "{id}");
        }
        assert_eq!(id_of("claude-opus-4-6[1m]"), Some("claude-opus-4-6"));
        assert_eq!(id_of("models/gemini-3-flash"), Some("gemini-3-flash-preview"));
        assert_eq!(id_of("gpt-4.1-2025-04-14"), Some("gpt-4.1"));
        assert_eq!(id_of("gpt-4o-mini-2024-07-18"), Some("gpt-4o-mini"));
    }

    #[test]
    fn other_models_do_not_match_known_ones() {
        for id in [
            "",
            "claude-opus-4",
            "claude-opus-4-5-fast",
            "gpt-5-audio",
            "gpt-4o-audio",
            "claude-opus-4-5-12345678",
            "o",
        ] {
            assert_eq!(id_of(id), None, "{id}");
        }
    }

    #[test]
    fn an_unknown_model_is_reported_with_the_defaults() {
        let error = Catalog::built_in().look_up("claude-opus-4-9").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model \"claude-opus-4-9\" is not in the catalog (claude-opus-4-8 is): a window of 200000 tokens and \
             no prices are assumed"
        );
        assert_eq!(Catalog::built_in().look_up("my-model").unwrap_err().near, None);
    }

    #[test]
    fn settings_override_the_catalog() {
        let smaller = ModelOverride {
            id: "claude-opus-4-6".into(),
            context_window: Some(200_000),
            ..Default::default()
        };
        let custom = ModelOverride {
            id: "my-model".into(),
            input: Some(2.0),
            output: Some(8.0),
            ..Default::default()
        };
        let dated =
            ModelOverride { id: "claude-sonnet-4-5-20250929".into(), input: Some(6.0), ..Default::default() };
        let catalog = Catalog::built_in().clone().with_overrides([smaller, custom, dated]);
        let opus = catalog.find("claude-opus-4-6").unwrap();
        assert_eq!((opus.card.context_window, opus.card.prices.as_ref().unwrap().input), (200_000, 5.0));
        let mine = catalog.find("vllm/my-model").unwrap().card.prices.clone().unwrap();
        assert_eq!((mine.cached, mine.write, mine.output), (2.0, 2.0, 8.0));
        let sonnet = catalog.find("claude-sonnet-4-5-20250929").unwrap();
        assert_eq!((sonnet.card.context_window, sonnet.card.prices.as_ref().unwrap().input), (200_000, 6.0));
        let undated = catalog.find("claude-sonnet-4-5");
        assert_eq!(undated, Catalog::built_in().find("claude-sonnet-4-5"));
    }

    #[test]
    fn a_long_prompt_has_separate_prices() {
        let haiku = Catalog::built_in().find("claude-haiku-5-5").unwrap();
        let input = |prompt_tokens| haiku.prices_at(prompt_tokens).unwrap().input;
        assert_eq!((input(100_000), input(100_001)), (0.1, 0.5));
    }

    #[test]
    fn the_table_is_valid() {
        let table = Catalog::from_json(TABLE).unwrap();
        assert!(table.models.len() > 30);
        assert_eq!(*Catalog::built_in(), table);
    }
}
