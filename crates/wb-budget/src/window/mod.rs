//! The token-budgeted buffer (seed 3): messages with their token counts, and which of them a compaction keeps.

mod groups;
mod threshold;

use wb_message::Message;

pub use groups::WindowMessage;

use crate::gate::Irreducible;
use groups::{Groups, Links};

/// Why a [`ContextWindow`] refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// The output takes the whole window.
    #[error("reserved_for_output ({reserved_for_output}) must be less than max_tokens ({max_tokens})")]
    NoInput {
        /// Tokens of the whole window.
        max_tokens: u32,
        /// Tokens reserved for the output.
        reserved_for_output: u32,
    },
    /// No message has this index.
    #[error("index out of bounds: the len is {len} but the index is {index}")]
    NoMessage {
        /// The index.
        index: usize,
        /// The number of messages.
        len: usize,
    },
}

/// A message with its tokens.
#[derive(Clone, Debug)]
struct Slot<M> {
    message: M,
    tokens: u32,
    /// Whether a summary belongs behind it: it is pinned, or an earlier summary.
    leads: bool,
    /// Whether it is protected for itself.
    kept: bool,
    /// Whether the window of recent messages passes it over.
    exempt: bool,
}

/// A buffer of messages with a budget of tokens, which tells when it is too full and gives back what can go.
///
/// The caller counts the tokens. The budget is `max_tokens - reserved_for_output`; sums are exact, and those that are
/// returned as `u32` saturate.
///
/// # What stays
/// A message is *protected* by one of three reasons: it is pinned ([`WindowMessage::is_pinned`], a system or developer
/// text), [`protect`](Self::protect) named it, or it is among the last messages that
/// [`protect_recent`](Self::protect_recent) covers, a window that slides with every push. Of two calls the later one
/// counts: [`unprotect`](Self::unprotect) takes a message out of all three, until it is protected again or
/// `protect_recent` is called over it.
///
/// Calls and their results stay or go together. Such a group goes only if none of its messages is protected, and if it
/// has no call in flight: one without an answer in the last message that makes calls.
///
/// ```
/// use wb_budget::ContextWindow;
/// use wb_message::Message;
///
/// let mut window = ContextWindow::new(1000, 200);
/// window.push(Message::user("Hello"), 700);
///
/// // 700 / (1000 - 200) = 87.5% full
/// assert!(window.needs_compaction(0.8));
/// assert!(!window.needs_compaction(0.9));
/// ```
///
/// A compaction, with the summary where it belongs:
///
/// ```
/// # use wb_budget::ContextWindow;
/// # use wb_message::Message;
/// let mut window = ContextWindow::new(1000, 200);
/// window.protect_recent(1);
/// window.push(Message::custom("system", "Be brief."), 5);
/// window.push(Message::user("What is a budget?"), 10);
/// window.push(Message::assistant("What one may spend."), 700);
/// window.push(Message::user("And a reserve?"), 10);
///
/// let removed = window.compact();
/// assert_eq!((removed.len(), window.total_tokens()), (2, 15));
/// assert_eq!(window.insert_summary(Message::user("They asked what a budget is."), 8), 1);
/// assert_eq!(window.messages()[2], &Message::user("And a reserve?"));
/// ```
#[derive(Clone, Debug)]
pub struct ContextWindow<M = Message> {
    max_tokens: u32,
    reserved_for_output: u32,
    total_tokens: u64,
    n_recent: usize,
    slots: Vec<Slot<M>>,
    links: Links,
}

const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<ContextWindow<Message>>();
};

#[track_caller]
fn or_panic<T>(result: Result<T, WindowError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

impl<M> ContextWindow<M> {
    /// Creates an empty window of `max_tokens`, of which `reserved_for_output` are left for the model's answer.
    ///
    /// # Panics
    /// Panics where `reserved_for_output >= max_tokens`; [`Self::try_new`] does not.
    #[track_caller]
    pub fn new(max_tokens: u32, reserved_for_output: u32) -> Self {
        or_panic(Self::try_new(max_tokens, reserved_for_output))
    }

    /// Creates an empty window, or says that the output takes all of it.
    pub fn try_new(max_tokens: u32, reserved_for_output: u32) -> Result<Self, WindowError> {
        if reserved_for_output >= max_tokens {
            return Err(WindowError::NoInput { max_tokens, reserved_for_output });
        }
        Ok(Self {
            max_tokens,
            reserved_for_output,
            total_tokens: 0,
            n_recent: 0,
            slots: Vec::new(),
            links: Links::default(),
        })
    }

    /// Returns the tokens of the whole window.
    pub fn max_tokens(&self) -> u32 {
        self.max_tokens
    }

    /// Returns the tokens that are reserved for the output.
    pub fn reserved_for_output(&self) -> u32 {
        self.reserved_for_output
    }

    /// Returns the tokens that the messages may have: `max_tokens - reserved_for_output`, at least 1.
    pub fn input_budget(&self) -> u32 {
        self.max_tokens - self.reserved_for_output
    }

    /// Returns the tokens that the messages have, at most `u32::MAX`; O(1).
    pub fn total_tokens(&self) -> u32 {
        u32::try_from(self.total_tokens).unwrap_or(u32::MAX)
    }

    /// Returns the tokens that are left of the budget, 0 where it is exceeded; O(1).
    pub fn available(&self) -> u32 {
        self.input_budget().saturating_sub(self.total_tokens())
    }

    /// Tells whether the messages take more than `threshold` of the budget, 0.8 being 80 percent.
    ///
    /// Compares without rounding, and by the decimal that was written: 560 of 800 tokens are not above 0.7. Nothing is
    /// above NaN, everything is above a negative threshold; 1.0 asks whether the budget is exceeded.
    pub fn needs_compaction(&self, threshold: f32) -> bool {
        threshold::is_above(self.total_tokens, self.input_budget(), threshold)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Tells whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Visits the messages in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &M> + DoubleEndedIterator {
        self.slots.iter().map(|slot| &slot.message)
    }

    /// Returns the messages in order; [`Self::iter`] does without the list.
    pub fn messages(&self) -> Vec<&M> {
        self.iter().collect()
    }

    /// Returns copies of the messages in order.
    pub fn messages_owned(&self) -> Vec<M>
    where
        M: Clone,
    {
        self.iter().cloned().collect()
    }

    /// Removes all messages, and ends the window of [`Self::protect_recent`].
    pub fn clear(&mut self) {
        self.slots.clear();
        self.links.clear();
        (self.total_tokens, self.n_recent) = (0, 0);
    }

    fn slot(&self, index: usize) -> Result<&Slot<M>, WindowError> {
        self.slots.get(index).ok_or(WindowError::NoMessage { index, len: self.len() })
    }

    fn slot_mut(&mut self, index: usize) -> Result<&mut Slot<M>, WindowError> {
        let len = self.len();
        self.slots.get_mut(index).ok_or(WindowError::NoMessage { index, len })
    }

    /// Returns the tokens of a message.
    ///
    /// # Panics
    /// Panics where `index >= len()`; [`Self::try_token_count`] does not.
    #[track_caller]
    pub fn token_count(&self, index: usize) -> u32 {
        or_panic(self.try_token_count(index))
    }

    /// Returns the tokens of a message, or says that there is none.
    pub fn try_token_count(&self, index: usize) -> Result<u32, WindowError> {
        self.slot(index).map(|slot| slot.tokens)
    }

    /// Replaces the tokens of a message, once the provider has told them; O(1).
    ///
    /// # Panics
    /// Panics where `index >= len()`; [`Self::try_update_token_count`] does not.
    #[track_caller]
    pub fn update_token_count(&mut self, index: usize, tokens: u32) {
        or_panic(self.try_update_token_count(index, tokens));
    }

    /// Replaces the tokens of a message and returns the earlier ones, or says that there is no such message.
    pub fn try_update_token_count(&mut self, index: usize, tokens: u32) -> Result<u32, WindowError> {
        let earlier = std::mem::replace(&mut self.slot_mut(index)?.tokens, tokens);
        self.total_tokens = self.total_tokens - u64::from(earlier) + u64::from(tokens);
        Ok(earlier)
    }

    /// Protects a message, wherever it stands.
    ///
    /// # Panics
    /// Panics where `index >= len()`; [`Self::try_protect`] does not.
    #[track_caller]
    pub fn protect(&mut self, index: usize) {
        or_panic(self.try_protect(index));
    }

    /// Protects a message, or says that there is none.
    pub fn try_protect(&mut self, index: usize) -> Result<(), WindowError> {
        self.slot_mut(index)?.kept = true;
        Ok(())
    }

    /// Lets a message go with the next compaction, also a pinned one and one of the window of recent messages.
    ///
    /// # Panics
    /// Panics where `index >= len()`; [`Self::try_unprotect`] does not.
    #[track_caller]
    pub fn unprotect(&mut self, index: usize) {
        or_panic(self.try_unprotect(index));
    }

    /// Lets a message go with the next compaction, or says that there is none.
    pub fn try_unprotect(&mut self, index: usize) -> Result<(), WindowError> {
        let slot = self.slot_mut(index)?;
        (slot.kept, slot.exempt) = (false, true);
        Ok(())
    }

    /// Tells whether a message is protected.
    ///
    /// One that is not may stay all the same: where the call or the result that belongs to it is protected or in flight.
    ///
    /// # Panics
    /// Panics where `index >= len()`; [`Self::try_is_protected`] does not.
    #[track_caller]
    pub fn is_protected(&self, index: usize) -> bool {
        or_panic(self.try_is_protected(index))
    }

    /// Tells whether a message is protected, or says that there is none.
    pub fn try_is_protected(&self, index: usize) -> Result<bool, WindowError> {
        self.slot(index).map(|slot| self.protects(index, slot))
    }

    fn protects(&self, index: usize, slot: &Slot<M>) -> bool {
        let is_recent = index >= self.len().saturating_sub(self.n_recent);
        slot.kept || (is_recent && !slot.exempt)
    }

    /// Protects the last `n` messages, now and after every push, in place of the number of an earlier call.
    ///
    /// All messages are protected where there are no more than `n`; 0 ends the window. What is among the last `n` now
    /// is protected even if it was unprotected before.
    pub fn protect_recent(&mut self, n: usize) {
        self.n_recent = n;
        let from = self.len().saturating_sub(n);
        for slot in &mut self.slots[from..] {
            slot.exempt = false;
        }
    }
}

/// Which messages go, and the tokens that go with them.
#[derive(Debug)]
struct Removal {
    goes: Vec<bool>,
    tokens: u64,
}

/// What is known of a group, noted at its oldest message.
#[derive(Clone, Debug, Default)]
struct Group {
    tokens: u64,
    stays: bool,
}

impl<M: WindowMessage> ContextWindow<M> {
    /// Appends a message of so many tokens; it is never refused, even over budget.
    ///
    /// A pinned message is protected, any other is not unless [`Self::protect_recent`] covers it.
    pub fn push(&mut self, message: M, tokens: u32) {
        let pinned = message.is_pinned();
        self.total_tokens += u64::from(tokens);
        self.links.push(&message);
        self.slots.push(Slot { message, tokens, leads: pinned, kept: pinned, exempt: false });
    }

    /// Puts a summary of removed messages after the leading pinned messages and earlier summaries, in front of all
    /// else, and returns its index.
    ///
    /// It is not protected, whatever its kind, so the next compaction gives it back with what is to be summarized
    /// then; [`Self::protect`] it where it shall stay.
    pub fn insert_summary(&mut self, summary: M, tokens: u32) -> usize {
        let at = self.slots.iter().take_while(|slot| slot.leads).count();
        self.total_tokens += u64::from(tokens);
        self.links.insert(at, &summary);
        self.slots.insert(at, Slot { message: summary, tokens, leads: true, kept: false, exempt: false });
        at
    }

    /// Removes every message that may go and returns them in order, so that they can be summarized.
    ///
    /// The budget plays no part; what stays is told [above](Self#what-stays).
    pub fn compact(&mut self) -> Vec<M> {
        let removal = self.oldest_groups(u64::MAX);
        self.remove(&removal)
    }

    /// Removes the oldest groups that may go until the budget is kept, and returns their messages in order.
    ///
    /// Where too much is protected the window is still over budget afterwards, which `needs_compaction(1.0)` tells;
    /// [`Self::try_force_fit`] removes nothing then.
    pub fn force_fit(&mut self) -> Vec<M> {
        let Some(excess) = self.excess() else { return Vec::new() };
        let removal = self.oldest_groups(excess);
        self.remove(&removal)
    }

    /// Removes as [`Self::force_fit`] does, or, where the budget would still be exceeded, removes nothing and says what
    /// would remain.
    pub fn try_force_fit(&mut self) -> Result<Vec<M>, Irreducible> {
        let Some(excess) = self.excess() else { return Ok(Vec::new()) };
        let removal = self.oldest_groups(excess);
        let reached_tokens = self.total_tokens - removal.tokens;
        match Irreducible::above(u64::from(self.input_budget()), reached_tokens) {
            Some(why) => Err(why),
            None => Ok(self.remove(&removal)),
        }
    }

    /// Returns the tokens above the budget, nothing where it is kept.
    fn excess(&self) -> Option<u64> {
        self.total_tokens.checked_sub(u64::from(self.input_budget())).filter(|excess| *excess > 0)
    }

    /// Chooses whole groups that may go, the oldest first, until `excess` tokens are gone.
    fn oldest_groups(&self, excess: u64) -> Removal {
        let groups = Groups::of(&self.links);
        let mut known = vec![Group::default(); self.len()];
        for (at, slot) in self.slots.iter().enumerate() {
            let group = &mut known[groups.oldest(at)];
            group.tokens += u64::from(slot.tokens);
            group.stays |= self.protects(at, slot) || groups.is_in_flight(at);
        }
        let mut removal = Removal { goes: Vec::with_capacity(self.len()), tokens: 0 };
        for (at, group) in known.iter().enumerate() {
            let oldest = groups.oldest(at);
            let is_first = oldest == at;
            let goes = if is_first { !group.stays && removal.tokens < excess } else { removal.goes[oldest] };
            removal.tokens += if is_first && goes { group.tokens } else { 0 };
            removal.goes.push(goes);
        }
        removal
    }

    fn remove(&mut self, removal: &Removal) -> Vec<M> {
        self.total_tokens -= removal.tokens;
        self.links.remove(&removal.goes);
        let mut goes = removal.goes.iter();
        let mut removed = Vec::with_capacity(removal.goes.iter().filter(|goes| **goes).count());
        let gone = self.slots.extract_if(.., |_| goes.next() == Some(&true));
        removed.extend(gone.map(|slot| slot.message));
        removed
    }
}
