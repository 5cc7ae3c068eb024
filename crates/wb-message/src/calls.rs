//! The open calls of a transcript by id, as it is read from the start.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::block::Block;
use crate::message::Message;

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallAt {
    /// Index of the assistant message.
    pub message: u32,
    /// Index of the call's block in that message.
    pub block: u32,
}

impl CallAt {
    /// Returns the call's id, name and input, nothing if no call stands there.
    pub fn find<M: Borrow<Message>>(self, messages: &[M]) -> Option<(&str, &str, &serde_json::Value)> {
        match messages.get(self.message as usize)?.borrow().blocks().get(self.block as usize)? {
            Block::ToolCall { id, name, input } => Some((id, name, input)),
            _ => None,
        }
    }
}

/// What a result answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A call that was open until now.
    Open(CallAt),
    /// A call that has an answer already.
    Repeat(CallAt),
    /// No earlier call has this id.
    Orphan,
}

const NONE: u32 = u32::MAX;

/// The calls of one id: a stack of runs, a run being the calls of one message.
#[derive(Clone, Copy, Debug)]
struct Slot {
    top: u32,
    run_end: u32,
    last: CallAt,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    call: CallAt,
    below: u32,
}

/// Open calls by id, as a transcript is read from the start; a call and an answer cost O(1).
///
/// Ids are kept as 64-bit hashes under a fixed key, so the book owns no strings.
#[derive(Clone, Debug, Default)]
pub struct CallTracker {
    slots: ByKey<Slot>,
    nodes: Vec<Node>,
}

/// What a [`CallTracker`] knew of one id before a call or an answer of it.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    key: u64,
    slot: Option<Slot>,
    n_calls: usize,
}

impl Checkpoint {
    /// Returns the key of the id.
    pub fn key(&self) -> u64 {
        self.key
    }
}

/// Takes a key as its own hash, which it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

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

/// A map by keys of ids.
pub(crate) type ByKey<T> = HashMap<u64, T, BuildHasherDefault<KeyHasher>>;

/// Hashes an id for a [`CallTracker`]; equal in every build.
pub fn id_key(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}

impl CallTracker {
    /// Makes room for the given number of calls.
    pub fn with_capacity(n_calls: usize) -> Self {
        Self {
            slots: HashMap::with_capacity_and_hasher(n_calls, BuildHasherDefault::default()),
            nodes: Vec::with_capacity(n_calls),
        }
    }

    /// Notes a call; returns what takes it back.
    pub fn call(&mut self, key: u64, call: CallAt) -> Checkpoint {
        let node = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let mut page = Checkpoint { key, slot: None, n_calls: self.nodes.len() };
        let slot = match self.slots.entry(key) {
            Entry::Occupied(known) => {
                page.slot = Some(*known.get());
                known.into_mut()
            }
            Entry::Vacant(free) => free.insert(Slot { top: NONE, run_end: NONE, last: call }),
        };
        slot.last = call;
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
        page
    }

    /// Notes a result and tells what it answers.
    pub fn answer(&mut self, key: u64) -> Answer {
        self.answer_paged(key).0
    }

    /// Notes a result; tells what it answers and returns what takes it back.
    pub fn answer_paged(&mut self, key: u64) -> (Answer, Checkpoint) {
        let mut page = Checkpoint { key, slot: None, n_calls: self.nodes.len() };
        let Some(slot) = self.slots.get_mut(&key) else { return (Answer::Orphan, page) };
        page.slot = Some(*slot);
        if slot.top == NONE {
            return (Answer::Repeat(slot.last), page);
        }
        let node = self.nodes[slot.top as usize];
        if slot.top == slot.run_end {
            slot.run_end = node.below;
        }
        slot.top = node.below;
        (Answer::Open(node.call), page)
    }

    /// Notes a result of an open call and forgets the id with its last open call; nothing if none is open.
    pub(crate) fn answer_and_forget(&mut self, key: u64) -> Option<CallAt> {
        let Answer::Open(call) = self.answer(key) else { return None };
        if self.slots.get(&key).is_some_and(|slot| slot.top == NONE) {
            self.slots.remove(&key);
        }
        if self.slots.is_empty() {
            self.nodes.clear();
        }
        Some(call)
    }

    /// Takes back the call or answer that the page was returned for; newest first, O(1).
    pub fn restore(&mut self, page: Checkpoint) {
        if self.nodes.len() > page.n_calls {
            self.forget_call(page.slot);
        }
        match page.slot {
            Some(slot) => self.slots.insert(page.key, slot),
            None => self.slots.remove(&page.key),
        };
    }

    /// Drops the newest node; a run that it ended ends again where it did.
    fn forget_call(&mut self, before: Option<Slot>) {
        let Some(node) = self.nodes.pop() else { return };
        let run_end = before.filter(|slot| slot.top != NONE).map(|slot| slot.run_end as usize);
        if let Some(end) = run_end.and_then(|end| self.nodes.get_mut(end))
            && end.call.message == node.call.message
        {
            end.below = node.below;
        }
    }

    /// Returns the calls that no result has answered, in order.
    pub fn open_calls(&self) -> Vec<CallAt> {
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
pub fn call_ids(message: &Message) -> impl Iterator<Item = (&str, u32)> {
    let blocks = if matches!(message, Message::Assistant { .. }) { message.blocks() } else { &[] };
    blocks.iter().zip(0..).filter_map(|(block, at)| match block {
        Block::ToolCall { id, .. } => Some((id.as_str(), at)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small deterministic walk over calls and answers of three ids.
    fn walk(book: &mut CallTracker, n_steps: u32, pages: &mut Vec<Checkpoint>) {
        let mut state = 7_u32;
        for at in 0..n_steps {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (key, is_call) = (u64::from(state >> 30), state >> 8 & 1 == 1);
            let call = CallAt { message: at / 4, block: at };
            pages.push(if is_call { book.call(key, call) } else { book.answer_paged(key).1 });
        }
    }

    #[test]
    fn a_restored_book_answers_as_it_did_before() {
        let (mut long, mut pages) = (CallTracker::default(), Vec::new());
        walk(&mut long, 200, &mut pages);
        for n_steps in (0..200).rev() {
            long.restore(pages.pop().unwrap());
            let mut short = CallTracker::default();
            walk(&mut short, n_steps, &mut Vec::new());
            assert_eq!(long.open_calls(), short.open_calls());
            let mut copy = long.clone();
            for key in (0..4).flat_map(|key| [key; 60]) {
                assert_eq!(copy.answer(key), short.answer(key), "{n_steps} {key}");
            }
        }
    }
}
