//! A dialect-independent view of a request for the rules to check.

mod anthropic;
mod chat;
mod responses;
mod gemini;
mod pairs;
mod pictures;
mod size_and_rare_content;

use std::cell::OnceCell;

use serde_json::Value;

use crate::dialect::Dialect;
use crate::pointer::Pointer;
pub(crate) use anthropic::is_chat_tool_message;
pub(crate) use pairs::{Pairs, Spot};
pub(crate) use pictures::{MEDIA_TYPE_KEYS, Picture};
pub(crate) use size_and_rare_content::{Contents, Rare};

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Model,
    /// A message that is a tool result.
    Tool,
    Other,
}

/// The kind of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    Text(&'a str),
    Thinking { is_signed: bool },
    Call { id: &'a str, name: &'a str, arguments: &'a Value },
    Result { id: &'a str, name: &'a str },
    Other,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) at: Pointer,
    pub(crate) kind: Kind<'a>,
    pub(crate) value: &'a Value,
}

/// A message of a request.
#[derive(Clone, Debug)]
pub(crate) struct MessageView<'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) value: &'a Value,
}

/// A view of a request.
#[derive(Debug)]
pub(crate) struct RequestView<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) body: &'a Value,
    pub(crate) messages: Vec<MessageView<'a>>,
    pairs: OnceCell<Pairs>,
    pictures: OnceCell<Vec<Picture<'a>>>,
    contents: OnceCell<Contents>,
}

impl<'a> RequestView<'a> {
    /// Reads a request; an invalid message becomes one without parts.
    pub(crate) fn new(body: &'a Value, dialect: Dialect) -> Self {
        let list = body.get(dialect.messages_key()).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let read = match dialect {
            Dialect::Anthropic => anthropic::message,
            Dialect::OpenaiChat => chat::message,
            Dialect::OpenaiResponses => responses::message,
            Dialect::Gemini => gemini::message,
        };
        let message = |(at, value)| read(value, Pointer::to_message(dialect.messages_key(), at));
        let messages = list.iter().enumerate().map(message).collect();
        let (pairs, pictures, contents) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { dialect, body, messages, pairs, pictures, contents }
    }

    /// Returns the pairs of calls and results.
    pub(crate) fn pairs(&self) -> &Pairs {
        self.pairs.get_or_init(|| Pairs::new(self))
    }

    /// Returns whether the provider may store calls that results in this request answer.
    pub(crate) fn continues_on_server(&self) -> bool {
        ["previous_response_id", "conversation"]
            .iter()
            .any(|key| self.body.get(key).is_some_and(|it| !it.is_null()))
    }

    /// Returns all parts with their indices.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Spot, &Part<'a>)> {
        self.messages.iter().enumerate().flat_map(|(index, message)| {
            let spot = move |part| Spot { message: index, part };
            message.parts.iter().enumerate().map(move |(part, each)| (spot(part), each))
        })
    }

    /// Returns the calls as (spot, id, name, arguments).
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

    /// Returns the JSON pointer to a message.
    pub(crate) fn message_pointer(&self, message: usize) -> Pointer {
        Pointer::to_message(self.dialect.messages_key(), message)
    }

    /// Returns the pictures in order.
    pub(crate) fn pictures(&self) -> &[Picture<'a>] {
        self.pictures.get_or_init(|| pictures::pictures(self))
    }

    /// Returns the size and the rare kinds of content.
    pub(crate) fn contents(&self) -> &Contents {
        self.contents.get_or_init(|| Contents::new(self.body))
    }
}

/// The most fields of an object that are compared one by one, which is quicker than a hash.
const FEW_FIELDS: usize = 16;

/// Returns a field of an object.
pub(crate) fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    if object.len() > FEW_FIELDS {
        return object.get(key);
    }
    object.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Returns a text field of an object, empty if it is missing.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    field(value, key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the elements of a list field.
pub(crate) fn elements<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    field(value, key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the elements of a list of a message with their JSON pointers.
fn listed_parts<'a>(
    message: &'a Value,
    at: Pointer,
    list: &'static str,
) -> impl Iterator<Item = (Pointer, &'a Value)> {
    elements(message, list).iter().enumerate().map(move |(nth, each)| (at.element(list, nth), each))
}

const NULL: &Value = &Value::Null;
