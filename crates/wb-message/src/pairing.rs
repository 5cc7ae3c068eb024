//! Which result answers which call, and where a transcript may be cut.
//!
//! A result answers by id *and* position: across messages the nearest earlier open call of its id, inside one
//! message equal ids first-in first-out. A second result for a call that is answered already stays with that
//! call. The calls of the last assistant message that have no answer yet are *in flight*.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use crate::block::Block;
use crate::marks::is_pinned;
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
    /// Returns the call's id, name and input, nothing where no call stands there.
    pub fn find<M: Borrow<Message>>(self, messages: &[M]) -> Option<(&str, &str, &serde_json::Value)> {
        match messages.get(self.message as usize)?.borrow().blocks().get(self.block as usize)? {
            Block::ToolCall { id, name, input } => Some((id, name, input)),
            _ => None,
        }
    }
}

/// A call and a result that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Where the call stands.
    pub call: CallAt,
    /// Index of the message that carries the result.
    pub result: u32,
    /// Whether an earlier result answered the call already.
    pub repeated: bool,
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
pub struct CallBook {
    slots: HashMap<u64, Slot, BuildHasherDefault<KeyHasher>>,
    nodes: Vec<Node>,
}

/// What a [`CallBook`] knew of one id before a call or an answer of it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    key: u64,
    slot: Option<Slot>,
    n_calls: usize,
}

impl Page {
    /// Returns the key of the id.
    pub fn key(&self) -> u64 {
        self.key
    }
}

/// Takes a key as its own hash, which it is.
#[derive(Clone, Copy, Debug, Default)]
struct KeyHasher(u64);

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

/// Hashes an id for a [`CallBook`]; equal on every run.
pub fn id_key(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl CallBook {
    /// Makes room for the given number of calls.
    pub fn with_capacity(n_calls: usize) -> Self {
        Self {
            slots: HashMap::with_capacity_and_hasher(n_calls, BuildHasherDefault::default()),
            nodes: Vec::with_capacity(n_calls),
        }
    }

    /// Notes a call; returns what takes it back.
    pub fn call(&mut self, key: u64, call: CallAt) -> Page {
        let node = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let mut page = Page { key, slot: None, n_calls: self.nodes.len() };
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
    pub fn answer_paged(&mut self, key: u64) -> (Answer, Page) {
        let mut page = Page { key, slot: None, n_calls: self.nodes.len() };
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

    /// Notes a result of an open call and forgets the id with its last open call; nothing where none is open.
    fn answer_and_forget(&mut self, key: u64) -> Option<CallAt> {
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
    pub fn restore(&mut self, page: Page) {
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

/// The pairing of a whole transcript, found in one linear pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    pairs: Vec<Pair>,
    orphans: Vec<u32>,
    dangling: Vec<CallAt>,
    in_flight: Option<u32>,
    legal: Vec<bool>,
}

impl Pairing {
    /// Pairs the calls and results of a transcript.
    ///
    /// Only open calls are remembered as long as every result has one to answer; a result that has none makes the
    /// reading start anew with all calls remembered, for it may repeat an answer.
    pub fn of<M: Borrow<Message>>(messages: &[M]) -> Self {
        let n_calls = messages.iter().map(|message| message.borrow().calls().count()).sum();
        let open_calls_only = |book: &mut CallBook, key| book.answer_and_forget(key).map(Answer::Open);
        let pairing = Self::read(messages, CallBook::default(), n_calls, open_calls_only);
        let all_calls = |book: &mut CallBook, key| Some(book.answer(key));
        let again = || Self::read(messages, CallBook::with_capacity(n_calls), n_calls, all_calls);
        pairing.or_else(again).unwrap_or_default()
    }

    /// Reads a transcript with a way to answer a call; `None` where an answer could not be told.
    fn read<M: Borrow<Message>>(
        messages: &[M],
        mut book: CallBook,
        n_calls: usize,
        answer: impl Fn(&mut CallBook, u64) -> Option<Answer>,
    ) -> Option<Self> {
        let mut pairing = Self { pairs: Vec::with_capacity(n_calls), ..Self::default() };
        let mut last_assistant = None;
        for (message, at) in messages.iter().map(Borrow::borrow).zip(0..) {
            for (id, block) in call_ids(message) {
                book.call(id_key(id), CallAt { message: at, block });
            }
            for id in message.answered_ids() {
                pairing.note(answer(&mut book, id_key(id))?, at);
            }
            if matches!(message, Message::Assistant { .. }) {
                last_assistant = Some(at);
            }
        }
        pairing.dangling = book.open_calls();
        pairing.in_flight = last_assistant.filter(|at| pairing.dangling.iter().any(|c| c.message == *at));
        pairing.legal = legal_cuts(messages, &pairing);
        Some(pairing)
    }

    fn note(&mut self, answer: Answer, result: u32) {
        match answer {
            Answer::Open(call) => self.pairs.push(Pair { call, result, repeated: false }),
            Answer::Repeat(call) => self.pairs.push(Pair { call, result, repeated: true }),
            Answer::Orphan => self.orphans.push(result),
        }
    }

    /// Returns every pair in the order of its result.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Returns the messages that carry a result without an earlier call, once per such result.
    pub fn orphans(&self) -> &[u32] {
        &self.orphans
    }

    /// Returns the calls without a result, in order; those in flight are among them.
    pub fn dangling(&self) -> &[CallAt] {
        &self.dangling
    }

    /// Returns the last assistant message where calls of it still wait for their results.
    pub fn in_flight(&self) -> Option<usize> {
        self.in_flight.map(|at| at as usize)
    }

    /// Returns the number of messages that were paired.
    pub fn len(&self) -> usize {
        self.legal.len().saturating_sub(1)
    }

    /// Tells whether the transcript was empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells whether the transcript may be cut before message `at`: no pair lies across, nothing in flight is
    /// in the head, and the tail does not start with a tool result.
    pub fn is_legal(&self, at: usize) -> bool {
        self.legal.get(at).copied().unwrap_or(false)
    }

    /// Returns the first legal cut at or after `at` that leaves a tail.
    pub fn legal_at_or_after(&self, at: usize) -> Option<usize> {
        (at..self.len()).find(|&cut| self.legal[cut])
    }

    /// Returns the last legal cut at or before `at` that leaves a tail.
    pub fn legal_at_or_before(&self, at: usize) -> Option<usize> {
        (0..self.len().min(at + 1)).rev().find(|&cut| self.legal[cut])
    }
}

fn legal_cuts<M: Borrow<Message>>(messages: &[M], pairing: &Pairing) -> Vec<bool> {
    let n = messages.len();
    let flight = pairing.in_flight().unwrap_or(n);
    let mut legal = vec![false; n + 1];
    // Pairs stand in the order of their results: read from the end, those that reach a cut are known before it,
    // and the earliest of their calls tells whether the cut lies inside one.
    let mut pairs = pairing.pairs.iter().rev().peekable();
    let mut first_call = n;
    for cut in (0..=n).rev() {
        while let Some(pair) = pairs.next_if(|pair| pair.result as usize >= cut) {
            first_call = first_call.min(pair.call.message as usize);
        }
        let starts_with_result =
            matches!(messages.get(cut).map(Borrow::borrow), Some(Message::ToolResult { .. }));
        let in_flight_stays = cut <= flight && (cut < n || pairing.in_flight.is_none());
        legal[cut] = cut == 0 || (first_call >= cut && in_flight_stays && !starts_with_result);
    }
    legal
}

/// Returns the index of the last message with the user's own words: where a forced compaction cuts.
pub fn last_prompt_start<M: Borrow<Message>>(messages: &[M]) -> Option<usize> {
    messages.iter().rposition(|message| crate::marks::is_prompt(message.borrow()))
}

/// Returns the indices of pinned messages.
pub fn pinned(messages: &[Message]) -> Vec<usize> {
    (0..messages.len()).filter(|&at| is_pinned(&messages[at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn calls(ids: &[&str]) -> Message {
        Message::assistant_blocks(ids.iter().map(|id| Block::call(*id, "read", json!({}))).collect())
    }

    fn result(id: &str) -> Message {
        Message::tool_result(id, "read", "x")
    }

    fn answered(messages: &[Message]) -> Vec<(u32, u32, u32)> {
        Pairing::of(messages).pairs.iter().map(|p| (p.call.message, p.call.block, p.result)).collect()
    }

    fn cuts(messages: &[Message]) -> Vec<usize> {
        let pairing = Pairing::of(messages);
        (0..=messages.len()).filter(|&cut| pairing.is_legal(cut)).collect()
    }

    #[test]
    fn equal_ids_inside_one_message_are_answered_first_in_first_out() {
        let messages = [calls(&["x", "x", "x"]), result("x"), result("x"), result("x")];
        assert_eq!(answered(&messages), [(0, 0, 1), (0, 1, 2), (0, 2, 3)]);
    }

    #[test]
    fn across_messages_a_result_answers_the_nearest_earlier_open_call() {
        let messages = [calls(&["x"]), calls(&["x", "x"]), result("x"), result("x"), result("x")];
        assert_eq!(answered(&messages), [(1, 0, 2), (1, 1, 3), (0, 0, 4)]);
    }

    #[test]
    fn a_cut_never_lies_between_a_call_and_its_result() {
        let messages =
            [Message::user("u"), calls(&["a", "b"]), result("a"), Message::user("steer"), result("b")];
        assert_eq!(cuts(&messages), [0, 1, 5]);
    }

    #[test]
    fn calls_of_the_last_assistant_message_are_in_flight_and_hold_the_cut() {
        let messages = [Message::user("u"), calls(&["a", "b"]), result("a"), Message::user("wait")];
        let pairing = Pairing::of(&messages);
        assert_eq!(pairing.in_flight(), Some(1));
        assert_eq!(cuts(&messages), [0, 1]);
    }

    #[test]
    fn an_older_unanswered_call_is_dangling_and_holds_nothing() {
        let messages = [calls(&["a"]), Message::user("u"), Message::assistant("done"), Message::user("v")];
        let pairing = Pairing::of(&messages);
        assert_eq!((pairing.dangling().len(), pairing.in_flight()), (1, None));
        assert_eq!(cuts(&messages), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_repeated_result_stays_with_its_call_and_a_stray_one_is_an_orphan() {
        let messages = [calls(&["a"]), result("a"), Message::user("u"), result("a"), result("zzz")];
        let pairing = Pairing::of(&messages);
        assert!(pairing.pairs()[1].repeated);
        assert_eq!(pairing.orphans(), [4]);
        assert_eq!(cuts(&messages), [0, 5]);
    }

    #[test]
    fn results_nested_in_a_user_message_answer_calls() {
        let nested = Message::user(vec![Block::ToolResult {
            call_id: "a".into(),
            output: json!("ok"),
            is_error: None,
        }]);
        let messages = [calls(&["a"]), nested, Message::user("u")];
        assert_eq!(answered(&messages), [(0, 0, 1)]);
        assert_eq!(cuts(&messages), [0, 2, 3]);
    }

    /// A small deterministic walk over calls and answers of three ids.
    fn walk(book: &mut CallBook, n_steps: u32, pages: &mut Vec<Page>) {
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
        let (mut long, mut pages) = (CallBook::default(), Vec::new());
        walk(&mut long, 200, &mut pages);
        for n_steps in (0..200).rev() {
            long.restore(pages.pop().unwrap());
            let mut short = CallBook::default();
            walk(&mut short, n_steps, &mut Vec::new());
            assert_eq!(long.open_calls(), short.open_calls());
            let mut copy = long.clone();
            for key in (0..4).flat_map(|key| [key; 60]) {
                assert_eq!(copy.answer(key), short.answer(key), "{n_steps} {key}");
            }
        }
    }

    #[test]
    fn many_calls_of_one_id_cost_linear_time() {
        let n = 40_000;
        let messages: Vec<_> =
            std::iter::once(calls(&vec!["same"; n])).chain((0..n).map(|_| result("same"))).collect();
        let pairing = Pairing::of(&messages);
        assert_eq!(pairing.pairs().len(), n);
        assert!(pairing.dangling().is_empty());
    }
}
