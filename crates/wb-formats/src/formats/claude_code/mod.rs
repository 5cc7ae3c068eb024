//! Session files of Claude Code: JSON lines, several for one answer of the model.
//!
//! The story in the order of the files: a `block` of a message, a `row` that is one line, the `rows` as a forest of
//! which the model sees one path, and how `assemble` puts them together to messages.

mod block;
mod row;
mod rows;
mod assemble;

use std::io::BufReader;

use serde::Deserialize;
use serde_json::Value;
use wb_message::ToolVocabulary;
use wb_record::{
    Abilities, ChangeSet, Confidence, Document, Format, FormatError, Item, Lines, NotExpressible, PartReader,
    Parts, Probe, Seen, Segments, Stamp, View,
};

use self::assemble::{Assembled, assemble};
use self::row::Row;
use self::rows::Rows;

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

    fn abilities(&self) -> Abilities {
        Abilities::none("not written yet")
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_ours = probe.first().is_some_and(is_export) || probe.values.iter().any(is_row);
        if is_ours { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let rows = read_rows(parts.as_ref())?;
        Ok(Box::new(ClaudeCodeDocument { parts, rows }))
    }
}

/// A session file of Claude Code.
#[derive(Debug)]
struct ClaudeCodeDocument {
    parts: Box<dyn Parts>,
    rows: Rows,
}

impl Document for ClaudeCodeDocument {
    fn format(&self) -> &'static dyn Format {
        &ClaudeCode
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let rows = &self.rows;
        let last = rows.segments().pop().unwrap_or_default();
        let live = rows.live(last.end);
        let Assembled { segment, model, notes } = assemble(&live, &last, |at| rows.get(at));
        let mut view = View::new(ClaudeCode.name(), ToolVocabulary::CLAUDE_CODE);
        (view.messages, view.usage, view.model) = (segment.messages, segment.usage, model);
        view.notes = rows.notes().into_iter().chain(notes).collect();
        Ok(view)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let rows = &self.rows;
        Ok(Segments::new(rows.segments().into_iter().map(move |segment| {
            let live = rows.live(segment.end);
            assemble(&live, &segment, |at| rows.get(at)).segment
        })))
    }

    fn render(&self, _: &str, _: &View, _: &[Item<'_>], _: &Stamp) -> Result<ChangeSet, NotExpressible> {
        Err(NotExpressible::Refused { format: ClaudeCode.name(), why: "not written yet".to_owned() })
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.rows = read_rows(self.parts.as_ref())?;
        Ok(())
    }
}

fn is_export(first: &Seen) -> bool {
    first.has("loglines")
}

/// Tells a line of a session by its type and what goes with it; the type may lie behind the end of the head.
fn is_row(probe: &Seen) -> bool {
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

fn read_rows(parts: &dyn Parts) -> Result<Rows, FormatError> {
    if Probe::of(parts)?.first().is_some_and(is_export) {
        return export(&parts.whole("")?);
    }
    let mut rows = Rows::default();
    let mut lines = Lines::new(BufReader::new(PartReader::new(parts, "", 0)?));
    while let Some(line) = lines.next_line()? {
        match line.parse() {
            Ok(value) => add(&mut rows, value),
            Err(_) if line.is_truncated() => rows.truncated = Some(line.number),
            Err(error) => return Err(FormatError::of_json(line.number, &error)),
        }
    }
    Ok(rows)
}

fn export(text: &[u8]) -> Result<Rows, FormatError> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
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
