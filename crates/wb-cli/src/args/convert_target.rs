//! The formats that a session can be converted to.

use clap::ValueEnum;
use wb_dialect::Dialect;
use wb_formats::Agent;

/// A format that is written from messages alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Messages of wb as JSON lines
    Native,
    /// An Anthropic Messages request body
    Anthropic,
    #[value(help = "An OpenAI Chat Completions request body")]
    Openai,
    #[value(help = "An OpenAI Responses request body")]
    OpenaiResponses,
    #[value(help = "A Gemini generateContent request body")]
    Gemini,
    /// A new Claude Code session
    ClaudeCode,
    /// A new Codex session
    Codex,
    /// A new pi session
    Pi,
}

impl Target {
    /// Returns whose session it is; none for requests and messages of our own.
    pub(crate) fn agent(self) -> Option<Agent> {
        match self {
            Self::ClaudeCode => Some(Agent::ClaudeCode),
            Self::Codex => Some(Agent::Codex),
            Self::Pi => Some(Agent::Pi),
            _ => None,
        }
    }

    /// Returns whose request it is; none for sessions and messages of our own.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Native | Self::ClaudeCode | Self::Codex | Self::Pi => None,
            Self::Anthropic => Some(Dialect::Anthropic),
            Self::Openai => Some(Dialect::OpenaiChat),
            Self::OpenaiResponses => Some(Dialect::OpenaiResponses),
            Self::Gemini => Some(Dialect::Gemini),
        }
    }
}
