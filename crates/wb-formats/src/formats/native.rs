//! Our own format: messages as JSON or as JSON lines.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use wb_message::{Message, ToolVocabulary};
use wb_session::Lines;

use crate::error::FormatError;
use crate::format::Format;
use crate::probe::{Peeked, Probe};
use crate::transcript::{Note, Transcript};

/// The type of the header line.
const HEADER_TYPE: &str = "window-budget";
/// The version of the layout that is written.
const VERSION: u64 = 1;

const ROLES: [&str; 7] =
    ["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"];

/// Messages in their own JSON form: one array of them, an object with such an array under `messages`, or one
/// message per line.
///
/// Lines may be led by a header `{"type":"window-budget","version":1}`. It and the object may tell a `model` and its
/// `context_window` in tokens. Files hold no usage.
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

    fn sniff(&self, head: &[u8]) -> bool {
        let seen = Probe::all(head);
        let Some(first) = seen.first() else { return false };
        if is_document(first) {
            return list_of(first).inner.as_ref().is_none_or(|message| is_message(message));
        }
        let is_foreign = |it: &Probe| !it.role.is_empty() && !is_message(it);
        first.r#type == HEADER_TYPE || (is_message(first) && !seen.iter().any(is_foreign))
    }

    fn read(&self, input: &mut dyn BufRead) -> Result<Transcript, FormatError> {
        let peeked = Peeked::new(input)?;
        let read = match Probe::all(peeked.head()).first() {
            Some(first) if is_document(first) => document(peeked)?,
            _ => lines(peeked)?,
        };
        Ok(Transcript {
            format: self.name(),
            messages: read.messages,
            usage: Vec::new(),
            model: read.meta.model,
            context_window: read.meta.context_window,
            notes: read.truncated.into_iter().collect(),
            vocabulary: ToolVocabulary::UNIVERSAL,
        })
    }
}

fn is_document(first: &Probe) -> bool {
    first.is_list || (first.has("messages") && list_of(first).is_list)
}

fn list_of(first: &Probe) -> &Probe {
    if first.is_list { first } else { first.inner.as_deref().unwrap_or(first) }
}

fn is_message(probe: &Probe) -> bool {
    let body = probe.inner.as_deref();
    // Blocks of other formats have a type.
    let is_ours =
        body.is_none_or(|body| !body.is_list || body.inner.as_ref().is_none_or(|block| block.has("kind")));
    ROLES.contains(&probe.role.as_str()) && probe.r#type.is_empty() && !probe.has("message") && is_ours
}

#[derive(Default, Deserialize)]
struct Meta {
    model: Option<String>,
    context_window: Option<u64>,
}

#[derive(Default)]
struct NativeFile {
    messages: Vec<Message>,
    meta: Meta,
    truncated: Option<Note>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    List(Vec<Value>),
    Object {
        messages: Vec<Value>,
        #[serde(flatten)]
        meta: Meta,
    },
}

fn document(peeked: Peeked<'_>) -> Result<NativeFile, FormatError> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut peeked.whole(), &mut text)?;
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    // First as any JSON, since an error in an enum has lost its place.
    let value: Value = serde_json::from_slice(text).map_err(|error| FormatError::of_json(1, &error))?;
    let (list, meta) = match Document::deserialize(value).map_err(|error| FormatError::of_json(1, &error))? {
        Document::List(messages) => (messages, Meta::default()),
        Document::Object { messages, meta } => (messages, meta),
    };
    let mut messages = Vec::with_capacity(list.len());
    for value in list {
        let message = Message::deserialize(value).map_err(|error| FormatError::BadMessage {
            line: Place { n_before: messages.len() }.line(text),
            what: wb_session::lines::fault(&error),
        })?;
        messages.push(message);
    }
    Ok(NativeFile { messages, meta, truncated: None })
}

/// Finds a message in the text of a document, by the messages before it.
#[derive(Clone, Copy)]
struct Place {
    n_before: usize,
}

impl Place {
    /// Returns the line on which the message begins: that of the error with which reading stops there.
    fn line(self, text: &[u8]) -> usize {
        let stopped = self.deserialize(&mut serde_json::Deserializer::from_slice(text));
        stopped.map_or_else(|error| error.line(), |()| 1)
    }
}

impl<'de> DeserializeSeed<'de> for Place {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("messages")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "messages" {
                return map.next_value_seed(self);
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for _ in 0..self.n_before {
            seq.next_element::<IgnoredAny>()?;
        }
        Err(serde::de::Error::custom("here"))
    }
}

fn lines(peeked: Peeked<'_>) -> Result<NativeFile, FormatError> {
    let mut lines = Lines::new(peeked.whole());
    let mut read = NativeFile::default();
    let mut is_first = true;
    while let Some(line) = lines.next_line()? {
        let failed = |error: serde_json::Error| FormatError::of_json(line.number, &error);
        let parsed = line.parse::<Value>().map_err(failed);
        match parsed {
            Ok(header) if is_first && header["type"] == HEADER_TYPE => read.meta = meta(line.number, header)?,
            Ok(value) => read.messages.push(Message::deserialize(value).map_err(failed)?),
            Err(_) if line.is_truncated() => {
                read.truncated = Some(Note::TruncatedLastLine { line: line.number });
            }
            Err(error) => return Err(error),
        }
        is_first = false;
    }
    Ok(read)
}

fn meta(line: usize, header: Value) -> Result<Meta, FormatError> {
    if header["version"] == VERSION {
        return Meta::deserialize(header).map_err(|error| FormatError::of_json(line, &error));
    }
    let what = format!("version {} of the header is not known, only {VERSION} is", header["version"]);
    Err(FormatError::BadMessage { line, what })
}
