//! The undo of a compaction inside its log, by appending only.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;

use super::Session;
use super::index::{EntryFacts, Naming};
use super::migrate;
use crate::entry::encode::{self, Place};
use crate::entry::{ContextEdit, Custom, EntryKind, EntryTag, Label, SessionInfo};
use crate::error::SessionError;
use crate::id::{EntryId, IdSource};
use crate::tree::{Node, Tree};
use wb_record::json;
use wb_record::lines::trimmed;

/// The type of the custom entry with which [`Session::undo_compaction`] begins its branch; pi does
/// not define it.
pub const UNDO_MARK: &str = "window_budget.undo";

/// The result of [`Session::undo_compaction`] or [`Session::undo_entries`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoneCompaction {
    /// The compaction that was undone, or the first of several entries; they stay in the log, on
    /// the branch that was left.
    pub compaction_id: EntryId,
    /// The leaf before the undo, from which the session can go on as if nothing had been undone.
    pub old_leaf_id: EntryId,
    /// The leaf now.
    pub new_leaf_id: EntryId,
    /// The number of entries after the undone ones, which are repeated on the new branch.
    pub n_repeated: usize,
}

impl Session {
    /// Undoes the last compaction on the path to the leaf.
    ///
    /// A branch begins at the parent of the compaction, with a custom entry of the type
    /// [`UNDO_MARK`] whose `data` is `{"compaction": …, "from": …}`, the ids of the compaction and
    /// of the leaf that was left. The entries after the compaction are repeated on it: the same
    /// bytes except for `id`, `parentId`, the cost of answers, which were paid for once, and the
    /// `targetId` of labels and edits if that names a repeated entry.
    ///
    /// Entries at the end correct the side effects of repeating. Labels and a name for the session
    /// ensure that a copy has the label of its original and nothing else gets another. If answers
    /// are repeated, their provider counted the prompt with the digest; a context edit about the
    /// mark, which hides nothing, makes every reader that knows such edits count the context anew.
    /// These entries and the mark carry `timestamp`, in milliseconds since the Unix epoch.
    ///
    /// All of it is appended in one step. A kill in the middle leaves the first part of the new
    /// branch in a file of lines, and the old branch unchanged. On an error the leaf stays.
    ///
    /// ```
    /// use wb_message::{Message, outline::outline};
    /// use wb_session::store::memory::MemoryStore;
    /// use wb_session::{Compaction, EntryKind, IdSource, NewSession, Session};
    ///
    /// let store = Box::new(MemoryStore::default());
    /// let mut session = Session::create(store, &NewSession::default(), IdSource::new(7))?;
    /// session.append(&Message::user("list").into(), 1_000)?;
    /// let digest = Compaction { summary: "# Goal".into(), ..Default::default() };
    /// session.append(&EntryKind::Compaction(digest), 2_000)?;
    /// session.append(&Message::user("go on").into(), 3_000)?;
    /// let undone = session.undo_compaction(4_000)?;
    /// let seen = outline(&session.context(session.leaf())?.messages);
    /// assert_eq!(seen, "   0 user      \"list\"\n   1 user      \"go on\"\n");
    /// session.branch(&undone.old_leaf_id)?; // and back
    /// # Ok::<(), wb_session::SessionError>(())
    /// ```
    pub fn undo_compaction(&mut self, timestamp: i64) -> Result<UndoneCompaction, SessionError> {
        self.check_layout()?;
        let last = self.path()?.into_iter().rfind(|node| node.tag == EntryTag::Compaction);
        let last = last.ok_or(SessionError::NothingToUndo)?.id;
        self.undo_entries(&last, &last, timestamp)
    }

    /// Undoes the entries of the path from one to another as
    /// [`undo_compaction`](Self::undo_compaction) does: those that one step wrote, a compaction
    /// with its edits, or edits alone.
    ///
    /// If they are not on the path in this order, nothing is undone.
    pub fn undo_entries(
        &mut self,
        first: &EntryId,
        last: &EntryId,
        timestamp: i64,
    ) -> Result<UndoneCompaction, SessionError> {
        self.check_layout()?;
        let path = self.path()?;
        let place =
            |id: &EntryId| path.iter().rposition(|node| node.id == *id).ok_or(SessionError::NothingToUndo);
        let (at, last) = (place(first)?, place(last)?);
        let after = path.get(last + 1..).filter(|_| at <= last).ok_or(SessionError::NothingToUndo)?;
        let parent = at.checked_sub(1).map(|before| &path[before].id);
        let (compaction_id, old_leaf_id) = (first.clone(), path[path.len() - 1].id.clone());
        let data = json!({ "compaction": compaction_id.as_str(), "from": old_leaf_id.as_str() });
        let mark = EntryKind::Custom(Custom { custom_type: UNDO_MARK.to_owned(), data: Some(data) });
        let mut branch = Branch::begin(self, parent, &mark, timestamp)?;
        let mark_id = branch.leaf.clone();
        let copies: Copies<'_> = after.iter().map(|node| (&node.id, branch.next_id())).collect();
        let restated = branch.repeat(after, &copies)?;
        for kind in restated.corrections(self.tree(), after, &copies) {
            branch.add(&kind)?;
        }
        if after.iter().any(|node| node.tag == EntryTag::Answer) {
            branch.add(&EntryKind::ContextEdit(ContextEdit { target_id: mark_id, replacement: None }))?;
        }
        let n_repeated = after.len();
        let Branch { lines, ids, leaf: new_leaf_id, .. } = branch;
        self.append_lines(&lines)?;
        self.ids = ids;
        Ok(UndoneCompaction { compaction_id, old_leaf_id, new_leaf_id, n_repeated })
    }
}

/// The ids of copies by those of the entries that are repeated.
type Copies<'a> = HashMap<&'a EntryId, EntryId>;

/// The lines of a branch in one chain, before any of them is appended.
struct Branch<'a> {
    session: &'a Session,
    /// That of the entries which are no copies.
    timestamp: i64,
    ids: IdSource,
    /// Ids that were given out; those of the log are not among them.
    given: HashSet<EntryId>,
    leaf: EntryId,
    lines: Vec<Vec<u8>>,
}

impl<'a> Branch<'a> {
    fn begin(
        session: &'a Session,
        parent_id: Option<&EntryId>,
        mark: &EntryKind,
        timestamp: i64,
    ) -> Result<Self, SessionError> {
        let mut ids = session.ids.clone();
        let leaf = ids.next_id(|id| session.tree().place(id).is_some());
        let line = encode::line(Place { id: &leaf, parent_id, timestamp }, mark)?;
        Ok(Self { session, timestamp, ids, given: HashSet::from([leaf.clone()]), leaf, lines: vec![line] })
    }

    fn next_id(&mut self) -> EntryId {
        let Self { session, given, ids, .. } = self;
        let id = ids.next_id(|id| session.tree().place(id).is_some() || given.contains(id));
        given.insert(id.clone());
        id
    }

    fn add(&mut self, kind: &EntryKind) -> Result<(), SessionError> {
        let id = self.next_id();
        let place = Place { id: &id, parent_id: Some(&self.leaf), timestamp: self.timestamp };
        self.lines.push(encode::line(place, kind)?);
        self.leaf = id;
        Ok(())
    }

    /// Repeats entries under new ids, and returns what the copies say about the whole session.
    fn repeat(&mut self, nodes: &[Node], copies: &Copies<'_>) -> Result<Restated, SessionError> {
        let (mut restated, mut record) = (Restated::default(), Vec::new());
        for node in nodes {
            self.session.store.read_at(node.position, &mut record)?;
            let id = &copies[&node.id];
            let mut line = migrate::with_place(trimmed(&record, node.line), id, Some(&self.leaf));
            if matches!(node.tag, EntryTag::Label | EntryTag::ContextEdit) {
                line = with_new_target(line, copies);
            }
            if node.tag == EntryTag::Answer {
                line = without_cost(line);
            }
            if matches!(node.tag, EntryTag::Label | EntryTag::SessionInfo) {
                restated.take(EntryFacts::from_line(&line)?.naming);
            }
            self.lines.push(line);
            self.leaf = id.clone();
        }
        Ok(restated)
    }
}

/// Returns the line of an answer that was paid for once already.
fn without_cost(line: Vec<u8>) -> Vec<u8> {
    const NO_COST: &[u8] = br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#;
    const COST: [&str; 3] = ["message", "usage", "cost"];
    if json::find(&line, &COST).is_some() { json::set_in(&line, &COST, NO_COST) } else { line }
}

/// Returns the line of a label or an edit, about the copy of its entry if there is one.
fn with_new_target(line: Vec<u8>, copies: &Copies<'_>) -> Vec<u8> {
    let target = json::get(&line, "targetId");
    let target = target.and_then(|id| serde_json::from_slice::<EntryId>(id).ok());
    match target.and_then(|id| copies.get(&id)) {
        Some(copy) => migrate::with_target(&line, copy),
        None => line,
    }
}

/// The repeated entries' values for the whole session; the last one applies.
#[derive(Default)]
struct Restated {
    labels: BTreeMap<EntryId, Option<String>>,
    name: Option<SessionInfo>,
}

impl Restated {
    fn take(&mut self, naming: Naming) {
        match naming {
            Naming::Label(target, label) => drop(self.labels.insert(target, label)),
            Naming::Name(name) => self.name = Some(SessionInfo { name }),
            Naming::Nothing => {}
        }
    }

    /// Returns entries that give copies the labels of their originals and leave all else unchanged.
    fn corrections(mut self, tree: &Tree, nodes: &[Node], copies: &Copies<'_>) -> Vec<EntryKind> {
        let mut kinds = Vec::new();
        let mut label = |target_id: EntryId, said: Option<String>, holds: Option<&str>| {
            if said.as_deref() != holds {
                kinds.push(EntryKind::Label(Label { target_id, label: holds.map(str::to_owned) }));
            }
        };
        for node in nodes {
            let copy = copies[&node.id].clone();
            let said = self.labels.remove(&copy).flatten();
            label(copy, said, tree.label(&node.id));
        }
        for (target, said) in self.labels {
            let holds = tree.label(&target);
            label(target.clone(), said, holds);
        }
        let name = SessionInfo { name: tree.name().map(str::to_owned) };
        if self.name.is_some_and(|said| said != name) {
            kinds.push(EntryKind::SessionInfo(name));
        }
        kinds
    }
}
