//! Undo and redo of an operation: in place if its bytes are there verbatim or as reformatted JSON,
//! else by writing the old view after it.

use std::collections::{HashMap, HashSet};

use crate::format::{Document, Stamp, WriteError};
use crate::history::History;
use crate::history::blocks::moved;
use crate::history::changed_part::ChangedPart;
use crate::history::error::HistoryError;
use crate::history::later_lines::below_later_lines;
use crate::history::operation::{Operation, OperationKind};
use crate::history::record_ref::{RecordRef, n_known, record_refs};
use crate::json::reformatted::{are_objects, reformatted};
use crate::parts::change::{Change, ChangeSet, CommitError};
use crate::parts::error::FormatError;
use crate::parts::recover::can_be_undone;
use crate::parts::span::Span;
use crate::view::View;
use crate::view::target_view::Item;

/// The way in which an undo is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoMethod {
    /// The bytes are those of before.
    Exactly,
    /// Others had written since: the bytes of the operation were replaced where they were, and what
    /// came since stays.
    InPlace,
    /// Others had written since: the old view was written after it, with what came since at its
    /// end.
    ByAppending,
}

/// The changes that undo an operation.
struct WayBack {
    how: UndoMethod,
    conversation: String,
    /// The view as it is.
    before: View,
    set: ChangeSet,
}

impl History {
    /// Undoes an operation, by default the last one in the session.
    ///
    /// If nobody wrote since, the bytes are those of before. If the bytes of the operation are
    /// there verbatim, or in a rewritten JSON document, the old records replace them, and lines
    /// that a repair added to a log are removed from among later ones. Else the old view is written
    /// after it in the way native to the format, with what came since at its end, unless the agent
    /// has changed the beginning itself.
    pub fn undo(
        &mut self,
        document: &mut dyn Document,
        id: Option<u64>,
        stamp: &Stamp,
    ) -> Result<(u64, UndoMethod), HistoryError> {
        self.act(document, id, false, stamp)
    }

    /// Redoes an undone operation, by default the one undone last.
    pub fn redo(
        &mut self,
        document: &mut dyn Document,
        id: Option<u64>,
        stamp: &Stamp,
    ) -> Result<(u64, UndoMethod), HistoryError> {
        self.act(document, id, true, stamp)
    }

    /// Returns how an operation would be undone or redone; nothing is written.
    pub fn undo_method(
        &self,
        document: &dyn Document,
        of: u64,
        stamp: &Stamp,
    ) -> Result<UndoMethod, HistoryError> {
        Ok(self.way(document, of, &self.stamped(of, stamp)?)?.how)
    }

    /// Returns the number of compactions written here that build on each other at the beginning of
    /// the current conversation, counted back from the last one.
    pub fn n_compactions_in_force(
        &self,
        document: &dyn Document,
        conversation: &str,
    ) -> Result<usize, HistoryError> {
        let is_own = |it: &&Operation| {
            it.what == OperationKind::Compact && it.by_agent.is_none() && it.conversation == *conversation
        };
        let own: Vec<&Operation> =
            self.operations().rev().filter(is_own).filter(|it| !self.is_undone(it.id)).collect();
        if own.is_empty() {
            return Ok(0);
        }
        let mut records = record_refs(document, &document.view(conversation)?)?;
        let mut n = 0;
        for operation in own {
            let run = self.last_run(operation.id)?;
            if !records.starts_with(self.records_after(run.id)) {
                break;
            }
            (n, records) = (n + 1, run.before.clone());
        }
        Ok(n)
    }

    /// Returns whether nobody has written to the session since its last operation.
    pub fn is_last_write(&self, document: &dyn Document) -> Result<bool, HistoryError> {
        let last = self.operations().next_back();
        last.map_or(Ok(false), |last| {
            Ok(self.is_revertible(document, last)? && self.is_as_long(document, last)?)
        })
    }

    /// Undoes an operation, or redoes it if it is undone; retries once if others wrote after the
    /// session was read.
    fn act(
        &mut self,
        document: &mut dyn Document,
        id: Option<u64>,
        is_undone: bool,
        stamp: &Stamp,
    ) -> Result<(u64, UndoMethod), HistoryError> {
        self.settle(document)?;
        let of = self.find(id, is_undone)?;
        let what = if is_undone { OperationKind::Redo { of } } else { OperationKind::Undo { of } };
        let stamp = self.stamped(of, stamp)?;
        let mut is_first = true;
        loop {
            let WayBack { how, conversation, before, set } = self.way(document, of, &stamp)?;
            match self.run(document, what, &conversation, &before, &set, &stamp) {
                Err(HistoryError::Write(WriteError::Commit(CommitError::Stale { .. }))) if is_first => {
                    is_first = false;
                    document.refresh()?;
                }
                outcome => return outcome.map(|_| (of, how)),
            }
        }
    }

    /// Returns the changes that undo an operation, or redo it if it is undone.
    fn way(&self, document: &dyn Document, of: u64, stamp: &Stamp) -> Result<WayBack, HistoryError> {
        if self.is_undone(of) {
            self.redo_changes(document, of)
        } else {
            self.undo_changes(document, of, stamp)
        }
    }

    /// Returns a stamp with the token counts of an operation swapped.
    fn stamped(&self, of: u64, stamp: &Stamp) -> Result<Stamp, HistoryError> {
        let last = if self.is_undone(of) { self.undo_of(of) } else { self.last_run(of) }?;
        Ok(Stamp { tokens_before: last.tokens_after, tokens_after: last.tokens_before, ..stamp.clone() })
    }

    /// Returns the changes that undo an operation.
    fn undo_changes(&self, document: &dyn Document, of: u64, stamp: &Stamp) -> Result<WayBack, HistoryError> {
        let operation = self.last_run(of)?;
        let in_place = self.changes_in_place(document, operation, "undone")?;
        if let Some(way) = in_place {
            // If the view has copies of its records but not the originals, the old view is written
            // after them.
            let is_seen = self.is_seen(document, operation, &way.before)?;
            let set =
                if is_seen { None } else { self.changes_by_appending(document, of, &way.before, stamp).ok() };
            return Ok(match set {
                Some(set) => WayBack { how: UndoMethod::ByAppending, set, ..way },
                None => way,
            });
        }
        let Operation { conversation, changes, .. } = operation;
        let before = document.view(conversation)?;
        if let Some(set) = self.out_of_lines(document, of, &before)? {
            return Ok(WayBack { how: UndoMethod::InPlace, conversation: conversation.clone(), before, set });
        }
        let set = self.changes_by_appending(document, of, &before, stamp).map_err(|error| match error {
            // Replaced bytes that are not in the session return to their place or not at all.
            HistoryError::Lost { id } | HistoryError::Overtaken { id } if has_splices(changes) => {
                HistoryError::NotFound { id }
            }
            error => error,
        })?;
        Ok(WayBack { how: UndoMethod::ByAppending, conversation: conversation.clone(), before, set })
    }

    /// Returns the changes that write the old view after the current one, with what came since at
    /// its end.
    fn changes_by_appending(
        &self,
        document: &dyn Document,
        of: u64,
        before: &View,
        stamp: &Stamp,
    ) -> Result<ChangeSet, HistoryError> {
        let Operation { conversation, changes, .. } = self.last_run(of)?;
        // Replaced bytes return to their place, which moves what follows.
        let mut set = spliced(changes);
        let copy = if set.is_empty() { None } else { changed(document, &set)? };
        let Some(copy) = copy else {
            let items = self.before_and_since(document, (document, &ChangeSet::default()), of, before)?;
            return Ok(document.render(conversation, before, &items, stamp)?);
        };
        let items = self.before_and_since(document, (copy.as_ref(), &set), of, before)?;
        // The replaced bytes may have held the view together; the view is unchanged if nothing
        // moved.
        let moves = |(_, change): &(_, Change)| match change {
            Change::Splice { old, new, .. } => old.0.len() != new.0.len(),
            _ => false,
        };
        let after = if set.changes.iter().any(moves) { Some(copy.view(conversation)?) } else { None };
        let view = after.as_ref().unwrap_or(before);
        if view.messages.len() != before.messages.len() {
            return Err(HistoryError::Lost { id: of });
        }
        set.changes.extend(copy.render(conversation, view, &items, stamp)?.changes);
        Ok(set)
    }

    /// Returns whether the view contains the result of an operation: the conversation begins with
    /// it, or later operations may contain it. The view of a document that is not a log, or that
    /// has no later operation, always does.
    fn is_seen(
        &self,
        document: &dyn Document,
        operation: &Operation,
        view: &View,
    ) -> Result<bool, HistoryError> {
        let is_last = self.operations().next_back().is_some_and(|last| last.id == operation.id);
        let is_upon = self.is_upon(operation);
        Ok(is_last || is_upon || record_refs(document, view)?.starts_with(self.records_after(operation.id)))
    }

    /// Returns the changes that redo an undone operation.
    fn redo_changes(&self, document: &dyn Document, of: u64) -> Result<WayBack, HistoryError> {
        let undo = self.undo_of(of)?;
        let way = self.changes_in_place(document, undo, "redone")?;
        let first = self.find_in(Some(&undo.conversation), None, true)?;
        way.ok_or(if first < of {
            HistoryError::RedoFirst { id: of, first }
        } else {
            HistoryError::WrittenSince { id: of }
        })
    }

    /// Returns the changes that undo an operation in place, in its own bytes: verbatim, or in a
    /// rewritten JSON document. No later operation may be in the session then, and the result is
    /// none if the bytes are not found.
    fn changes_in_place(
        &self,
        document: &dyn Document,
        operation: &Operation,
        doing: &'static str,
    ) -> Result<Option<WayBack>, HistoryError> {
        let conversation = &operation.conversation;
        let back = operation.changes.inverse();
        let way = |how, set| {
            let before = document.view(conversation)?;
            Ok(Some(WayBack { how, conversation: conversation.clone(), before, set }))
        };
        if self.is_revertible(document, operation)? {
            let view = document.view(conversation)?;
            let is_last = self.is_as_long(document, operation)?
                && record_refs(document, &view)? == self.records_after(operation.id);
            return way(if is_last { UndoMethod::Exactly } else { UndoMethod::InPlace }, back);
        }
        let id = act_of(operation);
        if self.is_upon(operation) {
            return Err(HistoryError::NotAlone { id, doing });
        }
        let found = reformatted(document.parts(), &back).map_err(FormatError::from)?;
        found.map_or(Ok(None), |set| way(UndoMethod::InPlace, set))
    }

    /// Returns whether an operation after this one is in force.
    fn is_upon(&self, operation: &Operation) -> bool {
        let id = act_of(operation);
        let is_later = |it: &&Operation| it.id > id && it.conversation == operation.conversation;
        let is_active = |it: &Operation| !it.what.is_way_back() && !self.is_undone(it.id);
        self.operations().filter(is_later).any(is_active)
    }

    /// Returns the changes that remove a repair's lines from among later ones at the end of a log,
    /// and restore the lines that it cut off; none if the conversation would differ from the old
    /// one followed by what came since.
    fn out_of_lines(
        &self,
        document: &dyn Document,
        of: u64,
        view: &View,
    ) -> Result<Option<ChangeSet>, HistoryError> {
        let operation = self.last_run(of)?;
        let is_repair = self.operations().any(|it| it.id == of && it.what == OperationKind::Repair);
        let now = record_refs(document, view)?;
        let after = self.records_after(operation.id);
        let Some(since) = now.strip_prefix(after).filter(|_| is_repair) else { return Ok(None) };
        let set = below_later_lines(document.parts(), &operation.changes).map_err(FormatError::from)?;
        let Some(set) = set else { return Ok(None) };
        let Some(copy) = changed(document, &set)? else { return Ok(None) };
        let Ok(then) = copy.view(&operation.conversation).and_then(|view| record_refs(copy.as_ref(), &view))
        else {
            return Ok(None);
        };
        let is_same =
            then.iter().map(|it| it.hash).eq(operation.before.iter().chain(since).map(|it| it.hash));
        Ok(is_same.then_some(set))
    }

    /// Returns whether the bytes of an operation are where it wrote them, so that its changes can
    /// be reverted: unless they are whole records, none of the records around them has moved.
    pub(crate) fn is_revertible(
        &self,
        document: &dyn Document,
        operation: &Operation,
    ) -> Result<bool, HistoryError> {
        if operation.by_agent.is_some() {
            return Ok(false);
        }
        // Bytes other than whole records may appear anywhere.
        let is_unsure =
            |part: &str| operation.changes.changes.iter().any(|(of, it)| of == part && writes_pieces(it));
        let mut known = self.records_after(operation.id).iter().filter(|it| is_unsure(&it.span.part));
        let is_fit = can_be_undone(document.parts(), &operation.changes).map_err(FormatError::from)?;
        Ok(is_fit && known.all(|it| is_there(document, it)))
    }

    /// Returns whether the part without a name is as long as an operation left it, as far as that
    /// is known.
    fn is_as_long(&self, document: &dyn Document, operation: &Operation) -> Result<bool, HistoryError> {
        let n_bytes = document.parts().len("").map_err(FormatError::from)?;
        Ok(self.n_bytes_after(operation.id).is_none_or(|known| Some(known) == n_bytes))
    }

    /// Returns the last undo of an operation.
    fn undo_of(&self, of: u64) -> Result<&Operation, HistoryError> {
        let undo = self.operations().rev().find(|it| it.what == OperationKind::Undo { of });
        undo.ok_or(HistoryError::NothingToRedo)
    }

    /// Returns the records of the view before an operation, and what came after it: those that
    /// others wrote between one operation and the next, and the messages after the last. Records
    /// still in the view stay. The places are those in a copy after changes, in which the former
    /// records are as they were.
    fn before_and_since(
        &self,
        document: &dyn Document,
        (copy, back): (&dyn Document, &ChangeSet),
        id: u64,
        view: &View,
    ) -> Result<Vec<Item<'static>>, HistoryError> {
        let operation = self.operations().find(|it| it.id == id).ok_or(HistoryError::Unknown { id })?;
        let before: Option<Vec<Span>> = operation.before.iter().map(|it| it.place_now(copy)).collect();
        let mut items: Vec<Item<'static>> =
            before.ok_or(HistoryError::Lost { id })?.into_iter().map(Item::Old).collect();
        let (since, last) = self.records_since(operation)?;
        let n_known = n_known(last, view).ok_or(HistoryError::Overtaken { id })?;
        let records = |at: usize| view.provenance.places(at).iter().map(|place| &place.record);
        let mut shown: HashMap<_, Vec<usize>> = HashMap::new();
        for at in 0..n_known {
            records(at).take(1).for_each(|first| shown.entry(first.identity()).or_default().push(at));
        }
        let mut said = HashSet::new();
        for record in since {
            match shown.remove(&record.span.identity()) {
                Some(messages) => {
                    said.extend(messages.iter().flat_map(|at| records(*at)).map(Span::identity));
                    items.extend(messages.into_iter().map(Item::Same));
                }
                None if said.contains(&record.span.identity()) => {}
                None => {
                    let there = record.place_now(document);
                    let moved = there.and_then(|span| moved(span, back));
                    items.push(Item::Old(moved.ok_or(HistoryError::Lost { id })?));
                }
            }
        }
        items.extend((n_known..view.messages.len()).map(Item::Same));
        Ok(items)
    }

    /// Returns the records that others wrote between an operation and the last one, in order, and
    /// the records after the last one.
    fn records_since(&self, operation: &Operation) -> Result<(Vec<&RecordRef>, &[RecordRef]), HistoryError> {
        let Operation { id, conversation, .. } = operation;
        let (mut since, mut after) = (Vec::new(), self.records_after(*id));
        for later in self.operations().filter(|it| it.id > *id && it.conversation == *conversation) {
            let is_same = |(a, b): (&RecordRef, &RecordRef)| a.span.identity() == b.span.identity();
            let new = later.before.get(after.len()..);
            let new = new.filter(|_| after.iter().zip(&later.before).all(is_same));
            since.extend(new.ok_or(HistoryError::Overtaken { id: *id })?);
            after = self.records_after(later.id);
        }
        Ok((since, after))
    }
}

/// Returns the number of the original operation, for one that may undo or redo it.
fn act_of(operation: &Operation) -> u64 {
    match operation.what {
        OperationKind::Undo { of } | OperationKind::Redo { of } => of,
        OperationKind::Compact | OperationKind::Repair => operation.id,
    }
}

/// Returns whether a record is at its place, unchanged.
fn is_there(document: &dyn Document, record: &RecordRef) -> bool {
    document.parts().fingerprint(&record.span).is_ok_and(|hash| hash == record.hash)
}

/// Returns a session as it will be after changes of its one part; none where they do not find what
/// they expect.
pub(crate) fn changed(
    document: &dyn Document,
    set: &ChangeSet,
) -> Result<Option<Box<dyn Document>>, HistoryError> {
    let again = document.parts().reopen().map_err(FormatError::from)?;
    let Ok(part) = ChangedPart::new(again, set) else { return Ok(None) };
    Ok(document.format().open(Box::new(part)).ok())
}

fn is_splice(change: &Change) -> bool {
    matches!(change, Change::Splice { .. })
}

/// Returns whether a change writes other bytes than whole records in the middle of a part.
fn writes_pieces(change: &Change) -> bool {
    let Change::Splice { new, .. } = change else { return false };
    !std::str::from_utf8(&new.0).is_ok_and(are_objects)
}

pub(crate) fn has_splices(set: &ChangeSet) -> bool {
    set.changes.iter().any(|(_, change)| is_splice(change))
}

/// Returns the changes that restore replaced bytes, without those at the end.
fn spliced(set: &ChangeSet) -> ChangeSet {
    let mut back = set.inverse();
    back.changes.retain(|(_, change)| is_splice(change));
    back
}
