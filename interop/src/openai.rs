//! Requests of async-openai: chat completions and responses.

use async_openai::types::chat::{ChatCompletionRequestMessage, CreateChatCompletionRequest};
use async_openai::types::responses::{CreateResponse, InputItem};
use serde_json::Value;
use wb_dialect::{Dialect, EncodedRequest};
use wb_message::Message;
use wb_record::{Document, Item, MemoryParts, Stamp};

use crate::{Compacted, InteropError, Transcript};

/// Returns messages as those of a request for a chat completion.
pub fn to_chat(messages: &[Message]) -> Result<Vec<ChatCompletionRequestMessage>, InteropError> {
    encoded(messages, Dialect::OpenaiChat)
}

/// Returns messages as items of a request for a response.
pub fn to_items(messages: &[Message]) -> Result<Vec<InputItem>, InteropError> {
    encoded(messages, Dialect::OpenaiResponses)
}

fn encoded<T: serde::de::DeserializeOwned>(
    messages: &[Message],
    dialect: Dialect,
) -> Result<T, InteropError> {
    let mut body = EncodedRequest::from_messages(messages, dialect).body;
    serde_json::from_value(body[dialect.messages_key()].take()).map_err(unwritable)
}

fn unreadable(error: impl std::fmt::Display) -> InteropError {
    InteropError::Read(error.to_string())
}

fn unwritable(error: impl std::fmt::Display) -> InteropError {
    InteropError::Write(error.to_string())
}

/// Opens a request as the document that it is on the wire.
fn opened(request: &impl serde::Serialize) -> Result<Box<dyn Document>, InteropError> {
    let body = serde_json::to_vec(request).map_err(unreadable)?;
    wb_formats::open(Box::new(MemoryParts::from_bytes(body))).map_err(unreadable)
}

fn messages(request: &impl serde::Serialize) -> Result<Vec<Message>, InteropError> {
    Ok(opened(request)?.view("").map_err(unreadable)?.messages)
}

fn replaced<T>(request: &T, change: &Compacted<'_>) -> Result<T, InteropError>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let mut document = opened(request)?;
    let view = document.view("").map_err(unreadable)?;
    let pairs = change.origins.iter().zip(change.after);
    let items = pairs.map(|(origin, message)| match origin.input_index() {
        Some(at) if change.before[at] == *message => Item::Same(at),
        Some(at) => Item::Body(at, message.blocks().to_vec().into()),
        None => Item::New(message),
    });
    let items: Vec<Item<'_>> = items.collect();
    let set = document.render("", &view, &items, &Stamp::default()).map_err(unwritable)?;
    document.commit(&set).map_err(unwritable)?;
    serde_json::from_slice::<Value>(&document.parts().whole("").map_err(unwritable)?)
        .and_then(serde_json::from_value)
        .map_err(unwritable)
}

macro_rules! request {
    ($type:ty) => {
        impl Transcript for $type {
            fn messages(&self) -> Result<Vec<Message>, InteropError> {
                messages(self)
            }

            fn replace(&mut self, change: &Compacted<'_>) -> Result<(), InteropError> {
                *self = replaced(self, change)?;
                Ok(())
            }
        }
    };
}

request!(CreateChatCompletionRequest);
request!(CreateResponse);
