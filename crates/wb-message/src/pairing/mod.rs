//! The pairing of calls with results, and the legal cuts of a transcript.
//!
//! A result answers by id *and* position: across messages the nearest earlier open call of its id,
//! inside one message equal ids first-in first-out. A second result for an answered call stays with
//! that call. The open calls of the last assistant message are *in flight*.

mod calls;
mod call_ids;
mod groups;

use std::borrow::Borrow;
use std::sync::OnceLock;

use crate::markers::is_prompt;
use crate::message::Message;
use call_ids::{Id, Kind, ids, kind};
use calls::CallTracker;

pub use call_ids::CallIds;
pub use calls::{ByKey, CallPosition, KeyHasher, id_key};
pub use groups::runs;

/// A call and a result that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Position of the call.
    pub call: CallPosition,
    /// Index of the message with the result.
    pub result: u32,
    /// True if an earlier result answers the same call.
    pub repeated: bool,
}

/// The pairing of a whole transcript, found in one linear pass.
///
/// A pairing grows with the transcript: [`Pairing::push`] adds a message. Only open calls are
/// indexed by id, until the first result without an open call, which may repeat an answer.
///
/// ```
/// use wb_message::{Message, Pairing};
///
/// let messages = [Message::user("Which tests fail?"), Message::assistant("None.")];
/// let mut pairing = Pairing::default();
/// messages.iter().for_each(|message| pairing.push(message));
/// assert_eq!(pairing, Pairing::new(&messages));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    n_messages: u32,
    pairs: Vec<Pair>,
    /// The hashed id of each pair.
    keys: Vec<u64>,
    orphans: Vec<u32>,
    /// The cuts after the first message that are in no pair and before no result, ascending.
    cuts: Vec<u32>,
    /// The messages that stay or go with the one before them, ascending.
    joined: Vec<u32>,
    open: CallTracker,
    /// The last answered call of each id; built with the first result that has no open call to
    /// answer.
    answered: Option<ByKey<CallPosition>>,
    last_assistant: Option<u32>,
    /// The number of open calls of the last assistant message.
    n_in_flight: u32,
    dangling: OnceLock<Vec<CallPosition>>,
}

impl PartialEq for Pairing {
    fn eq(&self, other: &Self) -> bool {
        (self.n_messages, self.in_flight()) == (other.n_messages, other.in_flight())
            && self.pairs == other.pairs
            && self.orphans == other.orphans
            && self.cuts == other.cuts
            && self.dangling() == other.dangling()
    }
}

impl Eq for Pairing {}

impl Pairing {
    /// Pairs the calls and results of a transcript.
    pub fn new<M: Borrow<Message>>(messages: &[M]) -> Self {
        let mut pairing = Self::with_capacity_for(messages);
        for message in messages {
            pairing.push(message.borrow());
        }
        pairing
    }

    /// Creates an empty pairing with capacity for the given messages.
    pub fn with_capacity_for<M: Borrow<Message>>(messages: &[M]) -> Self {
        let is_result = |message: &&M| matches!(kind((*message).borrow()), Kind::Result);
        let n_results = messages.iter().filter(is_result).count();
        Self {
            pairs: Vec::with_capacity(n_results),
            keys: Vec::with_capacity(n_results),
            cuts: Vec::with_capacity(messages.len().saturating_sub(n_results) + 1),
            ..Self::default()
        }
    }

    /// Adds a message, at a cost that does not grow with the transcript.
    pub fn push(&mut self, message: &Message) {
        self.push_ids(kind(message), ids(message));
    }

    /// Adds the messages of `ids` that this pairing does not have yet.
    pub fn follow(&mut self, ids: &CallIds) {
        for at in self.len()..ids.len() {
            self.push_ids(ids.kind_of(at), ids.ids_of(at).iter().copied());
        }
    }

    /// Removes all messages and keeps the capacity.
    pub fn clear(&mut self) {
        self.n_messages = 0;
        self.pairs.clear();
        self.keys.clear();
        self.orphans.clear();
        self.cuts.clear();
        self.joined.clear();
        self.open.clear();
        self.answered = None;
        (self.last_assistant, self.n_in_flight) = (None, 0);
        self.dangling.take();
    }

    /// Makes a message stay or go with the one before it. Messages are joined in their order, after
    /// all of them were added.
    pub fn join(&mut self, at: usize) {
        let joined = u32::try_from(at).ok().filter(|at| (1..self.n_messages).contains(at));
        if let Some(at) = joined {
            self.cuts.retain(|cut| *cut != at);
            self.joined.push(at);
        }
    }

    /// Returns the messages that stay or go with the one before them, ascending.
    pub fn joined(&self) -> &[u32] {
        &self.joined
    }

    fn push_ids(&mut self, kind: Kind, ids: impl Iterator<Item = Id>) {
        let at = self.n_messages;
        self.n_messages = at.saturating_add(1);
        self.dangling.take();
        match kind {
            Kind::Assistant => (self.last_assistant, self.n_in_flight) = (Some(at), 0),
            Kind::Result => _ = self.cuts.pop_if(|cut| *cut == at),
            Kind::Other => {}
        }
        for id in ids {
            match id {
                Id::Call { key, block } => {
                    self.open.call(key, CallPosition { message: at, block });
                    self.n_in_flight += 1;
                }
                Id::Answer { key } => self.answer(key, at),
            }
        }
        self.cuts.push(self.n_messages);
    }

    fn answer(&mut self, key: u64, result: u32) {
        let open = self.open.answer(key);
        let Some(call) = open.or_else(|| self.last_answered(key)) else {
            self.orphans.push(result);
            return;
        };
        self.pairs.push(Pair { call, result, repeated: open.is_none() });
        self.keys.push(key);
        if open.is_some() {
            self.n_in_flight -= u32::from(self.last_assistant == Some(call.message));
            if let Some(answered) = &mut self.answered {
                record_last(answered, key, call);
            }
        }
        // A cut inside a pair stays illegal.
        while self.cuts.pop_if(|cut| *cut > call.message).is_some() {}
    }

    fn last_answered(&mut self, key: u64) -> Option<CallPosition> {
        let answered = self.answered.get_or_insert_with(|| {
            let mut answered = ByKey::default();
            for (key, pair) in self.keys.iter().zip(&self.pairs) {
                record_last(&mut answered, *key, pair.call);
            }
            answered
        });
        answered.get(&key).copied()
    }

    /// Returns every pair, in order of results.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Returns the messages with a result that answers no earlier call, once per such result.
    pub fn orphans(&self) -> &[u32] {
        &self.orphans
    }

    /// Returns the calls without a result in order, those in flight included.
    pub fn dangling(&self) -> &[CallPosition] {
        self.dangling.get_or_init(|| self.open.open_calls())
    }

    /// Returns the last assistant message if it has calls in flight.
    pub fn in_flight(&self) -> Option<usize> {
        self.last_assistant.filter(|_| self.n_in_flight > 0).map(|at| at as usize)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.n_messages as usize
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.n_messages == 0
    }

    /// Returns whether the transcript may be cut before message `at`: no pair crosses the cut, no
    /// call in the head is in flight, and the tail does not start with a tool result or a message
    /// that is joined to the one before.
    pub fn is_legal(&self, at: usize) -> bool {
        let is_outside_pairs = || self.cuts.binary_search_by_key(&at, |cut| *cut as usize).is_ok();
        at == 0 || (at <= self.last_cut(self.len()) && is_outside_pairs())
    }

    /// Returns the first legal cut at or after `at` that leaves a tail.
    pub fn legal_at_or_after(&self, at: usize) -> Option<usize> {
        let next = if at == 0 { 0 } else { *self.cuts.get(self.n_cuts_before(at))? as usize };
        (next < self.len() && (next == 0 || next <= self.last_cut(next))).then_some(next)
    }

    /// Returns the last legal cut at or before `at` that leaves a tail.
    pub fn legal_at_or_before(&self, at: usize) -> Option<usize> {
        let end = self.last_cut(at.min(self.len().checked_sub(1)?));
        let n_cuts = self.n_cuts_before(end + 1);
        Some(n_cuts.checked_sub(1).map_or(0, |last| self.cuts[last] as usize))
    }

    /// Returns the first legal cut at or after `at` that leaves a tail, else the last one before
    /// it, else 0.
    pub fn snap(&self, at: usize) -> usize {
        let backward = || self.legal_at_or_before(at);
        self.legal_at_or_after(at).or_else(backward).unwrap_or(0)
    }

    fn n_cuts_before(&self, at: usize) -> usize {
        self.cuts.partition_point(|cut| (*cut as usize) < at)
    }

    /// Returns the given cut, or the last one with no call in flight before it.
    fn last_cut(&self, at: usize) -> usize {
        self.in_flight().map_or(at, |flight| flight.min(at))
    }
}

/// Records an answered call under its id, unless a later one is recorded.
fn record_last(answered: &mut ByKey<CallPosition>, key: u64, call: CallPosition) {
    let last = answered.entry(key).or_insert(call);
    *last = call.max(*last);
}

/// Returns the index from which on nothing is answered yet: of the first message behind the last of
/// the agent.
pub fn unanswered_start<M: Borrow<Message>>(messages: &[M]) -> usize {
    let is_of_agent =
        |message: &M| matches!(message.borrow(), Message::Assistant { .. } | Message::ToolResult { .. });
    messages.iter().rposition(is_of_agent).map_or(0, |at| at + 1)
}

/// Returns the index of the last prompt, where a forced compaction cuts.
pub fn last_prompt_start<M: Borrow<Message>>(messages: &[M]) -> Option<usize> {
    messages.iter().rposition(|message| is_prompt(message.borrow()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use serde_json::json;

    fn calls(ids: &[&str]) -> Message {
        Message::assistant_blocks(ids.iter().map(|id| Block::call(*id, "read", json!({}))).collect())
    }

    fn result(id: &str) -> Message {
        Message::tool_result(id, "read", "x")
    }

    fn answered(messages: &[Message]) -> Vec<(u32, u32, u32)> {
        Pairing::new(messages).pairs.iter().map(|p| (p.call.message, p.call.block, p.result)).collect()
    }

    fn cuts(messages: &[Message]) -> Vec<usize> {
        let pairing = Pairing::new(messages);
        (0..=messages.len()).filter(|&cut| pairing.is_legal(cut)).collect()
    }

    #[test]
    fn equal_ids_in_one_message_are_answered_in_order() {
        let messages = [calls(&["x", "x", "x"]), result("x"), result("x"), result("x")];
        assert_eq!(answered(&messages), [(0, 0, 1), (0, 1, 2), (0, 2, 3)]);
    }

    #[test]
    fn a_result_answers_the_nearest_earlier_open_call() {
        let messages = [calls(&["x"]), calls(&["x", "x"]), result("x"), result("x"), result("x")];
        assert_eq!(answered(&messages), [(1, 0, 2), (1, 1, 3), (0, 0, 4)]);
    }

    #[test]
    fn a_cut_never_separates_a_call_from_its_result() {
        let messages =
            [Message::user("u"), calls(&["a", "b"]), result("a"), Message::user("steer"), result("b")];
        assert_eq!(cuts(&messages), [0, 1, 5]);
    }

    #[test]
    fn calls_in_flight_limit_the_cut() {
        let messages = [Message::user("u"), calls(&["a", "b"]), result("a"), Message::user("wait")];
        let pairing = Pairing::new(&messages);
        assert_eq!(pairing.in_flight(), Some(1));
        assert_eq!(cuts(&messages), [0, 1]);
    }

    #[test]
    fn older_dangling_calls_do_not_limit_the_cut() {
        let messages = [calls(&["a"]), Message::user("u"), Message::assistant("done"), Message::user("v")];
        let pairing = Pairing::new(&messages);
        assert_eq!((pairing.dangling().len(), pairing.in_flight()), (1, None));
        assert_eq!(cuts(&messages), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_repeated_result_is_no_orphan_and_a_stray_one_is() {
        let messages = [calls(&["a"]), result("a"), Message::user("u"), result("a"), result("zzz")];
        let pairing = Pairing::new(&messages);
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

    #[test]
    fn many_calls_of_one_id_cost_linear_time() {
        let n = 40_000;
        let messages: Vec<_> =
            std::iter::once(calls(&vec!["same"; n])).chain((0..n).map(|_| result("same"))).collect();
        let pairing = Pairing::new(&messages);
        assert_eq!(pairing.pairs().len(), n);
        assert!(pairing.dangling().is_empty());
    }
}
