//! Which messages may only go together.

use wb_message::pairing::{Answer, CallAt, CallBook, call_ids, id_key};
use wb_message::{Message, marks};

/// What a [`super::ContextWindow`] has to know of a message.
pub trait WindowMessage {
    /// Visits the ids of the tool calls that the message makes.
    fn call_ids(&self) -> impl Iterator<Item = &str>;

    /// Visits the ids of the tool calls that the message answers.
    fn answered_ids(&self) -> impl Iterator<Item = &str>;

    /// Tells whether the message is kept unless it is unprotected by name, as a system prompt is.
    fn is_pinned(&self) -> bool;
}

impl WindowMessage for Message {
    fn call_ids(&self) -> impl Iterator<Item = &str> {
        call_ids(self).map(|(id, _)| id)
    }

    fn answered_ids(&self) -> impl Iterator<Item = &str> {
        Message::answered_ids(self)
    }

    fn is_pinned(&self) -> bool {
        marks::is_pinned(self)
    }
}

/// The messages of a window as groups of a call, its results and whatever else shares one of these.
///
/// A result answers by id and position, as [`CallBook`] tells; a repeated result belongs to its call.
#[derive(Debug)]
pub(super) struct Groups {
    /// Of each message, the oldest of its group.
    oldest: Vec<u32>,
    /// The last message that makes calls, where one of these has no answer yet.
    in_flight: Option<u32>,
}

impl Groups {
    /// Groups messages in one pass.
    pub(super) fn of<'a, M: WindowMessage + 'a>(messages: impl Iterator<Item = &'a M>) -> Self {
        let mut book = CallBook::default();
        let mut groups = Self { oldest: Vec::with_capacity(messages.size_hint().0), in_flight: None };
        let (mut last_caller, mut n_open) = (0, 0_u32);
        for (message, at) in messages.zip(0..) {
            groups.oldest.push(at);
            for (id, block) in message.call_ids().zip(0..) {
                n_open = if last_caller == at { n_open + 1 } else { 1 };
                last_caller = at;
                book.call(id_key(id), CallAt { message: at, block });
            }
            for id in message.answered_ids() {
                match book.answer(id_key(id)) {
                    Answer::Open(call) => {
                        n_open -= u32::from(call.message == last_caller);
                        groups.join(call.message, at);
                    }
                    Answer::Repeat(call) => groups.join(call.message, at),
                    Answer::Orphan => {}
                }
            }
        }
        groups.in_flight = (n_open > 0).then_some(last_caller);
        groups.flatten();
        groups
    }

    /// Returns the oldest message of the group that a message belongs to.
    pub(super) fn oldest(&self, at: usize) -> usize {
        self.oldest[at] as usize
    }

    /// Tells whether a message makes calls that are waited for.
    pub(super) fn is_in_flight(&self, at: usize) -> bool {
        self.in_flight.is_some_and(|caller| caller as usize == at)
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.oldest[one.max(other) as usize] = one.min(other);
    }

    /// Follows a message to the oldest that is known of its group, and halves the way for the next time.
    fn find(&mut self, mut at: u32) -> u32 {
        while self.oldest[at as usize] != at {
            let next = self.oldest[at as usize];
            self.oldest[at as usize] = self.oldest[next as usize];
            at = self.oldest[at as usize];
        }
        at
    }

    /// Lets every message name the oldest itself; links lead to older messages, which are done before.
    fn flatten(&mut self) {
        for at in 0..self.oldest.len() {
            self.oldest[at] = self.oldest[self.oldest[at] as usize];
        }
    }
}
