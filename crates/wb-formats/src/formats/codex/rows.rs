//! The lines of a rollout, as far as they must be known before a conversation is asked for.

use std::collections::HashSet;
use std::io::{BufReader, Read as _};
use std::ops::Range;

use serde::de::IgnoredAny;
use wb_budget::Usage;
use wb_record::json::{self, Member, members};
use wb_record::{FormatError, Line, Lines, Note, PartReader, Parts, Span};
use wb_session::parse_iso_ms;

use super::outcome::failed_call;

/// The types of lines with an envelope that say nothing to a model.
const SILENT_TYPES: [&str; 7] = [
    "token_usage_record",
    "inter_agent_communication_metadata",
    "retained_context",
    "security_risk_score",
    "realtime_item",
    "agent_response_observation",
    "rollout_reference",
];

/// A line that the conversation depends on.
#[derive(Debug)]
pub(super) struct Row {
    /// How many lines with an envelope stand before it.
    record: u64,
    /// Its line, counted from 1.
    pub(super) line: usize,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// An item.
    Item { item: Span, timestamp: i64 },
    /// A compaction: its payload, and whether that holds the whole history that goes on.
    Compacted { payload: Span, is_whole: bool, tokens_before: u64 },
    /// What was counted for the request that the last answer replies to.
    Request { usage: Usage, model: Option<String> },
    /// The user went back over so many turns.
    RolledBack { n_turns: u64 },
}

/// What the host compares the next turn with: the whole of it, then what changed.
#[derive(Debug)]
pub(super) struct World {
    pub(super) whole: Span,
    pub(super) changes: Vec<Span>,
}

/// What was passed over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    pub(super) n_ignored: usize,
    pub(super) n_abandoned: usize,
    n_unreadable: usize,
    /// The line of the first that cannot be read.
    first_unreadable: usize,
}

impl Passed {
    /// Counts a line that cannot be read.
    pub(super) fn unreadable(&mut self, line: usize) {
        if self.n_unreadable == 0 || line < self.first_unreadable {
            self.first_unreadable = line;
        }
        self.n_unreadable += 1;
    }

    /// Returns notes of what was passed over here or there.
    pub(super) fn notes(mut self, other: Self) -> Vec<Note> {
        for _ in 0..other.n_unreadable {
            self.unreadable(other.first_unreadable);
        }
        let (n_ignored, n_abandoned) =
            (self.n_ignored + other.n_ignored, self.n_abandoned + other.n_abandoned);
        let notes = [
            (
                self.n_unreadable,
                Note::UnreadableRecords { n: self.n_unreadable, line: self.first_unreadable },
            ),
            (n_ignored, Note::IgnoredLines { n: n_ignored }),
            (n_abandoned, Note::AbandonedLines { n: n_abandoned }),
        ];
        notes.into_iter().filter(|(n, _)| *n > 0).map(|(_, note)| note).collect()
    }
}

/// The lines of a rollout.
#[derive(Debug, Default)]
pub(super) struct Rows {
    all: Vec<Row>,
    n_records: u64,
    n_lines: usize,
    /// The last line that is not blank, by which the file is known again.
    end: Span,
    end_fingerprint: u64,
    /// The bytes of the file, and whether a line feed ends them.
    pub(super) n_bytes: u64,
    pub(super) is_ended: bool,
    /// Whether items stand in lines of their own, as the oldest versions wrote them.
    pub(super) is_bare: bool,
    pub(super) thread_id: Option<String>,
    pub(super) turn_id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) context_window: Option<u64>,
    pub(super) last_ordinal: Option<u64>,
    /// The calls that failed.
    failed: HashSet<String>,
    /// What the host compares with since the last compaction.
    pub(super) world: Option<World>,
    pub(super) turn_context: Option<Span>,
    /// The sum over all requests, as it stands in the last count.
    pub(super) totals: Option<Span>,
    total_tokens: Option<u64>,
    context_tokens: u64,
    pub(super) passed: Passed,
    pub(super) truncated: Option<usize>,
}

impl Rows {
    /// Reads all lines.
    pub(super) fn read(parts: &dyn Parts) -> Result<Self, FormatError> {
        let mut rows = Self { is_ended: true, ..Self::default() };
        rows.read_on(parts)?;
        Ok(rows)
    }

    /// Reads the lines that were appended since; all of them if more was changed than that.
    pub(super) fn refresh(&mut self, parts: &dyn Parts) -> Result<(), FormatError> {
        let is_longer = parts.len("")?.unwrap_or(0) >= self.n_bytes;
        if is_longer && self.is_ended && parts.fingerprint(&self.end)? == self.end_fingerprint {
            let done = self.read_on(parts);
            // After a failure the next time reads all.
            self.is_ended &= done.is_ok();
            return done;
        }
        *self = Self::read(parts)?;
        Ok(())
    }

    fn read_on(&mut self, parts: &dyn Parts) -> Result<(), FormatError> {
        let (start, n_lines) = (self.n_bytes, self.n_lines);
        self.n_bytes = parts.len("")?.unwrap_or(0);
        let new = PartReader::new(parts, "", start)?.take(self.n_bytes.saturating_sub(start));
        let mut lines = Lines::new(BufReader::new(new));
        while let Some(Line { number, at, bytes, is_ended }) = lines.next_line()? {
            self.is_ended = is_ended;
            self.take(Line { number: n_lines + number, at: start + at, bytes, is_ended });
            self.end = Span { at: start + at, len: bytes.len() as u64, ..Span::default() };
        }
        self.n_lines += lines.number();
        self.end_fingerprint = parts.fingerprint(&self.end)?;
        Ok(())
    }

    fn take(&mut self, line: Line<'_>) {
        match members(line.bytes) {
            Some(all) => Reading { rows: self, line, all }.take(),
            None if line.is_truncated() => self.truncated = Some(line.number),
            None if serde_json::from_slice::<IgnoredAny>(line.bytes).is_ok() => self.passed.n_ignored += 1,
            None => self.passed.unreadable(line.number),
        }
    }

    /// Returns the lines of a range.
    pub(super) fn of(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &Row)> {
        range.clone().zip(&self.all[range])
    }

    /// Returns whether a call failed, as far as its own result or an event tells.
    pub(super) fn is_failed(&self, call_id: &str) -> bool {
        self.failed.contains(call_id)
    }

    /// Returns the segments between compactions, as ranges of rows.
    pub(super) fn segments(&self) -> Vec<Range<usize>> {
        let is_break = |at: &usize| matches!(self.all[*at].kind, Kind::Compacted { .. });
        let mut start = 0;
        let ends = (0..self.all.len()).filter(is_break).chain([self.all.len()]);
        ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Returns the row from which on a conversation that ends before row `end` must be read.
    pub(super) fn base(&self, end: usize) -> usize {
        let is_whole = |row: &Row| matches!(row.kind, Kind::Compacted { is_whole: true, .. });
        self.all[..end].iter().rposition(is_whole).unwrap_or(0)
    }

    fn push(&mut self, line: usize, kind: Kind) {
        self.all.push(Row { record: self.n_records, line, kind });
    }

    /// Forgets all lines from a record on: the user went back before it.
    fn cut(&mut self, record: u64) {
        let from = self.all.partition_point(|row| row.record < record);
        let is_item = |row: &&Row| matches!(row.kind, Kind::Item { .. });
        self.passed.n_abandoned += self.all[from..].iter().filter(is_item).count();
        self.all.truncate(from);
    }
}

/// One line while it is read.
struct Reading<'a> {
    rows: &'a mut Rows,
    line: Line<'a>,
    all: Vec<Member>,
}

impl Reading<'_> {
    fn member(&self, key: &str) -> Option<&Member> {
        self.all.iter().rfind(|member| member.key == key)
    }

    fn text(&self, key: &str) -> Option<String> {
        serde_json::from_slice(&self.line.bytes[self.member(key)?.value.clone()]).ok()
    }

    /// Returns the place of a stretch of the line in the file.
    fn span(&self, within: Range<usize>) -> Span {
        Span { at: self.line.at + within.start as u64, len: within.len() as u64, ..Span::default() }
    }

    fn take(mut self) {
        let kind = self.text("type").unwrap_or_default();
        let payload = self.member("payload").map(|member| member.value.clone());
        let ordinal = self.member("ordinal").map(|member| &self.line.bytes[member.value.clone()]);
        let ordinal = ordinal.and_then(|text| serde_json::from_slice(text).ok());
        self.rows.last_ordinal = self.rows.last_ordinal.max(ordinal);
        match payload {
            Some(place) => {
                self.enveloped(&kind, place);
                self.rows.n_records += 1;
            }
            None => self.bare(&kind),
        }
    }

    fn enveloped(&mut self, kind: &str, place: Range<usize>) {
        let payload = &self.line.bytes[place.clone()];
        let text = |key: &str| json::text(payload, &[key]);
        let span = self.span(place.clone());
        match kind {
            "response_item" => self.item(place),
            "event_msg" => self.event(place),
            "compacted" => {
                let history = json::get(payload, "replacement_history");
                let is_whole = history.is_some_and(|history| history.starts_with(b"["));
                let tokens_before = self.rows.context_tokens;
                self.rows.push(self.line.number, Kind::Compacted { payload: span, is_whole, tokens_before });
                self.rows.world = None;
            }
            "world_state" => self.world(payload, span),
            "turn_context" => {
                let (model, turn_id) = (text("model"), text("turn_id"));
                self.rows.model = model.or(self.rows.model.take());
                self.rows.turn_id = turn_id.or(self.rows.turn_id.take());
                self.rows.turn_context = Some(span);
            }
            // Of several the first is that of this file, the others are those of where it was forked from.
            "session_meta" => self.rows.thread_id = self.rows.thread_id.take().or_else(|| text("id")),
            _ if SILENT_TYPES.contains(&kind) => {}
            _ => self.rows.passed.n_ignored += 1,
        }
    }

    fn item(&mut self, place: Range<usize>) {
        let payload = &self.line.bytes[place.clone()];
        let kind = json::text(payload, &["type"]).unwrap_or_default();
        self.rows.failed.extend(failed_call(&kind, payload));
        // The answer to the host's own request for a summary is in no context.
        let notes = self.member("metadata").map(|member| &self.line.bytes[member.value.clone()]);
        if notes.and_then(|notes| json::get(notes, "compaction_output")) == Some(b"true") {
            return;
        }
        let timestamp = self.text("timestamp").or_else(|| self.text("created_at"));
        let timestamp = timestamp.and_then(|text| parse_iso_ms(&text)).unwrap_or(0);
        let item = self.span(place);
        self.rows.push(self.line.number, Kind::Item { item, timestamp });
    }

    /// Reads a line of the oldest versions: an item, or what the file says of itself.
    fn bare(&mut self, kind: &str) {
        let is_item = kind.ends_with("_call") || kind.ends_with("_output") || kind == "function_result";
        if is_item || kind == "reasoning" || self.member("role").is_some() {
            self.rows.is_bare = true;
            self.item(0..self.line.bytes.len());
        } else if self.member("record_type").is_none() && self.member("instructions").is_none() {
            self.rows.passed.n_ignored += 1;
        }
    }

    fn world(&mut self, payload: &[u8], span: Span) {
        if json::get(payload, "full") == Some(b"true") {
            self.rows.world = Some(World { whole: span, changes: Vec::new() });
        } else if let Some(world) = &mut self.rows.world {
            world.changes.push(span);
        }
    }

    fn event(&mut self, place: Range<usize>) {
        let payload = &self.line.bytes[place.clone()];
        let kind = json::text(payload, &["type"]).unwrap_or_default();
        match kind.as_str() {
            "token_count" => self.count(place),
            "task_started" | "turn_started" => {
                let window = json::get(payload, "model_context_window").and_then(number);
                self.rows.context_window = window.filter(|window| *window > 0).or(self.rows.context_window);
                let turn_id = json::text(payload, &["turn_id"]);
                self.rows.turn_id = turn_id.or(self.rows.turn_id.take());
            }
            "thread_rolled_back" => {
                let count = |key| json::get(payload, key).and_then(number);
                match (count("rollback_start_index"), count("num_turns")) {
                    (Some(start), _) => self.rows.cut(start),
                    (None, Some(n_turns)) => self.rows.push(self.line.number, Kind::RolledBack { n_turns }),
                    (None, None) => {}
                }
            }
            _ => self.rows.failed.extend(failed_call(&kind, payload)),
        }
    }

    /// Reads a count; one whose sum is that of the last one repeats it, and measures no request.
    fn count(&mut self, place: Range<usize>) {
        let payload = &self.line.bytes[place.clone()];
        let find = |path: &[&str]| json::find(payload, path);
        let count = |path: &[&str]| number(&payload[find(path)?]);
        let window = count(&["info", "model_context_window"]).filter(|window| *window > 0);
        self.rows.context_window = window.or(self.rows.context_window);
        let Some(totals) = find(&["info", "total_token_usage"]) else { return };
        let last = |key| count(&["info", "last_token_usage", key]);
        self.rows.context_tokens = last("total_tokens").unwrap_or(0);
        let total = count(&["info", "total_token_usage", "total_tokens"]);
        let is_new = total != self.rows.total_tokens;
        let read = last("cached_input_tokens");
        let written = last("cache_write_input_tokens");
        let prompt = last("input_tokens").unwrap_or(0);
        let usage = Usage {
            input_tokens: prompt.saturating_sub(read.unwrap_or(0)).saturating_sub(written.unwrap_or(0)),
            output_tokens: last("output_tokens").unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
        };
        let totals = self.span(place.start + totals.start..place.start + totals.end);
        (self.rows.totals, self.rows.total_tokens) = (Some(totals), total);
        if is_new && prompt > 0 {
            let model = self.rows.model.clone();
            self.rows.push(self.line.number, Kind::Request { usage, model });
        }
    }
}

fn number(text: &[u8]) -> Option<u64> {
    serde_json::from_slice(text).ok()
}
