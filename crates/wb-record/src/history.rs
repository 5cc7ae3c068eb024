//! What was changed: a list of operations, each of which can be undone and redone.
//!
//! The list is JSON lines in parts of its own. An operation is written down before the session is touched, and marked as
//! done after, so that one that was cut short is found and settled from the bytes. Nothing in the list is ever
//! changed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::by_agent::ByAgent;
use crate::change::{Change, ChangeSet, CommitError};
use crate::error::FormatError;
#[cfg(any(unix, windows))]
use crate::file::FileParts;
use crate::format::{Document, Stamp, WriteError};
use crate::history_error::HistoryError;
use crate::item::Item;
use crate::kept::{Kept, kept, kept_of, n_known};
use crate::lines::Lines;
use crate::operation::{Operation, What};
#[cfg(any(unix, windows))]
use crate::part::Access;
use crate::part::{PartReader, Parts};
use crate::reformatted::reformatted;
use crate::settle::{Found, can_be_taken_back, found};
use crate::span::Span;
use crate::view::View;

/// What the name of a session's list of operations ends with. Hosts list files by `.jsonl`, so this is none.
const LIST_SUFFIX: &str = ".wb-log";

/// Returns where the list of a session's operations stands: next to it.
pub fn list_of(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
    name.push(LIST_SUFFIX);
    PathBuf::from(name)
}

/// One line of the list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Planned(Box<Operation>),
    /// It stands in the session, and these are the records of the view after.
    Done {
        id: u64,
        after: Vec<Kept>,
    },
    /// It was not carried out.
    Dropped {
        id: u64,
    },
}

/// Reads the lines of a list, and whether the last one was cut off.
fn entries(list: &dyn Parts) -> Result<(Vec<Entry>, bool), HistoryError> {
    let unread = |error: io::Error| HistoryError::List(error.to_string());
    let mut lines = Lines::new(PartReader::new(list, "", 0).map_err(unread)?);
    let mut entries = Vec::new();
    while let Some(line) = lines.next_line().map_err(unread)? {
        match line.parse() {
            Ok(entry) => entries.push(entry),
            Err(_) if line.is_truncated() => return Ok((entries, true)),
            Err(error) => return Err(HistoryError::List(format!("line {}: {error}", line.number))),
        }
    }
    Ok((entries, false))
}

/// How an undo was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// The bytes are those of before.
    Exactly,
    /// Others had written since: the old view was written after it, with what came since at its end.
    ByAppending,
}

/// The list of what was done to one session.
#[derive(Debug)]
pub struct History {
    list: Box<dyn Parts>,
    operations: Vec<Operation>,
    /// For each operation that stands in the session, its number and the records of the view after it.
    done: Vec<(u64, Vec<Kept>)>,
    /// The last operation that is neither done nor dropped.
    pending: Option<u64>,
    /// Whether the last line was cut off.
    is_cut_off: bool,
}

impl History {
    /// Reads the list next to a session's file; where there is none, the first operation begins it, for its owner alone.
    ///
    /// Whoever opens it to write holds its lock until it is dropped, so that of several at once one gets through.
    #[cfg(any(unix, windows))]
    pub fn beside(session: &Path, access: Access) -> Result<Self, HistoryError> {
        let path = list_of(session);
        let list = match access {
            _ if path.symlink_metadata().is_err() => Ok(FileParts::begin(path)),
            Access::Read => {
                FileParts::open_for_reading(path).map_err(|error| HistoryError::List(error.to_string()))
            }
            Access::Write => {
                FileParts::open(path).map_err(|error| HistoryError::ListNotWritten(error.to_string()))
            }
        };
        let mut list = list?;
        if access == Access::Write {
            list.hold().map_err(|error| HistoryError::of_list(&error))?;
        }
        Self::open(Box::new(list))
    }

    /// Reads the list; parts without a file are an empty one. A line that was cut off at the end is passed over.
    pub fn open(list: Box<dyn Parts>) -> Result<Self, HistoryError> {
        let (entries, is_cut_off) = entries(list.as_ref())?;
        let mut history = Self { list, operations: Vec::new(), done: Vec::new(), pending: None, is_cut_off };
        for entry in entries {
            history.take(entry);
        }
        Ok(history)
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Planned(operation) => {
                self.pending = Some(operation.id);
                self.operations.push(*operation);
            }
            Entry::Done { id, after } => {
                self.pending = None;
                self.done.push((id, after));
            }
            Entry::Dropped { .. } => self.pending = None,
        }
    }

    /// Returns the operations that stand in the session, in their order.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        self.operations.iter().filter(|it| self.done.iter().any(|(id, _)| *id == it.id))
    }

    /// Returns the name of the format that the session had when it was changed last, if the list tells it.
    pub fn format(&self) -> Option<&str> {
        self.operations.last()?.format.as_deref()
    }

    /// Returns the records of the view after an operation, in its order; none if it does not stand in the session.
    pub fn after(&self, id: u64) -> &[Kept] {
        self.done.iter().find(|(done, _)| *done == id).map_or(&[], |(_, after)| after)
    }

    /// Returns an operation that was cut short, of which it is not known yet whether it stands in the session.
    pub fn unsettled(&self) -> Option<u64> {
        self.pending
    }

    /// Returns whether the last line of the list was cut off while it was written, so that what it said is not known.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Returns where the list stands.
    pub fn into_list(self) -> Box<dyn Parts> {
        self.list
    }

    /// Returns whether an operation was taken back and not done again.
    pub fn is_undone(&self, id: u64) -> bool {
        let last = self.operations().rev().find_map(|it| match it.what {
            What::Undo { of } if of == id => Some(true),
            What::Redo { of } if of == id => Some(false),
            _ => None,
        });
        last.unwrap_or(false)
    }

    /// Finds out what became of an operation that was cut short, and completes or drops it.
    ///
    /// The beginning of an append that a power cut left is cut off.
    pub fn settle(&mut self, document: &mut dyn Document) -> Result<(), HistoryError> {
        let Some(id) = self.pending else { return Ok(()) };
        let Some(operation) = self.operations.iter().find(|it| it.id == id) else { return Ok(()) };
        if operation.by_agent.is_some() {
            let entry = self.written_by_agent(document)?.unwrap_or(Entry::Dropped { id });
            return self.write(entry);
        }
        let (set, conversation) = (operation.changes.clone(), operation.conversation.clone());
        match found(document.parts(), &set).map_err(|error| HistoryError::List(error.to_string()))? {
            // What others wrote since does not take it back.
            Found::Finished => {
                let after = kept(document, &document.view(&conversation)?)?;
                return self.write(Entry::Done { id, after });
            }
            Found::Torn(cut) => document.commit(&cut)?,
            Found::NotBegun | Found::Foreign => {}
        }
        self.write(Entry::Dropped { id })
    }

    /// Finds out whether an agent wrote what was left to it; nothing is written.
    pub fn look(&mut self, document: &dyn Document) -> Result<(), HistoryError> {
        self.written_by_agent(document)?.into_iter().for_each(|entry| self.take(entry));
        Ok(())
    }

    fn written_by_agent(&self, document: &dyn Document) -> Result<Option<Entry>, HistoryError> {
        let pending = self.operations.iter().find(|it| Some(it.id) == self.pending);
        let Some((operation, by_agent)) = pending.and_then(|it| Some((it, it.by_agent.as_ref()?))) else {
            return Ok(None);
        };
        let view = document.view(&operation.conversation)?;
        let Some(messages) = by_agent.messages(&view) else { return Ok(None) };
        Ok(Some(Entry::Done { id: operation.id, after: kept_of(document, &view, messages)? }))
    }

    /// Writes a change into a session, as an operation of the list; returns its number and what the model sees now.
    ///
    /// `changes` are those that [`Document::render`] gave for the view `before`. Where the session cannot be read
    /// after, they are taken back.
    pub fn change(
        &mut self,
        what: What,
        document: &mut dyn Document,
        conversation: &str,
        before: &View,
        changes: &ChangeSet,
        stamp: &Stamp,
    ) -> Result<(u64, View), HistoryError> {
        self.settle(document)?;
        self.run(document, what, conversation, before, changes, stamp)
    }

    /// Notes a compaction that the agent is about to write into its session itself; the next change of the session finds
    /// out whether it did. Nothing is written into the session. One that stands in it already is not noted again.
    pub fn leave_to_agent(
        &mut self,
        document: &mut dyn Document,
        conversation: &str,
        before: &View,
        by_agent: ByAgent,
        stamp: &Stamp,
    ) -> Result<(), HistoryError> {
        self.settle(document)?;
        if by_agent.messages(before).is_some() {
            return Ok(());
        }
        let none = ChangeSet::default();
        let operation = self.operation(document, What::Compact, conversation, before, &none, stamp)?;
        self.write(Entry::Planned(Box::new(Operation { by_agent: Some(by_agent), ..operation })))
    }

    fn operation(
        &self,
        document: &dyn Document,
        what: What,
        conversation: &str,
        before: &View,
        changes: &ChangeSet,
        stamp: &Stamp,
    ) -> Result<Operation, HistoryError> {
        Ok(Operation {
            id: self.operations.last().map_or(0, |last| last.id) + 1,
            what,
            at_ms: stamp.now_ms,
            format: Some(document.format().name().to_owned()),
            conversation: conversation.to_owned(),
            tokens_before: stamp.tokens_before,
            tokens_after: stamp.tokens_after,
            changes: changes.clone(),
            before: kept(document, before)?,
            by_agent: None,
        })
    }

    fn run(
        &mut self,
        document: &mut dyn Document,
        what: What,
        conversation: &str,
        before: &View,
        changes: &ChangeSet,
        stamp: &Stamp,
    ) -> Result<(u64, View), HistoryError> {
        let operation = self.operation(document, what, conversation, before, changes, stamp)?;
        let id = operation.id;
        self.write(Entry::Planned(Box::new(operation)))?;
        if let Err(error) = document.commit(changes) {
            self.write(Entry::Dropped { id })?;
            return Err(error.into());
        }
        let read = document.view(conversation).and_then(|view| Ok((kept(document, &view)?, view)));
        let (after, view) = match read {
            Ok(read) => read,
            Err(error) => {
                document.commit(&changes.inverse())?;
                self.write(Entry::Dropped { id })?;
                return Err(error.into());
            }
        };
        self.write(Entry::Done { id, after })?;
        Ok((id, view))
    }

    /// Takes an operation back, the last one that stands if none is named.
    ///
    /// Where nobody wrote since, the bytes are those of before. Where a JSON document was written anew, the old records
    /// take the place of the new ones in it. Else the old view is written after it in the way native to the format, with
    /// what came since at its end, unless the agent has changed the beginning itself.
    pub fn undo(
        &mut self,
        document: &mut dyn Document,
        id: Option<u64>,
        stamp: &Stamp,
    ) -> Result<(u64, Undone), HistoryError> {
        self.settle(document)?;
        let of = self.find(id, false)?;
        let operation = self.last_run(of)?.clone();
        let figures = swapped(stamp, &operation);
        let (conversation, set) = (&operation.conversation, operation.changes.inverse());
        let (what, before) = (What::Undo { of }, document.view(conversation)?);
        if operation.by_agent.is_none() {
            match self.run(document, what, conversation, &before, &set, &figures) {
                Err(HistoryError::Write(WriteError::Commit(CommitError::Stale { .. }))) => {}
                outcome => return outcome.map(|_| (of, Undone::Exactly)),
            }
        }
        document.refresh()?;
        let is_later = |it: &&Operation| it.id > of && it.conversation == *conversation;
        let stands = |it: &Operation| !it.what.is_way_back() && !self.is_undone(it.id);
        if self.operations().filter(is_later).any(stands) {
            return Err(HistoryError::NotAlone { id: of, doing: "undone" });
        }
        let before = document.view(conversation)?;
        let set = if let Some(set) = reformatted(document.parts(), &set).map_err(FormatError::from)? {
            set
        } else {
            let items = self.before_and_since(document, of, &before)?;
            document.render(conversation, &before, &items, &figures)?
        };
        self.run(document, what, conversation, &before, &set, &figures)?;
        Ok((of, Undone::ByAppending))
    }

    /// Does an operation again that was taken back, the one taken back last if none is named.
    pub fn redo(
        &mut self,
        document: &mut dyn Document,
        id: Option<u64>,
        stamp: &Stamp,
    ) -> Result<u64, HistoryError> {
        self.settle(document)?;
        let of = self.find(id, true)?;
        let undo = self.operations().rev().find(|it| it.what == What::Undo { of }).cloned();
        let undo = undo.ok_or(HistoryError::NothingToRedo)?;
        let (conversation, set, stamp) = (&undo.conversation, undo.changes.inverse(), swapped(stamp, &undo));
        let before = document.view(conversation)?;
        match self.run(document, What::Redo { of }, conversation, &before, &set, &stamp) {
            Err(HistoryError::Write(WriteError::Commit(CommitError::Stale { .. }))) => {
                Err(HistoryError::NotAlone { id: of, doing: "redone" })
            }
            outcome => outcome.map(|_| of),
        }
    }

    /// Returns whether nobody has written to the session since its last operation.
    pub fn is_last_write(&self, document: &dyn Document) -> Result<bool, HistoryError> {
        let last = self.operations().next_back();
        last.map_or(Ok(false), |last| is_exact(document, last))
    }

    /// Returns whether undoing or redoing an operation would give the very bytes of before.
    pub fn is_exact(&self, document: &dyn Document, of: u64) -> Result<bool, HistoryError> {
        let undone = self.operations().rev().find(|it| it.what == What::Undo { of } && self.is_undone(of));
        let last = undone.map_or_else(|| self.last_run(of), Ok)?;
        is_exact(document, last)
    }

    /// Returns the number of the operation to undo or to redo, the last one if none is named.
    pub fn find(&self, id: Option<u64>, is_undone: bool) -> Result<u64, HistoryError> {
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
        let last_undone = self.operations().rev().find_map(|it| match it.what {
            What::Undo { of } if self.is_undone(of) => Some(of),
            _ => None,
        });
        let last_standing = || self.operations().rev().filter(is_act).find(|it| !self.is_undone(it.id));
        let found = if is_undone { last_undone } else { last_standing().map(|it| it.id) };
        found.ok_or(nothing)
    }

    /// Returns the operation that put another one in force: itself, or what did it again last.
    fn last_run(&self, of: u64) -> Result<&Operation, HistoryError> {
        let is_run = |it: &&Operation| it.id == of || it.what == What::Redo { of };
        self.operations().rev().find(is_run).ok_or(HistoryError::Unknown { id: of })
    }

    /// Returns the records of the view before an operation, and what came after it: those that others wrote between one
    /// operation and the next, and the messages behind the last. What stands in the view as it came stays.
    fn before_and_since(
        &self,
        document: &dyn Document,
        id: u64,
        view: &View,
    ) -> Result<Vec<Item<'static>>, HistoryError> {
        let operation = self.operations().find(|it| it.id == id).ok_or(HistoryError::Unknown { id })?;
        let is_there = |it: &Kept| document.parts().fingerprint(&it.span).is_ok_and(|hash| hash == it.hash);
        if !operation.before.iter().all(is_there) {
            return Err(HistoryError::Lost { id });
        }
        let mut items: Vec<Item<'static>> =
            operation.before.iter().map(|it| Item::Old(it.span.clone())).collect();
        let (since, last) = self.since(operation)?;
        let n_known = n_known(last, view).ok_or(HistoryError::Overtaken { id })?;
        let records = |at: usize| view.provenance.of(at).iter().map(|place| &place.record);
        let mut shown: HashMap<&Span, Vec<usize>> = HashMap::new();
        for at in 0..n_known {
            records(at).take(1).for_each(|first| shown.entry(first).or_default().push(at));
        }
        let mut said: HashSet<&Span> = HashSet::new();
        for record in since {
            match shown.remove(&record.span) {
                Some(messages) => {
                    said.extend(messages.iter().flat_map(|at| records(*at)));
                    items.extend(messages.into_iter().map(Item::Same));
                }
                None if said.contains(&record.span) => {}
                None if is_there(record) => items.push(Item::Old(record.span.clone())),
                None => return Err(HistoryError::Lost { id }),
            }
        }
        items.extend((n_known..view.messages.len()).map(Item::Same));
        Ok(items)
    }

    /// Returns the records that others wrote between an operation and the last one, each behind what stood there after
    /// the one before it, and the records after the last one.
    fn since(&self, operation: &Operation) -> Result<(Vec<&Kept>, &[Kept]), HistoryError> {
        let Operation { id, conversation, .. } = operation;
        let (mut since, mut after) = (Vec::new(), self.after(*id));
        for later in self.operations().filter(|it| it.id > *id && it.conversation == *conversation) {
            let is_same = |(a, b): (&Kept, &Kept)| a.span == b.span;
            let new = later.before.get(after.len()..);
            let new = new.filter(|_| after.iter().zip(&later.before).all(is_same));
            since.extend(new.ok_or(HistoryError::Overtaken { id: *id })?);
            after = self.after(later.id);
        }
        Ok((since, after))
    }

    /// Adds a line to the list and takes it in.
    fn write(&mut self, entry: Entry) -> Result<(), HistoryError> {
        let failed = |error: &dyn std::fmt::Display| HistoryError::List(error.to_string());
        let mut line = serde_json::to_vec(&entry).map_err(|error| failed(&error))?;
        line.push(b'\n');
        let end = self.list.len("").map_err(|error| failed(&error))?;
        let set = match end {
            Some(end) => {
                ChangeSet::append("", end, self.after_whole_line(end, line).map_err(|error| failed(&error))?)
            }
            None => ChangeSet {
                changes: vec![(String::new(), Change::Create { new: crate::change::Bytes(line) })],
            },
        };
        self.list.commit(&set).map_err(|error| HistoryError::of_list(&error))?;
        self.take(entry);
        Ok(())
    }

    /// Returns a line that begins anew even where the last one was cut off.
    fn after_whole_line(&self, end: u64, mut line: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut last = Vec::new();
        self.list.read("", end.saturating_sub(1)..end, &mut last)?;
        if last.first().is_some_and(|byte| *byte != b'\n') {
            line.insert(0, b'\n');
        }
        Ok(line)
    }
}

/// Returns whether an operation can be taken back byte by byte.
fn is_exact(document: &dyn Document, operation: &Operation) -> Result<bool, HistoryError> {
    if operation.by_agent.is_some() {
        return Ok(false);
    }
    can_be_taken_back(document.parts(), &operation.changes)
        .map_err(|error| HistoryError::List(error.to_string()))
}

/// Returns the stamp with the figures of an operation the other way round.
fn swapped(stamp: &Stamp, of: &Operation) -> Stamp {
    Stamp { tokens_before: of.tokens_after, tokens_after: of.tokens_before, ..stamp.clone() }
}
