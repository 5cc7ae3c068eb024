//! Messages of the GenAI conventions of OpenTelemetry, alone, in the attributes of a span, or in an
//! export.

use std::io;
use std::ops::Range;

use memchr::memmem;
use wb_record::json::{elements, find, get, text};
use wb_record::{Abilities, Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use super::rows::{TraceRow, complete, is_lines, lists, sortable};
use crate::kit::json_text::body_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape, held};
use crate::kit::request_probe::messages_of;
use crate::shapes::otel_message::{OtelShape, is_message};

const INPUT: &str = "gen_ai.input.messages";
const OUTPUT: &str = "gen_ai.output.messages";
const SYSTEM: &str = "gen_ai.system_instructions";
const MODELS: [&str; 2] = ["gen_ai.response.model", "gen_ai.request.model"];
const PROMPT: &str = "gen_ai.usage.input_tokens";
const ANSWER: &str = "gen_ai.usage.output_tokens";

/// Lists of messages with parts, attributes with such lists, spans as JSON or JSON lines, and
/// exports in OTLP JSON.
///
/// Each trace is a conversation: its request with the most messages, the last of equals, and the
/// answer to it without calls, which stays. System instructions are pinned and stay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OtelGenai;

impl Format for OtelGenai {
    fn name(&self) -> &'static str {
        "otel-genai"
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_bare = |first: &ProbedValue| {
            let messages = messages_of(first);
            first.is_list
                && messages.iter().all(|it| it.has("role") && it.has("parts"))
                && messages.iter().any(|it| is_message(it))
        };
        let has_key = || memmem::find(&probe.head, b"\"gen_ai.input.messages\"").is_some();
        match probe.values.as_slice() {
            [first] if is_bare(first) => Confidence::Sure,
            [first, ..] if is_span(first) && has_key() => Confidence::Sure,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

/// Recognizes a span, an export of spans or of log records, or attributes alone.
pub(super) fn is_span(first: &ProbedValue) -> bool {
    const KEYS: [&str; 7] =
        ["resourceSpans", "resourceLogs", "attributes", "spans", "span_attributes", INPUT, "data"];
    let first = if first.is_list { first.inner.as_deref().unwrap_or(first) } else { first };
    KEYS.iter().any(|key| first.has(key))
}

impl Layout for OtelGenai {
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        is_lines(parts)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let (_, json) = body_of(held(parts));
        let is_bare = !is_lines(parts)?
            && ProbedValue::all(json).first().is_some_and(|first| first.is_list && !is_span(first));
        if is_bare { Ok(vec![List::of_body(held(parts))?]) } else { lists(parts, read, &[&Self]) }
    }

    fn shape(&self) -> &dyn Shape {
        &OtelShape
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        complete(parts, read, list, view);
    }
}

/// Reads a span, or attributes alone.
fn read(_: &[u8], at: usize, object: &[u8]) -> Option<TraceRow> {
    let attributes = ["attributes", "span_attributes"].iter().find_map(|key| find(object, &[key]));
    let (shift, attributes) = attributes.map_or((0, object), |place| (place.start, &object[place]));
    let place = |key: &str| -> Option<Range<usize>> {
        let place = attribute(attributes, key)?;
        Some(at + shift + place.start..at + shift + place.end)
    };
    let value = |key: &str| attribute(attributes, key).map(|place| &attributes[place]);
    let number = |key| value(key).and_then(|it| String::from_utf8_lossy(it).trim_matches('"').parse().ok());
    let trace = ["traceId", "trace_id"].iter().find_map(|key| text(object, &[key]));
    let times = ["startTimeUnixNano", "start_time", "timeUnixNano", "start_timestamp", "startTime"];
    Some(TraceRow {
        input: place(INPUT)?,
        trace: trace.or_else(|| text(object, &["context", "trace_id"])).unwrap_or_default(),
        time: times.iter().find_map(|key| get(object, key)).map(sortable).unwrap_or_default(),
        system: place(SYSTEM),
        output: place(OUTPUT),
        model: MODELS.iter().find_map(|key| serde_json::from_slice(value(key)?).ok()),
        tokens: (number(PROMPT), number(ANSWER)),
    })
}

/// Returns the place of an attribute: a member, or the value of an element with its key.
pub(super) fn attribute(attributes: &[u8], key: &str) -> Option<Range<usize>> {
    if attributes.starts_with(b"{") {
        return find(attributes, &[key]);
    }
    let of_key =
        |place: &Range<usize>| text(&attributes[place.clone()], &["key"]).is_some_and(|it| it == key);
    let element = elements(attributes)?.into_iter().find(of_key)?;
    let value = |kind| find(&attributes[element.clone()], &["value", kind]);
    let inner = ["stringValue", "intValue"].into_iter().find_map(value)?;
    Some(element.start + inner.start..element.start + inner.end)
}
