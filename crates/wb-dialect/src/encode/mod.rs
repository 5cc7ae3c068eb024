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
        Self::of(conversation.system.as_deref(), tools, &rounds, dialect, false)
    }

    /// Encodes a transcript; its parts come from messages. System and developer texts at its start become the system
    /// text.
    pub fn of_messages(messages: &[Message], dialect: Dialect) -> Self {
        let (system, mut rounds) = rounds_of_messages(messages, false);
        with_names_of(&mut rounds, dialect, &[]);
        Self::of(system.as_deref(), &[], &rounds, dialect, false)
    }

    /// Encodes the next request of a session, whose user says something where the model has spoken last.
    pub fn next_request(messages: &[Message], dialect: Dialect) -> Self {
        let (system, mut rounds) = rounds_of_messages(messages, false);
        with_names_of(&mut rounds, dialect, &[]);
        Self::next(system.as_deref(), rounds, messages.len(), dialect, false)
    }

    /// Encodes the next request of a session whose agent sends the names of calls as they stand, and Anthropic also empty
    /// texts if it is so.
    pub fn next_request_as_it_stands(messages: &[Message], dialect: Dialect, has_empty: bool) -> Self {
        let (system, rounds) = rounds_of_messages(messages, has_empty);
        Self::next(system.as_deref(), rounds, messages.len(), dialect, has_empty)
    }

    fn next(
        system: Option<&str>,
        mut rounds: Vec<Round<'_>>,
        n_messages: usize,
        dialect: Dialect,
        has_empty: bool,
    ) -> Self {
        if rounds.last().is_some_and(|round| round.is_model) {
            let said = Piece { from: n_messages, said: Said::Text(NEXT_PROMPT.into()) };
            rounds.push(Round { is_model: false, pieces: vec![said] });
        }
        Self::of(system, &[], &rounds, dialect, has_empty)
    }

    fn of(
        system: Option<&str>,
        tools: &[ToolDescriptor],
        rounds: &[Round<'_>],
        dialect: Dialect,
        has_empty: bool,
    ) -> Self {
        let system = system.filter(|text| !text.trim().is_empty());
        let (mut body, entries) = match dialect {
            Dialect::Anthropic => (anthropic::head(system, tools), anthropic::entries(rounds, has_empty)),
            Dialect::OpenaiChat => (chat::head(tools), chat::entries(system, rounds)),
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
