//! Items in the order in which the model sees them, put together to messages.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;
use wb_budget::Usage;
use wb_message::{Block, Message, markers};
use wb_record::json::{self, elements, find};
use wb_record::{Line, Parts, Place, Provenance, Segment, Span, UsageAt};

use super::item::{Said, digest_of};
use super::outcome::is_failure;
use super::rows::{Kind, Passed, Rows};

/// A conversation, where it stands, and what was passed over.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) segment: Segment,
    pub(super) provenance: Provenance,
    pub(super) passed: Passed,
    /// The tokens before the compaction that it follows.
    pub(super) tokens_before: Option<u64>,
}

/// Puts the conversation together that a segment ends with; usage is that of the segment.
pub(super) fn assemble(rows: &Rows, parts: &dyn Parts, segment: Range<usize>) -> Assembled {
    let mut live = Live::new(parts);
    for (at, row) in rows.of(rows.base(segment.end)..segment.end) {
        match &row.kind {
            Kind::Item { item, timestamp } => live.push(item.clone(), *timestamp, row.line),
            Kind::Compacted { payload, is_whole, tokens_before } => {
                live.compact(payload, *is_whole, row.line);
                live.tokens_before = Some(*tokens_before);
            }
            Kind::Request { usage, model } if segment.contains(&at) => live.count(*usage, model.clone()),
            Kind::Request { .. } => live.answered = None,
            Kind::RolledBack { n_turns } => live.roll_back(*n_turns),
        }
    }
    live.finish(rows)
}

/// An item of the conversation.
#[derive(Debug)]
struct Entry {
    item: Span,
    said: Said,
    timestamp: i64,
    request: Option<(Usage, Option<String>)>,
}

/// The items that the model sees.
#[derive(Debug)]
struct Live<'a> {
    parts: &'a dyn Parts,
    entries: Vec<Entry>,
    /// The last part of an answer whose request was not counted yet.
    answered: Option<usize>,
    tokens_before: Option<u64>,
    passed: Passed,
}

impl<'a> Live<'a> {
    fn new(parts: &'a dyn Parts) -> Self {
        let entries = Vec::new();
        Self { parts, entries, answered: None, tokens_before: None, passed: Passed::default() }
    }

    fn bytes(&self, span: &Span) -> Vec<u8> {
        self.parts.bytes(span).unwrap_or_default()
    }

    fn push(&mut self, item: Span, timestamp: i64, line: usize) {
        let bytes = self.bytes(&item);
        self.push_read(item, &bytes, timestamp, line);
    }

    fn push_read(&mut self, item: Span, bytes: &[u8], timestamp: i64, line: usize) {
        let Some(said) = Line::alone(line, bytes).parse::<Value>().ok().and_then(Said::of) else {
            return self.passed.unreadable(line);
        };
        if matches!(said, Said::Answer(_)) {
            self.answered = Some(self.entries.len());
        }
        self.entries.push(Entry { item, said, timestamp, request: None });
    }

    fn count(&mut self, usage: Usage, model: Option<String>) {
        if let Some(entry) = self.answered.take().and_then(|at| self.entries.get_mut(at)) {
            entry.request = Some((usage, model));
        }
    }

    /// Begins anew with the history that a compaction holds; one of the older versions keeps what the user and the host
    /// said, and adds its summary.
    fn compact(&mut self, payload: &Span, is_whole: bool, line: usize) {
        let bytes = self.bytes(payload);
        let summary = json::text(&bytes, &["message"]).unwrap_or_default();
        if is_whole {
            self.entries.clear();
            let list = find(&bytes, &["replacement_history"]).unwrap_or_default();
            for place in elements(&bytes[list.clone()]).unwrap_or_default() {
                let place = list.start + place.start..list.start + place.end;
                let item =
                    Span { at: payload.at + place.start as u64, len: place.len() as u64, ..payload.clone() };
                self.push_read(item, &bytes[place], 0, line);
            }
            self.mark_summary(&summary);
        } else {
            self.entries.retain(|entry| is_kept(&entry.said));
            let said = Said::Summary(digest_of(&summary).to_owned());
            self.entries.push(Entry { item: payload.clone(), said, timestamp: 0, request: None });
        }
        self.answered = None;
    }

    /// Finds the host's summary among the items by its text.
    fn mark_summary(&mut self, summary: &str) {
        let is_summary = |entry: &&mut Entry| match &entry.said {
            Said::User(content) => content.texts().eq([summary]),
            _ => false,
        };
        if !summary.is_empty()
            && let Some(entry) = self.entries.iter_mut().rfind(is_summary)
        {
            entry.said = Said::Summary(digest_of(summary).to_owned());
        }
    }

    /// Takes the last turns back, with what the host said right before them; what stands before the first turn stays.
    fn roll_back(&mut self, n_turns: u64) {
        let is_turn = |at: &usize| self.entries[*at].said.begins_turn();
        let turns: Vec<usize> = (0..self.entries.len()).filter(is_turn).collect();
        let n_kept = turns.len().saturating_sub(usize::try_from(n_turns).unwrap_or(usize::MAX));
        let (Some(first), Some(mut cut)) = (turns.first().copied(), turns.get(n_kept).copied()) else {
            return;
        };
        while cut > first && self.entries[cut - 1].said.is_of_host() {
            cut -= 1;
        }
        self.passed.n_abandoned += self.entries.len() - cut;
        self.entries.truncate(cut);
        self.answered = None;
    }

    fn finish(self, rows: &Rows) -> Assembled {
        let mut draft = Draft::new(rows);
        for entry in self.entries {
            draft.push(entry);
        }
        let mut passed = self.passed;
        passed.n_ignored += draft.n_orphans;
        let mut provenance = Provenance::default();
        for places in draft.places {
            provenance.push(places);
        }
        let segment = Segment::new(draft.messages, draft.usage);
        Assembled { segment, provenance, passed, tokens_before: self.tokens_before }
    }
}

/// Returns whether a compaction of the older versions keeps an item.
fn is_kept(said: &Said) -> bool {
    match said {
        Said::User(_) => true,
        Said::Host { kind, .. } => markers::PINNED_TYPES.contains(&kind.as_str()),
        _ => false,
    }
}

/// The messages so far.
#[derive(Debug)]
struct Draft<'a> {
    rows: &'a Rows,
    messages: Vec<Message>,
    places: Vec<Vec<Place>>,
    usage: Vec<UsageAt>,
    /// The names of the tools that were called, by the id of the call.
    calls: HashMap<String, String>,
    /// Places that wait for the first message.
    waiting: Vec<Place>,
    n_orphans: usize,
}

impl<'a> Draft<'a> {
    fn new(rows: &'a Rows) -> Self {
        Self {
            rows,
            messages: Vec::new(),
            places: Vec::new(),
            usage: Vec::new(),
            calls: HashMap::new(),
            waiting: Vec::new(),
            n_orphans: 0,
        }
    }

    fn push(&mut self, entry: Entry) {
        let Entry { item, said, timestamp, request } = entry;
        let message = match said {
            Said::Answer(blocks) => return self.answer(item, blocks, request),
            Said::Hidden => return self.hide(item),
            Said::Result { call_id, content } => match self.result(call_id, content) {
                Some(message) => message,
                None => return,
            },
            Said::User(content) => Message::User { content, timestamp },
            Said::Shell { command, output, exit_code } => {
                Message::BashExecution { command, output, exit_code }
            }
            Said::Host { kind, content } => Message::custom(kind, content),
            Said::Summary(summary) => Message::CompactionSummary { summary, tokens_before: 0 },
        };
        let n_blocks = message.blocks().len().max(1);
        self.add(message, place(item, 0, n_blocks));
    }

    fn add(&mut self, message: Message, place: Place) {
        self.messages.push(message);
        self.places.push(std::mem::take(&mut self.waiting).into_iter().chain([place]).collect());
    }

    /// Adds a part to the answer before it, or begins one.
    fn answer(&mut self, item: Span, blocks: Vec<Block>, request: Option<(Usage, Option<String>)>) {
        for block in &blocks {
            if let Block::ToolCall { id, name, .. } = block {
                self.calls.insert(id.clone(), name.clone());
            }
        }
        if let (Some(Message::Assistant { content, .. }), Some(places)) =
            (self.messages.last_mut(), self.places.last_mut())
        {
            places.push(place(item, content.len(), blocks.len()));
            content.extend(blocks);
        } else {
            let place = place(item, 0, blocks.len());
            self.add(Message::assistant_blocks(blocks), place);
        }
        if let Some((usage, model)) = request {
            let at = self.messages.len() - 1;
            self.usage.pop_if(|last| last.at == at);
            self.usage.push(UsageAt { at, usage, model });
        }
    }

    /// Returns the result of a call; one without a call is not sent.
    fn result(&mut self, call_id: String, content: Vec<Block>) -> Option<Message> {
        let Some(tool_name) = self.calls.get(&call_id).cloned() else {
            self.n_orphans += 1;
            return None;
        };
        let text = content.first().and_then(Block::as_text).unwrap_or_default();
        let is_error = self.rows.is_failed(&call_id) || is_failure(text);
        Some(Message::ToolResult { tool_call_id: call_id, tool_name, content, is_error })
    }

    /// Keeps an item that no model sees beside what stands before it.
    fn hide(&mut self, item: Span) {
        let n_blocks = self.messages.last().map_or(0, |message| message.blocks().len());
        let place = place(item, n_blocks, 0);
        self.places.last_mut().unwrap_or(&mut self.waiting).push(place);
    }
}

fn place(record: Span, start: usize, n_blocks: usize) -> Place {
    Place { record, blocks: start..start + n_blocks }
}
