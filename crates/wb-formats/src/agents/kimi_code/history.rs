//! The history of a session, built from its log: messages appended, compacted, cleared and undone.

use std::ops::Range;

use wb_budget::Usage;
use wb_message::block::output_blocks;
use wb_message::{Block, Message, markers};
use wb_record::json::{find, get, text};
use wb_record::{FormatError, Line, Parts, Span};

use crate::kit::draft::Draft;
use crate::kit::fields::Fields;
use crate::kit::log::{LogEnd, span_of};
use crate::shapes::chat_message::{self, part};

/// The custom type of host messages to the model.
const HOST_TYPE: &str = "meta";

/// The kind of a message in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Text from the user.
    Prompt,
    /// Text that the host adds in the user's place.
    Notice,
    /// A step of the model; without a record in it nothing is sent.
    Answer,
    Result,
    Summary,
}

/// A message of the history.
#[derive(Clone, Debug)]
pub(crate) struct HistoryEntry {
    kind: Kind,
    /// Its lines.
    pub(crate) records: Vec<Span>,
    /// The usage of the request that it answers.
    usage: Option<(Usage, Option<String>)>,
}

/// The content of a log, up to a line.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) entries: Vec<HistoryEntry>,
    /// The histories that ended with a compaction.
    pub(crate) before: Vec<Vec<HistoryEntry>>,
    /// Messages that wait until all calls have their results.
    deferred: Vec<HistoryEntry>,
    open_calls: Vec<String>,
    pub(crate) system: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) tokens_before: Option<u64>,
    /// The bytes from each undone prompt to its undo.
    undone: Vec<Range<u64>>,
    pub(crate) end: LogEnd,
}

impl History {
    pub(crate) fn read(parts: &dyn Parts) -> Result<Self, FormatError> {
        let mut history = Self::default();
        let end = LogEnd::of_lines(parts, "event", |passed, fields, line| {
            if fields.text("type").is_none() {
                passed.ignored(line.number);
            }
            history.take(fields, line);
        })?;
        history.entries.append(&mut history.deferred);
        Ok(Self { end, ..history })
    }

    fn take(&mut self, fields: &Fields<'_>, line: Line<'_>) {
        let own = |key: &str| fields.string(key);
        match fields.text("type").as_deref() {
            Some("config.update") => {
                self.system = own("systemPrompt").or(self.system.take());
                self.model = own("modelAlias").or(self.model.take());
            }
            Some("llm.request") => self.model = own("model").or(self.model.take()),
            Some("context.append_message") => {
                let origin = text(line.bytes, &["message", "origin", "kind"]);
                let is_prompt = origin.is_none_or(|kind| kind == "user");
                self.say(if is_prompt { Kind::Prompt } else { Kind::Notice }, line);
            }
            Some("context.append_loop_event") => {
                if let Some(event) = fields.inner("event") {
                    self.step(&event, line);
                }
            }
            Some("context.apply_compaction") => self.compact(fields, line),
            Some("context.clear") => self.entries.clear(),
            Some("context.undo") => self.undo(fields.number("count").unwrap_or(0), line.at),
            _ => {}
        }
    }

    fn say(&mut self, kind: Kind, line: Line<'_>) {
        let entry = HistoryEntry { kind, records: vec![span_of(line)], usage: None };
        if self.open_calls.is_empty() { &mut self.entries } else { &mut self.deferred }.push(entry);
    }

    fn step(&mut self, event: &Fields<'_>, line: Line<'_>) {
        let call_id = || event.text("toolCallId").unwrap_or_default().into_owned();
        match event.text("type").as_deref() {
            Some("step.begin") => {
                self.settle();
                self.entries.push(HistoryEntry { kind: Kind::Answer, records: Vec::new(), usage: None });
            }
            Some("content.part") => self.answer(line),
            Some("tool.call") => {
                self.answer(line);
                self.open_calls.push(call_id());
            }
            Some("tool.result") => {
                let (id, records) = (call_id(), vec![span_of(line)]);
                self.entries.push(HistoryEntry { kind: Kind::Result, records, usage: None });
                self.open_calls.retain(|open| *open != id);
                if self.open_calls.is_empty() {
                    self.settle();
                }
            }
            Some("step.end") => {
                let model = self.model.clone();
                let usage = event.inner("usage").map(|counted| (usage(&counted), model));
                if let Some(entry) = self.entries.iter_mut().rfind(|entry| entry.kind == Kind::Answer) {
                    entry.usage = usage;
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, line: Line<'_>) {
        if let Some(entry) = self.entries.iter_mut().rfind(|entry| entry.kind == Kind::Answer) {
            entry.records.push(span_of(line));
        }
    }

    fn settle(&mut self) {
        self.open_calls.clear();
        self.entries.append(&mut self.deferred);
    }

    /// Replaces the oldest messages with a summary; newer versions keep prompts of the user before
    /// it.
    fn compact(&mut self, fields: &Fields<'_>, line: Line<'_>) {
        let number = |key: &str| fields.number(key).and_then(|it| usize::try_from(it).ok());
        self.settle();
        let old = std::mem::take(&mut self.entries);
        let summary = HistoryEntry { kind: Kind::Summary, records: vec![span_of(line)], usage: None };
        let count = number("compactedCount").unwrap_or(0).min(old.len());
        if let Some(n_kept) = number("keptUserMessageCount") {
            let prompts: Vec<&HistoryEntry> = old.iter().filter(|entry| entry.kind == Kind::Prompt).collect();
            let n_head = number("keptHeadUserMessageCount").unwrap_or(0).min(prompts.len());
            let n_tail = n_kept.saturating_sub(n_head).min(prompts.len() - n_head);
            let tail = &prompts[prompts.len() - n_tail..];
            self.entries = prompts[..n_head].iter().chain(tail).map(|entry| (*entry).clone()).collect();
            self.entries.push(summary);
        } else {
            // The usage covered messages that are now in the summary.
            let tail = old[count..].iter().map(|entry| HistoryEntry { usage: None, ..entry.clone() });
            self.entries = [summary].into_iter().chain(tail).collect();
        }
        self.before.push(old);
        self.tokens_before = Some(fields.number("tokensBefore").unwrap_or(0));
    }

    /// Undoes the newest prompts and all that followed them, but nothing from before a compaction.
    fn undo(&mut self, count: u64, line: u64) {
        self.settle();
        let floor = self.entries.iter().rposition(|entry| entry.kind == Kind::Summary).map_or(0, |at| at + 1);
        let prompts = (floor..self.entries.len()).filter(|at| self.entries[*at].kind == Kind::Prompt);
        let nth = usize::try_from(count).ok().and_then(|count| count.checked_sub(1));
        if let Some(at) = nth.and_then(|nth| prompts.rev().nth(nth)) {
            self.undone.extend(self.entries[at].records.first().map(|prompt| prompt.at..line));
            self.entries.truncate(at);
        }
    }

    /// Returns whether a later line undoes the line at a position of the log.
    pub(crate) fn is_undone(&self, place: u64) -> bool {
        self.undone.iter().any(|range| range.contains(&place))
    }

    /// Assembles messages.
    pub(crate) fn assemble(&self, entries: &[HistoryEntry], parts: &dyn Parts) -> Draft {
        let mut draft = Draft::default();
        if let Some(system) = self.system.clone() {
            draft.add_apart(Message::custom("system", system));
        }
        for entry in entries {
            for (nth, record) in entry.records.iter().enumerate() {
                let bytes = parts.bytes(record).unwrap_or_default();
                add(&mut draft, entry.kind, nth == 0, &bytes, record.clone());
            }
            if let (Some((usage, model)), false) = (&entry.usage, entry.records.is_empty()) {
                draft.count(*usage, model.clone());
            }
        }
        draft
    }
}

/// Adds a line to the messages before it.
fn add(draft: &mut Draft, kind: Kind, is_first: bool, line: &[u8], record: Span) {
    let message = || chat_message::message(std::str::from_utf8(get(line, "message")?).ok()?);
    match kind {
        Kind::Prompt => draft.add(record, message().unwrap_or_else(|| Message::user(""))),
        Kind::Notice => match message() {
            Some(Message::User { content, .. }) => draft.add(record, Message::custom(HOST_TYPE, content)),
            Some(message) => draft.add(record, message),
            None => draft.hide(record),
        },
        Kind::Answer if is_first => draft.add(record, Message::assistant_blocks(block(line))),
        Kind::Answer => draft.answer(record, block(line)),
        Kind::Result => {
            let id = text(line, &["event", "toolCallId"]).unwrap_or_default();
            let is_error = find(line, &["event", "result", "isError"]).is_some_and(|it| &line[it] == b"true");
            let output = find(line, &["event", "result", "output"]);
            let output = output.and_then(|it| crate::kit::json_text::value(&line[it])).unwrap_or_default();
            let content = match output {
                serde_json::Value::String(text) if text.is_empty() => Vec::new(),
                serde_json::Value::String(text) => vec![Block::Text { text }],
                output => output_blocks(&output),
            };
            draft.result(record, id, content, is_error);
        }
        Kind::Summary => {
            let said =
                text(line, &["contextSummary"]).or_else(|| text(line, &["summary"])).unwrap_or_default();
            let own = said.strip_prefix(markers::DIGEST_HEADER).map(|body| body.trim_start().to_owned());
            let tokens_before = Fields::parse(line).and_then(|it| it.number("tokensBefore")).unwrap_or(0);
            let summary = own.unwrap_or(said);
            draft.add(record, Message::CompactionSummary { summary, tokens_before });
        }
    }
}

/// Returns the blocks that a line adds to an answer.
fn block(line: &[u8]) -> Vec<Block> {
    let Some(event) = get(line, "event").and_then(Fields::parse) else { return Vec::new() };
    if let Some(json) = event.get("part") {
        return std::str::from_utf8(json).ok().map(part).into_iter().collect();
    }
    let text = |key: &str| event.text(key).unwrap_or_default().into_owned();
    let input = event.value("args").unwrap_or_else(|| serde_json::json!({}));
    vec![Block::ToolCall { id: text("toolCallId"), name: text("name"), input }]
}

fn usage(counted: &Fields<'_>) -> Usage {
    Usage {
        input_tokens: counted.number("inputOther").unwrap_or(0),
        output_tokens: counted.number("output").unwrap_or(0),
        cache_read_tokens: counted.number("inputCacheRead"),
        cache_write_tokens: counted.number("inputCacheCreation"),
    }
}
