//! Rows that Langfuse and LangSmith export: requests with what they were given and returned.

use std::io;

use memchr::memmem;
use wb_record::json::{find, get, text};
use wb_record::{Abilities, Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use super::otel_genai::OtelGenai;
use super::rows::{ReadRow, TraceRow, complete, first_number, first_text, is_lines, lists, sortable};
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape};
use crate::requests::ai_sdk::AiSdk;
use crate::requests::anthropic_messages::AnthropicMessages;
use crate::requests::gemini_contents::GeminiContents;
use crate::requests::langchain::Langchain;
use crate::requests::openai_chat::OpenaiChat;
use crate::shapes::chat_message::ChatShape;

/// The forms of the messages in a row.
static LAYOUTS: [&dyn Layout; 6] =
    [&OtelGenai, &AiSdk, &Langchain::DATA, &GeminiContents, &AnthropicMessages, &OpenaiChat];

/// Observations of Langfuse, as a JSON value or JSON lines: rows, lists of them, or traces that
/// hold them.
///
/// Each trace is a conversation: its generation with the most messages, the last of equals, and the
/// answer to it without calls, which stays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Langfuse;

/// Runs of LangSmith, as a JSON value or JSON lines; otherwise like [`Langfuse`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Langsmith;

/// Returns whether the first values are a document, a row or a list of rows with these keys, and
/// the head contains a word.
fn is_of_rows(probe: &Probe, keys: &[&str], word: &[u8]) -> bool {
    let has_all = |row: &ProbedValue| keys.iter().all(|key| row.has(key));
    let first = probe.first().map(|it| if it.is_list { it.inner.as_deref().unwrap_or(it) } else { it });
    first.is_some_and(|first| has_all(first) || first.has("observations") || first.has("runs"))
        && memmem::find(&probe.head, word).is_some()
}

impl Format for Langfuse {
    fn name(&self) -> &'static str {
        "langfuse"
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_it = is_of_rows(probe, &["type", "input", "output"], b"\"GENERATION\"");
        if is_it { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Format for Langsmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_it = is_of_rows(probe, &["run_type", "inputs"], b"\"run_type\"");
        if is_it { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for Langfuse {
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        is_lines(parts)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        lists(parts, GENERATION, &LAYOUTS)
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape::PLAIN
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        complete(parts, GENERATION, list, view);
    }
}

impl Layout for Langsmith {
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        is_lines(parts)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        lists(parts, RUN, &LAYOUTS)
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape::PLAIN
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        complete(parts, RUN, list, view);
    }
}

const GENERATION: ReadRow = |_, at, row| {
    text(row, &["type"]).filter(|kind| kind == "GENERATION")?;
    let place = |key| find(row, &[key]).map(|place| at + place.start..at + place.end);
    let times = ["startTime", "start_time", "timestamp"];
    Some(TraceRow {
        input: place("input")?,
        trace: first_text(row, &[&["traceId"], &["trace_id"]]).unwrap_or_default(),
        time: times.iter().find_map(|key| get(row, key)).map(sortable).unwrap_or_default(),
        system: None,
        output: place("output"),
        model: text(row, &["model"]),
        tokens: (
            first_number(
                row,
                &[&["usageDetails", "input"], &["usage_details", "input"], &["usage", "input"]],
            ),
            first_number(
                row,
                &[&["usageDetails", "output"], &["usage_details", "output"], &["usage", "output"]],
            ),
        ),
    })
};

const RUN: ReadRow = |_, at, row| {
    text(row, &["run_type"]).filter(|kind| kind == "llm")?;
    let place = |key| find(row, &[key]).map(|place| at + place.start..at + place.end);
    Some(TraceRow {
        input: place("inputs")?,
        trace: text(row, &["trace_id"]).unwrap_or_default(),
        time: get(row, "start_time").map(sortable).unwrap_or_default(),
        system: None,
        output: place("outputs"),
        model: first_text(
            row,
            &[&["extra", "metadata", "ls_model_name"], &["extra", "invocation_params", "model"]],
        ),
        tokens: (
            first_number(row, &[&["prompt_tokens"], &["outputs", "usage_metadata", "input_tokens"]]),
            first_number(row, &[&["completion_tokens"], &["outputs", "usage_metadata", "output_tokens"]]),
        ),
    })
};
