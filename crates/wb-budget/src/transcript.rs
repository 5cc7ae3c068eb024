//! The weighed transcript: messages with their weights and pairing, the input of planners.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use wb_message::markers::is_pinned;
use wb_message::pairing::unanswered_start;
use wb_message::{Message, Pairing};

use crate::count::{TokenCounter, prefix_sums};

/// A transcript, weighed and paired once.
///
/// A [`ContextTracker`](crate::ContextTracker) returns one without weighing or pairing again.
#[derive(Clone)]
pub struct WeighedTranscript<'a> {
    /// The messages.
    pub messages: Vec<&'a Message>,
    /// Running sums of the weights in tokens, one entry more than messages.
    pub prefix: Cow<'a, [u64]>,
    /// The pairing of calls with results.
    pub pairing: Cow<'a, Pairing>,
    /// The counter of these weights, and of those of new messages.
    pub counter: Arc<dyn TokenCounter>,
    /// The host's turn of each message, ascending; `None` if each message is a turn.
    pub turns: Option<Cow<'a, [usize]>>,
    /// The messages whose body must not change, ascending, since their session cannot store another
    /// one.
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
        // A message is paired while it is in the processor's cache.
        let mut pairing = Pairing::with_capacity_for(messages);
        let prefix = prefix_sums(messages.iter().map(|message| {
            pairing.push(message);
            counter.message(message)
        }));
        let (prefix, pairing) = (Cow::Owned(prefix), Cow::Owned(pairing));
        let (messages, counter) = (messages.iter().collect(), counter.clone());
        Self { messages, prefix, pairing, counter, turns: None, fixed: Cow::Borrowed(&[]) }
    }

    /// Sets the host's turn of each message, so that no plan adds turns.
    #[must_use]
    pub fn with_turns(self, turns: impl Into<Cow<'a, [usize]>>) -> Self {
        Self { turns: Some(turns.into()), ..self }
    }

    /// Sets the messages whose body must not change, ascending.
    #[must_use]
    pub fn with_fixed(self, fixed: impl Into<Cow<'a, [usize]>>) -> Self {
        Self { fixed: fixed.into(), ..self }
    }

    /// Sets the messages that stay or go with the one before them, ascending.
    #[must_use]
    pub fn with_joined(mut self, joined: &[usize]) -> Self {
        if !joined.is_empty() {
            let pairing = self.pairing.to_mut();
            for at in joined {
                pairing.join(*at);
            }
        }
        self
    }

    /// Returns whether the body of a message must not change.
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

    /// Returns the weight of the tail from `cut` on, in tokens.
    pub fn tail_tokens(&self, cut: usize) -> u64 {
        self.total_tokens() - self.prefix[cut]
    }

    /// Returns the weight of the pinned messages in tokens.
    pub fn pinned_tokens(&self) -> u64 {
        self.pinned().into_iter().map(|at| self.weight(at)).fold(0, u64::saturating_add)
    }

    /// Returns the weight of the messages that stay in any compaction, in tokens: the pinned ones,
    /// and those that are not answered yet.
    pub fn staying_tokens(&self) -> u64 {
        let unanswered = unanswered_start(&self.messages);
        let stays = |at: &usize| *at >= unanswered || is_pinned(self.messages[*at]);
        (0..self.messages.len()).filter(stays).map(|at| self.weight(at)).fold(0, u64::saturating_add)
    }

    /// Returns the indices of the pinned messages.
    pub fn pinned(&self) -> Vec<usize> {
        (0..self.messages.len()).filter(|&at| is_pinned(self.messages[at])).collect()
    }
}
