//! Which result answers which call, and where a transcript may be cut.
//!
//! A result answers by id *and* position: across messages the nearest earlier open call of its id, inside one
//! message equal ids first-in first-out. A second result for a call that is answered already stays with that
//! call. The calls of the last assistant message that have no answer yet are *in flight*.

use std::borrow::Borrow;
use std::sync::OnceLock;

use crate::call_ids::{CallIds, Id, Kind, ids, kind};
use crate::calls::CallTracker;
use crate::markers::is_prompt;
use crate::message::Message;

pub use crate::calls::{ByKey, CallAt, KeyHasher, id_key};

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

/// The pairing of a whole transcript, found in one linear pass.
///
/// It grows with the transcript: [`Pairing::push`] takes one more message. Only open calls are remembered by id, until
/// a result comes that has none to answer; it may repeat an answer.
///
/// ```
/// use wb_message::{Message, Pairing};
///
/// let messages = [Message::user("Which tests fail?"), Message::assistant("None.")];
/// let mut pairing = Pairing::default();
/// messages.iter().for_each(|message| pairing.push(message));
/// assert_eq!(pairing, Pairing::of(&messages));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    n_messages: u32,
    pairs: Vec<Pair>,
    /// The key of the id of each pair.
    keys: Vec<u64>,
    orphans: Vec<u32>,
    /// The cuts behind the first message that lie in no pair and before no result, ascending.
    cuts: Vec<u32>,
    open: CallTracker,
    /// The last answered call of each id; made with the first result that has no open call to answer.
    answered: Option<ByKey<CallAt>>,
    last_assistant: Option<u32>,
    /// How many calls of the last assistant message are open.
    n_in_flight: u32,
    dangling: OnceLock<Vec<CallAt>>,
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
    pub fn of<M: Borrow<Message>>(messages: &[M]) -> Self {
        let mut pairing = Self::with_room_for(messages);
        for message in messages {
            pairing.push(message.borrow());
        }
        pairing
    }

    /// Starts a pairing of no messages that has room for the given ones.
    pub fn with_room_for<M: Borrow<Message>>(messages: &[M]) -> Self {
        let is_result = |message: &&M| matches!(kind((*message).borrow()), Kind::Result);
        let n_results = messages.iter().filter(is_result).count();
        Self {
            pairs: Vec::with_capacity(n_results),
            keys: Vec::with_capacity(n_results),
            cuts: Vec::with_capacity(messages.len().saturating_sub(n_results) + 1),
            ..Self::default()
        }
    }

    /// Takes one more message, at a cost that does not grow with the transcript.
    pub fn push(&mut self, message: &Message) {
        self.push_ids(kind(message), ids(message));
    }

    /// Takes the messages that `ids` has and this pairing has not.
    pub fn follow(&mut self, ids: &CallIds) {
        for at in self.len()..ids.len() {
            self.push_ids(ids.kind_of(at), ids.ids_of(at).iter().copied());
        }
    }

    /// Forgets all messages and keeps the room for others.
    pub fn clear(&mut self) {
        self.n_messages = 0;
        self.pairs.clear();
        self.keys.clear();
        self.orphans.clear();
        self.cuts.clear();
        self.open.clear();
        self.answered = None;
        (self.last_assistant, self.n_in_flight) = (None, 0);
        self.dangling.take();
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
                    self.open.call(key, CallAt { message: at, block });
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
                note_last(answered, key, call);
            }
        }
        // A cut that lies in a pair is illegal for ever.
        while self.cuts.pop_if(|cut| *cut > call.message).is_some() {}
    }

    /// Returns the last answered call of an id.
    fn last_answered(&mut self, key: u64) -> Option<CallAt> {
        let answered = self.answered.get_or_insert_with(|| {
            let mut answered = ByKey::default();
            for (key, pair) in self.keys.iter().zip(&self.pairs) {
                note_last(&mut answered, *key, pair.call);
            }
            answered
        });
        answered.get(&key).copied()
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
        self.dangling.get_or_init(|| self.open.open_calls())
    }

    /// Returns the last assistant message where calls of it still wait for their results.
    pub fn in_flight(&self) -> Option<usize> {
        self.last_assistant.filter(|_| self.n_in_flight > 0).map(|at| at as usize)
    }

    /// Returns the number of messages that were paired.
    pub fn len(&self) -> usize {
        self.n_messages as usize
    }

    /// Returns whether the transcript was empty.
    pub fn is_empty(&self) -> bool {
        self.n_messages == 0
    }

    /// Returns whether the transcript may be cut before message `at`: no pair lies across, nothing in flight is
    /// in the head, and the tail does not start with a tool result.
    pub fn is_legal(&self, at: usize) -> bool {
        let lies_in_none = || self.cuts.binary_search_by_key(&at, |cut| *cut as usize).is_ok();
        at == 0 || (at <= self.last_cut(self.len()) && lies_in_none())
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

    /// Returns the first legal cut at or after `at` that leaves a tail, else the last one before it, else 0.
    pub fn snap(&self, at: usize) -> usize {
        let backward = || self.legal_at_or_before(at);
        self.legal_at_or_after(at).or_else(backward).unwrap_or(0)
    }

    fn n_cuts_before(&self, at: usize) -> usize {
        self.cuts.partition_point(|cut| (*cut as usize) < at)
    }

    /// Returns the given cut, or the last before which nothing is in flight.
    fn last_cut(&self, at: usize) -> usize {
        self.in_flight().map_or(at, |flight| flight.min(at))
    }
}

/// Notes an answered call under its id, unless a later one is noted.
fn note_last(answered: &mut ByKey<CallAt>, key: u64, call: CallAt) {
    let last = answered.entry(key).or_insert(call);
    *last = call.max(*last);
}

/// Returns the index of the last message with the user's own words: where a forced compaction cuts.
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
