//! In which dialects of providers the messages of a session are sent.

use wb_budget::Family;
use wb_dialect::{Dialect, Encoded, Violation};
use wb_message::{Message, Pairing};
use wb_record::{Format, View};

use crate::formats::anthropic_messages::AnthropicMessages;
use crate::formats::gemini_contents::GeminiContents;
use crate::formats::openai_chat::OpenaiChat;
use crate::formats::openai_responses::OpenaiResponses;

/// The formats whose agents answer calls without a result themselves when they go on: seen of Codex 0.169.0.
const ANSWERS_CALLS: [&str; 1] = ["codex"];

/// How the messages of a session are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAs<'a> {
    /// The dialects.
    pub dialects: &'a [Dialect],
    /// Whether blocks with an empty text are sent as they stand, as far as it is known.
    pub has_empty_texts: bool,
    /// Whether the agent answers calls without a result itself when it goes on.
    pub answers_calls: bool,
}

impl SentAs<'static> {
    /// Returns how the messages of a view are sent.
    pub fn of(view: &View) -> Self {
        Self::by(view.format, view.model.as_deref())
    }

    /// Returns how an agent sends its sessions, or sessions of its format are sent, by the name of the format: where it
    /// asks several providers, in the dialects in which its model is asked, and in all if that is not known.
    pub fn by(format: &str, model: Option<&str>) -> Self {
        let dialects = match of_format(format) {
            [] => model.map_or(&Dialect::ALL[..], of_model),
            dialects => dialects,
        };
        let has_empty_texts = of_format(format) == [Dialect::Anthropic];
        Self { dialects, has_empty_texts, answers_calls: ANSWERS_CALLS.contains(&format) }
    }

    /// Returns how many calls the agent answers itself when it goes on.
    pub fn n_answered(&self, messages: &[Message]) -> usize {
        if self.answers_calls { Pairing::of(messages).dangling().len() } else { 0 }
    }
}

impl SentAs<'_> {
    /// Returns what providers would refuse of the next request of a session; the violations name its messages.
    pub fn violations(&self, messages: &[Message]) -> Vec<Violation> {
        let request = |dialect| match dialect {
            Dialect::Anthropic if self.has_empty_texts => Encoded::next_request_with_empty_texts(messages),
            _ => Encoded::next_request(messages, dialect),
        };
        let is_left = |it: &Violation| !(self.answers_calls && it.rule == "call-unanswered");
        self.dialects.iter().flat_map(|dialect| request(*dialect).validate()).filter(is_left).collect()
    }
}

/// Returns the dialect that a format has to do with, whatever the model; none where it is sent to several providers.
fn of_format(format: &str) -> &'static [Dialect] {
    match format {
        "claude-code" | "anthropic-messages" | "cline" => &[Dialect::Anthropic],
        "codex" | "openai-responses" => &[Dialect::OpenaiResponses],
        "openai-chat"
        | "mini-swe-agent"
        | "openhands-llm-completions"
        | "openhands-events"
        | "kimi-cli"
        | "kimi-code" => &[Dialect::OpenaiChat],
        "gemini-cli" | "gemini-contents" => &[Dialect::Gemini],
        _ => &[],
    }
}

/// Returns the dialects in which a model is asked: that of its own provider, and chat, which gateways speak.
fn of_model(id: &str) -> &'static [Dialect] {
    match Family::of_model(id) {
        Some(Family::Anthropic) => &[Dialect::Anthropic, Dialect::OpenaiChat],
        Some(Family::OpenAi) => &[Dialect::OpenaiChat, Dialect::OpenaiResponses],
        Some(Family::Other) if id.to_ascii_lowercase().contains("gemini") => {
            &[Dialect::OpenaiChat, Dialect::Gemini]
        }
        Some(Family::Other) => &[Dialect::Anthropic, Dialect::OpenaiChat, Dialect::OpenaiResponses],
        None => &Dialect::ALL,
    }
}

/// Returns the format that the requests of a dialect have.
pub fn format_of(dialect: Dialect) -> &'static dyn Format {
    match dialect {
        Dialect::Anthropic => &AnthropicMessages,
        Dialect::OpenaiChat => &OpenaiChat,
        Dialect::OpenaiResponses => &OpenaiResponses,
        Dialect::Gemini => &GeminiContents,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FORMATS;

    #[test]
    fn a_format_of_one_provider_is_known_by_its_name() {
        let of_one = FORMATS.iter().filter(|format| of_format(format.name()).len() == 1);
        assert_eq!(of_one.count(), 13, "each name of the table is the name of a format");
    }

    #[test]
    fn an_agent_of_several_providers_is_held_to_the_rules_of_those_that_have_its_model() {
        use Dialect::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        for (model, expected) in [
            (Some("claude-sonnet-4.5"), &[Anthropic, OpenaiChat][..]),
            (Some("openai/gpt-5.2-codex"), &[OpenaiChat, OpenaiResponses]),
            (Some("google/Gemini-3-pro"), &[OpenaiChat, Gemini]),
            (Some("grok-4"), &[Anthropic, OpenaiChat, OpenaiResponses]),
            (Some("model-1"), &Dialect::ALL),
            (None, &Dialect::ALL),
        ] {
            assert_eq!(SentAs::by("copilot-cli", model).dialects, expected, "{model:?}");
        }
        assert_eq!(SentAs::by("codex", Some("claude-opus-4-6")).dialects, [OpenaiResponses]);
    }
}
