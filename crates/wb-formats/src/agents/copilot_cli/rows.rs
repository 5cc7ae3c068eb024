//! The events of a session that form a conversation.

use std::borrow::Cow;
use std::ops::Range;

use wb_budget::Usage;
use wb_message::Message;
use wb_message::markers::is_synthetic;
use wb_record::{FormatError, Line, Parts, Span};
use wb_session::parse_iso_ms;

use super::event::{self, Kind};
use crate::kit::draft::Draft;
use crate::kit::fields::Fields;
use crate::kit::line_separators::has_separator;
use crate::kit::log::{LogEnd, span_of};
use crate::kit::skips::Skips;

/// An event of a conversation.
#[derive(Debug)]
struct EventRow {
    kind: Kind,
    record: Span,
    line: usize,
    timestamp: i64,
    /// The usage of the request that it answers.
    usage: Option<(Usage, Option<String>)>,
}

/// The events of a session.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    all: Vec<EventRow>,
    pub(crate) end: LogEnd,
    pub(crate) model: Option<String>,
    /// The most tokens of a prompt.
    pub(crate) context_window: Option<u64>,
    /// The usage of the request that the next answer belongs to.
    next_usage: Option<(Usage, Option<String>)>,
    /// The tokens before the last compaction of the host.
    pub(crate) tokens_before: Option<u64>,
    /// The lines with a raw line separator of Unicode, and the first of them.
    pub(crate) separated: Option<(usize, usize)>,
    /// The events of subagents.
    pub(crate) n_sidechain: usize,
}

impl EventRows {
    pub(crate) fn read(parts: &dyn Parts) -> Result<Self, FormatError> {
        let mut rows = Self::default();
        rows.end = LogEnd::of_lines(parts, "data", |passed, fields, line| rows.take(passed, fields, line))?;
        Ok(rows)
    }

    fn take(&mut self, passed: &mut Skips, fields: &Fields<'_>, line: Line<'_>) {
        let (Some(name), Some(data)) = (fields.text("type"), fields.inner("data")) else {
            passed.ignored(line.number);
            return;
        };
        if has_separator(line.bytes) {
            let (n, first) = self.separated.unwrap_or((0, line.number));
            self.separated = Some((n + 1, first));
        }
        if name == "session.usage_record" {
            return self.count(&data);
        }
        let models = ["model", "newModel", "selectedModel"];
        let model = models.iter().find_map(|key| data.text(key)).filter(|_| !name.starts_with("hook"));
        let Some(kind) = Kind::from_name(&name) else {
            self.model = model.map(Cow::into_owned).or(self.model.take());
            return;
        };
        if data.text("parentToolCallId").is_some() {
            self.n_sidechain += 1;
            return;
        }
        self.model = model.map(Cow::into_owned).or(self.model.take());
        if kind == Kind::Compaction {
            if !data.is("success", "true") || data.text("summaryContent").is_none() {
                return;
            }
            self.tokens_before = Some(data.number("preCompactionTokens").unwrap_or(0));
        }
        let usage = if kind == Kind::Answer { self.next_usage.take() } else { None };
        let timestamp = fields.text("timestamp").and_then(|it| parse_iso_ms(&it)).unwrap_or(0);
        self.all.push(EventRow { kind, record: span_of(line), line: line.number, timestamp, usage });
    }

    /// Notes the usage of a request of the main conversation, whose answer follows.
    fn count(&mut self, data: &Fields<'_>) {
        let Some(counted) = data.inner("usage").filter(|_| data.text("parentToolCallId").is_none()) else {
            return;
        };
        let number = |key: &str| counted.number(key).unwrap_or(0);
        let (read, written) = (number("cacheReadTokens"), number("cacheWriteTokens"));
        let model = counted.text("model").map(Cow::into_owned);
        self.context_window = counted.number("maxPromptTokens").filter(|n| *n > 0).or(self.context_window);
        self.model = model.clone().or(self.model.take());
        let usage = Usage {
            // The input holds what was cached.
            input_tokens: number("inputTokens").saturating_sub(read).saturating_sub(written),
            output_tokens: number("outputTokens"),
            cache_read_tokens: Some(read),
            cache_write_tokens: Some(written),
        };
        self.next_usage = Some((usage, model));
    }

    /// Returns the segments between compactions of the host, as ranges of events.
    pub(crate) fn segments(&self) -> Vec<Range<usize>> {
        let breaks = (0..self.all.len()).filter(|at| self.all[*at].kind == Kind::Compaction);
        let mut start = 0;
        breaks.chain([self.all.len()]).map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Assembles the conversation of a segment; of several system texts the last one counts.
    pub(crate) fn assemble(&self, parts: &dyn Parts, segment: Range<usize>) -> (Draft, Skips) {
        let (draft, passed) = self.assembled(parts, segment.clone(), Draft::default());
        if draft.n_orphans() == 0 {
            return (draft, passed);
        }
        // A result may precede its call.
        let ids = draft.messages().iter().flat_map(Message::calls).map(|(id, ..)| id.to_owned());
        self.assembled(parts, segment, Draft::with_early(ids.collect()))
    }

    fn assembled(&self, parts: &dyn Parts, segment: Range<usize>, mut draft: Draft) -> (Draft, Skips) {
        let mut passed = Skips::default();
        let system = self.all[..segment.end].iter().rev().find(|row| row.kind == Kind::System);
        let others = self.all[segment].iter().filter(|row| row.kind != Kind::System);
        // What was counted before a compaction counts the messages that it replaced.
        let mut compacted_at = i64::MIN;
        for row in system.into_iter().chain(others) {
            let bytes = parts.bytes(&row.record).unwrap_or_default();
            let n_before = draft.messages().len();
            if !event::add(&mut draft, row.kind, &bytes, row.record.clone()) {
                passed.unreadable(row.line);
            }
            let Some(added) = draft.messages().get(n_before) else { continue };
            if is_synthetic(added) {
                compacted_at = compacted_at.max(row.timestamp);
            }
            if let Some((usage, model)) = row.usage.clone().filter(|_| row.timestamp > compacted_at) {
                draft.count(usage, model);
            }
        }
        passed.n_orphans = draft.n_orphans();
        (draft, passed)
    }
}
