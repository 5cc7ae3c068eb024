//! The provider dialects in which a session's messages are sent.

use wb_budget::Family;
use wb_dialect::{Dialect, EncodedRequest, RefusedPicture, VerbatimParts, Violation, call_name};
use wb_message::{Message, Pairing};
use wb_record::{Document, Format, View};

use crate::formats::{AnsweredCalls, VERBATIM_NAMES, row_of};
use crate::requests::anthropic_messages::AnthropicMessages;
use crate::requests::gemini_contents::GeminiContents;
use crate::requests::openai_chat::OpenaiChat;
use crate::requests::openai_responses::OpenaiResponses;
use crate::server_pairs::unpaired_blocks;

impl AnsweredCalls {
    /// Returns whether the agent answers the calls of a message.
    fn has(self, at: usize, messages: &[Message]) -> bool {
        match self {
            Self::None => false,
            Self::LastMessage => at + 1 == messages.len(),
            Self::All => true,
        }
    }
}

/// The way in which the messages of a session are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAs<'a> {
    /// The dialects.
    pub dialects: &'a [Dialect],
    /// The parts that the agent is known to send verbatim.
    pub verbatim: VerbatimParts,
    /// The calls without a result that the agent answers itself.
    answered_calls: AnsweredCalls,
}

impl SentAs<'static> {
    /// Returns how the messages of a view are sent.
    pub fn from_view(view: &View) -> Self {
        Self::from_format(view.format, view.model.as_deref())
    }

    /// Returns how sessions of a format are sent: in its own dialects, or if several providers take
    /// them, in those of the model, and in all if the model is not known.
    pub fn from_format(format: &str, model: Option<&str>) -> Self {
        let row = row_of(format);
        let of_format = row.map_or(&[][..], |row| row.dialects);
        let dialects =
            if of_format.is_empty() { model.map_or(&Dialect::ALL[..], of_model) } else { of_format };
        let of_row = row.map_or(VERBATIM_NAMES, |row| row.verbatim);
        let empty_texts = of_row.empty_texts || of_format == [Dialect::Anthropic];
        let verbatim = VerbatimParts { empty_texts, ..of_row };
        let answered_calls = row.map_or(AnsweredCalls::None, |row| row.answered_calls);
        Self { dialects, verbatim, answered_calls }
    }
}

impl SentAs<'_> {
    /// Returns the number of calls that the agent answers itself when it resumes.
    pub fn n_answered(&self, messages: &[Message]) -> usize {
        let pairing = Pairing::new(messages);
        pairing.dangling().iter().filter(|call| self.answers(call.message as usize, messages)).count()
    }

    /// Limits the dialects to these, as if the messages were sent without the agent.
    #[must_use]
    pub fn in_dialects(self, dialects: &[Dialect]) -> SentAs<'_> {
        SentAs { dialects, answered_calls: AnsweredCalls::None, ..self }
    }

    /// Returns whether the agent answers the calls of a message itself when it resumes.
    pub(crate) fn answers(&self, at: usize, messages: &[Message]) -> bool {
        self.answered_calls.has(at, messages)
    }

    /// Returns a name of a call that all dialects accept.
    pub(crate) fn taken_name(&self, name: &str) -> String {
        self.dialects.iter().fold(name.to_owned(), |name, dialect| call_name(&name, *dialect).into_owned())
    }

    /// Returns the pictures that providers would refuse for their content.
    pub(crate) fn refused_pictures(&self, messages: &[Message]) -> Vec<RefusedPicture> {
        let request = |dialect| EncodedRequest::next_request_with(messages, dialect, self.verbatim);
        self.dialects.iter().flat_map(|dialect| request(*dialect).refused_pictures()).collect()
    }

    /// Returns what providers would refuse of the next request of a session; the violations name
    /// its messages.
    pub fn violations(&self, messages: &[Message]) -> Vec<Violation> {
        let request = |dialect| EncodedRequest::next_request_with(messages, dialect, self.verbatim);
        let is_answered = |at: usize| self.answers(at, messages);
        let is_left = |it: &Violation| it.rule != "call-unanswered" || !it.message.is_some_and(is_answered);
        self.dialects.iter().flat_map(|dialect| request(*dialect).validate()).filter(is_left).collect()
    }

    /// Returns what providers would refuse of the next request of a session, with calls and results
    /// of servers' tools, which its messages show as texts.
    pub fn violations_in(&self, document: &dyn Document, view: &View) -> Vec<Violation> {
        let mut found = self.server_violations(document, view);
        found.extend(self.violations(&view.messages));
        found.sort_by_key(|violation| violation.message);
        found
    }

    /// Returns the calls and results of servers' tools that would be refused, each without the
    /// other.
    pub fn server_violations(&self, document: &dyn Document, view: &View) -> Vec<Violation> {
        let found = self.has_server_tools().then(|| unpaired_blocks(document, view).unwrap_or_default());
        found.into_iter().flatten().map(|block| block.violation).collect()
    }

    /// Returns whether a dialect has rules on pairs of calls and results of servers' tools.
    pub(crate) fn has_server_tools(&self) -> bool {
        self.dialects.contains(&Dialect::Anthropic)
    }
}

/// Returns the dialects in which a model is offered: that of its provider, and chat, which gateways
/// use; in most of them if the provider is another.
fn of_model(id: &str) -> &'static [Dialect] {
    match Family::from_model_id(id) {
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
    use serde_json::json;
    use wb_message::Block;

    use super::*;

    #[test]
    fn the_answer_that_a_log_of_one_request_ends_with_may_call() {
        let call = |id: &str| Message::assistant_blocks(vec![Block::call(id, "ls", json!({}))]);
        let messages = [Message::user("look"), call("c1"), Message::user("well?"), call("c2")];
        for (format, n_answered, n_found) in
            [("openhands-llm-completions", 1, 1), ("codex", 2, 0), ("pi", 2, 0), ("mini-swe-agent", 0, 2)]
        {
            let sent = SentAs::from_format(format, None);
            let found = sent.violations(&messages).into_iter().filter(|it| it.rule == "call-unanswered");
            assert_eq!((sent.n_answered(&messages), found.count()), (n_answered, n_found), "{format}");
            let sent = sent.in_dialects(&[Dialect::OpenaiResponses]);
            assert_eq!((sent.n_answered(&messages), sent.violations(&messages).len()), (0, 2), "{format}");
        }
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
            assert_eq!(SentAs::from_format("copilot-cli", model).dialects, expected, "{model:?}");
        }
        assert_eq!(SentAs::from_format("codex", Some("claude-opus-4-6")).dialects, [OpenaiResponses]);
    }
}
