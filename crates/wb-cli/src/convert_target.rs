//! What a session can be written as.

use clap::ValueEnum;
use wb_dialect::Dialect;

/// A format that is written from messages alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Messages of our own as JSON lines
    Native,
    /// A request to Anthropic's Messages
    Anthropic,
    /// A request to `OpenAI`'s Chat Completions
    Openai,
    /// A request to `OpenAI`'s Responses
    OpenaiResponses,
    /// A request to Gemini's `generateContent`
    Gemini,
}

impl Target {
    /// Returns whose request it is; none for messages of our own.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Native => None,
            Self::Anthropic => Some(Dialect::Anthropic),
            Self::Openai => Some(Dialect::OpenaiChat),
            Self::OpenaiResponses => Some(Dialect::OpenaiResponses),
            Self::Gemini => Some(Dialect::Gemini),
        }
    }
}
