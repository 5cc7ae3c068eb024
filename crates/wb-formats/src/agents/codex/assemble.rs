//! Items in the order in which the model sees them, assembled to messages.

use std::collections::HashSet;
use std::ops::Range;

use wb_budget::Usage;
use wb_message::{Block, markers};
use wb_record::json::{self, elements, find};
use wb_record::{MissingRole, Parts, Provenance, Segment, Span};

use super::outcome::is_failure;
use super::rows::{Kind, RolloutRows};
use crate::kit::draft::Draft;
use crate::kit::missing_roles::{LostRole, lost_role_of_item};
use crate::kit::skips::Skips;
use crate::shapes::responses_item::{ItemContent, digest_of};
use crate::shapes::responses_item_scan::parse_item;

/// A conversation, its position, and notes on what was skipped.
#[derive(Debug)]
pub(crate) struct AssembledRollout {
    pub(crate) segment: Segment,
    pub(crate) provenance: Provenance,
    pub(crate) passed: Skips,
    /// The tokens before the compaction that it follows.
    pub(crate) tokens_before: Option<u64>,
    /// The messages that lost their role.
    pub(crate) lost: Vec<MissingRole>,
}

/// Assembles the conversation at the end of a segment; usage is that of the segment.
pub(crate) fn assemble(rows: &RolloutRows, parts: &dyn Parts, segment: Range<usize>) -> AssembledRollout {
    let mut live = LiveItems::new(parts);
    for (at, row) in rows.range(rows.base(segment.end)..segment.end) {
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
struct ItemEntry {
    item: Span,
    said: ItemContent,
    timestamp: i64,
    request: Option<(Usage, Option<String>)>,
}

/// The items that the model sees.
#[derive(Debug)]
struct LiveItems<'a> {
    parts: &'a dyn Parts,
    entries: Vec<ItemEntry>,
    /// The last part of an answer whose request was not counted yet.
    answered: Option<usize>,
    tokens_before: Option<u64>,
    passed: Skips,
    lost: Vec<MissingRole>,
}

impl<'a> LiveItems<'a> {
    fn new(parts: &'a dyn Parts) -> Self {
        let entries = Vec::new();
        let (passed, lost) = (Skips::default(), Vec::new());
        Self { parts, entries, answered: None, tokens_before: None, passed, lost }
    }

    fn push(&mut self, item: Span, timestamp: i64, line: usize) {
        let bytes = self.parts.bytes(&item).unwrap_or_default();
        self.push_read(item, &bytes, timestamp, line);
    }

    fn push_read(&mut self, item: Span, bytes: &[u8], timestamp: i64, line: usize) {
        let Some(said) = wb_record::lines::utf8(bytes).and_then(parse_item) else {
            match lost_role_of_item(bytes) {
                Some(LostRole(role)) => self.lost.push(MissingRole { record: item, line, role }),
                None => self.passed.unreadable(line),
            }
            return;
        };
        if matches!(said, ItemContent::Answer(_)) {
            self.answered = Some(self.entries.len());
        }
        self.entries.push(ItemEntry { item, said, timestamp, request: None });
    }

    fn count(&mut self, usage: Usage, model: Option<String>) {
        if let Some(entry) = self.answered.take().and_then(|at| self.entries.get_mut(at)) {
            entry.request = Some((usage, model));
        }
    }

    /// Starts over with the history of a compaction; one of the older versions keeps the messages
    /// of the user and the pinned ones of the host, and adds its summary.
    fn compact(&mut self, payload: &Span, is_whole: bool, line: usize) {
        let bytes = self.parts.bytes(payload).unwrap_or_default();
        let summary = json::text(&bytes, &["message"]).unwrap_or_default();
        if is_whole {
            self.entries.clear();
            self.lost.clear();
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
            let said = ItemContent::Summary(digest_of(&summary).to_owned());
            self.entries.push(ItemEntry { item: payload.clone(), said, timestamp: 0, request: None });
        }
        self.answered = None;
    }

    /// Finds the host's summary among the items by its text.
    fn mark_summary(&mut self, summary: &str) {
        let is_summary = |entry: &&mut ItemEntry| match &entry.said {
            ItemContent::User(content) => content.texts().eq([summary]),
            _ => false,
        };
        if !summary.is_empty()
            && let Some(entry) = self.entries.iter_mut().rfind(is_summary)
        {
            entry.said = ItemContent::Summary(digest_of(summary).to_owned());
        }
    }

    /// Removes the last turns, with the host messages right before them; everything before the
    /// first turn stays.
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

    /// Returns the ids of results that precede their call, which the host sends in that order.
    fn early_results(&self) -> HashSet<String> {
        let (mut called, mut early) = (HashSet::new(), HashSet::new());
        for entry in &self.entries {
            match &entry.said {
                ItemContent::Answer(blocks) => called.extend(blocks.iter().filter_map(|block| match block {
                    Block::ToolCall { id, .. } => Some(id.as_str()),
                    _ => None,
                })),
                ItemContent::Result { call_id, .. } if !called.contains(call_id.as_str()) => {
                    early.insert(call_id.as_str());
                }
                _ => {}
            }
        }
        early.into_iter().filter(|id| called.contains(id)).map(str::to_owned).collect()
    }

    fn finish(self, rows: &RolloutRows) -> AssembledRollout {
        let mut draft = Draft::with_early(self.early_results());
        for entry in self.entries {
            add(&mut draft, rows, entry);
        }
        let mut passed = self.passed;
        passed.n_orphans = draft.n_orphans();
        let (segment, provenance) = draft.finish();
        AssembledRollout { segment, provenance, passed, tokens_before: self.tokens_before, lost: self.lost }
    }
}

/// Returns whether a compaction of the older versions keeps an item.
fn is_kept(said: &ItemContent) -> bool {
    match said {
        ItemContent::User(_) => true,
        ItemContent::Host { kind, .. } => markers::PINNED_TYPES.contains(&kind.as_str()),
        _ => false,
    }
}

/// Adds an item to the messages so far.
fn add(draft: &mut Draft, rows: &RolloutRows, entry: ItemEntry) {
    let ItemEntry { item, said, timestamp, request } = entry;
    said.add_to(draft, item, timestamp, |draft, item, call_id, content| {
        let text = content.first().and_then(Block::as_text).unwrap_or_default();
        let is_error = rows.is_failed(&call_id) || is_failure(text);
        draft.result(item, call_id, content, is_error);
    });
    if let Some((usage, model)) = request {
        draft.count(usage, model);
    }
}
