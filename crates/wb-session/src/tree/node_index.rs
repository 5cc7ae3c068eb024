//! A row of 32 bytes for each entry of the tree, found by place or by id.
//!
//! A log can hold a hundred times as much as its context, so the rows are most of an open session's
//! memory. An id in pi's form is a number in its row; other ids, and those of parents missing from
//! the log, are in a list next to the rows.

use std::hash::{BuildHasher, RandomState};

use wb_message::pairing::id_key;

use crate::entry::EntryTag;
use crate::id::{EntryId, digits};

/// An entry's place in the tree and in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The entry's name.
    pub id: EntryId,
    /// The entry that it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// The time of writing, in milliseconds since the Unix epoch; 0 if unknown.
    pub timestamp: i64,
    /// The kind of the entry.
    pub tag: EntryTag,
    /// The number of its record, counted from 1; in a file of lines the line.
    pub line: usize,
    /// The store's position of it.
    pub position: u64,
}

/// A node in 32 bytes.
#[derive(Clone, Debug)]
struct Row {
    position: u64,
    timestamp: i64,
    line: u32,
    /// The number in the id, or its place in the list.
    id: u32,
    parent: u32,
    is_listed: bool,
    parent_is: Link,
    tag: EntryTag,
}

/// The meaning of a parent's number.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// Nothing: a root.
    None,
    /// The place of an entry that has the parent's id.
    Row,
    /// The place of an id in the list, since no entry had it when the child was added.
    Listed,
}

/// An id in a row.
#[derive(PartialEq)]
enum RowKey<'a> {
    Digits(u32),
    Text(&'a str),
}

impl RowKey<'_> {
    fn new(id: &str) -> RowKey<'_> {
        digits(id).map_or(RowKey::Text(id), RowKey::Digits)
    }

    /// Returns a number whose highest bits are spread by a factor.
    fn spread(&self, factor: u64) -> u64 {
        let number = match self {
            Self::Digits(number) => u64::from(*number),
            Self::Text(id) => id_key(id),
        };
        number.wrapping_mul(factor)
    }
}

/// A slot of the table that has no row.
const EMPTY: u32 = u32::MAX;
/// Slots of the smallest table; a power of two.
const MIN_SLOTS: usize = 16;

/// The nodes of a log in its order.
///
/// There is room for 2^32 − 1 of them, which would take more than 150 GB.
#[derive(Clone, Debug)]
pub(crate) struct NodeIndex {
    blocks: Blocks<Row>,
    listed: Blocks<EntryId>,
    /// The places of rows, each in the first free slot from that of its id's hash on; of rows
    /// with one id the last.
    slots: Vec<u32>,
    /// An unpredictable odd number, so that nobody can craft a log whose ids all hash to one slot.
    factor: u64,
    /// Marks a log with a duplicate id, in which the place of a parent's row need not be that of
    /// the parent.
    has_twins: bool,
}

impl Default for NodeIndex {
    fn default() -> Self {
        let factor = RandomState::new().hash_one(0) | 1;
        Self {
            blocks: Blocks::default(),
            listed: Blocks::default(),
            slots: Vec::new(),
            factor,
            has_twins: false,
        }
    }
}

impl NodeIndex {
    pub(crate) fn push(&mut self, node: Node) {
        let Node { id, parent_id, timestamp, tag, line, position } = node;
        let (parent_is, parent) = self.link(parent_id);
        let (is_listed, id) = digits(id.as_str()).map_or_else(|| (true, self.list(id)), |id| (false, id));
        let line = clamped(line);
        self.blocks.push(Row { position, timestamp, line, id, parent, is_listed, parent_is, tag });
        if self.len() * 4 > self.slots.len() * 3 {
            self.grow();
        } else {
            self.enter(self.len() - 1);
        }
    }

    fn link(&mut self, parent: Option<EntryId>) -> (Link, u32) {
        let Some(id) = parent else { return (Link::None, 0) };
        match self.place(id.as_str()) {
            Some(at) => (Link::Row, clamped(at)),
            None => (Link::Listed, self.list(id)),
        }
    }

    fn list(&mut self, id: EntryId) -> u32 {
        self.listed.push(id);
        clamped(self.listed.len() - 1)
    }

    /// Doubles the number of slots; the old table is freed first.
    fn grow(&mut self) {
        let n_slots = (self.slots.len() * 2).max(MIN_SLOTS);
        self.slots = Vec::new();
        self.slots = vec![EMPTY; n_slots];
        for at in 0..self.len() {
            self.enter(at);
        }
    }

    fn enter(&mut self, at: usize) {
        let slot = self.slot(&self.key(at));
        self.has_twins |= self.slots[slot] != EMPTY;
        self.slots[slot] = clamped(at);
    }

    /// Returns the slot of an id, or the free one where it belongs.
    fn slot(&self, key: &RowKey<'_>) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let n_bits = self.slots.len().checked_ilog2().unwrap_or(0);
        let high = key.spread(self.factor).checked_shr(u64::BITS - n_bits).unwrap_or(0);
        let mut slot = usize::try_from(high).unwrap_or(0);
        while self.row(slot).is_some_and(|at| self.key(at) != *key) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Returns the place of the row in a slot.
    fn row(&self, slot: usize) -> Option<usize> {
        self.slots.get(slot).filter(|at| **at != EMPTY).map(|at| *at as usize)
    }

    fn key(&self, at: usize) -> RowKey<'_> {
        match *self.blocks.get(at) {
            Row { is_listed: true, id, .. } => RowKey::Text(self.listed.get(id as usize).as_str()),
            Row { id, .. } => RowKey::Digits(id),
        }
    }

    /// Returns the place of an id; of several the last.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.row(self.slot(&RowKey::new(id)))
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the node at a place.
    pub(crate) fn node(&self, at: usize) -> Node {
        let Row { position, timestamp, line, tag, .. } = *self.blocks.get(at);
        Node { id: self.id(at), parent_id: self.parent_id(at), timestamp, tag, line: line as usize, position }
    }

    fn id(&self, at: usize) -> EntryId {
        match *self.blocks.get(at) {
            Row { is_listed: true, id, .. } => self.listed.get(id as usize).clone(),
            Row { id, .. } => EntryId::of_digits(id),
        }
    }

    fn parent_id(&self, at: usize) -> Option<EntryId> {
        let Row { parent_is, parent, .. } = *self.blocks.get(at);
        match parent_is {
            Link::None => None,
            Link::Row => Some(self.id(parent as usize)),
            Link::Listed => Some(self.listed.get(parent as usize).clone()),
        }
    }

    pub(crate) fn tag(&self, at: usize) -> EntryTag {
        self.blocks.get(at).tag
    }

    pub(crate) fn timestamp(&self, at: usize) -> i64 {
        self.blocks.get(at).timestamp
    }

    /// Returns the place of the parent of a row; none at a root and where the parent is not in the
    /// log.
    pub(crate) fn parent(&self, at: usize) -> Option<usize> {
        let Row { parent_is, parent, .. } = *self.blocks.get(at);
        match parent_is {
            Link::None => None,
            Link::Row if !self.has_twins => Some(parent as usize),
            Link::Row => self.row(self.slot(&self.key(parent as usize))),
            Link::Listed => self.place(self.listed.get(parent as usize).as_str()),
        }
    }
}

/// The numbers of later lines are not kept: so long a log does not fit into memory.
fn clamped(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Elements of a block: 8 KiB of rows.
const BLOCK: usize = 256;

/// A list that grows without moving its elements and wastes less than a block.
#[derive(Clone, Debug)]
struct Blocks<T>(Vec<Vec<T>>);

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Blocks<T> {
    fn push(&mut self, element: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < BLOCK => last.push(element),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(element);
                self.0.push(block);
            }
        }
    }

    fn get(&self, at: usize) -> &T {
        &self.0[at / BLOCK][at % BLOCK]
    }

    fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * BLOCK + last.len())
    }
}
