//! Messages of the GenAI conventions of OpenTelemetry, alone, in the attributes of a span, or in an
//! export.

use std::io;

use memchr::memmem;
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use super::rows::{TraceRow, complete, lists, sortable};
use super::trace_object::TraceObject;
use crate::kit::json_or_lines::is_lines;
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
fn read(object: &TraceObject<'_>) -> Option<TraceRow> {
    let own = ["attributes", "span_attributes"].iter().find_map(|key| object.attributes(key));
    let attributes = own.as_ref().unwrap_or(object);
    let number = |key| {
        let text = attributes.get(key).map(String::from_utf8_lossy)?;
        text.trim_matches('"').parse().ok()
    };
    let times = ["startTimeUnixNano", "start_time", "timeUnixNano", "start_timestamp", "startTime"];
    Some(TraceRow {
        input: attributes.place(INPUT)?,
        trace: object.first(&[&["traceId"], &["trace_id"], &["context", "trace_id"]]).unwrap_or_default(),
        time: times.iter().find_map(|key| object.get(key)).map(sortable).unwrap_or_default(),
        system: attributes.place(SYSTEM),
        output: attributes.place(OUTPUT),
        model: attributes.first(&[&[MODELS[0]], &[MODELS[1]]]),
        tokens: (number(PROMPT), number(ANSWER)),
        ..TraceRow::default()
    })
}
