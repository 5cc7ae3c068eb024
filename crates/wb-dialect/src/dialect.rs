//! The four ways in which providers are asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The protocol in which a provider is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// The Messages API of Anthropic.
    Anthropic,
    /// Chat Completions of `OpenAI`, which many others speak too.
    #[serde(rename = "openai")]
    OpenaiChat,
    /// The Responses API of `OpenAI`.
    OpenaiResponses,
    /// `generateContent` of Gemini.
    Gemini,
}

/// A name that no dialect has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no dialect is named `{0}`; there are anthropic, openai, openai-responses and gemini")]
pub struct UnknownDialectError(String);

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini];

    /// Returns the name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the key of a request under which its messages stand.
    pub fn messages_key(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenaiChat => "messages",
            Self::OpenaiResponses => "input",
            Self::Gemini => "contents",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialectError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| UnknownDialectError(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_read_from_its_name_and_written_as_it() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse(), Ok(dialect));
            assert_eq!(serde_json::to_value(dialect).unwrap(), dialect.name());
        }
        assert!("claude".parse::<Dialect>().unwrap_err().to_string().contains("`claude`"));
    }
}
