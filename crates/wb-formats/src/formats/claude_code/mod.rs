//! Session files of Claude Code: JSON lines, several for one answer of the model.
//!
//! The story in the order of the files: a `block` of a message, a `row` that is one line, the `rows` as a forest of
//! which the model sees one path, and how `assemble` puts them together to messages.

mod block;
mod row;
mod rows;
mod assemble;

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;
use wb_message::ToolVocabulary;
use wb_session::Lines;

use self::assemble::{Assembled, assemble};
use self::row::Row;
use self::rows::Rows;
use crate::error::FormatError;
use crate::format::Format;
use crate::probe::{Peeked, Probe};
use crate::transcript::{Segments, Transcript};

/// Session files of Claude Code, and the web exports that hold their lines under `loglines`.
///
/// * Lines of one answer are joined by `message.id` wherever they stand; its usage counts once, with the largest
///   answer. Tool results follow the answer with their call, a text next to a result comes after them.
/// * The conversation is the path to its last line. Lines of subagents are left apart, unless the file holds
///   nothing else. What `toolUseResult` says is for the screen.
/// * After a compaction the model sees the digest, the lines that were preserved, and what follows. Results that
///   were cleared have the placeholder as body. Usage is given for the requests since the last of both.
/// * Attachments with a text are custom messages of their type, what the host says in the user's place is one of
///   type `meta`, what the user typed while the model worked is a user message. Messages that only report a
///   failed request are left out.
/// * A line that is not JSON is an error, unless it is the last and was cut off; lines that are JSON and no
///   objects, or of an unknown type, are counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaudeCode;

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn sniff(&self, head: &[u8]) -> bool {
        let seen = Probe::all(head);
        seen.first().is_some_and(is_export) || seen.iter().any(is_row)
    }

    fn read(&self, input: &mut dyn BufRead) -> Result<Transcript, FormatError> {
        let mut rows = read_rows(input)?;
        let last = rows.segments().pop().unwrap_or_default();
        let live = rows.live(last.end);
        let Assembled { segment, model, notes } = assemble(&live, &last, |at| rows.take(at));
        Ok(Transcript {
            format: self.name(),
            messages: segment.messages,
            usage: segment.usage,
            model,
            context_window: None,
            notes: rows.notes().into_iter().chain(notes).collect(),
            vocabulary: ToolVocabulary::CLAUDE_CODE,
        })
    }

    fn segments(&self, input: &mut dyn BufRead) -> Result<Segments, FormatError> {
        let rows = read_rows(input)?;
        let segments = rows.segments().into_iter();
        Ok(Segments::new(segments.map(move |segment| {
            let live = rows.live(segment.end);
            assemble(&live, &segment, |at| rows.get(at)).segment
        })))
    }
}

fn is_export(first: &Probe) -> bool {
    first.has("loglines")
}

/// Tells a line of a session by its type and what goes with it; the type may lie behind the end of the head.
fn is_row(probe: &Probe) -> bool {
    let message = probe.inner.as_deref();
    let has_message = message.is_some_and(|message| message.has("content") && !message.has("parts"));
    match probe.r#type.as_str() {
        "user" | "assistant" => has_message,
        "" => has_message && probe.has("parentUuid"),
        "summary" => probe.has("leafUuid"),
        "file-history-snapshot" => probe.has("messageId"),
        "queue-operation" | "permission-mode" | "mode" => probe.has("sessionId"),
        "system" | "progress" | "attachment" => probe.has("parentUuid") && probe.has("isSidechain"),
        _ => false,
    }
}

#[derive(Deserialize)]
struct Export {
    loglines: Vec<Value>,
}

fn read_rows(input: &mut dyn BufRead) -> Result<Rows, FormatError> {
    let peeked = Peeked::new(input)?;
    if Probe::all(peeked.head()).first().is_some_and(is_export) {
        return export(peeked);
    }
    let mut rows = Rows::default();
    let mut lines = Lines::new(peeked.whole());
    while let Some(line) = lines.next_line()? {
        match line.parse() {
            Ok(value) => add(&mut rows, value),
            Err(_) if line.is_truncated() => rows.truncated = Some(line.number),
            Err(error) => return Err(FormatError::of_json(line.number, &error)),
        }
    }
    Ok(rows)
}

fn export(peeked: Peeked<'_>) -> Result<Rows, FormatError> {
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut peeked.whole(), &mut text)?;
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let export: Export = serde_json::from_slice(text).map_err(|error| FormatError::of_json(1, &error))?;
    let mut rows = Rows::default();
    for line in export.loglines {
        add(&mut rows, line);
    }
    Ok(rows)
}

fn add(rows: &mut Rows, line: Value) {
    match Row::of(line) {
        Some(row) => rows.push(row),
        None => rows.n_ignored += 1,
    }
}
