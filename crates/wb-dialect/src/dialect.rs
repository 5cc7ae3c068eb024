//! The four request protocols of model providers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A protocol of requests to model providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// The Messages API of Anthropic.
    Anthropic,
    /// Chat Completions of `OpenAI`, which many other providers accept.
    #[serde(rename = "openai")]
    OpenaiChat,
    /// The Responses API of `OpenAI`.
    OpenaiResponses,
    /// `generateContent` of Gemini.
    Gemini,
}

/// The error for an unknown dialect name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{0}`; expected one of anthropic, openai, openai-responses, gemini")]
pub struct UnknownDialectError(String);

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini];

    /// Returns the name that [`FromStr`] parses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the key of a request that holds its messages.
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
    fn dialects_parse_from_their_serialized_names() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse(), Ok(dialect));
            assert_eq!(serde_json::to_value(dialect).unwrap(), dialect.name());
        }
        assert!("claude".parse::<Dialect>().unwrap_err().to_string().contains("`claude`"));
    }
}
