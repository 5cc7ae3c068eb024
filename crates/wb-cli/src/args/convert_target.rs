//! The formats that a session can be converted to.

use clap::ValueEnum;
use wb_dialect::Dialect;
use wb_formats::Agent;

/// A format that is written from messages alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Messages of wb as JSON lines
    Native,
    /// A request to Anthropic's Messages
    Anthropic,
    /// A request to `OpenAI`'s Chat Completions
    Openai,
    /// A request to `OpenAI`'s Responses
    OpenaiResponses,
    /// A request to Gemini's `generateContent`
    Gemini,
    /// A new session of Claude Code
    ClaudeCode,
    /// A new session of Codex
    Codex,
    /// A new session of pi
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
