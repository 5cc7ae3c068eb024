//! From a conversation or a transcript to the part of a request that holds it.

mod common;
mod anthropic;
mod chat;
mod responses;
mod gemini;

use serde_json::{Map, Value};
use wb_message::{Conversation, Message, ToolDescriptor};

use crate::dialect::Dialect;
use crate::piece::{Piece, Round, Said, rounds_of_messages, rounds_of_turns, with_names_of};
use common::Entry;

/// What the user says next in a session that waits for it.
const NEXT_PROMPT: &str = "Go on.";

/// What an agent sends as it stands in its session, where others put it right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsItStands {
    /// The names of calls.
    pub names: bool,
    /// Empty texts, to Anthropic.
    pub empty_texts: bool,
    /// The order of results and of what the user says, in chat.
    pub order: bool,
}

/// A request, with the turn or message that each of its parts comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// The request.
    pub body: Value,
    /// The dialect it is in.
    pub dialect: Dialect,
    /// For each message of the request where its parts come from.
    origins: Vec<Vec<usize>>,
}

impl Encoded {
    /// Encodes a conversation; its parts come from turns.
    pub fn of_conversation(conversation: &Conversation, dialect: Dialect) -> Self {
        let mut rounds = rounds_of_turns(&conversation.turns);
        let tools = conversation.tools.as_deref().unwrap_or_default();
        with_names_of(&mut rounds, dialect, tools);
        Self::of(conversation.system.as_deref(), tools, &rounds, dialect, AsItStands::default())
    }

    /// Encodes a transcript; its parts come from messages. System and developer texts at its start become the system
    /// text.
    pub fn of_messages(messages: &[Message], dialect: Dialect) -> Self {
        let (system, mut rounds) = rounds_of_messages(messages, false);
        with_names_of(&mut rounds, dialect, &[]);
        Self::of(system.as_deref(), &[], &rounds, dialect, AsItStands::default())
    }

    /// Encodes the next request of a session, whose user says something where the model has spoken last.
    pub fn next_request(messages: &[Message], dialect: Dialect) -> Self {
        Self::next_request_with(messages, dialect, AsItStands::default())
    }

    /// Encodes the next request of a session whose agent sends some of it as it stands.
    pub fn next_request_with(messages: &[Message], dialect: Dialect, stands: AsItStands) -> Self {
        let stands =
            AsItStands { empty_texts: stands.empty_texts && dialect == Dialect::Anthropic, ..stands };
        let (system, mut rounds) = rounds_of_messages(messages, stands.empty_texts);
        if !stands.names {
            with_names_of(&mut rounds, dialect, &[]);
        }
        if rounds.last().is_some_and(|round| round.is_model) {
            let said = Piece { from: messages.len(), said: Said::Text(NEXT_PROMPT.into()) };
            rounds.push(Round { is_model: false, pieces: vec![said] });
        }
        Self::of(system.as_deref(), &[], &rounds, dialect, stands)
    }

    fn of(
        system: Option<&str>,
        tools: &[ToolDescriptor],
        rounds: &[Round<'_>],
        dialect: Dialect,
        stands: AsItStands,
    ) -> Self {
        let system = system.filter(|text| !text.trim().is_empty());
        let (mut body, entries) = match dialect {
            Dialect::Anthropic => {
                (anthropic::head(system, tools), anthropic::entries(rounds, stands.empty_texts))
            }
            Dialect::OpenaiChat => (chat::head(tools), chat::entries(system, rounds, stands.order)),
            Dialect::OpenaiResponses => (responses::head(system, tools), responses::entries(rounds)),
            Dialect::Gemini => (gemini::head(system, tools), gemini::entries(rounds)),
        };
        let (values, origins) = entries.into_iter().map(|Entry { value, from }| (value, from)).unzip();
        body.insert(dialect.messages_key().to_owned(), Value::Array(values));
        Self { body: Value::Object(body), dialect, origins }
    }

    /// Returns the turn or message that a part of a message of the request comes from.
    pub fn origin(&self, message: usize, part: Option<usize>) -> Option<usize> {
        let parts = self.origins.get(message)?;
        parts.get(part.unwrap_or(0)).or(parts.first()).copied()
    }
}

/// Returns the part of a request body that holds a conversation: system text, tools and messages.
///
/// There is no model, no limit and no stream flag in it. What says nothing is left out, turns of one side are put together
/// where the provider wants them so, results stand where it looks for them, and ids and names of calls get a shape that it takes.
/// Reasoning is sent back where its signature can be one of this provider; else it is left out.
pub fn encode(conversation: &Conversation, dialect: Dialect) -> Value {
    Encoded::of_conversation(conversation, dialect).body
}

/// A body that grows.
type Body = Map<String, Value>;
