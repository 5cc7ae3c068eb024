//! Our own format: messages as JSON or as JSON lines.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::{Message, ToolVocabulary};
use wb_record::json::{find, place_in, set};
use wb_record::splice::{Joint, Piece, splices};
use wb_record::{
    Abilities, Ability, ChangeSet, Confidence, Document, Format, FormatError, Item, Lines, NotExpressible,
    Note, Parts, Place, Probe, Seen, Span, View, Wanted,
};

/// The type of the header line.
const HEADER_TYPE: &str = "window-budget";
/// The version of the layout that is written.
const VERSION: u64 = 1;

/// Messages that are read sooner than another thread begins.
const FEW: usize = 500;

const ROLES: [&str; 7] =
    ["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"];

/// Messages in their own JSON form: one array of them, an object with such an array under `messages`, or one
/// message per line.
///
/// Lines may be led by a header `{"type":"window-budget","version":1}`. It and the object may tell a `model` and its
/// `context_window` in tokens. Files hold no usage. A compaction replaces the messages that it folds; they are
/// kept in the list of operations alone.
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

    fn abilities(&self) -> Abilities {
        let yes = Ability::Yes;
        Abilities { fold_head: yes, fold_inside: yes, clear: yes, body: yes, insert: yes }
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let Some(first) = probe.first() else { return Confidence::No };
        let is_foreign = |it: &Seen| !it.role.is_empty() && !is_message(it);
        let is_native = if is_document(first) {
            list_of(first).inner.as_ref().is_none_or(|message| is_message(message))
        } else {
            is_message(first) && !probe.values.iter().any(is_foreign)
        };
        match () {
            () if first.r#type == HEADER_TYPE => Confidence::Sure,
            () if is_native => Confidence::Maybe,
            () => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let (text, read, messages) = opened(parts.as_ref())?;
        Ok(Box::new(NativeDocument { parts, text, read, fresh: Mutex::new(Some(messages)) }))
    }
}

fn is_document(first: &Seen) -> bool {
    first.is_list || (first.has("messages") && list_of(first).is_list)
}

fn list_of(first: &Seen) -> &Seen {
    if first.is_list { first } else { first.inner.as_deref().unwrap_or(first) }
}

fn is_message(seen: &Seen) -> bool {
    let body = seen.inner.as_deref();
    // Blocks of other formats have a type.
    let is_ours =
        body.is_none_or(|body| !body.is_list || body.inner.as_ref().is_none_or(|block| block.has("kind")));
    ROLES.contains(&seen.role.as_str()) && seen.r#type.is_empty() && !seen.has("message") && is_ours
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Meta {
    model: Option<String>,
    context_window: Option<u64>,
}

/// A file of messages.
#[derive(Debug)]
struct NativeDocument {
    parts: Box<dyn Parts>,
    /// What was read, where the parts do not hold it in memory themselves.
    text: Option<Vec<u8>>,
    read: Read,
    /// The messages, until the first view takes them.
    fresh: Mutex<Option<Vec<Message>>>,
}

/// What a file says, and where.
#[derive(Debug)]
struct Read {
    joint: Joint,
    records: Vec<Record>,
    meta: Meta,
    truncated: Option<Note>,
}

/// A line or an element, and why there is no message in it.
type Record = (Range<usize>, Option<FormatError>);

impl Read {
    /// Reads a whole text. A line that is not JSON does not hide the others; what is JSON and no message of ours shows
    /// that the text is something else.
    fn of(text: &[u8]) -> Result<(Self, Vec<Message>), FormatError> {
        let seen = Seen::all(&text[..text.len().min(64 * 1024)]);
        let (mut read, messages) = match seen.first() {
            Some(first) if is_document(first) => Self::of_document(text)?,
            _ => Self::of_lines(text)?,
        };
        let is_wrong = |(_, error): &Record| matches!(error, Some(FormatError::BadMessage { .. }));
        let wrong = read.records.iter().position(is_wrong);
        let wrong = wrong.or_else(|| messages.is_empty().then_some(0));
        match wrong.filter(|at| *at < read.records.len()) {
            Some(at) => Err(read.records.swap_remove(at).1.unwrap_or(FormatError::Empty)),
            None => Ok((read, messages)),
        }
    }

    fn of_lines(text: &[u8]) -> Result<(Self, Vec<Message>), FormatError> {
        let (mut meta, mut truncated, mut records) = (Meta::default(), None, Vec::new());
        let mut lines = Lines::new(text);
        let mut is_first = true;
        while let Some(line) = lines.next_line()? {
            let error = |error: serde_json::Error| FormatError::of_json(line.number, &error);
            match line.parse::<Value>() {
                Ok(header) if is_first && header["type"] == HEADER_TYPE => {
                    meta = meta_of(line.number, header)?;
                }
                Err(_) if line.is_truncated() => {
                    truncated = Some(Note::TruncatedLastLine { line: line.number });
                }
                parsed => {
                    let start = usize::try_from(line.at).unwrap_or(usize::MAX);
                    let message = parsed.and_then(Message::deserialize).map_err(error);
                    records.push((start..start + line.bytes.len(), message));
                }
            }
            is_first = false;
        }
        let (records, messages) = apart(records);
        Ok((Self { joint: Joint::Line, records, meta, truncated }, messages))
    }

    fn of_document(text: &[u8]) -> Result<(Self, Vec<Message>), FormatError> {
        let skipped = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let json = &text[skipped..];
        let is_list = json.trim_ascii_start().starts_with(b"[");
        let meta = if is_list { Meta::default() } else { serde_json::from_slice(json).unwrap_or_default() };
        let list = if is_list { json } else { list_in(json)? };
        let values: Vec<&RawValue> =
            serde_json::from_slice(list).map_err(|error| FormatError::of_json(1, &error))?;
        let line_of = |at: usize| 1 + memchr::memchr_iter(b'\n', &text[skipped..at]).count();
        let record = |value: &RawValue| {
            let place = place_in(text, value.get()).unwrap_or_default();
            let message = serde_json::from_str(value.get()).map_err(|error| {
                let what = wb_record::lines::fault(&error);
                FormatError::BadMessage { line: line_of(place.start), what }
            });
            (place, message)
        };
        let (records, messages) = apart(in_two(&values, record));
        Ok((Self { joint: Joint::Comma, records, meta, truncated: None }, messages))
    }

    fn notes(&self) -> Vec<Note> {
        let bad: Vec<&FormatError> = self.records.iter().filter_map(|(_, error)| error.as_ref()).collect();
        let line = bad.first().and_then(|error| error.line()).unwrap_or(0);
        let unreadable = (!bad.is_empty()).then_some(Note::UnreadableRecords { n: bad.len(), line });
        unreadable.into_iter().chain(self.truncated).collect()
    }

    /// Returns the records with a message, by their number.
    fn readable(&self) -> impl Iterator<Item = (usize, &Range<usize>)> {
        let all = self.records.iter().enumerate();
        all.filter(|(_, (_, error))| error.is_none()).map(|(at, (range, _))| (at, range))
    }

    /// Returns where the records stand for whoever replaces them: lines with their line feed.
    fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        let end = |range: &Range<usize>| match self.joint {
            Joint::Comma => range.end,
            Joint::Line => {
                memchr::memchr(b'\n', &text[range.end..]).map_or(text.len(), |at| range.end + at + 1)
            }
        };
        self.records.iter().map(|(range, _)| range.start..end(range)).collect()
    }
}

/// Returns the text of the list of messages in an object, or of the object where it has none.
fn list_in(json: &[u8]) -> Result<&[u8], FormatError> {
    serde_json::from_slice::<serde::de::IgnoredAny>(json).map_err(|error| FormatError::of_json(1, &error))?;
    Ok(find(json, &["messages"]).map_or(b"[]", |list| &json[list]))
}

/// Reads values in their order; many on two threads.
fn in_two<'a, T: Send>(values: &[&'a RawValue], read: impl Fn(&'a RawValue) -> T + Sync) -> Vec<T> {
    let all = |values: &[&'a RawValue]| values.iter().map(|value| read(value)).collect::<Vec<T>>();
    let (first, rest) = values.split_at(values.len() / 2);
    if first.len() < FEW {
        return all(values);
    }
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, || all(rest));
        let mut read = all(first);
        // Where there is no other thread, or it failed, this one reads the rest.
        read.extend(other.ok().and_then(|other| other.join().ok()).unwrap_or_else(|| all(rest)));
        read
    })
}

/// Parts messages from what is said of their records.
fn apart(
    read: impl IntoIterator<Item = (Range<usize>, Result<Message, FormatError>)>,
) -> (Vec<Record>, Vec<Message>) {
    let (mut records, mut messages) = (Vec::new(), Vec::new());
    for (range, message) in read {
        let error = message.map(|message| messages.push(message)).err();
        records.push((range, error));
    }
    (records, messages)
}

fn meta_of(line: usize, header: Value) -> Result<Meta, FormatError> {
    if header["version"] == VERSION {
        return Meta::deserialize(header).map_err(|error| FormatError::of_json(line, &error));
    }
    let what = format!("version {} of the header is not known, only {VERSION} is", header["version"]);
    Err(FormatError::BadMessage { line, what })
}

/// The text where parts do not hold it in memory, what it says, and its messages.
type Opened = (Option<Vec<u8>>, Read, Vec<Message>);

/// Reads parts, and returns their text too where they do not hold it in memory.
fn opened(parts: &dyn Parts) -> Result<Opened, FormatError> {
    let text = if parts.held("").is_none() { Some(parts.whole("")?) } else { None };
    let (read, messages) = Read::of(text.as_deref().or(parts.held("")).unwrap_or_default())?;
    Ok((text, read, messages))
}

impl NativeDocument {
    fn text(&self) -> &[u8] {
        self.text.as_deref().or(self.parts.held("")).unwrap_or_default()
    }
}

impl Document for NativeDocument {
    fn format(&self) -> &'static dyn Format {
        &Native
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let mut view = View::new(Native.name(), ToolVocabulary::UNIVERSAL);
        let fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner).take();
        view.messages = match fresh {
            Some(messages) => messages,
            None => Read::of(self.text())?.1,
        };
        for ((_, range), message) in self.read.readable().zip(&view.messages) {
            let record = Span { at: range.start as u64, len: range.len() as u64, ..Span::default() };
            view.provenance.push([Place::whole(record, message)]);
        }
        view.model.clone_from(&self.read.meta.model);
        view.context_window = self.read.meta.context_window;
        view.notes = self.read.notes();
        Ok(view)
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let Wanted { view, items, .. } = *wanted;
        let text = self.text();
        let numbers: Vec<usize> = self.read.readable().map(|(number, ..)| number).collect();
        let piece = |item: &Item<'_>| match item {
            Item::Same(at) => Ok(Piece::Stays(numbers[*at])),
            Item::Body(at, content) => {
                let (range, before) = (&self.read.records[numbers[*at]].0, &view.messages[*at]);
                let after = before.with_body(content.to_vec());
                with_changes(&text[range.clone()], before, &after).map(Piece::New)
            }
            Item::New(message) => json_of(message).map(Piece::New),
            Item::Old(_) => Err(refused("what was folded is not in the file any more")),
        };
        let pieces = items.iter().map(piece).collect::<Result<Vec<_>, _>>()?;
        let is_foreign = |at: usize| self.read.records[at].1.is_some();
        let changes = splices(text, &self.read.ranges(text), &pieces, self.read.joint, is_foreign);
        Ok(ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() })
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        let (text, read, messages) = opened(self.parts.as_ref())?;
        (self.text, self.read, self.fresh) = (text, read, Mutex::new(Some(messages)));
        Ok(())
    }
}

fn refused(why: impl Into<String>) -> NotExpressible {
    NotExpressible::Refused { format: Native.name(), why: why.into() }
}

fn json_of(message: &Message) -> Result<Vec<u8>, NotExpressible> {
    serde_json::to_vec(message).map_err(|error| refused(error.to_string()))
}

/// Returns a record with those members set that differ between two messages; what we do not know stays.
fn with_changes(record: &[u8], before: &Message, after: &Message) -> Result<Vec<u8>, NotExpressible> {
    let value = |message| serde_json::to_value(message).map_err(|error| refused(error.to_string()));
    let (before, after) = (value(before)?, value(after)?);
    let changed =
        after.as_object().into_iter().flatten().filter(|(key, value)| before.get(key) != Some(*value));
    Ok(changed.fold(record.to_vec(), |record, (key, value)| set(&record, key, value.to_string().as_bytes())))
}
