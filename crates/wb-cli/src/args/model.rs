//! The command line of a model that writes the digest.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use wb_budget::Prices;

use crate::args::values::{prices, prices_option, window};
use crate::terminal::escape::shell_word;

/// The model that writes the digest; without one, `wb` builds it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Let a model write the digest, such as anthropic:claude-haiku-4-5
    ///
    /// PROVIDER is anthropic, openai, openai-responses, gemini, or openai-compatible for any server
    /// with Chat Completions. The messages to summarize are sent there, even with --dry-run, at
    /// your cost. If the model's digest is unusable, `wb` builds one locally and the report says
    /// why.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: Option<ModelName>,
    /// Base URL, such as `http://localhost:11434/v1` [default: the provider]
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,
    /// Read the key from FILE [default: the provider's environment variable]
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) key_file: Option<PathBuf>,
    /// Send the key over plain http to another machine
    ///
    /// Everyone between can read it and the messages.
    #[arg(long, requires = "model")]
    pub(crate) insecure: bool,
    /// Additional instructions for the digest
    #[arg(long, value_name = "TEXT", requires = "model")]
    pub(crate) instructions: Option<String>,
    /// Context window of the model [default: from `wb models`]
    #[arg(long, value_name = "TOKENS", requires = "model", value_parser = window, allow_negative_numbers = true)]
    pub(crate) model_window: Option<u64>,
    /// Prices, such as input=1,output=5 [default: from `wb models`]
    ///
    /// In US dollars per million tokens.
    #[arg(long, value_name = "PRICES", requires = "model", value_parser = prices)]
    pub(crate) price: Option<Prices>,
}

/// A model by the name that its provider knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelName {
    pub(crate) provider: String,
    pub(crate) model: String,
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':').map(|(provider, model)| (provider.trim(), model.trim())) {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
            }
            _ => Err("expected a provider and a model, as in gemini:MODEL".to_owned()),
        }
    }
}

impl ModelArgs {
    /// Returns the options of a command line that name this model, each after a space.
    pub(crate) fn options(&self) -> String {
        let option = |name: &str, value: Option<String>| {
            value.map_or_else(String::new, |value| format!(" --{name} {}", shell_word(&value)))
        };
        [
            option("model", self.model.as_ref().map(ToString::to_string)),
            option("base-url", self.base_url.clone()),
            option("key-file", self.key_file.as_ref().map(|path| path.display().to_string())),
            option("instructions", self.instructions.clone()),
            option("model-window", self.model_window.map(|window| window.to_string())),
            option("price", self.price.as_ref().map(prices_option)),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_with_its_provider() {
        let name: ModelName = "openai-compatible:llama3:8b".parse().unwrap();
        assert_eq!((name.provider.as_str(), name.model.as_str()), ("openai-compatible", "llama3:8b"));
        assert_eq!(name.to_string(), "openai-compatible:llama3:8b");
        for text in ["", "gemini", "gemini: ", ":llama3"] {
            assert!(text.parse::<ModelName>().unwrap_err().contains("as in gemini:MODEL"), "{text}");
        }
    }
}
