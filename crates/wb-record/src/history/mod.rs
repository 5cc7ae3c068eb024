//! A list of operations, each of which can be undone and redone.
//!
//! The list is JSON lines in separate parts. An operation is written down before the session is
//! touched and marked as done afterwards, so an interrupted one is found and settled from the
//! bytes. The list is append-only.

pub(crate) mod changed_part;
pub(crate) mod delegated;
pub(crate) mod record_ref;
pub(crate) mod error;
pub(crate) mod operation;
pub(crate) mod operation_list;
pub(crate) mod later_lines;
pub(crate) mod blocks;
pub(crate) mod undo;
#[cfg(any(unix, windows))]
pub(crate) mod whole_log;

#[cfg(any(unix, windows))]
use std::path::Path;

use crate::format::{Document, Stamp, WriteError};
use crate::history::delegated::DelegatedCompaction;
use crate::history::error::HistoryError;
use crate::history::operation::{Operation, OperationKind};
use crate::history::operation_list::{Entry, OperationList};
use crate::history::record_ref::{RecordRef, record_refs, record_refs_of};
use crate::json::reformatted::reformatted;
use crate::json::whole_objects::in_whole_objects;
use crate::parts::change::{ChangeSet, CommitError};
use crate::parts::error::FormatError;
#[cfg(any(unix, windows))]
use crate::parts::part::Access;
use crate::parts::part::Parts;
use crate::parts::recover::{Progress, progress};
use crate::view::View;

/// The list of operations on one session.
#[derive(Debug)]
pub struct History {
    list: OperationList,
    operations: Vec<Operation>,
    /// For each operation in the session, its number, the records of the view after it, and the
    /// bytes of the part without a name where they are known.
    done: Vec<(u64, Vec<RecordRef>, Option<u64>)>,
    /// The last operation that is neither done nor dropped.
    pending: Option<u64>,
    /// The outcome of a delegated compaction that was detected; the next write writes it first.
    detected: Option<Entry>,
    /// The largest number in the list.
    last_id: u64,
}

impl History {
    /// Reads the list next to a session's file; where there is none, the first operation begins it,
    /// for its owner alone.
    ///
    /// Whoever opens it to write holds its lock until it is dropped, so that of several at once one
    /// gets through.
    #[cfg(any(unix, windows))]
    pub fn open_for(session: &Path, access: Access) -> Result<Self, HistoryError> {
        Self::open(OperationList::open_for(session, access)?)
    }

    /// Returns the numbers of the lines that cannot be read in the list next to a session's file.
    #[cfg(any(unix, windows))]
    pub fn unreadable_lines(session: &Path) -> Result<Vec<usize>, HistoryError> {
        OperationList::unreadable_lines(session)
    }

    /// Removes the lines that cannot be read from the list next to a session's file, and returns
    /// their numbers; a file next to the list keeps them.
    #[cfg(any(unix, windows))]
    pub fn rebuild_list(session: &Path) -> Result<Vec<usize>, HistoryError> {
        OperationList::rebuild(session)
    }

    /// Reads the list; parts without a file are an empty one. A line that was cut off at the end is
    /// passed over.
    pub fn open(list: Box<dyn Parts>) -> Result<Self, HistoryError> {
        let (list, entries) = OperationList::read(list)?;
        let (operations, done) = (Vec::new(), Vec::new());
        let mut history = Self { list, operations, done, pending: None, detected: None, last_id: 0 };
        for entry in entries {
            history.take(entry);
        }
        Ok(history)
    }

    fn take(&mut self, entry: Entry) {
        self.last_id = self.last_id.max(entry.id());
        match entry {
            Entry::Planned(operation) => {
                // Each outcome is written before the next plan, so this line was lost.
                if let Some(lost) = self.pending.replace(operation.id) {
                    self.done.push((lost, Vec::new(), None));
                }
                self.operations.push(*operation);
            }
            Entry::Done { id, after, n_bytes } => {
                self.pending = None;
                self.done.push((id, after, n_bytes));
            }
            Entry::Dropped { .. } => self.pending = None,
        }
    }

    /// Returns the operations in the session, in order.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        self.operations.iter().filter(|it| self.done.iter().any(|(id, ..)| *id == it.id))
    }

    /// Returns the name of the format that the session had at its last change, if the list contains
    /// it.
    pub fn format(&self) -> Option<&str> {
        self.operations.last()?.format.as_deref()
    }

    /// Returns the records of the view after an operation, in order; none if the session does not
    /// contain it.
    pub fn records_after(&self, id: u64) -> &[RecordRef] {
        self.done.iter().find(|(done, ..)| *done == id).map_or(&[], |(_, after, _)| after)
    }

    /// Returns how many bytes the part without a name had after an operation, if that is known.
    pub(crate) fn n_bytes_after(&self, id: u64) -> Option<u64> {
        self.done.iter().find(|(done, ..)| *done == id)?.2
    }

    /// Returns an interrupted operation of which it is not known yet whether the session contains
    /// it.
    pub fn unsettled(&self) -> Option<u64> {
        self.pending
    }

    /// Returns whether the last line of the list is truncated, so that its content is unknown.
    pub fn is_truncated(&self) -> bool {
        self.list.is_truncated()
    }

    /// Returns the parts of the list.
    pub fn into_list(self) -> Box<dyn Parts> {
        self.list.into_parts()
    }

    /// Returns whether an operation is undone.
    pub fn is_undone(&self, id: u64) -> bool {
        let last = self.operations().rev().find_map(|it| match it.what {
            OperationKind::Undo { of } if of == id => Some(true),
            OperationKind::Redo { of } if of == id => Some(false),
            _ => None,
        });
        last.unwrap_or(false)
    }

    /// Determines the outcome of an interrupted operation, and completes or drops it.
    ///
    /// The beginning of an append that a power cut left is removed.
    pub fn settle(&mut self, document: &mut dyn Document) -> Result<(), HistoryError> {
        let Some(id) = self.pending else { return Ok(()) };
        if let Some(entry) = self.finished(document)? {
            return self.write(entry);
        }
        let of_ours = self.operations.iter().find(|it| it.id == id && it.by_agent.is_none());
        if let Some(Progress::Torn(cut)) = of_ours.map(|it| progress_of(document, it)).transpose()? {
            document.commit(&cut)?;
        }
        self.write(Entry::Dropped { id })
    }

    /// Detects whether the session contains the operation whose outcome is not in the list: it was
    /// interrupted or left to an agent. The next change of the list writes that down.
    pub fn detect_finished(&mut self, document: &dyn Document) -> Result<(), HistoryError> {
        if let Some(entry) = self.finished(document)? {
            self.detected = Some(entry.clone());
            self.take(entry);
        }
        Ok(())
    }

    fn finished(&self, document: &dyn Document) -> Result<Option<Entry>, HistoryError> {
        let Some(operation) = self.operations.iter().find(|it| Some(it.id) == self.pending) else {
            return Ok(None);
        };
        let view = || document.view(&operation.conversation);
        let after = match &operation.by_agent {
            Some(by_agent) => {
                let view = view()?;
                let Some(messages) = by_agent.messages(&view) else { return Ok(None) };
                record_refs_of(document, &view, messages)?
            }
            // What others wrote since does not undo it, and is in the view.
            None if is_written(document, operation)? => record_refs(document, &view()?)?,
            None => return Ok(None),
        };
        Ok(Some(Entry::Done { id: operation.id, after, n_bytes: None }))
    }

    /// Writes a change into a session as an operation of the list; returns its number and the new
    /// view.
    ///
    /// `changes` are those that [`Document::render`] returned for the view `before`. If the session
    /// cannot be read afterwards, they are reverted.
    pub fn change(
        &mut self,
        what: OperationKind,
        document: &mut dyn Document,
        conversation: &str,
        before: &View,
        changes: &ChangeSet,
        stamp: &Stamp,
    ) -> Result<(u64, View), HistoryError> {
        self.settle(document)?;
        let changes = in_whole_objects(document.parts(), changes).map_err(FormatError::from)?;
        self.run(document, what, conversation, before, &changes, stamp)
    }

    /// Notes a compaction that the agent is about to write into its session itself; the next change
    /// of the session finds out whether it did. Nothing is written into the session. A compaction
    /// that is in the session already is not noted again.
    pub fn leave_to_agent(
        &mut self,
        document: &mut dyn Document,
        conversation: &str,
        before: &View,
        by_agent: DelegatedCompaction,
        stamp: &Stamp,
    ) -> Result<(), HistoryError> {
        self.settle(document)?;
        if by_agent.messages(before).is_some() {
            return Ok(());
        }
        let none = ChangeSet::default();
        let operation =
            self.operation(document, OperationKind::Compact, conversation, before, &none, stamp)?;
        self.write(Entry::Planned(Box::new(Operation { by_agent: Some(by_agent), ..operation })))
    }

    fn operation(
        &self,
        document: &dyn Document,
        what: OperationKind,
        conversation: &str,
        before: &View,
        changes: &ChangeSet,
        stamp: &Stamp,
    ) -> Result<Operation, HistoryError> {
        Ok(Operation {
            id: self.last_id + 1,
            what,
            at_ms: stamp.now_ms,
            format: Some(document.format().name().to_owned()),
            conversation: conversation.to_owned(),
            tokens_before: stamp.tokens_before,
            tokens_after: stamp.tokens_after,
            changes: changes.clone(),
            before: record_refs(document, before)?,
            by_agent: None,
        })
    }

    pub(crate) fn run(
        &mut self,
        document: &mut dyn Document,
        what: OperationKind,
        conversation: &str,
        before: &View,
        changes: &ChangeSet,
        stamp: &Stamp,
    ) -> Result<(u64, View), HistoryError> {
        let operation = self.operation(document, what, conversation, before, changes, stamp)?;
        let id = operation.id;
        self.write(Entry::Planned(Box::new(operation)))?;
        if let Err(error) = document.commit(changes) {
            // An entry without an outcome is settled from the bytes later.
            if !matches!(error, WriteError::Commit(CommitError::Unknown { .. })) {
                let _ = self.write(Entry::Dropped { id });
            }
            return Err(error.into());
        }
        let read = document.view(conversation).and_then(|view| Ok((record_refs(document, &view)?, view)));
        let (after, view) = match read {
            Ok(read) => read,
            Err(error) => {
                document.commit(&changes.inverse())?;
                self.write(Entry::Dropped { id })?;
                return Err(error.into());
            }
        };
        let n_bytes = document.parts().len("").map_err(FormatError::from)?;
        let done = self.write(Entry::Done { id, after, n_bytes });
        done.map_err(|error| HistoryError::NotMarked { source: Box::new(error) })?;
        Ok((id, view))
    }

    /// Returns the number of the operation to undo or to redo, the last one if none is named.
    pub fn find(&self, id: Option<u64>, is_undone: bool) -> Result<u64, HistoryError> {
        self.find_in(None, id, is_undone)
    }

    /// Returns the number of the operation to undo or to redo; if none is named, the last one of a
    /// conversation, or of all.
    pub fn find_in(
        &self,
        conversation: Option<&str>,
        id: Option<u64>,
        is_undone: bool,
    ) -> Result<u64, HistoryError> {
        let is_here = |it: &&Operation| conversation.is_none_or(|name| it.conversation == name);
        let is_act = |it: &&Operation| !it.what.is_way_back();
        if let Some(id) = id {
            let known = self.operations().filter(is_act).any(|it| it.id == id);
            return match self.is_undone(id) {
                _ if !known => Err(HistoryError::Unknown { id }),
                state if state != is_undone => Err(HistoryError::WrongState { id, is_undone: state }),
                _ => Ok(id),
            };
        }
        let nothing = if is_undone { HistoryError::NothingToRedo } else { HistoryError::NothingToUndo };
        let last_undone = self.operations().rev().filter(is_here).find_map(|it| match it.what {
            OperationKind::Undo { of } if self.is_undone(of) => Some(of),
            _ => None,
        });
        let acts = || self.operations().rev().filter(is_act).filter(is_here);
        let last_in_force = || acts().find(|it| !self.is_undone(it.id));
        let found = if is_undone { last_undone } else { last_in_force().map(|it| it.id) };
        found.ok_or(nothing)
    }

    /// Returns the operation that put another one in force: itself, or its last redo.
    pub(crate) fn last_run(&self, of: u64) -> Result<&Operation, HistoryError> {
        let is_run = |it: &&Operation| it.id == of || it.what == OperationKind::Redo { of };
        self.operations().rev().find(is_run).ok_or(HistoryError::Unknown { id: of })
    }

    /// Appends an entry to the list and applies it.
    fn write(&mut self, entry: Entry) -> Result<(), HistoryError> {
        if let Some(detected) = &self.detected {
            self.list.append(detected)?;
            self.detected = None;
        }
        self.list.append(&entry)?;
        self.take(entry);
        Ok(())
    }
}

fn progress_of(document: &dyn Document, operation: &Operation) -> Result<Progress, HistoryError> {
    progress(document.parts(), &operation.changes).map_err(|error| HistoryError::List(error.to_string()))
}

/// Returns whether a session contains what an operation wrote, as it was written or in another
/// layout.
fn is_written(document: &dyn Document, operation: &Operation) -> Result<bool, HistoryError> {
    Ok(match progress_of(document, operation)? {
        Progress::Finished => true,
        Progress::NotBegun | Progress::Torn(_) => false,
        Progress::Foreign => {
            let back = reformatted(document.parts(), &operation.changes.inverse());
            back.map_err(FormatError::from)?.is_some()
        }
    })
}

#[cfg(test)]
mod crash_tests;
