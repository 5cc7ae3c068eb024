//! The tree that the entries of a log form, without what they say.

use std::collections::{BTreeMap, HashMap};

use crate::entry::EntryTag;
use crate::error::SessionError;
use crate::id::EntryId;

/// An entry's place in the tree and in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The entry's name.
    pub id: EntryId,
    /// The entry that it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// When it was written, in milliseconds since the Unix epoch; 0 where unknown.
    pub timestamp: i64,
    /// What kind of entry it is.
    pub tag: EntryTag,
    /// The record that it stands in, counted from 1; in a file of lines the line.
    pub line: usize,
    /// Where the store has it.
    pub position: u64,
}

/// The entries of a log in its order, and how they follow each other.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<EntryId, usize>,
    labels: BTreeMap<u64, (EntryId, String)>,
    label_of: HashMap<EntryId, u64>,
    n_labels: u64,
    name: Option<String>,
}

impl Tree {
    pub(crate) fn push(&mut self, mut node: Node) {
        if let Some(parent) = &mut node.parent_id
            && let Some((shared, _)) = self.by_id.get_key_value(parent)
        {
            *parent = shared.clone();
        }
        self.by_id.insert(node.id.clone(), self.nodes.len());
        self.nodes.push(node);
    }

    /// Takes over a label, which is not empty; nothing clears it.
    pub(crate) fn set_label(&mut self, target: EntryId, label: Option<String>) {
        if let Some(label) = label {
            let place = *self.label_of.entry(target.clone()).or_insert(self.n_labels);
            self.labels.insert(place, (target, label));
            self.n_labels += 1;
        } else if let Some(place) = self.label_of.remove(&target) {
            self.labels.remove(&place);
        }
    }

    /// Takes over the session's name, which is not empty; nothing clears it.
    pub(crate) fn set_name(&mut self, name: Option<String>) {
        self.name = name;
    }

    /// Returns all entries in the order of the log, those on other branches among them.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the entry of a name; of several the last.
    pub fn node(&self, id: &EntryId) -> Option<&Node> {
        self.nodes.get(self.place(id.as_str())?)
    }

    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns the name of the session: that of the last entry that tells one or clears it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the label of an entry.
    pub fn label(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(self.label_of.get(id)?).map(|(_, label)| label.as_str())
    }

    /// Returns the labelled entries with their labels, in the order in which they were first labelled.
    pub fn labels(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.labels.values().map(|(id, label)| (id, label.as_str()))
    }

    /// Returns the last compaction of the log, on whatever branch it is.
    pub fn last_compaction(&self) -> Option<&Node> {
        self.nodes.iter().rfind(|node| node.tag == EntryTag::Compaction)
    }

    /// Returns the entries from a root to the leaf; no leaf is the place before the first entry.
    ///
    /// An entry whose parent is not in the log is a root. A leaf that is not in the log and an entry that is its
    /// own ancestor are errors.
    pub fn path(&self, leaf: Option<&EntryId>) -> Result<Vec<&Node>, SessionError> {
        let Some(leaf) = leaf else { return Ok(Vec::new()) };
        let start = self.place(leaf.as_str());
        let start = start.ok_or_else(|| SessionError::UnknownLeaf { id: leaf.clone() })?;
        let places = climb(start, self.nodes.len(), |at| self.parent(at)).map_err(|at| {
            let Node { line, id, .. } = &self.nodes[at];
            SessionError::Cycle { line: *line, id: id.clone() }
        })?;
        Ok(places.into_iter().map(|at| &self.nodes[at]).collect())
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.place(self.nodes[at].parent_id.as_ref()?.as_str())
    }

    /// Returns the last entry that two paths share; nothing where they have different roots.
    pub fn common_ancestor(&self, a: &EntryId, b: &EntryId) -> Result<Option<&Node>, SessionError> {
        let (a, b) = (self.path(Some(a))?, self.path(Some(b))?);
        Ok(a.into_iter().zip(b).take_while(|(a, b)| a.id == b.id).last().map(|(shared, _)| shared))
    }

    /// Walks over the whole tree, parents before their children, and tells how deep each entry is, roots being 0.
    ///
    /// Children of one entry come in the order of their timestamps, then in that of the log. Of a cycle the entry
    /// that comes first in the log stands for a root.
    pub fn walk(&self) -> Vec<(usize, &Node)> {
        let (mut roots, mut children) = (Vec::new(), vec![Vec::new(); self.nodes.len()]);
        for at in 0..self.nodes.len() {
            self.parent(at).map_or(&mut roots, |parent| &mut children[parent]).push(at);
        }
        for list in &mut children {
            list.sort_by_key(|at| self.nodes[*at].timestamp);
        }
        let mut seen = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for root in roots.into_iter().chain(0..self.nodes.len()) {
            let mut open = vec![(0, root)];
            while let Some((depth, at)) = open.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    order.push((depth, &self.nodes[at]));
                    open.extend(children[at].iter().rev().map(|child| (depth + 1, *child)));
                }
            }
        }
        order
    }
}

/// Returns the places from a root to `start`, given each place's parent among `n_places`; a place on a cycle where
/// there is no root.
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
