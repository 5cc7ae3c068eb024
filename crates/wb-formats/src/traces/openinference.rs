//! Spans of `OpenInference`: each member of a message is an attribute of its own.

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use memchr::memmem;
use wb_record::json::{elements, get};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, View};

use super::otel_genai::is_span;
use super::rows::{TraceRow, complete, lists, sortable};
use super::trace_object::TraceObject;
use crate::kit::json_or_lines::is_lines;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape};
use crate::shapes::openinference_message::{OpenInferenceShape, numbered};

/// The attributes before the number of a message.
pub(crate) const INPUT: &str = "llm.input_messages.";
const OUTPUT: &str = "llm.output_messages.";
/// The names of a whole list, where an export nests it.
const LISTS: [&str; 2] = ["llm.input_messages", "attributes.llm.input_messages"];

/// Spans of `OpenInference` as JSON, JSON lines or OTLP JSON: flat attributes, or a list of
/// messages under `llm`.
///
/// As in other traces, each is a conversation: its request with the most messages. Flat attributes
/// are numbered again when messages change; they have to be in the order of their messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenInference(OpenInferenceShape);

/// The layout of a document whose spans are not known yet.
pub(crate) static OPENINFERENCE: OpenInference = OpenInference(OpenInferenceShape::Flat);
static OTLP: OpenInference = OpenInference(OpenInferenceShape::Otlp);
static UNORDERED: OpenInference = OpenInference(OpenInferenceShape::Unordered);
static NESTED: OpenInference = OpenInference(OpenInferenceShape::Nested);
static DOTTED: OpenInference = OpenInference(OpenInferenceShape::Dotted);

impl Format for OpenInference {
    fn name(&self) -> &'static str {
        "openinference"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let has = |word: &str| memmem::find(&probe.head, word.as_bytes()).is_some();
        let has_messages = || has("llm.input_messages") || (has("\"llm\"") && has("\"input_messages\""));
        let is_it = probe.first().is_some_and(|whole| {
            let first = if whole.is_list { whole.inner.as_deref().unwrap_or(whole) } else { whole };
            is_span(first) || first.has(LISTS[1]) || first.keys.iter().any(|key| key.starts_with(INPUT))
        });
        if is_it && has_messages() { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&OPENINFERENCE, parts)
    }
}

impl Layout for OpenInference {
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        is_lines(parts)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        lists(parts, read, &[&OPENINFERENCE])
    }

    fn shape(&self) -> &dyn Shape {
        &self.0
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        complete(parts, read, list, view);
    }

    fn number(&self, record: &[u8], nth: usize) -> Result<Option<Vec<u8>>, String> {
        let is_flat = matches!(self.0, OpenInferenceShape::Flat | OpenInferenceShape::Otlp);
        Ok(is_flat.then(|| numbered(record, nth)).flatten())
    }

    fn why_not_written(&self) -> Option<&'static str> {
        let is_unordered = matches!(self.0, OpenInferenceShape::Unordered);
        is_unordered.then_some("its attributes are not in the order of their messages")
    }
}

/// Reads a span, or attributes alone.
fn read(object: &TraceObject<'_>) -> Option<TraceRow> {
    let own = object.attributes("attributes");
    let attributes = own.as_ref().unwrap_or(object);
    let row = flat(attributes).or_else(|| nested(object, attributes))?;
    let number = |nested: &[&str], key: &str| {
        let text = attributes.get(key).or_else(|| attributes.part(&attributes.place_at(nested)?))?;
        let text = String::from_utf8_lossy(text);
        text.trim_matches('"').parse().ok()
    };
    let times = ["startTimeUnixNano", "start_time", "startTime"];
    Some(TraceRow {
        trace: object
            .first(&[&["traceId"], &["trace_id"], &["context", "trace_id"], &["context.trace_id"]])
            .unwrap_or_default(),
        time: times.iter().find_map(|key| object.get(key)).map(sortable).unwrap_or_default(),
        model: attributes
            .first(&[&["llm.model_name"], &["llm", "model_name"]])
            .or_else(|| object.first(&[&["attributes.llm.model_name"]])),
        tokens: (
            number(&["llm", "token_count", "prompt"], "llm.token_count.prompt"),
            number(&["llm", "token_count", "completion"], "llm.token_count.completion"),
        ),
        ..row
    })
}

/// Returns the messages in flat attributes.
fn flat(attributes: &TraceObject<'_>) -> Option<TraceRow> {
    let (mut messages, is_one_run) = groups(attributes, INPUT)?;
    let is_ordered = is_one_run && messages.is_sorted_by_key(|(nth, _)| *nth);
    let layout = match (is_ordered, attributes.is_list()) {
        (false, _) => &UNORDERED,
        (true, true) => &OTLP,
        (true, false) => &OPENINFERENCE,
    };
    messages.sort_by_key(|(nth, _)| *nth);
    let records = messages.into_iter().map(|(_, place)| place).collect();
    let answer = groups(attributes, OUTPUT).and_then(|(all, _)| Some(all.into_iter().next()?.1));
    let input = attributes.whole();
    Some(TraceRow { input, records, layout: Some(layout), answer, ..TraceRow::default() })
}

/// The numbers and the places of messages.
type Numbered = Vec<(usize, Range<usize>)>;

/// Returns the messages in the order of the document, and whether nothing is between them; `None`
/// without any, or if the attributes of one are not next to each other.
fn groups(attributes: &TraceObject<'_>, prefix: &str) -> Option<(Numbered, bool)> {
    let (mut all, mut known, mut last, mut n_runs) = (Numbered::new(), HashSet::new(), None, 0);
    for (at, (key, place)) in attributes.places().enumerate() {
        let number = key.strip_prefix(prefix).and_then(|rest| rest.split_once('.')?.0.parse::<usize>().ok());
        let Some(nth) = number else { continue };
        let is_next = at > 0 && last == Some(at - 1);
        n_runs += usize::from(!is_next);
        match all.last_mut() {
            Some((before, whole)) if *before == nth && is_next => whole.end = place.end,
            _ if !known.insert(nth) => return None,
            _ => all.push((nth, place)),
        }
        last = Some(at);
    }
    (n_runs > 0).then_some((all, n_runs == 1))
}

/// Returns the messages in a list.
fn nested(object: &TraceObject<'_>, attributes: &TraceObject<'_>) -> Option<TraceRow> {
    let place = LISTS.iter().find_map(|key| attributes.place(key).or_else(|| object.place(key)));
    let input = place.or_else(|| attributes.place_at(&["llm", "input_messages"]))?;
    let records = places(object, &input)?;
    let first = object.part(records.first()?)?;
    let layout = if get(first, "message").is_some() { &NESTED } else { &DOTTED };
    let answers = attributes.place_at(&["llm", "output_messages"]);
    let answer = answers.and_then(|list| places(object, &list)?.into_iter().next());
    Some(TraceRow { input, records, layout: Some(layout), answer, ..TraceRow::default() })
}

/// Returns the places of the elements of a list.
fn places(object: &TraceObject<'_>, list: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let all = elements(object.part(list)?)?.into_iter();
    Some(all.map(|it| list.start + it.start..list.start + it.end).collect())
}
