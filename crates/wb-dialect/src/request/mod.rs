//! A request as rules look at it: who speaks, and what is said, whatever the dialect calls it.

mod anthropic;
mod chat;
mod responses;
mod gemini;
mod pairs;
mod pictures;

use std::cell::OnceCell;

use serde_json::Value;

use crate::dialect::Dialect;
pub(crate) use anthropic::is_of_tool;
pub(crate) use pairs::{Pairs, Spot};
pub(crate) use pictures::Picture;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Model,
    /// A message that is nothing but the result of a tool.
    Tool,
    Other,
}

/// What is said.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    Text(&'a str),
    Thinking { is_signed: bool },
    Call { id: &'a str, name: &'a str, arguments: &'a Value },
    Result { id: &'a str, name: &'a str },
    Other,
}

/// A part of a message, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    /// The place in the request, as a JSON pointer.
    pub(crate) at: String,
    pub(crate) kind: Kind<'a>,
    pub(crate) value: &'a Value,
}

/// A message of a request.
#[derive(Clone, Debug)]
pub(crate) struct AskedMessage<'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) value: &'a Value,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) body: &'a Value,
    pub(crate) messages: Vec<AskedMessage<'a>>,
    pairs: OnceCell<Pairs>,
}

impl<'a> Asked<'a> {
    /// Reads a request; what is no message is one without parts.
    pub(crate) fn of(body: &'a Value, dialect: Dialect) -> Self {
        let list = body.get(dialect.messages_key()).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let read = match dialect {
            Dialect::Anthropic => anthropic::said,
            Dialect::OpenaiChat => chat::said,
            Dialect::OpenaiResponses => responses::said,
            Dialect::Gemini => gemini::said,
        };
        let said = |(at, value)| read(value, &format!("/{}/{at}", dialect.messages_key()));
        let messages = list.iter().enumerate().map(said).collect();
        Self { dialect, body, messages, pairs: OnceCell::new() }
    }

    /// Returns which result answers which call, and which has none.
    pub(crate) fn pairs(&self) -> &Pairs {
        self.pairs.get_or_init(|| Pairs::of(self))
    }

    /// Returns whether the provider may keep the calls that results of it answer.
    pub(crate) fn goes_on(&self) -> bool {
        ["previous_response_id", "conversation"].iter().any(|key| self.body.get(key).is_some())
    }

    /// Visits all parts with the places at which they stand.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Spot, &Part<'a>)> {
        self.messages.iter().enumerate().flat_map(|(message, said)| {
            let spot = move |part| Spot { message, part };
            said.parts.iter().enumerate().map(move |(part, each)| (spot(part), each))
        })
    }

    /// Visits the calls as (spot, id, name, arguments).
    pub(crate) fn calls(&self) -> impl Iterator<Item = (Spot, &'a str, &'a str, &'a Value)> {
        self.parts().filter_map(|(spot, part)| match part.kind {
            Kind::Call { id, name, arguments } => Some((spot, id, name, arguments)),
            _ => None,
        })
    }

    /// Returns the part at a spot.
    pub(crate) fn part(&self, spot: Spot) -> &Part<'a> {
        &self.messages[spot.message].parts[spot.part]
    }

    /// Returns the place of a message as a JSON pointer.
    pub(crate) fn at(&self, message: usize) -> String {
        format!("/{}/{message}", self.dialect.messages_key())
    }

    /// Visits the pictures in order.
    pub(crate) fn pictures(&self) -> Vec<Picture> {
        pictures::pictures(self)
    }
}

/// Returns a text in an object; an empty one if it is not there.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the elements of a list in an object with their places.
fn elements<'a>(value: &'a Value, at: &str, key: &str) -> Vec<(String, &'a Value)> {
    let list = value.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().enumerate().map(|(nth, each)| (format!("{at}/{key}/{nth}"), each)).collect()
}

/// Stands for a value that is not there.
const NOTHING: &Value = &Value::Null;
