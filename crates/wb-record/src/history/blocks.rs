//! Blocks: the compactions of a list of operations, what each hides, and which builds on which.
//!
//! They are derived from the operations alone. A record is recognized wherever changes moved it,
//! even after it was removed and restored, so blocks over a rewritten file nest like those over an
//! append-only one.

use std::collections::{HashMap, HashSet};
use std::io;

use wb_message::markers::digest_body;

use crate::history::History;
use crate::history::operation::Operation;
use crate::history::record_ref::RecordRef;
use crate::parts::change::{Change, ChangeSet};
use crate::parts::part::Parts;
use crate::parts::span::Span;
use crate::view::View;

/// One compaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionBlock<'h> {
    /// The operation: its number, time, conversation, and tokens before and after.
    pub operation: &'h Operation,
    /// True unless the compaction is undone.
    pub is_in_force: bool,
    /// The records that it covers, as they were: those of the view before that are not in the view
    /// after.
    pub covers: Vec<&'h RecordRef>,
    /// The records that it brought, as they were: those of the view after that were not in the view
    /// before.
    pub brought: Vec<&'h RecordRef>,
    /// The numbers of the blocks that it builds on, in order: it covers records that they brought.
    pub parents: Vec<u64>,
}

/// The fate of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// The model sees it.
    Seen {
        /// The index of the first message that it is part of.
        at: usize,
        /// The block that brought it; none for a record of the agent's.
        brought_by: Option<u64>,
    },
    /// Blocks hide it: the first one covers it, each other one covers what the one before it
    /// brought.
    Hidden {
        /// Their numbers.
        by: Vec<u64>,
    },
    /// The model does not see it, and no block in force covers it: it is on another branch, the
    /// agent left it out itself, or an undo wrote a copy in its place.
    Outside,
}

/// A part of a digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The heading without its marks; empty for text before the first heading.
    pub heading: String,
    /// The text below the heading.
    pub text: String,
}

impl Section {
    /// Splits a text at its headings, ignoring those in code.
    pub fn parse(text: &str) -> Vec<Self> {
        let (mut all, mut is_code) = (vec![Self::default()], false);
        for line in text.lines() {
            is_code ^= line.trim_start().starts_with("```");
            let after = line.trim_start_matches('#');
            let is_heading = !is_code && after.len() < line.len() && after.starts_with(' ');
            if is_heading {
                all.push(Self { heading: after.trim().to_owned(), text: String::new() });
            } else if let Some(section) = all.last_mut() {
                section.text.extend([line, "\n"]);
            }
        }
        for section in &mut all {
            section.text = section.text.trim_start_matches('\n').trim_end().to_owned();
        }
        all.retain(|section| *section != Self::default());
        all
    }
}

/// The blocks of a session: a view of its list of operations.
#[derive(Debug)]
pub struct Blocks<'h> {
    all: Vec<CompactionBlock<'h>>,
    /// For each block the numbers of the records that it covers and brought.
    folds: Vec<Fold>,
    records: Records,
}

/// The records that a block covers and brought, by number.
#[derive(Debug, Default)]
struct Fold {
    covers: HashSet<usize>,
    brought: HashSet<usize>,
}

impl<'h> Blocks<'h> {
    /// Returns the blocks of a list of operations.
    pub fn new(history: &'h History) -> Self {
        let mut blocks = Self { all: Vec::new(), folds: Vec::new(), records: Records::default() };
        for operation in history.operations() {
            blocks.take(history, operation);
        }
        blocks
    }

    fn take(&mut self, history: &'h History, operation: &'h Operation) {
        let after = history.records_after(operation.id);
        let is_back = operation.what.is_way_back();
        let n_before: Vec<usize> = operation.before.iter().map(|it| self.records.see(it, false)).collect();
        self.records.carry(&operation.changes);
        let n_after: Vec<usize> = after.iter().map(|it| self.records.see(it, is_back)).collect();
        if is_back {
            return;
        }
        let (covers, covered) = difference(&operation.before, &n_before, &n_after);
        let (brought, is_new) = difference(after, &n_after, &n_before);
        let builds_on = |fold: &Fold| !fold.brought.is_disjoint(&covered);
        let below = self.all.iter().zip(&self.folds).filter(|(_, fold)| builds_on(fold));
        let parents = below.map(|(block, _)| block.operation.id).collect();
        let is_in_force = !history.is_undone(operation.id);
        self.all.push(CompactionBlock { operation, is_in_force, covers, brought, parents });
        self.folds.push(Fold { covers: covered, brought: is_new });
    }

    /// Returns the blocks in order of their operations.
    pub fn iter(&self) -> std::slice::Iter<'_, CompactionBlock<'h>> {
        self.all.iter()
    }

    /// Returns the block with a number.
    pub fn get(&self, id: u64) -> Option<&CompactionBlock<'h>> {
        self.all.iter().find(|block| block.operation.id == id)
    }

    /// Returns the fate of a record, identified by its bytes at its current place or its place when
    /// an operation was done; `view` is the current view of the conversation, over `parts`.
    pub fn explain(&self, parts: &dyn Parts, view: &View, record: &RecordRef) -> io::Result<Explanation> {
        let number = self.records.known.get(record).copied();
        let current = number.map_or(Some(record), |number| self.records.now[number].as_ref());
        if let Some(at) = current.and_then(|it| message_of(view, &it.span))
            && let Some(current) = current
            && parts.fingerprint(&current.span)? == current.hash
        {
            let brings = |(_, fold): &(&CompactionBlock<'_>, &Fold)| {
                number.is_some_and(|it| fold.brought.contains(&it))
            };
            let brought_by = self.in_force().filter(brings).last().map(|(block, _)| block.operation.id);
            return Ok(Explanation::Seen { at, brought_by });
        }
        let by = number.map(|number| self.chain(number)).unwrap_or_default();
        Ok(if by.is_empty() { Explanation::Outside } else { Explanation::Hidden { by } })
    }

    /// Returns the blocks in force that hide a record: each covers what the one before it brought.
    fn chain(&self, record: usize) -> Vec<u64> {
        let (mut by, mut hidden) = (Vec::new(), HashSet::from([record]));
        for (block, fold) in self.in_force() {
            if !fold.covers.is_disjoint(&hidden) {
                by.push(block.operation.id);
                hidden.clone_from(&fold.brought);
            }
        }
        by
    }

    fn in_force(&self) -> impl Iterator<Item = (&CompactionBlock<'h>, &Fold)> {
        self.all.iter().zip(&self.folds).filter(|(block, _)| block.is_in_force)
    }

    /// Returns the sections of a block's digest that are in the current view.
    pub fn sections(&self, view: &View, id: u64) -> Vec<Section> {
        let at = self.all.iter().position(|block| block.operation.id == id);
        let brought = at.into_iter().flat_map(|at| &self.folds[at].brought);
        let places = brought.filter_map(|number| self.records.now[*number].as_ref());
        let mut messages: Vec<usize> = places.filter_map(|it| message_of(view, &it.span)).collect();
        messages.sort_unstable();
        messages.dedup();
        let digests = messages.into_iter().filter_map(|at| digest_body(&view.messages[at]));
        digests.flat_map(|digest| Section::parse(&digest)).collect()
    }
}

impl<'h, 'b> IntoIterator for &'b Blocks<'h> {
    type Item = &'b CompactionBlock<'h>;
    type IntoIter = std::slice::Iter<'b, CompactionBlock<'h>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The records that operations touched, each with a fixed number.
#[derive(Debug, Default)]
struct Records {
    /// The number of each record by each place at which it was met; of two the one that came there
    /// last.
    known: HashMap<RecordRef, usize>,
    /// The current place of each record; none if it was removed.
    now: Vec<Option<RecordRef>>,
}

impl Records {
    /// Returns the number of the record at a place; one that was removed there may have returned.
    fn see(&mut self, record: &RecordRef, is_back: bool) -> usize {
        let known = self.known.get(record).copied();
        let is_it = |number: &usize| match &self.now[*number] {
            Some(current) => current == record,
            None => is_back,
        };
        let number = known.filter(is_it).unwrap_or(self.now.len());
        if number == self.now.len() {
            self.now.push(None);
            self.known.insert(record.clone(), number);
        }
        self.now[number] = Some(record.clone());
        number
    }

    /// Moves the records along with changes.
    fn carry(&mut self, set: &ChangeSet) {
        if set.changes.iter().all(|(_, change)| matches!(change, Change::Append { .. })) {
            return;
        }
        for (number, place) in self.now.iter_mut().enumerate() {
            let Some(RecordRef { span, hash }) = place.take() else { continue };
            *place = moved(span, set).map(|span| RecordRef { span, hash });
            if let Some(moved) = place {
                self.known.insert(moved.clone(), number);
            }
        }
    }
}

/// Returns the place, after changes, of a record that they do not touch.
pub(crate) fn moved(span: Span, set: &ChangeSet) -> Option<Span> {
    set.changes.iter().try_fold(span, |span, (part, change)| {
        if *part != span.part {
            return Some(span);
        }
        let end = span.at + span.len;
        match change {
            Change::Append { .. } => Some(span),
            Change::Splice { at, .. } | Change::Cut { at, .. } if end <= *at => Some(span),
            // Text that is rewritten unchanged is not touched.
            Change::Splice { at, old, new } if end <= at + same(old.0.iter().zip(&new.0)) => Some(span),
            Change::Splice { at, old, new } => {
                let n_same = same(old.0.iter().rev().zip(new.0.iter().rev()));
                (at + old.0.len() as u64 <= span.at + n_same)
                    .then(|| Span { at: span.at + new.0.len() as u64 - old.0.len() as u64, ..span })
            }
            Change::Cut { .. } | Change::Create { .. } | Change::Remove { .. } => None,
        }
    })
}

/// Returns the number of leading pairs of equal bytes.
fn same<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> u64 {
    pairs.take_while(|(a, b)| a == b).count() as u64
}

/// Returns the records, and their numbers, that are not among others.
fn difference<'h>(
    records: &'h [RecordRef],
    numbers: &[usize],
    others: &[usize],
) -> (Vec<&'h RecordRef>, HashSet<usize>) {
    let others: HashSet<usize> = others.iter().copied().collect();
    records.iter().zip(numbers.iter().copied()).filter(|(_, number)| !others.contains(number)).unzip()
}

/// Returns the first message that a record is part of.
fn message_of(view: &View, span: &Span) -> Option<usize> {
    let is_there = |at: &usize| view.provenance.places(*at).iter().any(|place| place.record == *span);
    (0..view.messages.len()).find(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::change::Bytes;

    fn span(at: u64, len: u64) -> Span {
        Span { at, len, ..Span::default() }
    }

    fn record(at: u64, hash: u64) -> RecordRef {
        RecordRef { span: span(at, 4), hash }
    }

    fn set(changes: impl IntoIterator<Item = Change>) -> ChangeSet {
        ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() }
    }

    fn splice(at: u64, old: &str, new: &str) -> Change {
        Change::Splice { at, old: Bytes(old.into()), new: Bytes(new.into()) }
    }

    #[test]
    fn a_record_goes_where_the_changes_before_it_move_it() {
        let two = set([splice(20, "abcdef", "g"), splice(0, "abc", "abcde")]);
        assert_eq!(moved(span(5, 10), &two), Some(span(7, 10)));
        assert_eq!(moved(span(30, 2), &two), Some(span(27, 2)));
        assert_eq!(moved(span(18, 4), &two), None);
        assert_eq!(moved(span(0, 4), &set([splice(0, "", "x")])), Some(span(1, 4)));
        let cut = set([Change::Cut { at: 8, old: Bytes::default() }]);
        assert_eq!((moved(span(0, 8), &cut), moved(span(8, 1), &cut)), (Some(span(0, 8)), None));
        let elsewhere = Span { part: "b".into(), at: 0, len: 1 };
        assert_eq!(moved(elsewhere.clone(), &two), Some(elsewhere));
    }

    #[test]
    fn a_record_that_comes_back_keeps_its_number_and_one_that_is_written_in_its_place_has_another() {
        let mut records = Records::default();
        let (a, b) = (records.see(&record(0, 1), false), records.see(&record(4, 2), false));
        let fold = set([splice(0, "aaaa", "")]);
        records.carry(&fold);
        assert_eq!((records.see(&record(0, 2), false), b), (1, 1));
        records.carry(&fold.inverse());
        assert_eq!(records.see(&record(0, 1), true), a);
        assert_eq!(records.see(&record(4, 2), true), b);
        records.carry(&fold);
        assert_eq!(records.see(&record(0, 1), false), 2, "nothing is undone");
    }

    #[test]
    fn a_digest_has_sections_and_code_has_none() {
        let text =
            "before\n\n# Goal\nShip é.\n\n```sh\n# no heading\n```\n## Next steps \n- one\n# Empty\n#hash\n";
        let all = Section::parse(text);
        let short: Vec<_> = all.iter().map(|it| (it.heading.as_str(), it.text.as_str())).collect();
        assert_eq!(
            short,
            [
                ("", "before"),
                ("Goal", "Ship é.\n\n```sh\n# no heading\n```"),
                ("Next steps", "- one"),
                ("Empty", "#hash"),
            ]
        );
        assert!(Section::parse("\n\n").is_empty());
    }
}
