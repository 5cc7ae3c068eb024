//! The tree that the entries of a log form, without what they say.

mod node_index;
pub(crate) mod log;
pub(crate) mod context;

use std::collections::{BTreeMap, HashMap};

use crate::entry::EntryTag;
use crate::error::SessionError;
use crate::id::EntryId;
use node_index::NodeIndex;

pub use context::{Context, RequestAt, Unpaired, build_context};
pub use log::{Header, LogNote, NEWEST_VERSION, SessionLog};
pub use node_index::Node;

/// The entries of a log in its order, and the links between them.
///
/// Each entry takes about 40 bytes, plus the text of an id that is not in pi's form; a [`Node`] is
/// made from them on request.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    rows: NodeIndex,
    labels: BTreeMap<u64, (EntryId, String)>,
    label_of: HashMap<EntryId, u64>,
    n_labels: u64,
    name: Option<String>,
}

impl Tree {
    pub(crate) fn push(&mut self, node: Node) {
        self.rows.push(node);
    }

    /// Adds a label, which is not empty; none clears it.
    pub(crate) fn set_label(&mut self, target: EntryId, label: Option<String>) {
        if let Some(label) = label {
            let place = *self.label_of.entry(target.clone()).or_insert(self.n_labels);
            self.labels.insert(place, (target, label));
            self.n_labels += 1;
        } else if let Some(place) = self.label_of.remove(&target) {
            self.labels.remove(&place);
        }
    }

    /// Sets the session's name, which is not empty; none clears it.
    pub(crate) fn set_name(&mut self, name: Option<String>) {
        self.name = name;
    }

    /// Returns all entries in the order of the log, those on other branches among them.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
        (0..self.rows.len()).map(|at| self.rows.node(at))
    }

    /// Returns the entry of a name; of several the last.
    pub fn node(&self, id: &EntryId) -> Option<Node> {
        Some(self.rows.node(self.place(id.as_str())?))
    }

    /// Returns the node at a place in the order of the log.
    pub(crate) fn node_at(&self, at: usize) -> Node {
        self.rows.node(at)
    }

    pub(crate) fn tag(&self, at: usize) -> EntryTag {
        self.rows.tag(at)
    }

    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.rows.place(id)
    }

    /// Returns the name of the session: that of the last entry that sets or clears it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the label of an entry.
    pub fn label(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(self.label_of.get(id)?).map(|(_, label)| label.as_str())
    }

    /// Returns the labelled entries with their labels, in the order in which they were first
    /// labelled.
    pub fn labels(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.labels.values().map(|(id, label)| (id, label.as_str()))
    }

    /// Returns the last compaction of the log, on whatever branch it is.
    pub fn last_compaction(&self) -> Option<Node> {
        let at = (0..self.rows.len()).rfind(|at| self.tag(*at) == EntryTag::Compaction)?;
        Some(self.rows.node(at))
    }

    /// Returns the entries from a root to the leaf; no leaf is the place before the first entry.
    ///
    /// An entry whose parent is not in the log is a root. A leaf that is not in the log and an
    /// entry that is its own ancestor are errors.
    pub fn path(&self, leaf: Option<&EntryId>) -> Result<Vec<Node>, SessionError> {
        let Some(leaf) = leaf else { return Ok(Vec::new()) };
        let places = self.path_to(self.known(leaf)?, |_| false)?;
        Ok(places.into_iter().map(|at| self.rows.node(at)).collect())
    }

    /// Returns an entry and those above it, up to its root; none if it is not in the log.
    pub fn ancestors(&self, of: &EntryId) -> impl Iterator<Item = Node> {
        self.place(of.as_str()).into_iter().flat_map(|at| self.up(at)).map(|at| self.rows.node(at))
    }

    /// Returns the place of an entry that must exist.
    pub(crate) fn known(&self, id: &EntryId) -> Result<usize, SessionError> {
        self.place(id.as_str()).ok_or_else(|| SessionError::UnknownLeaf { id: id.clone() })
    }

    /// Returns the places on the path to `end`, from the last one on that `is_start` accepts, else
    /// from the root on.
    pub(crate) fn path_to(
        &self,
        end: usize,
        is_start: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, SessionError> {
        let parent = |at| if is_start(at) { None } else { self.rows.parent(at) };
        climb(end, self.rows.len(), parent).map_err(|at| {
            let Node { line, id, .. } = self.rows.node(at);
            SessionError::Cycle { line, id }
        })
    }

    /// Walks from a place up to its root; on a cycle it goes round at most once.
    pub(crate) fn up(&self, from: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(from), |at| self.rows.parent(*at)).take(self.rows.len())
    }

    /// Returns the last entry that two paths share; nothing if they have different roots.
    pub fn common_ancestor(&self, a: &EntryId, b: &EntryId) -> Result<Option<Node>, SessionError> {
        let path = |id| self.path_to(self.known(id)?, |_| false);
        let (a, b) = (path(a)?, path(b)?);
        let shared = a.into_iter().zip(b).take_while(|(a, b)| a == b).last();
        Ok(shared.map(|(at, _)| self.rows.node(at)))
    }

    /// Walks over the whole tree, parents before their children, and returns each entry with its
    /// depth, roots being 0.
    ///
    /// Children of one entry are sorted by timestamp, then by their order in the log. The entry of
    /// a cycle that comes first in the log counts as a root.
    pub fn walk(&self) -> Vec<(usize, Node)> {
        let n_nodes = self.rows.len();
        let (mut roots, mut children) = (Vec::new(), vec![Vec::new(); n_nodes]);
        for at in 0..n_nodes {
            self.rows.parent(at).map_or(&mut roots, |parent| &mut children[parent]).push(at);
        }
        for list in &mut children {
            list.sort_by_key(|at| self.rows.timestamp(*at));
        }
        let mut seen = vec![false; n_nodes];
        let mut order = Vec::with_capacity(n_nodes);
        for root in roots.into_iter().chain(0..n_nodes) {
            let mut open = vec![(0, root)];
            while let Some((depth, at)) = open.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    order.push((depth, self.rows.node(at)));
                    open.extend(children[at].iter().rev().map(|child| (depth + 1, *child)));
                }
            }
        }
        order
    }
}

/// Returns the places from a root to `start`, given each place's parent among `n_places`; a place
/// on a cycle where there is no root.
pub(crate) fn climb(
    start: usize,
    n_places: usize,
    parent: impl Fn(usize) -> Option<usize>,
) -> Result<Vec<usize>, usize> {
    let mut path = vec![start];
    let mut at = start;
    while let Some(above) = parent(at) {
        if path.len() == n_places {
            return Err(at);
        }
        at = above;
        path.push(at);
    }
    path.reverse();
    Ok(path)
}
