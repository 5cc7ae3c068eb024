//! An open session: a log in its store, its tree, and the place of the next entry.

mod index;
mod migrate;
mod fork;
mod undo;

use serde_json::json;

use crate::entry::decode;
use crate::entry::encode::{self, NewSession, Place};
use crate::entry::{BranchSummary, Custom, Entry, EntryKind, EntryTag, Label, SessionInfo};
use crate::error::{SessionError, Torn, WRITTEN_VERSION};
use crate::id::{EntryId, IdSource};
use crate::store::{EntryStore, Record};
use crate::tree::context::{self, Context, Draft, Selection, Unpaired};
use crate::tree::log::{Header, LogNote, first_kept_of_version_1};
use crate::tree::{Node, Tree};
use index::{EntryFacts, Index};
use wb_record::lines::{Line, trimmed};

pub use undo::{UNDO_MARK, UndoneCompaction};

/// The type of the custom entry that [`Session::mark_leaf`] writes; pi does not define it.
pub const LEAF_MARK: &str = "window_budget.leaf";

/// Room for a line that is kept from one entry to the next.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// A session that is read and written through a store.
///
/// The header and a [`Node`] for each entry are in memory. The content of an entry is read from the
/// store on request. An entry joins the tree only after the store acknowledged it.
///
/// ```
/// use wb_message::Message;
/// use wb_session::store::memory::MemoryStore;
/// use wb_session::{Compaction, EntryKind, IdSource, NewSession, Session};
///
/// let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
/// let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
/// let ask = session.append(&Message::user("list").into(), 1_000)?;
/// session.append(&Message::assistant("a.rs").into(), 2_000)?;
/// session.set_label(&ask, Some("start"), 3_000)?;
/// let kept = Some(ask.clone());
/// let summary = "# Goal".to_owned();
/// let digest = Compaction { summary, first_kept_entry_id: kept, ..Default::default() };
/// session.append(&EntryKind::Compaction(digest), 4_000)?;
/// assert_eq!(session.context(session.leaf())?.messages.len(), 3);
/// session.branch(&ask)?;
/// assert_eq!(session.context(session.leaf())?.messages.len(), 1);
/// # Ok::<(), wb_session::SessionError>(())
/// ```
#[derive(Debug)]
pub struct Session {
    pub(crate) store: Box<dyn EntryStore>,
    header: Header,
    tree: Tree,
    /// Records in the store; in a file of lines the lines.
    n_records: usize,
    leaf: Option<EntryId>,
    pub(crate) ids: IdSource,
    notes: Vec<LogNote>,
    /// The line that was written last, whose room the next one takes.
    line: Vec<u8>,
}

impl Session {
    /// Begins a session in a store that is empty.
    pub fn create(
        mut store: Box<dyn EntryStore>,
        begin: &NewSession,
        ids: IdSource,
    ) -> Result<Self, SessionError> {
        let mut is_empty = true;
        store.read_all(&mut |_, _| is_empty = false)?;
        if !is_empty {
            return Err(SessionError::NotEmpty);
        }
        let line = begin.line();
        let header = Header::read(Line::alone(1, &line))?;
        store.append(&line)?;
        let (tree, notes) = (Tree::default(), Vec::new());
        Ok(Self { store, header, tree, n_records: 1, leaf: None, ids, notes, line })
    }

    /// Opens the session that a store holds; the leaf is its last entry.
    ///
    /// Lines that are not entries are skipped and [noted](Self::notes), as pi skips them, such as a
    /// record that was torn before a foreign program continued the file. Older layouts are
    /// converted to the present one in memory.
    pub fn open(store: Box<dyn EntryStore>, mut ids: IdSource) -> Result<Self, SessionError> {
        let mut index = Index::default();
        index.notes.extend(store.torn().cloned().map(LogNote::TornRecord));
        store.read_all(&mut |position, record| index.take(position, record))?;
        let Index { header, tree, notes, n_records } = index;
        let header = header.unwrap_or(Err(SessionError::Empty))?;
        let leaf = tree.nodes().next_back().map(|node| node.id);
        ids.skip(n_records);
        Ok(Self { store, header, tree, n_records, leaf, ids, notes, line: Vec::new() })
    }

    /// Returns the first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the entries' places.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the notes on everything skipped or torn when the session was opened.
    pub fn notes(&self) -> &[LogNote] {
        &self.notes
    }

    /// Returns the entry that the next one follows; none at the place before the first.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.leaf.as_ref()
    }

    /// Returns the entries from a root to the leaf.
    pub fn path(&self) -> Result<Vec<Node>, SessionError> {
        self.tree.path(self.leaf())
    }

    /// Reads an entry from the store.
    pub fn entry(&self, id: &EntryId) -> Result<Entry, SessionError> {
        self.read(self.tree.known(id)?, &mut Vec::new())
    }

    /// Reads the entry at a place of the tree into a buffer.
    pub(crate) fn read(&self, at: usize, buffer: &mut Vec<u8>) -> Result<Entry, SessionError> {
        Ok(self.read_with_fault(at, buffer)?.0)
    }

    /// Reads an entry, with what is wrong where only its place can be read.
    fn read_with_fault(
        &self,
        at: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(Entry, Option<String>), SessionError> {
        let Node { id, parent_id, timestamp, tag, line: number, position } = self.tree.node_at(at);
        self.store.read_at(position, buffer)?;
        let line = Line::alone(number, trimmed(buffer, number));
        if self.header.version > 1 && !index::is_of(line, &id) {
            return Err(SessionError::Moved { line: number, id });
        }
        let (mut kind, bad) = decode::read_kind_or_nothing(line, tag, timestamp);
        if let (EntryKind::Compaction(compaction), 0..2) = (&mut kind, self.header.version) {
            compaction.first_kept_entry_id = first_kept_of_version_1(line, at);
        }
        Ok((Entry { id, parent_id, timestamp, line: number, kind }, bad))
    }

    /// Builds the context at a leaf as [`build_context`](crate::build_context) does, and reads no
    /// more for it than the entries that it is made of.
    ///
    /// Entries before the first one that the last compaction kept are not read, not even in a
    /// cycle, except for the model and the thinking level if no later entry sets them.
    pub fn context(&self, leaf: Option<&EntryId>) -> Result<Context, SessionError> {
        self.context_and_notes(leaf, Unpaired::LeftOut).map(|(context, _)| context)
    }

    /// Builds the context at a leaf, with notes on the missing parts: entries with only a readable
    /// place, messages that providers refuse, and all entries before one whose parent is lost.
    pub fn context_and_notes(
        &self,
        leaf: Option<&EntryId>,
        unpaired: Unpaired,
    ) -> Result<(Context, Vec<LogNote>), SessionError> {
        let mut notes = Vec::new();
        let mut buffer = Vec::new();
        let path = self.reach(leaf, &mut buffer)?;
        let tags: Vec<EntryTag> = path.iter().map(|at| self.tree.tag(*at)).collect();
        // Before the compaction there are only entries that it keeps.
        let mut draft = Draft::new(Selection::new(&tags, |compaction| (compaction > 0).then_some(0)));
        for at in draft.selection.kept.iter().filter(|at| tags[**at] == EntryTag::ContextEdit) {
            if let EntryKind::ContextEdit(edit) = self.read(path[*at], &mut buffer)?.kind {
                draft.edits.insert(edit.target_id, edit.replacement);
            }
        }
        let has_model = |tag| matches!(tag, EntryTag::ModelChange | EntryTag::Answer);
        draft.model = self.last(path.last(), has_model, context::model)?;
        let has_level = |tag| tag == EntryTag::ThinkingLevelChange;
        draft.thinking_level = self.last(path.last(), has_level, context::thinking_level)?;
        for at in std::mem::take(&mut draft.selection.kept) {
            if tags[at].is_visible() {
                let (Entry { id, kind, line, .. }, bad) = self.read_with_fault(path[at], &mut buffer)?;
                notes.extend(bad.map(|what| LogNote::BadLine { line, what }));
                draft.push(id, kind, at);
            }
        }
        let (context, left_out) = draft.finish(unpaired);
        notes.extend(left_out);
        // The digest of a compaction covers the entries before it.
        let is_compacted = tags.contains(&EntryTag::Compaction);
        let first = path.first().filter(|_| !is_compacted);
        notes.extend(first.and_then(|first| self.lost_parent(*first)));
        Ok((context, notes))
    }

    /// Returns a note for an entry that follows one which the log does not have.
    fn lost_parent(&self, at: usize) -> Option<LogNote> {
        let Node { parent_id, line, .. } = self.tree.node_at(at);
        let is_lost = parent_id.is_some_and(|id| self.tree.place(id.as_str()).is_none());
        is_lost.then_some(LogNote::LostParent { line })
    }

    /// Returns the leaves at which the segments between compactions end, on the path to a leaf, as
    /// [`SessionLog::segment_ends`](crate::SessionLog::segment_ends) does.
    pub fn segment_ends(&self, leaf: Option<&EntryId>) -> Result<Vec<Option<EntryId>>, SessionError> {
        let path = match leaf {
            Some(leaf) => self.tree.path_to(self.tree.known(leaf)?, |_| false)?,
            None => Vec::new(),
        };
        let before = |at: usize| Some(self.tree.node_at(path[at.checked_sub(1)?]).id);
        let ends = (0..path.len()).filter(|at| self.tree.tag(path[*at]) == EntryTag::Compaction).map(before);
        Ok(ends.chain([leaf.cloned()]).collect())
    }

    /// Reads the entries of the path to a leaf that the context holds, oldest first: those that the
    /// last compaction kept, that compaction, and those after it. Earlier entries are in its digest
    /// and are not read.
    pub fn entries_in_reach(&self, leaf: Option<&EntryId>) -> Result<Vec<Entry>, SessionError> {
        let mut buffer = Vec::new();
        let path = self.reach(leaf, &mut buffer)?;
        path.into_iter().map(|at| self.read(at, &mut buffer)).collect()
    }

    /// Returns the places on the path to a leaf from the first entry on that the context holds: the
    /// first one that the last compaction kept, where that is on the path, else the compaction,
    /// and without one the root.
    pub(crate) fn reach(
        &self,
        leaf: Option<&EntryId>,
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<usize>, SessionError> {
        let Some(leaf) = leaf else { return Ok(Vec::new()) };
        let is_compaction = |at| self.tree.tag(at) == EntryTag::Compaction;
        let mut path = self.tree.path_to(self.tree.known(leaf)?, is_compaction)?;
        if is_compaction(path[0])
            && let EntryKind::Compaction(compaction) = self.read(path[0], buffer)?.kind
            && let Some(first_kept) = compaction.first_kept_entry_id
            && let Some(first_kept) = self.tree.place(first_kept.as_str())
        {
            let older = self.tree.path_to(path[0], |at| at == first_kept)?;
            if older[0] == first_kept {
                path.splice(..1, older);
            }
        }
        Ok(path)
    }

    /// Returns the last value of its kind on the path to a leaf.
    fn last(
        &self,
        leaf: Option<&usize>,
        may_have_it: impl Fn(EntryTag) -> bool,
        find: fn(&EntryKind) -> Option<&String>,
    ) -> Result<Option<String>, SessionError> {
        let mut buffer = Vec::new();
        let path = leaf.into_iter().flat_map(|leaf| self.tree.up(*leaf));
        for at in path.filter(|at| may_have_it(self.tree.tag(*at))) {
            if let Some(found) = find(&self.read(at, &mut buffer)?.kind) {
                return Ok(Some(found.clone()));
            }
        }
        Ok(None)
    }

    /// Appends an entry after the leaf, makes it the leaf and returns its id.
    ///
    /// `timestamp` is when it was written, in milliseconds since the Unix epoch. An entry in pi's
    /// JSON, of a known type or not, is given as [`EntryKind::Other`]: all its members are kept
    /// except those for its place. A compaction must keep an entry on the path to it or nothing;
    /// labels and edits must name an entry of the log. Content that could not be read again is
    /// refused, such as arguments nested more than a hundred levels deep.
    pub fn append(&mut self, kind: &EntryKind, timestamp: i64) -> Result<EntryId, SessionError> {
        self.check_layout()?;
        self.check_names(kind)?;
        let id = self.ids.next_id(|id| self.tree.place(id).is_some());
        let place = Place { id: &id, parent_id: self.leaf.as_ref(), timestamp };
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        encode::write_line(place, kind, &mut line)?;
        let facts = EntryFacts::of_kind(place, kind).map_or_else(|| EntryFacts::from_line(&line), Ok)?;
        if !encode::is_shallow(kind) {
            check_readable(&line, facts.tag)?;
        }
        self.append_records([facts], &[Record::written(&line)])?;
        line.shrink_to(MAX_KEPT_BYTES);
        self.line = line;
        Ok(id)
    }

    /// Refuses to write to a log of another layout.
    pub(crate) fn check_layout(&self) -> Result<(), SessionError> {
        match self.header.version {
            WRITTEN_VERSION => Ok(()),
            version => Err(SessionError::OtherLayout { version }),
        }
    }

    /// Appends the lines of entries in one step and makes the last one the leaf.
    pub(crate) fn append_lines(&mut self, lines: &[Vec<u8>]) -> Result<(), SessionError> {
        let facts = lines.iter().map(|line| EntryFacts::from_line(line)).collect::<Result<Vec<_>, _>>()?;
        self.append_records(facts, &lines.iter().map(|line| Record::written(line)).collect::<Vec<_>>())
    }

    /// The tree learns of lines what it would learn if the session was opened again.
    fn append_records(
        &mut self,
        facts: impl IntoIterator<Item = EntryFacts>,
        lines: &[Record<'_>],
    ) -> Result<(), SessionError> {
        let positions = self.store.put(lines)?;
        for (facts, position) in facts.into_iter().zip(positions) {
            self.n_records += 1;
            self.leaf = Some(facts.id.clone());
            self.tree.take(facts, self.n_records, position);
        }
        Ok(())
    }

    fn check_names(&self, kind: &EntryKind) -> Result<(), SessionError> {
        match kind {
            EntryKind::Label(label) => self.tree.known(&label.target_id).map(drop),
            EntryKind::ContextEdit(edit) => self.tree.known(&edit.target_id).map(drop),
            EntryKind::Compaction(compaction) => match &compaction.first_kept_entry_id {
                Some(id) if !self.is_on_path(id) => Err(SessionError::BadBoundary { id: id.clone() }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Returns whether an entry is on the path to the leaf; the walk ends where it is found.
    fn is_on_path(&self, id: &EntryId) -> bool {
        let leaf = self.leaf.as_ref().and_then(|leaf| self.tree.place(leaf.as_str()));
        let wanted = self.tree.place(id.as_str());
        wanted.is_some() && leaf.is_some_and(|leaf| self.tree.up(leaf).any(|at| Some(at) == wanted))
    }

    /// Moves the leaf to an entry, so that the next one begins a branch there.
    pub fn branch(&mut self, id: &EntryId) -> Result<(), SessionError> {
        self.tree.known(id)?;
        self.leaf = Some(id.clone());
        Ok(())
    }

    /// Moves the leaf to the place before the first entry, so that the next one is a root.
    pub fn reset_leaf(&mut self) {
        self.leaf = None;
    }

    /// Moves the leaf to an entry or before the first one, so that reopening the session finds it
    /// there.
    ///
    /// The leaf of a reopened session is its last entry, so a move by [`branch`](Self::branch) or
    /// [`reset_leaf`](Self::reset_leaf) is forgotten unless an entry follows. This function appends
    /// one: a custom entry of the type [`LEAF_MARK`], whose `data` is `{"from": …}` with the id of
    /// the leaf that was left, or null. It gives the model nothing. On an error the leaf stays.
    pub fn mark_leaf(&mut self, target: Option<&EntryId>, timestamp: i64) -> Result<EntryId, SessionError> {
        let data = json!({ "from": self.leaf.as_ref().map(EntryId::as_str) });
        let mark = Custom { custom_type: LEAF_MARK.to_owned(), data: Some(data) };
        self.append_at(target, &EntryKind::Custom(mark), timestamp)
    }

    /// Moves the leaf to an entry or before the first one, and appends a summary of the abandoned
    /// branch there.
    ///
    /// `from_id` becomes the leaf that was left, or `root` if there was none. On an error the leaf
    /// stays.
    pub fn branch_with_summary(
        &mut self,
        target: Option<&EntryId>,
        mut summary: BranchSummary,
        timestamp: i64,
    ) -> Result<EntryId, SessionError> {
        summary.from_id = self.leaf.as_ref().map_or_else(|| "root".to_owned(), EntryId::to_string);
        self.append_at(target, &EntryKind::BranchSummary(summary), timestamp)
    }

    /// Appends an entry elsewhere than at the leaf; on an error the leaf stays.
    fn append_at(
        &mut self,
        target: Option<&EntryId>,
        kind: &EntryKind,
        timestamp: i64,
    ) -> Result<EntryId, SessionError> {
        let left = self.leaf.clone();
        match target {
            Some(id) => self.branch(id)?,
            None => self.reset_leaf(),
        }
        let appended = self.append(kind, timestamp);
        if appended.is_err() {
            self.leaf = left;
        }
        appended
    }

    /// Labels an entry; nothing or an empty label clears the one that it has.
    pub fn set_label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
        timestamp: i64,
    ) -> Result<EntryId, SessionError> {
        let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
        self.append(&EntryKind::Label(Label { target_id: target.clone(), label }), timestamp)
    }

    /// Names the session; an empty name clears the one that it has. Line ends become blanks, as in
    /// pi.
    pub fn set_name(&mut self, name: &str, timestamp: i64) -> Result<EntryId, SessionError> {
        let name = name.split(['\r', '\n']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        self.append(&EntryKind::SessionInfo(SessionInfo { name: Some(name.trim().to_owned()) }), timestamp)
    }

    /// Returns what was left of a torn record, and where it was moved to.
    pub fn torn(&self) -> Option<&Torn> {
        self.store.torn()
    }

    /// Makes durable what was appended, as far as the store can.
    pub fn sync(&mut self) -> Result<(), SessionError> {
        Ok(self.store.sync()?)
    }
}

/// Refuses the line of an entry that would be an error whenever it is read.
fn check_readable(line: &[u8], tag: EntryTag) -> Result<(), SessionError> {
    let read = decode::read_kind(Line::alone(0, line), tag, 0);
    read.map(drop).map_err(|error| match error {
        SessionError::BadEntry { what, .. } => SessionError::NotWritable { what },
        other => other,
    })
}
