//! Messages in the form of Chat Completions, also as stored by the many agents that use it.

mod read;
mod write;

use serde::Deserialize;
use serde_json::json;
use wb_budget::Usage;
use wb_message::Message;
use wb_record::Stamp;

use crate::kit::loose::Count;
use crate::kit::message_list::{Fate, Record, Shape};
use crate::kit::usage::usage_with_cache;
pub(crate) use read::part;

/// The custom types that are roles of their own.
const SYSTEM_ROLES: [&str; 2] = ["system", "developer"];

/// The keys under which vendors put reasoning next to an answer.
const REASONING_KEYS: [&str; 4] =
    ["thinking_blocks", "reasoning_content", "reasoning", "provider_specific_fields"];

/// One record per message: a role, a text or parts, calls with arguments in a string, results by
/// the id of their call.
///
/// Argument strings that do not contain an object are kept verbatim, and arguments that are objects
/// themselves stay objects. System and developer texts are pinned. Reasoning precedes the text of
/// an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChatShape {
    /// Adds the content of an agent's own fields.
    pub(crate) more: fn(&[u8], &mut Record),
    /// Reads a record of a role that is no speaker's.
    pub(crate) other: fn(&Other<'_>, &mut Record),
    /// Set if a result lists the ids of the calls that it answers.
    pub(crate) lists_ids: bool,
}

impl ChatShape {
    /// A shape without additional records or fields.
    pub(crate) const PLAIN: Self = Self { more: |_, _| {}, other: |_, _| {}, lists_ids: false };
}

impl Shape for ChatShape {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        read::read(record, self.other, into)?;
        (self.more)(record.as_bytes(), into);
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        let mut value = write::write(message)?;
        if let (true, Message::ToolResult { tool_call_id, .. }) = (self.lists_ids, message) {
            value = json!({ "role": "tool", "content": value["content"].take(), "tool_call_ids": [tool_call_id] });
        }
        Ok(value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        match (messages, fates) {
            ([before], [Fate::Body(after)]) => write::rewrite(record, before, after),
            _ => Err("a part of a message".to_owned()),
        }
    }
}

/// A record whose role is not a speaker's: its content, if that is a text, and the JSON of a count.
pub(crate) struct Other<'a> {
    pub(crate) role: &'a str,
    pub(crate) text: &'a str,
    pub(crate) token_count: &'a str,
}

/// Reads a single message; `None` if no model sees it.
pub(crate) fn message(record: &str) -> Option<Message> {
    let mut read = Record::default();
    ChatShape::PLAIN.read(record, &mut read).ok()?;
    read.messages.pop()
}

/// Reads the usage of a request: cached tokens, read or written, are part of the prompt.
pub(crate) fn usage(json: &[u8]) -> Option<Usage> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct ChatUsage {
        prompt_tokens: Count,
        completion_tokens: Count,
        prompt_tokens_details: Option<Details>,
        cache_creation_input_tokens: Count,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details {
        cached_tokens: Count,
    }
    let counted: ChatUsage = serde_json::from_slice(json).ok()?;
    let read = counted.prompt_tokens_details.and_then(|details| details.cached_tokens.0);
    let written = counted.cache_creation_input_tokens.0;
    usage_with_cache(counted.prompt_tokens.0, counted.completion_tokens.0, read, written)
}
