//! In which dialects the sessions of a format are sent.

use wb_dialect::{Dialect, Encoded, Violation};
use wb_message::Message;
use wb_record::Format;

use crate::formats::anthropic_messages::AnthropicMessages;
use crate::formats::gemini_contents::GeminiContents;
use crate::formats::openai_chat::OpenaiChat;
use crate::formats::openai_responses::OpenaiResponses;

/// Returns the dialects in which an agent sends its sessions, or sessions of its format are sent, by the name of the format:
/// all where it asks several providers.
pub fn dialects_of(format: &str) -> &'static [Dialect] {
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
        _ => &Dialect::ALL,
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

/// Returns what providers would refuse of the next request of a session; the violations name its messages.
pub fn violations_of(messages: &[Message], dialects: &[Dialect]) -> Vec<Violation> {
    dialects.iter().flat_map(|dialect| Encoded::next_request(messages, *dialect).validate()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FORMATS;

    #[test]
    fn a_format_of_one_provider_is_known_by_its_name() {
        let of_one = FORMATS.iter().filter(|format| dialects_of(format.name()).len() == 1);
        assert_eq!(of_one.count(), 13, "each name of the table is the name of a format");
    }
}
