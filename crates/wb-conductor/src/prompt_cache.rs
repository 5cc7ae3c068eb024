//! Tells which part of a request stays as it is, so that a host can place its cache breakpoints.

use wb_message::{Message, Pairing, fingerprint, last_prompt_start, prefix_fingerprint};

/// The leading messages of a request that stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StablePrefix {
    /// How many they are; a breakpoint stands behind the last one, none where this is 0.
    pub messages: usize,
    /// Their [`prefix_fingerprint`].
    pub fingerprint: u64,
}

/// What was sent last, as one hash of eight bytes per message.
///
/// It is kept by the host from request to request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptPrefix {
    sent: Vec<u64>,
}

impl PromptPrefix {
    /// Returns the part of a request that is byte-identical to the start of the one before, and remembers the
    /// request as sent.
    ///
    /// The part never ends inside a group of a call and its results. Of a first request it is what stands before
    /// the last prompt, which will be the same in the next one. `enabled` is
    /// [`ContextWindowPolicy::enable_prompt_cache`](wb_budget::ContextWindowPolicy::enable_prompt_cache): where it
    /// is false nothing is read, what was sent is forgotten, and `None` comes back.
    pub fn stable_prefix(&mut self, messages: &[Message], enabled: bool) -> Option<StablePrefix> {
        if !enabled {
            self.sent = Vec::new();
            return None;
        }
        let is_first = self.sent.is_empty();
        let n_same = self.remember(messages);
        let end = if is_first { last_prompt_start(messages).unwrap_or(messages.len()) } else { n_same };
        let pairing = Pairing::new(messages);
        let n_stable = (0..=end).rev().find(|&cut| pairing.is_legal(cut)).unwrap_or(0);
        Some(StablePrefix { messages: n_stable, fingerprint: prefix_fingerprint(&messages[..n_stable]) })
    }

    /// Replaces what was sent by a request; returns how many leading messages are the same.
    fn remember(&mut self, messages: &[Message]) -> usize {
        let mut hashes = messages.iter().map(|message| fingerprint(0, message));
        let differing = self.sent.iter().position(|known| hashes.next() != Some(*known));
        let n_same = differing.unwrap_or(self.sent.len());
        self.sent.truncate(n_same);
        self.sent.extend(messages[n_same..].iter().map(|message| fingerprint(0, message)));
        n_same
    }
}
