//! Session traces in the simple format of the Hugging Face Hub.

use std::io;

use wb_message::Message;
use wb_record::json::{find, get, members, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};

use crate::kit::list_document::open;
use crate::kit::message_list::{Fate, Layout, Record, Shape};
use crate::shapes::chat_message::ChatShape;

/// The keys of a message, and those of the same members in Chat Completions.
const KEYS: [(&str, &str); 3] =
    [("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id"), ("reasoningContent", "reasoning_content")];

/// Session traces of any harness (STS): a line that names the harness, and one line per message.
///
/// There is no usage per request. A digest is a prompt of the user.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sts;

impl Format for Sts {
    fn name(&self) -> &'static str {
        "sts"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        // The header may be lost.
        let is_line = |it: &ProbedValue| {
            let is_said = it.inner.as_deref().is_some_and(|message| !message.role.is_empty());
            it.r#type == "message" && it.keys == ["type", "message"] && is_said
        };
        match probe.first() {
            _ if is_trace(probe) => Confidence::Sure,
            Some(first) if is_line(first) => Confidence::Maybe,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

/// Recognizes a trace by its header. A session of pi may name its harness too; its entries have
/// ids.
pub(crate) fn is_trace(probe: &Probe) -> bool {
    let is_header = |it: &ProbedValue| it.r#type == "session" && it.has("harness");
    let is_entry = |it: &ProbedValue| it.r#type == "message" && it.has("id");
    let is_pi = |first: &ProbedValue| first.has("version") || probe.values.iter().any(is_entry);
    probe.first().is_some_and(|first| is_header(first) && !is_pi(first))
}

impl Layout for Sts {
    fn is_lines(&self, _: &dyn Parts) -> io::Result<bool> {
        Ok(true)
    }

    fn shape(&self) -> &dyn Shape {
        self
    }
}

// A message of Chat Completions with other keys, under `message`.
impl Shape for Sts {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        serde_json::from_str::<serde::de::IgnoredAny>(record)?;
        let record = record.as_bytes();
        if get(record, "type").is_none_or(|kind| kind != b"\"message\"") {
            return Ok(());
        }
        let message = get(record, "message").unwrap_or_default();
        let chat = renamed(message, KEYS);
        ChatShape::PLAIN.read(&String::from_utf8_lossy(&chat), into)?;
        if into.messages.is_empty() {
            return Err(serde::de::Error::custom("a message without a known role"));
        }
        into.model = text(message, &["model"]);
        let said_at = get(message, "timestamp").and_then(|time| serde_json::from_slice(time).ok());
        if let (Some(Message::User { timestamp, .. }), Some(said_at)) = (into.messages.first_mut(), said_at) {
            *timestamp = said_at;
        }
        Ok(())
    }

    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String> {
        let chat = ChatShape::PLAIN.write(message, stamp)?;
        let time = stamp.now_ms.to_string();
        let message = wb_record::json::set(&renamed(&chat, to_trace()), "timestamp", time.as_bytes());
        Ok([br#"{"type":"message","message":"#, &*message, b"}"].concat())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let place = find(record, &["message"]).ok_or("a line without a message")?;
        let chat = renamed(&record[place.clone()], KEYS);
        let chat = ChatShape::PLAIN.rewrite(&chat, messages, fates)?;
        Ok([&record[..place.start], &renamed(&chat, to_trace()), &record[place.end..]].concat())
    }
}

fn to_trace() -> [(&'static str, &'static str); 3] {
    KEYS.map(|(trace, chat)| (chat, trace))
}

/// Returns an object with other names for some of its keys.
fn renamed(object: &[u8], keys: [(&str, &str); 3]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len());
    let mut done = 0;
    for member in members(object).unwrap_or_default() {
        let Some((old, new)) = keys.iter().find(|(old, _)| member.key == *old) else { continue };
        let end = member.start + old.len() + 2;
        if object.get(end - 1) == Some(&b'"') {
            out.extend_from_slice(&object[done..member.start]);
            out.extend([b"\"", new.as_bytes(), b"\""].concat());
            done = end;
        }
    }
    out.extend_from_slice(&object[done..]);
    out
}
