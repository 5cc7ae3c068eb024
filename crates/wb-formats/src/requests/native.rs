//! Our own format: messages as JSON or as JSON lines.

use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Value, json};
use wb_message::Message;
use wb_record::json::set;
use wb_record::splice::Joint;
use wb_record::{
    Confidence, Document, Format, FormatError, Lines, PartReader, Parts, Probe, ProbedValue, Span, Stamp,
    View,
};

use crate::kit::json_text::body_of;
use crate::kit::list_document;
use crate::kit::message_list::{Fate, Layout, List, Record, Shape, held};

/// The type of the header line.
const HEADER_TYPE: &str = "window-budget";
/// The version of the layout that is written.
const VERSION: u64 = 1;

const ROLES: [&str; 7] =
    ["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"];

/// Messages in their own JSON form: one array of them, an object with such an array under
/// `messages`, or one message per line.
///
/// Lines may start with a header `{"type":"window-budget","version":1}`. It and the object may
/// contain a `model` and its `context_window` in tokens. Files hold no usage. A compaction replaces
/// the messages that it folds; they are kept in the list of operations alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

/// Writes messages as JSON lines with a header.
pub fn write_jsonl(messages: &[Message], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", json!({ "type": HEADER_TYPE, "version": VERSION }))?;
    for message in messages {
        serde_json::to_writer(&mut *out, message)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

impl Format for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let Some(first) = probe.first() else { return Confidence::No };
        let is_foreign = |it: &ProbedValue| !it.role.is_empty() && !is_message(it);
        let messages: Vec<&ProbedValue> = if is_document(first) {
            history_path(first).elements().collect()
        } else {
            probe.values.iter().collect()
        };
        let is_native = messages.first().is_some_and(|message| is_message(message))
            && messages.iter().any(|message| has_body(message))
            && !messages.iter().any(|message| is_of_provider(message) || is_foreign(message));
        match () {
            () if first.r#type == HEADER_TYPE => Confidence::Sure,
            () if is_native => Confidence::Maybe,
            () => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        list_document::open(&Self, parts)
    }
}

fn is_document(first: &ProbedValue) -> bool {
    first.is_list || (first.has("messages") && history_path(first).is_list)
}

fn history_path(first: &ProbedValue) -> &ProbedValue {
    if first.is_list { first } else { first.inner.as_deref().unwrap_or(first) }
}

fn is_message(seen: &ProbedValue) -> bool {
    let body = seen.inner.as_deref();
    // Blocks of other formats have a type.
    let is_ours =
        body.is_none_or(|body| !body.is_list || body.inner.as_ref().is_none_or(|block| block.has("kind")));
    ROLES.contains(&seen.role.as_str()) && seen.r#type.is_empty() && !seen.has("message") && is_ours
}

/// Returns whether a message has content; a list of users with their roles has none.
fn has_body(seen: &ProbedValue) -> bool {
    ["content", "command", "summary"].iter().any(|key| seen.has(key))
}

/// Recognizes a message by keys that only providers write.
fn is_of_provider(message: &ProbedValue) -> bool {
    message.has("tool_calls") || message.has("tool_call_id")
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Meta {
    model: Option<String>,
    context_window: Option<u64>,
}

impl Layout for Native {
    /// Finds the messages. A line that is not JSON does not hide the others; JSON that is not a
    /// native message shows that the text is something else.
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        if !self.is_lines(parts)? {
            return Ok(vec![List::of_body(held(parts))?]);
        }
        let mut list = List::of_lines(parts, |line| Some(0..line.len()))?;
        if let Some((at, meta)) = header(parts)? {
            meta?;
            list.records.retain(|record| record.start as u64 != at);
        }
        Ok(vec![list])
    }

    /// A text is lines unless it begins with a whole document.
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        let begin = parts.bytes(&Span { len: 64 * 1024, ..Span::default() })?;
        Ok(!ProbedValue::all(&begin).first().is_some_and(is_document))
    }

    fn shape(&self) -> &dyn Shape {
        self
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        let (_, json) = body_of(held(parts));
        let meta = match list.joint {
            Joint::Comma if json.starts_with(b"[") => None,
            Joint::Comma => serde_json::from_slice(json).ok(),
            Joint::Line => header(parts).ok().flatten().and_then(|(_, meta)| meta.ok()),
        };
        let Meta { model, context_window } = meta.unwrap_or_default();
        (view.model, view.context_window) = (model, context_window);
    }

    fn is_strict(&self) -> bool {
        true
    }
}

/// Reads the header and its position, if the first line that is JSON is one.
fn header(parts: &dyn Parts) -> io::Result<Option<(u64, Result<Meta, FormatError>)>> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    while let Some(line) = lines.next_line()? {
        let Ok(header) = serde_json::from_slice::<Value>(line.bytes) else { continue };
        let is_one = header["type"] == HEADER_TYPE;
        return Ok(is_one.then(|| (line.at, meta_of(line.number, header))));
    }
    Ok(None)
}

fn meta_of(line: usize, header: Value) -> Result<Meta, FormatError> {
    if header["version"] == VERSION {
        return Meta::deserialize(header).map_err(|error| FormatError::from_json(line, &error));
    }
    let what = format!("unsupported header version {} (expected {VERSION})", header["version"]);
    Err(FormatError::BadMessage { line, what })
}

impl Shape for Native {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        into.messages.push(serde_json::from_str(record)?);
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        serde_json::to_vec(message).map_err(|error| error.to_string())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        match (messages, fates) {
            ([before], [Fate::Body(content)]) => {
                with_changes(record, before, &before.with_body(content.to_vec()))
            }
            _ => Err("a part of a message".to_owned()),
        }
    }
}

/// Returns a record with the members that differ between two messages; unknown members stay.
fn with_changes(record: &[u8], before: &Message, after: &Message) -> Result<Vec<u8>, String> {
    let value = |message| serde_json::to_value(message).map_err(|error| error.to_string());
    let (before, after) = (value(before)?, value(after)?);
    let changed =
        after.as_object().into_iter().flatten().filter(|(key, value)| before.get(key) != Some(*value));
    Ok(changed.fold(record.to_vec(), |record, (key, value)| set(&record, key, value.to_string().as_bytes())))
}
