//! What was said before in a session, as far as it takes to know it again.

use std::collections::HashSet;

use wb_message::{Block, Message, blocks_fingerprint, fingerprint, markers};

/// The messages that were said, in order; of each a few hashes.
#[derive(Debug, Default)]
pub(crate) struct Said {
    is_begun: bool,
    all: Vec<Print>,
    /// Under what a message can be found among all, from when on somebody looks there.
    known: HashSet<u64>,
    n_known: usize,
    /// True if the last one asked for something.
    is_in_flight: bool,
}

/// What tells whether a message is an earlier one.
#[derive(Clone, Copy, Debug)]
struct Print {
    whole: u64,
    /// What is left of it when it is told again, and what it must be to be that.
    left: u64,
    again: u64,
    /// True if `left` of one is enough to be `again` of the other.
    is_loose: bool,
}

impl Said {
    /// Returns whether something was taken in, if it had no messages.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Takes in what was said next.
    pub(crate) fn take_in(&mut self, messages: &[Message]) {
        self.is_begun = true;
        self.all.extend(messages.iter().map(Print::of));
        if let Some(last) = messages.last() {
            self.is_in_flight = last.calls().next().is_some();
        }
    }

    /// Returns how many messages were kept of earlier ones: the longest run at the start with which what was said before
    /// ends. A call that was in flight then may be gone with its message. An agent whose digest cannot be read keeps chosen
    /// messages instead, from anywhere.
    pub(crate) fn n_seen(&mut self, messages: &[Message], has_digest: bool) -> usize {
        let new: Vec<Print> = messages.iter().map(Print::of).collect();
        let without_last = self.all.len() - usize::from(self.is_in_flight);
        let n_last = n_kept(&self.all, &new).max(n_kept(&self.all[..without_last], &new));
        if has_digest {
            return n_last;
        }
        self.look_up();
        let is_said = |(new, message): &(&Print, &Message)| {
            markers::is_pinned(message) || new.keys_of_earlier().iter().any(|key| self.known.contains(key))
        };
        n_last.max(new.iter().zip(messages).take_while(is_said).count())
    }

    /// Makes all that was said findable.
    fn look_up(&mut self) {
        let new = self.all[self.n_known..].iter();
        self.known.extend(new.flat_map(Print::keys).flatten());
        self.n_known = self.all.len();
    }
}

/// Returns the length of the longest run with which `said` ends and `new` begins.
fn n_kept(said: &[Print], new: &[Print]) -> usize {
    let is_kept = |n: &usize| said[said.len() - n..].iter().zip(new).all(|(old, new)| new.is(old));
    (1..=said.len().min(new.len())).rev().find(is_kept).unwrap_or(0)
}

impl Print {
    fn of(message: &Message) -> Self {
        let whole = match message {
            // A copy of a prompt may have lost its time.
            Message::User { content, .. } => {
                fingerprint(0, &Message::User { content: content.clone(), timestamp: 0 })
            }
            message => fingerprint(0, message),
        };
        let (left, again, is_loose) = match message {
            // A call without a result may have been left out.
            Message::Assistant { .. } => {
                let without_calls =
                    message.blocks().iter().filter(|block| !matches!(block, Block::ToolCall { .. }));
                (blocks_fingerprint(without_calls), blocks_fingerprint(message.blocks()), true)
            }
            // A result may have been cleared.
            Message::ToolResult { tool_call_id, .. } => {
                let id = fingerprint(1, &Message::user(tool_call_id.as_str()));
                (id, id, markers::is_cleared(message.blocks()))
            }
            _ => (whole, whole, false),
        };
        Self { whole, left, again, is_loose }
    }

    /// Returns whether this is an earlier message; since then a result may have been cleared, or a call without a result
    /// may have been left out.
    fn is(&self, old: &Self) -> bool {
        self.whole == old.whole || (old.left == self.again && (old.is_loose || self.is_loose))
    }

    /// Returns under which keys it is found later: whole, by somebody who is loose, and by anybody.
    fn keys(&self) -> [Option<u64>; 3] {
        let by_anybody = self.is_loose.then(|| self.left.wrapping_add(2));
        [Some(self.whole), Some(self.left.wrapping_add(1)), by_anybody]
    }

    /// Returns the keys of an earlier message that this one may be.
    fn keys_of_earlier(&self) -> [u64; 2] {
        [self.whole, self.again.wrapping_add(if self.is_loose { 1 } else { 2 })]
    }
}
