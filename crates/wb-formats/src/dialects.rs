//! In which dialects the sessions of a format are sent.

use wb_dialect::Dialect;

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
