//! A transcript as planners see it: its messages, what each weighs, and which result answers which call.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use wb_message::markers::is_pinned;
use wb_message::{Message, Pairing};

use crate::count::{TokenCounter, prefix_sums};

/// A transcript that was weighed and paired once.
///
/// A [`ContextTracker`](crate::ContextTracker) hands it out without weighing or pairing anything again.
#[derive(Clone)]
pub struct WeighedTranscript<'a> {
    /// The messages.
    pub messages: Vec<&'a Message>,
    /// Running sums of the weights in tokens, one entry more than messages.
    pub prefix: Cow<'a, [u64]>,
    /// Which result answers which call.
    pub pairing: Cow<'a, Pairing>,
    /// What the messages were weighed with, and what is new is weighed with.
    pub counter: Arc<dyn TokenCounter>,
    /// The turn of a host that each message belongs to, ascending; none if each is its own.
    pub turns: Option<Cow<'a, [usize]>>,
    /// The messages whose body stays as it is, ascending: their session can hold no other one.
    pub fixed: Cow<'a, [usize]>,
}

impl fmt::Debug for WeighedTranscript<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("WeighedTranscript");
        shown.field("len", &self.messages.len()).field("total_tokens", &self.total_tokens());
        shown.finish_non_exhaustive()
    }
}

impl<'a> WeighedTranscript<'a> {
    /// Weighs and pairs a transcript.
    pub fn new(messages: &'a [Message], counter: &Arc<dyn TokenCounter>) -> Self {
        // A message is paired as long as the processor has it at hand.
        let mut pairing = Pairing::with_capacity_for(messages);
        let prefix = prefix_sums(messages.iter().map(|message| {
            pairing.push(message);
            counter.message(message)
        }));
        let (prefix, pairing) = (Cow::Owned(prefix), Cow::Owned(pairing));
        let (messages, counter) = (messages.iter().collect(), counter.clone());
        Self { messages, prefix, pairing, counter, turns: None, fixed: Cow::Borrowed(&[]) }
    }

    /// Says which turn of a host each message belongs to, so that what is planned never has more turns.
    #[must_use]
    pub fn in_turns(self, turns: impl Into<Cow<'a, [usize]>>) -> Self {
        Self { turns: Some(turns.into()), ..self }
    }

    /// Says whose body stays as it is, ascending, so that no other one is planned.
    #[must_use]
    pub fn with_fixed(self, fixed: impl Into<Cow<'a, [usize]>>) -> Self {
        Self { fixed: fixed.into(), ..self }
    }

    /// Returns whether the body of a message stays as it is.
    pub fn is_fixed(&self, at: usize) -> bool {
        self.fixed.binary_search(&at).is_ok()
    }

    /// Returns the weight of one message in tokens.
    pub fn weight(&self, at: usize) -> u64 {
        self.prefix[at + 1] - self.prefix[at]
    }

    /// Returns the weight of the whole transcript in tokens.
    pub fn total_tokens(&self) -> u64 {
        self.prefix.last().copied().unwrap_or(0)
    }

    /// Returns the weight of everything from `cut` on, in tokens.
    pub fn tail_tokens(&self, cut: usize) -> u64 {
        self.total_tokens() - self.prefix[cut]
    }

    /// Returns the weight of the pinned messages in tokens.
    pub fn pinned_tokens(&self) -> u64 {
        self.pinned().into_iter().map(|at| self.weight(at)).fold(0, u64::saturating_add)
    }

    /// Returns the indices of the pinned messages.
    pub fn pinned(&self) -> Vec<usize> {
        (0..self.messages.len()).filter(|&at| is_pinned(self.messages[at])).collect()
    }
}
