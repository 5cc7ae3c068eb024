//! Encodes a conversation or a transcript as part of a request.

mod common;
mod anthropic;
mod chat;
mod responses;
mod gemini;

use serde_json::{Map, Value};
use wb_message::{Conversation, Message, ToolDescriptor};

use crate::dialect::Dialect;
use crate::piece::{
    KeptEmpty, Piece, PieceKind, Round, reshape_call_names, rounds_from_messages, rounds_from_turns,
};
use common::Entry;

/// The user's text after a model's last answer.
const NEXT_PROMPT: &str = "Go on.";

/// The parts of a session that its agent sends verbatim, where other agents normalize them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerbatimParts {
    /// Call names.
    pub names: bool,
    /// Empty texts, with Anthropic; answers without content, in chat.
    pub empty_texts: bool,
    /// The order of results and user texts, in chat.
    pub order: bool,
}

/// A request that maps each of its parts to its source turn or message.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedRequest {
    /// The request.
    pub body: Value,
    /// The dialect of the request.
    pub dialect: Dialect,
    /// The sources of the parts, for each message of the request.
    origins: Vec<Vec<usize>>,
}

impl EncodedRequest {
    /// Encodes a conversation; the sources are its turns.
    pub fn from_conversation(conversation: &Conversation, dialect: Dialect) -> Self {
        let mut rounds = rounds_from_turns(&conversation.turns);
        let tools = conversation.tools.as_deref().unwrap_or_default();
        reshape_call_names(&mut rounds, dialect, tools);
        Self::from_rounds(conversation.system.as_deref(), tools, &rounds, dialect, VerbatimParts::default())
    }

    /// Encodes a transcript; the sources are its messages. System and developer texts at its start
    /// become the system text.
    pub fn from_messages(messages: &[Message], dialect: Dialect) -> Self {
        let (system, mut rounds) = rounds_from_messages(messages, KeptEmpty::Nothing);
        reshape_call_names(&mut rounds, dialect, &[]);
        Self::from_rounds(system.as_deref(), &[], &rounds, dialect, VerbatimParts::default())
    }

    /// Encodes the next request of a session; a user text follows unless the user spoke last.
    pub fn next_request(messages: &[Message], dialect: Dialect) -> Self {
        Self::next_request_with(messages, dialect, VerbatimParts::default())
    }

    /// Encodes the next request of a session whose agent sends some parts verbatim.
    pub fn next_request_with(messages: &[Message], dialect: Dialect, verbatim: VerbatimParts) -> Self {
        let kept = match dialect {
            Dialect::Anthropic if verbatim.empty_texts => KeptEmpty::Texts,
            Dialect::OpenaiChat if verbatim.empty_texts => KeptEmpty::Answers,
            _ => KeptEmpty::Nothing,
        };
        let verbatim = VerbatimParts { empty_texts: kept == KeptEmpty::Texts, ..verbatim };
        let (system, mut rounds) = rounds_from_messages(messages, kept);
        if !verbatim.names {
            reshape_call_names(&mut rounds, dialect, &[]);
        }
        if rounds.last().is_none_or(|round| round.is_model) {
            let prompt = Piece { from: messages.len(), kind: PieceKind::Text(NEXT_PROMPT.into()) };
            rounds.push(Round { is_model: false, pieces: vec![prompt] });
        }
        Self::from_rounds(system.as_deref(), &[], &rounds, dialect, verbatim)
    }

    fn from_rounds(
        system: Option<&str>,
        tools: &[ToolDescriptor],
        rounds: &[Round<'_>],
        dialect: Dialect,
        verbatim: VerbatimParts,
    ) -> Self {
        let system = system.filter(|text| !text.trim().is_empty());
        let (mut body, entries) = match dialect {
            Dialect::Anthropic => {
                (anthropic::head(system, tools), anthropic::entries(rounds, verbatim.empty_texts))
            }
            Dialect::OpenaiChat => (chat::head(tools), chat::entries(system, rounds, verbatim.order)),
            Dialect::OpenaiResponses => (responses::head(system, tools), responses::entries(rounds)),
            Dialect::Gemini => (gemini::head(system, tools), gemini::entries(rounds)),
        };
        let (values, origins) = entries.into_iter().map(|Entry { value, from }| (value, from)).unzip();
        body.insert(dialect.messages_key().to_owned(), Value::Array(values));
        Self { body: Value::Object(body), dialect, origins }
    }

    /// Returns the source turn or message of a part of a request's message.
    pub fn origin(&self, message: usize, part: Option<usize>) -> Option<usize> {
        let parts = self.origins.get(message)?;
        parts.get(part.unwrap_or(0)).or(parts.first()).copied()
    }
}

/// Returns the part of a request body that holds a conversation: system text, tools and messages.
///
/// The model, limits and the stream flag are left to the caller. Blank texts are dropped, turns of
/// one side are merged where the provider wants it, results are placed where it expects them, and
/// call ids and names are reshaped if it would refuse them. Reasoning is included only if its
/// signature can be from this provider.
pub fn encode(conversation: &Conversation, dialect: Dialect) -> Value {
    EncodedRequest::from_conversation(conversation, dialect).body
}

/// A request body under construction.
type Body = Map<String, Value>;
