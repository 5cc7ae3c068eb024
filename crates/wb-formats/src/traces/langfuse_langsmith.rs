//! Rows that Langfuse and LangSmith export: requests with what they were given and returned.

use std::io;

use memchr::memmem;
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use super::otel_genai::OtelGenai;
use super::rows::{ReadRow, TraceRow, complete, lists, sortable};
use crate::kit::json_or_lines::is_lines;
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

/// Rows of requests as a service exports them, as a JSON value or JSON lines: rows, lists of them,
/// or traces that hold them.
///
/// Each trace is a conversation: its request with the most messages, the last of equals, and the
/// answer to it without calls, which stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceExport {
    name: &'static str,
    /// The keys of a row.
    keys: &'static [&'static str],
    /// A text near the start of an export.
    word: &'static [u8],
    read: ReadRow,
}

/// Observations of Langfuse, of which generations are requests.
pub(crate) const LANGFUSE: TraceExport =
    TraceExport { name: "langfuse", keys: &["type", "input"], word: b"\"GENERATION\"", read: GENERATION };

/// Runs of LangSmith, of which those of models are requests.
pub(crate) const LANGSMITH: TraceExport =
    TraceExport { name: "langsmith", keys: &["run_type", "inputs"], word: b"\"run_type\"", read: RUN };

impl Format for TraceExport {
    fn name(&self) -> &'static str {
        self.name
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let has_all = |row: &ProbedValue| self.keys.iter().all(|key| row.has(key));
        let is_row = |row: &ProbedValue| has_all(row) || row.has("observations") || row.has("runs");
        let first = probe.first().map(|it| if it.is_list { it.inner.as_deref().unwrap_or(it) } else { it });
        let is_it = first.is_some_and(is_row) && memmem::find(&probe.head, self.word).is_some();
        if is_it { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(if self.name == LANGFUSE.name { &LANGFUSE } else { &LANGSMITH }, parts)
    }
}

impl Layout for TraceExport {
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        is_lines(parts)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        lists(parts, self.read, &LAYOUTS)
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape::PLAIN
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        complete(parts, self.read, list, view);
    }
}

const GENERATION: ReadRow = |row| {
    row.first::<String>(&[&["type"]]).filter(|kind| kind == "GENERATION")?;
    let times = ["startTime", "start_time", "timestamp"];
    let tokens = |key| row.first(&[&["usageDetails", key], &["usage_details", key], &["usage", key]]);
    Some(TraceRow {
        input: row.place("input")?,
        trace: row.first(&[&["traceId"], &["trace_id"]]).unwrap_or_default(),
        time: times.iter().find_map(|key| row.get(key)).map(sortable).unwrap_or_default(),
        system: None,
        output: row.place("output"),
        model: row.first(&[&["model"]]),
        tokens: (tokens("input"), tokens("output")),
        ..TraceRow::default()
    })
};

const RUN: ReadRow = |row| {
    row.first::<String>(&[&["run_type"]]).filter(|kind| kind == "llm")?;
    let tokens = |count, detail| row.first(&[&[count], &["outputs", "usage_metadata", detail]]);
    Some(TraceRow {
        input: row.place("inputs")?,
        trace: row.first(&[&["trace_id"]]).unwrap_or_default(),
        time: row.get("start_time").map(sortable).unwrap_or_default(),
        system: None,
        output: row.place("outputs"),
        model: row
            .first(&[&["extra", "metadata", "ls_model_name"], &["extra", "invocation_params", "model"]]),
        tokens: (tokens("prompt_tokens", "input_tokens"), tokens("completion_tokens", "output_tokens")),
        ..TraceRow::default()
    })
};
