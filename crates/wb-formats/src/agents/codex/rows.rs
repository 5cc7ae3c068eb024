//! The lines of a rollout, as far as they are needed before a conversation is requested.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read as _;
use std::ops::Range;

use wb_budget::Usage;
use wb_record::{FormatError, Line, Lines, PartReader, Parts, Span};
use wb_session::parse_iso_ms;

use super::outcome::failed_call;
use crate::kit::fields::Fields;
use crate::kit::log::{is_json, span_in};
use crate::kit::skips::Skips;
use crate::kit::usage::usage_with_cache;

/// The code of the provider's error about an encrypted item that it cannot decrypt.
const UNDECRYPTABLE: &str = "invalid_encrypted_content";

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
pub(crate) struct RolloutRow {
    /// The number of its line among those with an envelope, counted from 1.
    record: u64,
    /// The number of its line, counted from 1.
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// An item.
    Item { item: Span, timestamp: i64 },
    /// A compaction: its payload, and whether that contains the whole history that continues.
    Compacted { payload: Span, is_whole: bool, tokens_before: u64 },
    /// The usage of the request that the last answer replies to.
    Request { usage: Usage, model: Option<String> },
    /// The user went back over `n_turns` turns.
    RolledBack { n_turns: u64 },
}

/// The state that the host compares the next turn with: a complete one, then its changes.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) whole: Span,
    pub(crate) changes: Vec<Span>,
}

/// The lines of a rollout.
#[derive(Debug, Default)]
pub(crate) struct RolloutRows {
    all: Vec<RolloutRow>,
    n_records: u64,
    n_lines: usize,
    /// The last line that is not blank, which identifies the file.
    end: Span,
    end_fingerprint: u64,
    /// The bytes of the file, and whether a line feed ends them.
    pub(crate) n_bytes: u64,
    pub(crate) is_ended: bool,
    /// Set if each item has its own line, as in the oldest versions.
    pub(crate) is_bare: bool,
    pub(crate) thread_id: Option<String>,
    pub(crate) turn_id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_window: Option<u64>,
    pub(crate) last_ordinal: Option<u64>,
    /// The calls that failed.
    failed: HashSet<String>,
    /// The state that the host compares with since the last compaction.
    pub(crate) world: Option<World>,
    pub(crate) turn_context: Option<Span>,
    /// The sum over all requests, from the last count.
    pub(crate) totals: Option<Span>,
    total_tokens: Option<u64>,
    context_tokens: u64,
    pub(crate) passed: Skips,
    pub(crate) truncated: Option<usize>,
    /// The line of an answer that the last compaction cannot be decrypted.
    pub(crate) undecryptable: Option<usize>,
}

impl RolloutRows {
    /// Reads all lines.
    pub(crate) fn read(parts: &dyn Parts) -> Result<Self, FormatError> {
        let mut rows = Self { is_ended: true, ..Self::default() };
        rows.read_on(parts)?;
        Ok(rows)
    }

    /// Reads the lines that were appended since; all of them if anything else changed.
    pub(crate) fn refresh(&mut self, parts: &dyn Parts) -> Result<(), FormatError> {
        let is_longer = parts.len("")?.unwrap_or(0) >= self.n_bytes;
        if is_longer && self.is_ended && parts.fingerprint(&self.end)? == self.end_fingerprint {
            let done = self.read_on(parts);
            // After a failure, the next call reads everything.
            self.is_ended &= done.is_ok();
            return done;
        }
        *self = Self::read(parts)?;
        Ok(())
    }

    /// Makes the next refresh read the whole file.
    pub(crate) fn unseal(&mut self) {
        self.is_ended = false;
    }

    fn read_on(&mut self, parts: &dyn Parts) -> Result<(), FormatError> {
        let (start, n_lines) = (self.n_bytes, self.n_lines);
        self.n_bytes = parts.len("")?.unwrap_or(0);
        let new = PartReader::new(parts, "", start)?.take(self.n_bytes.saturating_sub(start));
        let mut lines = Lines::new(new);
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
        match Fields::with_inner(line.bytes, "payload") {
            Some(fields) => LineReading { rows: self, line, fields }.take(),
            None if line.is_truncated() => self.truncated = Some(line.number),
            None if is_json(line.bytes) => self.passed.ignored(line.number),
            None => self.passed.unreadable(line.number),
        }
    }

    /// Returns the lines of a range.
    pub(crate) fn range(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &RolloutRow)> {
        range.clone().zip(&self.all[range])
    }

    /// Returns whether a call failed, according to its result or an event.
    pub(crate) fn is_failed(&self, call_id: &str) -> bool {
        self.failed.contains(call_id)
    }

    /// Returns the segments between compactions, as ranges of rows.
    pub(crate) fn segments(&self) -> Vec<Range<usize>> {
        let is_break = |at: &usize| matches!(self.all[*at].kind, Kind::Compacted { .. });
        let mut start = 0;
        let ends = (0..self.all.len()).filter(is_break).chain([self.all.len()]);
        ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Returns the row from which on a conversation that ends before row `end` must be read.
    pub(crate) fn base(&self, end: usize) -> usize {
        let is_whole = |row: &RolloutRow| matches!(row.kind, Kind::Compacted { is_whole: true, .. });
        self.all[..end].iter().rposition(is_whole).unwrap_or(0)
    }

    fn window(&mut self, tokens: Option<u64>) {
        self.context_window = tokens.filter(|tokens| *tokens > 0).or(self.context_window);
    }

    fn push(&mut self, line: usize, kind: Kind) {
        self.all.push(RolloutRow { record: self.n_records, line, kind });
    }

    /// Forgets all lines from a record on: the user went back before it.
    fn cut(&mut self, record: u64) {
        let from = self.all.partition_point(|row| row.record <= record);
        let is_item = |row: &&RolloutRow| matches!(row.kind, Kind::Item { .. });
        self.passed.n_abandoned += self.all[from..].iter().filter(is_item).count();
        self.all.truncate(from);
    }
}

/// One line while it is read.
struct LineReading<'a> {
    rows: &'a mut RolloutRows,
    line: Line<'a>,
    fields: Fields<'a>,
}

/// An object in the line, with its position.
struct Payload<'a> {
    fields: Fields<'a>,
    place: Range<usize>,
    kind: Cow<'a, str>,
}

impl<'a> Payload<'a> {
    fn parse(line: &mut Fields<'a>, place: Range<usize>) -> Option<Self> {
        let fields = line.take_known(&place).or_else(|| line.inner_at(place.clone()))?;
        let kind = fields.text("type").unwrap_or_default();
        Some(Self { fields, place, kind })
    }
}

impl<'a> LineReading<'a> {
    /// Returns the place of a stretch of the line in the file.
    fn span(&self, within: &Range<usize>) -> Span {
        span_in(self.line.at, within)
    }

    fn take(mut self) {
        let kind = self.fields.text("type").unwrap_or_default();
        self.rows.last_ordinal = self.rows.last_ordinal.max(self.fields.number("ordinal"));
        let Some(place) = self.fields.place("payload") else { return self.bare(&kind) };
        self.rows.n_records += 1;
        match Payload::parse(&mut self.fields, place) {
            Some(payload) => self.enveloped(&kind, &payload),
            None => self.rows.passed.ignored(self.line.number),
        }
    }

    fn enveloped(&mut self, kind: &str, payload: &Payload<'a>) {
        let fields = &payload.fields;
        let text = |key: &str| fields.string(key);
        let span = self.span(&payload.place);
        match kind {
            "response_item" => self.item(payload),
            "event_msg" => self.event(payload),
            "compacted" => {
                let is_whole =
                    fields.get("replacement_history").is_some_and(|history| history.starts_with(b"["));
                let tokens_before = self.rows.context_tokens;
                self.rows.push(self.line.number, Kind::Compacted { payload: span, is_whole, tokens_before });
                self.rows.world = None;
                self.rows.undecryptable = None;
            }
            "world_state" => self.world(fields, span),
            "turn_context" => {
                self.rows.model = text("model").or(self.rows.model.take());
                self.rows.turn_id = text("turn_id").or(self.rows.turn_id.take());
                self.rows.turn_context = Some(span);
            }
            // The first of several belongs to this file; the others to the sessions it was forked
            // from.
            "session_meta" => self.rows.thread_id = self.rows.thread_id.take().or_else(|| text("id")),
            _ if SILENT_TYPES.contains(&kind) => {}
            _ => self.rows.passed.ignored(self.line.number),
        }
    }

    fn item(&mut self, payload: &Payload<'a>) {
        self.rows.failed.extend(failed_call(&payload.kind, &payload.fields));
        // The answer to the host's own request for a summary is in no context.
        if self.fields.inner("metadata").is_some_and(|notes| notes.is("compaction_output", "true")) {
            return;
        }
        // The host records the time only for user messages.
        let is_message = matches!(&*payload.kind, "message" | "");
        let time = |key| self.fields.text(key).filter(|_| is_message);
        let timestamp = time("timestamp").or_else(|| time("created_at"));
        let timestamp = timestamp.and_then(|text| parse_iso_ms(&text)).unwrap_or(0);
        let item = self.span(&payload.place);
        self.rows.push(self.line.number, Kind::Item { item, timestamp });
    }

    /// Reads a line of the oldest versions: an item, or metadata of the file.
    fn bare(&mut self, kind: &str) {
        let is_item = kind.ends_with("_call") || kind.ends_with("_output") || kind == "function_result";
        let has = |key: &str| self.fields.place(key).is_some();
        if is_item || kind == "reasoning" || has("role") {
            self.rows.is_bare = true;
            if let Some(payload) = Payload::parse(&mut self.fields, 0..self.line.bytes.len()) {
                self.item(&payload);
            }
        } else if !has("record_type") && !has("instructions") {
            self.rows.passed.ignored(self.line.number);
        }
    }

    fn world(&mut self, fields: &Fields<'_>, span: Span) {
        if fields.is("full", "true") {
            self.rows.world = Some(World { whole: span, changes: Vec::new() });
        } else if let Some(world) = &mut self.rows.world {
            world.changes.push(span);
        }
    }

    fn event(&mut self, payload: &Payload<'a>) {
        let fields = &payload.fields;
        match &*payload.kind {
            "token_count" => _ = self.count(payload),
            "task_started" | "turn_started" => {
                self.rows.window(fields.number("model_context_window"));
                let turn_id = fields.string("turn_id");
                self.rows.turn_id = turn_id.or(self.rows.turn_id.take());
            }
            "thread_rolled_back" => match (fields.number("rollback_start_index"), fields.number("num_turns"))
            {
                (Some(start), _) => self.rows.cut(start),
                (None, Some(n_turns)) => self.rows.push(self.line.number, Kind::RolledBack { n_turns }),
                (None, None) => {}
            },
            "error" if fields.string("message").is_some_and(|it| it.contains(UNDECRYPTABLE)) => {
                self.rows.undecryptable = Some(self.line.number);
            }
            kind => self.rows.failed.extend(failed_call(kind, fields)),
        }
    }

    /// Reads a count; one whose sum is that of the last one repeats it, and measures no request.
    fn count(&mut self, payload: &Payload<'a>) -> Option<()> {
        let info = payload.fields.inner("info")?;
        self.rows.window(info.number("model_context_window"));
        let place = info.place("total_token_usage")?;
        let total = info.inner("total_token_usage")?.number("total_tokens");
        let last = info.inner("last_token_usage")?;
        self.rows.context_tokens = last.number("total_tokens").unwrap_or(0);
        let (read, written) = (last.number("cached_input_tokens"), last.number("cache_write_input_tokens"));
        let usage =
            usage_with_cache(last.number("input_tokens"), last.number("output_tokens"), read, written);
        let start = payload.place.start + payload.fields.place("info")?.start;
        self.rows.totals = Some(self.span(&(start + place.start..start + place.end)));
        let is_new = std::mem::replace(&mut self.rows.total_tokens, total) != total;
        if let (true, Some(usage)) = (is_new, usage) {
            let model = self.rows.model.clone();
            self.rows.push(self.line.number, Kind::Request { usage, model });
        }
        Some(())
    }
}
