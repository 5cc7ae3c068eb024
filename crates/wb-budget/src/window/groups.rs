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

/// How many calls a message makes and how many it answers.
#[derive(Clone, Copy, Debug)]
struct Ends {
    calls: usize,
    answers: usize,
}

/// The ids of a window's messages as keys, read once when a message comes in.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// One of each message.
    ends: Vec<Ends>,
    /// Those of all messages in order, calls before answers.
    keys: Vec<u64>,
}

/// Appends the keys of a message.
fn read(message: &impl WindowMessage, keys: &mut Vec<u64>) -> Ends {
    let start = keys.len();
    keys.extend(message.call_ids().map(id_key));
    let calls = keys.len() - start;
    keys.extend(message.answered_ids().map(id_key));
    Ends { calls, answers: keys.len() - start - calls }
}

impl Links {
    /// Appends the ids of a message.
    pub(super) fn push(&mut self, message: &impl WindowMessage) {
        let ends = read(message, &mut self.keys);
        self.ends.push(ends);
    }

    /// Puts the ids of a message before those of message `at`.
    pub(super) fn insert(&mut self, at: usize, message: &impl WindowMessage) {
        let mut keys = Vec::new();
        let ends = read(message, &mut keys);
        let offset = self.ends[..at].iter().map(|ends| ends.calls + ends.answers).sum::<usize>();
        self.keys.splice(offset..offset, keys);
        self.ends.insert(at, ends);
    }

    /// Forgets the messages that go.
    pub(super) fn remove(&mut self, goes: &[bool]) {
        let of_message = |(ends, goes): (&Ends, &bool)| std::iter::repeat_n(*goes, ends.calls + ends.answers);
        let mut key_goes = self.ends.iter().zip(goes).flat_map(of_message);
        self.keys.retain(|_| key_goes.next() == Some(false));
        let mut goes = goes.iter();
        self.ends.retain(|_| goes.next() == Some(&false));
    }

    /// Forgets all messages.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.keys.clear();
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
    pub(super) fn of(links: &Links) -> Self {
        let mut book = CallBook::with_capacity(links.ends.iter().map(|ends| ends.calls).sum());
        let mut groups = wb_message::Groups::of_single(links.ends.len());
        let (mut keys, mut last_caller, mut n_open) = (links.keys.iter(), None, 0);
        for (ends, at) in links.ends.iter().zip(0..) {
            if ends.calls > 0 {
                (last_caller, n_open) = (Some(at), ends.calls);
            }
            for (key, block) in keys.by_ref().take(ends.calls).zip(0..) {
                book.call(*key, CallAt { message: at, block });
            }
            for key in keys.by_ref().take(ends.answers) {
                match book.answer(*key) {
                    Answer::Open(call) => {
                        n_open -= usize::from(Some(call.message) == last_caller);
                        groups.join(call.message, at);
                    }
                    Answer::Repeat(call) => groups.join(call.message, at),
                    Answer::Orphan => {}
                }
            }
        }
        Self { oldest: groups.settled(), in_flight: last_caller.filter(|_| n_open > 0) }
    }

    /// Returns the oldest message of the group that a message belongs to.
    pub(super) fn oldest(&self, at: usize) -> usize {
        self.oldest[at] as usize
    }

    /// Tells whether a message makes calls that are waited for.
    pub(super) fn is_in_flight(&self, at: usize) -> bool {
        self.in_flight.is_some_and(|caller| caller as usize == at)
    }
}
