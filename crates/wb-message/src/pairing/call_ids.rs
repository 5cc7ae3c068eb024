//! The call ids of a transcript, from which it can be paired again without its messages.

use super::calls::{call_ids, id_key};
use crate::message::Message;

/// The kind of a message, as far as pairing cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Assistant,
    Result,
    Other,
}

/// The hashed id of a call or of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Call { key: u64, block: u32 },
    Answer { key: u64 },
}

/// The kinds of a transcript's messages and the ids of their calls and answers.
///
/// A tracker that keeps no messages pairs the transcript from these again after a truncation.
#[derive(Clone, Debug, Default)]
pub struct CallIds {
    /// The kind of each message and the end of its ids.
    messages: Vec<(Kind, usize)>,
    ids: Vec<Id>,
}

pub(crate) fn kind(message: &Message) -> Kind {
    match message {
        Message::Assistant { .. } => Kind::Assistant,
        Message::ToolResult { .. } => Kind::Result,
        _ => Kind::Other,
    }
}

pub(crate) fn ids(message: &Message) -> impl Iterator<Item = Id> {
    let calls = call_ids(message).map(|(id, block)| Id::Call { key: id_key(id), block });
    calls.chain(message.answered_ids().map(|id| Id::Answer { key: id_key(id) }))
}

impl CallIds {
    /// Appends a message.
    pub fn push(&mut self, message: &Message) {
        self.ids.extend(ids(message));
        self.messages.push((kind(message), self.ids.len()));
    }

    /// Appends message `at` of another transcript.
    ///
    /// # Panics
    /// Panics if the other transcript has no such message.
    pub fn push_from(&mut self, other: &Self, at: usize) {
        self.ids.extend_from_slice(other.ids_of(at));
        self.messages.push((other.messages[at].0, self.ids.len()));
    }

    /// Keeps only the first `n` messages.
    pub fn truncate(&mut self, n: usize) {
        if n < self.len() {
            self.ids.truncate(self.start_of(n));
            self.messages.truncate(n);
        }
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns whether message `at` is an assistant's.
    pub fn is_answer(&self, at: usize) -> bool {
        self.messages.get(at).is_some_and(|(kind, _)| *kind == Kind::Assistant)
    }

    /// Returns whether a message could replace message `at` without changing a pair or a cut.
    pub fn fits(&self, at: usize, message: &Message) -> bool {
        self.kind_of(at) == kind(message) && self.ids_of(at).iter().copied().eq(ids(message))
    }

    pub(crate) fn kind_of(&self, at: usize) -> Kind {
        self.messages[at].0
    }

    pub(crate) fn ids_of(&self, at: usize) -> &[Id] {
        &self.ids[self.start_of(at)..self.messages[at].1]
    }

    fn start_of(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.messages[before].1)
    }
}
