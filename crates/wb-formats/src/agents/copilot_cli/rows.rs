//! The events of a session that form a conversation.

use std::borrow::Cow;
use std::ops::Range;

use wb_message::Message;
use wb_record::{FormatError, Line, Parts, Span};

use super::event::{self, Kind};
use crate::kit::draft::Draft;
use crate::kit::fields::Fields;
use crate::kit::log::{LogEnd, span_of};
use crate::kit::skips::Skips;

/// An event of a conversation.
#[derive(Debug)]
struct EventRow {
    kind: Kind,
    record: Span,
    line: usize,
}

/// The events of a session.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    all: Vec<EventRow>,
    pub(crate) end: LogEnd,
    pub(crate) model: Option<String>,
    /// The tokens before the last compaction of the host.
    pub(crate) tokens_before: Option<u64>,
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
        self.all.push(EventRow { kind, record: span_of(line), line: line.number });
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
        for row in system.into_iter().chain(others) {
            let bytes = parts.bytes(&row.record).unwrap_or_default();
            if !event::add(&mut draft, row.kind, &bytes, row.record.clone()) {
                passed.unreadable(row.line);
            }
        }
        passed.n_orphans = draft.n_orphans();
        (draft, passed)
    }
}
