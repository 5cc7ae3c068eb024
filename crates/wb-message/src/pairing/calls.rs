//! The open calls of a transcript by id.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::block::Block;
use crate::message::Message;

/// The position of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPosition {
    /// Index of the assistant message.
    pub message: u32,
    /// Index of the call's block in that message.
    pub block: u32,
}

impl CallPosition {
    /// Returns the call's id, name and input, `None` if there is no call.
    pub fn find<M: Borrow<Message>>(self, messages: &[M]) -> Option<(&str, &str, &serde_json::Value)> {
        match messages.get(self.message as usize)?.borrow().blocks().get(self.block as usize)? {
            Block::ToolCall { id, name, input } => Some((id, name, input)),
            _ => None,
        }
    }
}

const NONE: u32 = u32::MAX;

/// The calls of one id: a stack of runs. A run is the calls of one message.
#[derive(Clone, Copy, Debug)]
struct Slot {
    top: u32,
    run_end: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    call: CallPosition,
    below: u32,
}

/// Open calls by id while a transcript is read from the start; a call and an answer cost O(1).
///
/// Ids are stored as 64-bit hashes under a fixed key, so the tracker owns no strings.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallTracker {
    slots: ByKey<Slot>,
    nodes: Vec<Node>,
}

/// A hasher for keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A map with keys from [`id_key`].
pub type ByKey<T> = HashMap<u64, T, BuildHasherDefault<KeyHasher>>;

/// Hashes a call's id; equal in every build.
pub fn id_key(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}

impl CallTracker {
    pub(crate) fn call(&mut self, key: u64, call: CallPosition) {
        let node = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let slot = self.slots.entry(key).or_insert(Slot { top: NONE, run_end: NONE });
        let same_run = slot.top != NONE && self.nodes[slot.run_end as usize].call.message == call.message;
        if same_run {
            let end = slot.run_end as usize;
            let below = self.nodes[end].below;
            self.nodes.push(Node { call, below });
            self.nodes[end].below = node;
        } else {
            self.nodes.push(Node { call, below: slot.top });
            slot.top = node;
        }
        slot.run_end = node;
    }

    /// Closes and returns the open call that a result answers; an id is forgotten with its last
    /// open call.
    pub(crate) fn answer(&mut self, key: u64) -> Option<CallPosition> {
        let slot = self.slots.get_mut(&key)?;
        let node = self.nodes[slot.top as usize];
        if slot.top == slot.run_end {
            slot.run_end = node.below;
        }
        slot.top = node.below;
        if slot.top == NONE {
            self.slots.remove(&key);
        }
        if self.slots.is_empty() {
            self.nodes.clear();
        }
        Some(node.call)
    }

    /// Forgets all calls and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.nodes.clear();
    }

    /// Returns the unanswered calls in order.
    pub(crate) fn open_calls(&self) -> Vec<CallPosition> {
        let mut open = Vec::new();
        for slot in self.slots.values() {
            let mut at = slot.top;
            while at != NONE {
                open.push(self.nodes[at as usize].call);
                at = self.nodes[at as usize].below;
            }
        }
        open.sort_unstable();
        open
    }
}

/// Visits the ids of a message's calls, each with the index of its block.
pub(crate) fn call_ids(message: &Message) -> impl Iterator<Item = (&str, u32)> {
    let blocks = if matches!(message, Message::Assistant { .. }) { message.blocks() } else { &[] };
    blocks.iter().zip(0..).filter_map(|(block, at)| match block {
        Block::ToolCall { id, .. } => Some((id.as_str(), at)),
        _ => None,
    })
}
