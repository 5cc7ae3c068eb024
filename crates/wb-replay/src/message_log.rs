//! Fingerprints of earlier messages, to recognize repeated ones.

use std::collections::HashSet;

use wb_message::{Block, Message, blocks_fingerprint, fingerprint, markers};

/// The most messages from anywhere that an agent is expected to keep next to its digest.
const MOST_CHOSEN: usize = 64;

/// The messages of a session so far, as fingerprints in order.
#[derive(Debug, Default)]
pub(crate) struct MessageLog {
    is_begun: bool,
    all: Vec<Fingerprint>,
    /// Keys of the first `n_known` messages, filled when first needed.
    known: HashSet<u64>,
    n_known: usize,
    /// True if the last message has calls.
    is_in_flight: bool,
    /// The number of blocks of the last message, if it is an answer with some, and their hash.
    last_answer: Option<(usize, u64)>,
}

/// Hashes that identify a message, also after a compaction has changed it.
#[derive(Clone, Copy, Debug)]
struct Fingerprint {
    whole: u64,
    /// The hash of the message's remains if it is repeated, and the hash that such remains have.
    left: u64,
    again: u64,
    /// True if `left` of one may equal `again` of the other.
    is_loose: bool,
}

impl MessageLog {
    /// Returns whether a segment was added, even an empty one.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Adds the next messages.
    pub(crate) fn add(&mut self, messages: &[Message]) {
        self.is_begun = true;
        if messages.first().is_some_and(|it| self.completes(it)) {
            self.all.pop();
            self.n_known = self.n_known.min(self.all.len());
        }
        self.all.extend(messages.iter().map(Fingerprint::new));
        if let Some(last) = messages.last() {
            self.is_in_flight = last.calls().next().is_some();
            let blocks = last.blocks();
            let is_answer = matches!(last, Message::Assistant { .. }) && !blocks.is_empty();
            self.last_answer = is_answer.then(|| (blocks.len(), blocks_fingerprint(blocks)));
        }
    }

    /// Returns the number of leading messages that repeat earlier ones: the longest run that ends
    /// the earlier ones. A call that was in flight may be missing with its message, and an answer
    /// that was not complete yet counts as new. An agent without a readable digest keeps chosen
    /// messages instead, from anywhere; next to a digest they precede the run.
    pub(crate) fn n_seen(&mut self, messages: &[Message], has_digest: bool) -> usize {
        let new: Vec<Fingerprint> = messages.iter().map(Fingerprint::new).collect();
        let n_last = self.n_last(messages, &new);
        if !has_digest {
            return n_last.max(self.n_known(messages));
        }
        if n_last > 0 {
            return n_last;
        }
        let most = MOST_CHOSEN.min(messages.len().saturating_sub(1));
        let mut runs = (1..=most).map(|n| (n, self.n_last(&messages[n..], &new[n..])));
        let run = runs.find(|(_, run)| *run > 0);
        run.filter(|(n, _)| self.n_known(&messages[..*n]) == *n).map_or(0, |(n, run)| n + run)
    }

    /// Returns the length of the longest run that ends the earlier messages and starts new ones.
    fn n_last(&self, messages: &[Message], new: &[Fingerprint]) -> usize {
        let without_last = &self.all[..self.all.len().saturating_sub(1)];
        let n_before = n_kept(without_last, new);
        let lacks_last = self.is_in_flight || messages.get(n_before).is_some_and(|it| self.completes(it));
        n_kept(&self.all, new).max(if lacks_last { n_before } else { 0 })
    }

    /// Returns whether a message is the last answer with more blocks.
    fn completes(&self, message: &Message) -> bool {
        let blocks = message.blocks();
        self.last_answer.is_some_and(|(n_blocks, hash)| {
            blocks.len() > n_blocks && blocks_fingerprint(&blocks[..n_blocks]) == hash
        })
    }

    /// Returns the number of leading messages that are system texts, or repeat any earlier ones.
    pub(crate) fn n_known(&mut self, messages: &[Message]) -> usize {
        self.update_keys();
        let is_known = |message: &&Message| {
            let keys = || Fingerprint::new(message).keys_of_earlier();
            markers::is_pinned(message) || keys().iter().any(|key| self.known.contains(key))
        };
        messages.iter().take_while(is_known).count()
    }

    /// Adds the keys of new messages.
    fn update_keys(&mut self) {
        let new = self.all[self.n_known..].iter();
        self.known.extend(new.flat_map(Fingerprint::keys).flatten());
        self.n_known = self.all.len();
    }
}

/// Returns the length of the longest run that ends `earlier` and starts `new`.
fn n_kept(earlier: &[Fingerprint], new: &[Fingerprint]) -> usize {
    let is_kept = |n: &usize| earlier[earlier.len() - n..].iter().zip(new).all(|(old, new)| new.repeats(old));
    (1..=earlier.len().min(new.len())).rev().find(is_kept).unwrap_or(0)
}

impl Fingerprint {
    fn new(message: &Message) -> Self {
        let whole = match message {
            // A copied prompt may lack its time.
            Message::User { content, .. } => {
                fingerprint(0, &Message::User { content: content.clone(), timestamp: 0 })
            }
            message => fingerprint(0, message),
        };
        let (left, again, is_loose) = match message {
            // A call without a result may have been removed.
            Message::Assistant { .. } => {
                let without_calls =
                    message.blocks().iter().filter(|block| !matches!(block, Block::ToolCall { .. }));
                (blocks_fingerprint(without_calls), blocks_fingerprint(message.blocks()), true)
            }
            // A result may have been cleared or shortened.
            Message::ToolResult { tool_call_id, .. } => {
                let id = fingerprint(1, &Message::user(tool_call_id.as_str()));
                (id, id, markers::is_from_compaction(message))
            }
            _ => (whole, whole, false),
        };
        Self { whole, left, again, is_loose }
    }

    /// Returns whether this repeats an earlier message, whose result may have been cleared or
    /// shortened, or whose open call may have been removed.
    fn repeats(&self, old: &Self) -> bool {
        self.whole == old.whole || (old.left == self.again && (old.is_loose || self.is_loose))
    }

    /// Returns the keys for later lookups: whole, by a loose message, and by any message.
    fn keys(&self) -> [Option<u64>; 3] {
        let by_any = self.is_loose.then(|| self.left.wrapping_add(2));
        [Some(self.whole), Some(self.left.wrapping_add(1)), by_any]
    }

    /// Returns the keys of earlier messages that this one may repeat.
    fn keys_of_earlier(&self) -> [u64; 2] {
        [self.whole, self.again.wrapping_add(if self.is_loose { 1 } else { 2 })]
    }
}
