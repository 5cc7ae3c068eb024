//! The requests in a trace: found in one JSON value or in lines, one of each trace chosen.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::IgnoredAny;
use wb_budget::Usage;
use wb_message::Message;
use wb_message::markers::is_from_compaction;
use wb_record::json::{elements, find, get};
use wb_record::splice::Joint;
use wb_record::{Confidence, FormatError, MemoryParts, Note, Parts, Probe, ProbedValue, UsageAt, View};

use super::trace_object::TraceObject;
use crate::kit::json_in_string::{InnerJson, plain};
use crate::kit::json_or_lines::{is_lines, whole};
use crate::kit::json_text::body_of;
use crate::kit::log::LogEnd;
use crate::kit::message_list::{Layout, List, Record};
use crate::kit::request_probe::messages_of;
use crate::kit::skips::Skips;
use crate::kit::usage::usage_with_cache;

/// A request in a trace, by its places in the document.
#[derive(Debug, Default)]
pub(crate) struct TraceRow {
    pub(crate) trace: String,
    /// The time at which it began, in a form that sorts.
    pub(crate) time: String,
    pub(crate) system: Option<Range<usize>>,
    pub(crate) input: Range<usize>,
    pub(crate) output: Option<Range<usize>>,
    /// The messages, if the input is no list of them, with their layout, and the answer.
    pub(crate) records: Vec<Range<usize>>,
    pub(crate) layout: Option<&'static dyn Layout>,
    pub(crate) answer: Option<Range<usize>>,
    pub(crate) model: Option<String>,
    /// The tokens of its prompt and of its answer.
    pub(crate) tokens: (Option<u64>, Option<u64>),
}

/// A function that reads an object as a request.
pub(crate) type ReadRow = fn(object: &TraceObject<'_>) -> Option<TraceRow>;

/// The members of a request in which no other request is.
const MESSAGES: [&str; 5] = ["input", "output", "inputs", "outputs", "attributes"];

/// Returns all requests of a document, and notes of the lines that cannot be read.
fn rows(parts: &dyn Parts, read: ReadRow) -> Result<(Vec<TraceRow>, Vec<Note>), FormatError> {
    let document = whole(parts)?;
    let mut all = Vec::new();
    if is_lines(parts)? {
        let end = LogEnd::of_lines(parts, "", |_, _, line| {
            let start = usize::try_from(line.at).unwrap_or(usize::MAX);
            add(&document, start..start + line.bytes.len(), DEPTH, read, &mut all);
        })?;
        return Ok((all, end.notes(Skips::default())));
    }
    let (offset, json) = body_of(&document);
    serde_json::from_slice::<IgnoredAny>(json).map_err(|error| FormatError::from_json(1, &error))?;
    add(&document, offset..document.len(), DEPTH, read, &mut all);
    Ok((all, Vec::new()))
}

/// The number of values around a request at most.
const DEPTH: usize = 64;

/// Adds the requests in a value, down to a depth.
fn add(document: &[u8], place: Range<usize>, depth: usize, read: ReadRow, all: &mut Vec<TraceRow>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let value = &document[place.clone()];
    let begin = place.start + value.len() - value.trim_ascii_start().len();
    let value = value.trim_ascii();
    if value.starts_with(b"[") {
        for inner in elements(value).unwrap_or_default() {
            add(document, begin + inner.start..begin + inner.end, depth, read, all);
        }
    } else if value.starts_with(b"{") {
        let Some(object) = TraceObject::new(value, begin) else { return };
        let row = read(&object);
        let is_row = row.is_some();
        all.extend(row);
        for member in object.members {
            if !is_row || !MESSAGES.contains(&member.key.as_ref()) {
                add(document, begin + member.value.start..begin + member.value.end, depth, read, all);
            }
        }
    }
}

/// The list of a request, and where it is in its trace.
struct ChosenRow {
    /// Set if a compaction changed it; it may be shorter than others then.
    is_compacted: bool,
    time: String,
    n_messages: usize,
    nth: usize,
    list: List,
}

/// Returns the conversations of a document: of each trace the request with the most messages, of
/// equals the last, in the order of their times. One that was compacted precedes longer ones.
pub(crate) fn lists(
    parts: &dyn Parts,
    read: ReadRow,
    layouts: &[&'static dyn Layout],
) -> Result<Vec<List>, FormatError> {
    let document = whole(parts)?;
    let mut chosen: BTreeMap<String, ChosenRow> = BTreeMap::new();
    for (nth, row) in rows(parts, read)?.0.into_iter().enumerate() {
        let Some(list) = list(&document, &row, layouts) else { continue };
        let n_messages = list.records.len();
        let is_compacted = is_compacted(&document, &list);
        let new = ChosenRow { is_compacted, time: row.time, n_messages, nth, list };
        let rank = |row: &ChosenRow| (row.is_compacted, row.n_messages, row.time.clone(), row.nth);
        let is_better = chosen.get(&row.trace).is_none_or(|old| rank(&new) > rank(old));
        if is_better {
            chosen.insert(row.trace, new);
        }
    }
    let is_alone = chosen.len() == 1;
    let mut rows: Vec<(String, ChosenRow)> = chosen.into_iter().collect();
    rows.sort_by(|(_, one), (_, other)| (&one.time, one.nth).cmp(&(&other.time, other.nth)));
    if rows.is_empty() {
        return Err(FormatError::Log { line: None, what: NOTHING.to_owned(), hint: RECORD.to_owned() });
    }
    let named = |(trace, row): (String, ChosenRow)| {
        if is_alone { row.list } else { List { name: trace, ..row.list } }
    };
    Ok(rows.into_iter().map(named).collect())
}

const NOTHING: &str = "no request in this trace holds its messages";
const RECORD: &str = "instrumentations record messages only if their option for content is set";

/// Returns the list of a request; `None` if its messages are of no known form.
fn list(document: &[u8], row: &TraceRow, layouts: &[&'static dyn Layout]) -> Option<List> {
    if let Some(layout) = row.layout {
        let answer = row.answer.clone().filter(|place| !has_calls(layout, &document[place.clone()]));
        let list = List::new(row.records.clone(), Joint::Comma);
        return Some(List { behind: answer, layout: Some(layout), ..list });
    }
    let value = InnerJson::new(document, row.input.clone())?;
    let json = unnested(value.json());
    let shift = json.start;
    let inner = MemoryParts::from_bytes(&value.json()[json]);
    let probe = Probe::new(&inner).ok()?;
    let layout = layout_of(&probe, layouts)?;
    let inner = layout.lists(&inner).ok()?.pop()?;
    let place = |place: &Range<usize>| value.place(place.start + shift..place.end + shift);
    let layout = inner.layout.unwrap_or(layout);
    let answer = row.output.clone().and_then(|place| answer_in(document, place));
    Some(List {
        records: inner.records.iter().map(place).collect(),
        ahead: row.system.clone().and_then(|place| content_of(document, place)),
        behind: answer.filter(|place| !has_calls(layout, &document[place.clone()])),
        layout: Some(layout),
        is_escaped: value.is_escaped(),
        ..List::new(Vec::new(), Joint::Comma)
    })
}

/// Returns the layout that is most sure of messages; the last for plain ones.
fn layout_of(probe: &Probe, layouts: &[&'static dyn Layout]) -> Option<&'static dyn Layout> {
    let sure = |layout: &&&'static dyn Layout| Reverse(layout.detect(probe));
    let best = *layouts.iter().min_by_key(sure)?;
    if best.detect(probe) > Confidence::No {
        return Some(best);
    }
    let messages = messages_of(probe.first()?);
    let is_plain = |message: &&ProbedValue| !message.role.is_empty() && message.has("content");
    (!messages.is_empty() && messages.iter().all(is_plain)).then(|| layouts.last().copied())?
}

/// Returns the messages of a record, none if it cannot be read.
fn messages_in(layout: &dyn Layout, record: &[u8]) -> Vec<Message> {
    let (json, mut read) = (plain(record), Record::default());
    let is_read = str::from_utf8(&json).is_ok_and(|json| layout.shape().read(json, &mut read).is_ok());
    if is_read { read.messages } else { Vec::new() }
}

/// Returns whether an answer has calls, behind which nothing could be written.
fn has_calls(layout: &dyn Layout, answer: &[u8]) -> bool {
    messages_in(layout, answer).iter().any(|message| message.calls().next().is_some())
}

/// Returns whether a compaction wrote something in a list.
fn is_compacted(document: &[u8], list: &List) -> bool {
    list.layout.is_some_and(|layout| {
        let messages = list.records.iter().flat_map(|place| messages_in(layout, &document[place.clone()]));
        messages.into_iter().any(|message| is_from_compaction(&message))
    })
}

/// Returns the place of the list in a list of one list, or of the whole value.
fn unnested(json: &[u8]) -> Range<usize> {
    let whole = 0..json.len();
    let places = |list: Range<usize>| {
        let [one] = &elements(&json[list.clone()])?[..] else { return None };
        let inner = list.start + one.start..list.start + one.end;
        json[inner.clone()].starts_with(b"[").then_some(inner)
    };
    if json.trim_ascii_start().starts_with(b"[") {
        return places(whole.clone()).unwrap_or(whole);
    }
    let list = find(json, &["messages"]).filter(|list| json[list.clone()].starts_with(b"["));
    list.and_then(places).unwrap_or(whole)
}

/// Returns the place of a value, or of the text of a string without its quotation marks.
fn content_of(document: &[u8], place: Range<usize>) -> Option<Range<usize>> {
    let value = InnerJson::new(document, place)?;
    Some(value.place(0..value.json().len()))
}

/// The places of an answer in what a request returned, the innermost last.
const ANSWERS: [&[&str]; 7] = [
    &["generations", "0", "0", "message"],
    &["generations", "0", "message"],
    &["choices", "0", "message"],
    &["messages", "0"],
    &["message"],
    &["output"],
    &["0"],
];

/// Returns the place of the message in what a request returned.
fn answer_in(document: &[u8], place: Range<usize>) -> Option<Range<usize>> {
    let value = InnerJson::new(document, place)?;
    let inner = ANSWERS.iter().find_map(|path| at_path(value.json(), path)).unwrap_or(0..value.json().len());
    let answer = &value.json()[inner.clone()];
    let says = ["role", "kwargs", "type"].iter().any(|key| get(answer, key).is_some());
    (answer.starts_with(b"{") && says).then(|| value.place(inner))
}

/// Returns the place at the end of a path of keys and numbers of elements.
fn at_path(json: &[u8], path: &[&str]) -> Option<Range<usize>> {
    let mut place = 0..json.len();
    for key in path {
        let value = &json[place.clone()];
        let inner = match key.parse::<usize>() {
            Ok(nth) => elements(value)?.get(nth)?.clone(),
            Err(_) => find(value, &[key])?,
        };
        place = place.start + inner.start..place.start + inner.end;
    }
    Some(place)
}

/// Adds to a view the model and the usage of its request, and the lines that cannot be read.
pub(crate) fn complete(parts: &dyn Parts, read: ReadRow, list: &List, view: &mut View) {
    let Ok((rows, notes)) = rows(parts, read) else { return };
    view.notes.extend(notes);
    let Some(first) = list.records.first() else { return };
    let Some(row) = rows.into_iter().find(|row| row.input.contains(&first.start)) else { return };
    view.model = row.model.or(view.model.take());
    let at = view.messages.len().saturating_sub(1);
    let is_answer = list.behind.is_some() && matches!(view.messages.last(), Some(Message::Assistant { .. }));
    let usage: Option<Usage> = usage_with_cache(row.tokens.0, row.tokens.1, None, None);
    if let (Some(usage), true, false) = (usage, is_answer, view.usage.iter().any(|it| it.at == at)) {
        view.usage.push(UsageAt { at, usage, model: view.model.clone() });
    }
}

/// Returns a time in a form that sorts: numbers get leading zeros.
pub(crate) fn sortable(time: &[u8]) -> String {
    let text = String::from_utf8_lossy(time).trim_matches('"').to_owned();
    if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text:0>20}") } else { text }
}
