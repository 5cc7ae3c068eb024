//! A buffer of messages with a token budget, for callers that count tokens themselves.

use wb_message::markers::is_pinned;
use wb_message::{Message, Pairing};

/// The errors of a [`ContextWindow`].
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
    #[error("no message has the index {index}: the window holds {len}")]
    NoMessage {
        /// The index.
        index: usize,
        /// The number of messages.
        len: usize,
    },
}

/// The protection of a message from compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    None,
    /// Until the next [`ContextWindow::protect_recent`].
    Recent,
    /// Until [`ContextWindow::unprotect`].
    Fixed,
}

#[derive(Clone, Debug)]
struct Slot {
    message: Message,
    tokens: u32,
    protection: Protection,
}

impl Slot {
    fn is_protected(&self) -> bool {
        self.protection != Protection::None || is_pinned(&self.message)
    }
}

/// A buffer of messages with a token budget, which reports when it is too full and returns what can
/// be summarized.
///
/// The budget is `max_tokens - reserved_for_output`. System texts are always retained; a call and
/// its result are removed together or not at all. [`push`](Self::push) and
/// [`total_tokens`](Self::total_tokens) take constant time. Each method that panics on a bad
/// argument has a `try_` twin.
///
/// ```
/// use wb_budget::{ContextWindow, Message};
///
/// let mut window = ContextWindow::new(1000, 200);
/// window.push(Message::custom("system", "Answer briefly."), 20);
/// for n in 0..10 {
///     window.push(Message::user(format!("message {n}")), 70);
/// }
/// assert!(window.needs_compaction(0.8));
/// window.protect_recent(2);
/// assert_eq!(window.compact().len(), 8);
/// assert_eq!((window.len(), window.total_tokens()), (3, 160));
/// ```
#[derive(Clone, Debug)]
pub struct ContextWindow {
    max_tokens: u32,
    reserved_for_output: u32,
    slots: Vec<Slot>,
    total_tokens: u64,
}

#[track_caller]
fn or_panic<T>(result: Result<T, WindowError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

impl ContextWindow {
    /// Creates an empty window of `max_tokens`, with `reserved_for_output` for the model's answer.
    ///
    /// # Panics
    /// Panics if `reserved_for_output >= max_tokens`; [`Self::try_new`] does not.
    #[track_caller]
    pub fn new(max_tokens: u32, reserved_for_output: u32) -> Self {
        or_panic(Self::try_new(max_tokens, reserved_for_output))
    }

    /// Creates an empty window; fails if the output takes all of it.
    pub fn try_new(max_tokens: u32, reserved_for_output: u32) -> Result<Self, WindowError> {
        if reserved_for_output >= max_tokens {
            return Err(WindowError::NoInput { max_tokens, reserved_for_output });
        }
        Ok(Self { max_tokens, reserved_for_output, slots: Vec::new(), total_tokens: 0 })
    }

    /// Adds a message of `tokens`, unprotected, even over budget.
    pub fn push(&mut self, message: Message, tokens: u32) {
        self.total_tokens += u64::from(tokens);
        self.slots.push(Slot { message, tokens, protection: Protection::None });
    }

    /// Returns the remaining tokens: `max_tokens - reserved_for_output - total_tokens()`, at least
    /// 0.
    pub fn available(&self) -> u32 {
        self.input_budget().saturating_sub(self.total_tokens())
    }

    /// Visits the messages in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        self.slots.iter().map(|slot| &slot.message)
    }

    /// Returns the messages in order; [`Self::iter`] builds no list.
    pub fn messages(&self) -> Vec<&Message> {
        self.iter().collect()
    }

    /// Returns copies of the messages in order.
    pub fn messages_owned(&self) -> Vec<Message> {
        self.iter().cloned().collect()
    }

    /// Returns the tokens of all messages, at most `u32::MAX`.
    pub fn total_tokens(&self) -> u32 {
        u32::try_from(self.total_tokens).unwrap_or(u32::MAX)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns whether the messages take more than `threshold` of the budget; 0.8 is 80 percent.
    ///
    /// The threshold counts to six decimals. Nothing exceeds NaN; an empty window exceeds a
    /// negative threshold.
    pub fn needs_compaction(&self, threshold: f32) -> bool {
        // 0.7_f32 is less than 0.7; the rounded one is not.
        let threshold = (f64::from(threshold) * 1e6).round() / 1e6;
        self.total_tokens as f64 / f64::from(self.input_budget()) > threshold
    }

    /// Removes and returns the unprotected messages in order, so that they can be summarized.
    ///
    /// A message whose call or result is protected stays, and so does a call that is still without
    /// its result.
    pub fn compact(&mut self) -> Vec<Message> {
        let mut stays = self.retained().into_iter();
        let removed = self.slots.extract_if(.., |_| !stays.next().unwrap_or(true));
        let mut tokens = 0;
        let removed = removed.map(|slot| {
            tokens += u64::from(slot.tokens);
            slot.message
        });
        let removed = removed.collect();
        self.total_tokens -= tokens;
        removed
    }

    /// Returns for each message whether a compaction retains it.
    fn retained(&self) -> Vec<bool> {
        let messages: Vec<&Message> = self.iter().collect();
        let pairing = Pairing::new(&messages);
        let groups = pairing.groups();
        let mut is_retained = vec![false; self.len()];
        for (slot, group) in self.slots.iter().zip(&groups) {
            is_retained[*group as usize] |= slot.is_protected();
        }
        if let Some(at) = pairing.in_flight() {
            is_retained[groups[at] as usize] = true;
        }
        groups.iter().map(|group| is_retained[*group as usize]).collect()
    }

    /// Protects the last `n` messages, or all if there are fewer; those of an earlier call are no
    /// longer protected by it.
    pub fn protect_recent(&mut self, n: usize) {
        let from = self.len().saturating_sub(n);
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if slot.protection != Protection::Fixed {
                slot.protection = if at < from { Protection::None } else { Protection::Recent };
            }
        }
    }

    /// Protects a message until [`Self::unprotect`].
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_protect`] does not.
    #[track_caller]
    pub fn protect(&mut self, index: usize) {
        or_panic(self.try_protect(index));
    }

    /// Protects a message until [`Self::unprotect`]; fails if there is none.
    pub fn try_protect(&mut self, index: usize) -> Result<(), WindowError> {
        self.slot_mut(index)?.protection = Protection::Fixed;
        Ok(())
    }

    /// Ends the protection of a message; a system text stays protected.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_unprotect`] does not.
    #[track_caller]
    pub fn unprotect(&mut self, index: usize) {
        or_panic(self.try_unprotect(index));
    }

    /// Ends the protection of a message, except a system text; fails if there is none.
    pub fn try_unprotect(&mut self, index: usize) -> Result<(), WindowError> {
        self.slot_mut(index)?.protection = Protection::None;
        Ok(())
    }

    /// Returns whether a message is protected, which every system text is.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_is_protected`] does not.
    #[track_caller]
    pub fn is_protected(&self, index: usize) -> bool {
        or_panic(self.try_is_protected(index))
    }

    /// Returns whether a message is protected; fails if there is none.
    pub fn try_is_protected(&self, index: usize) -> Result<bool, WindowError> {
        self.slot(index).map(Slot::is_protected)
    }

    /// Returns the tokens available to messages: `max_tokens - reserved_for_output`, at least 1.
    pub fn input_budget(&self) -> u32 {
        self.max_tokens - self.reserved_for_output
    }

    /// Returns the tokens of the whole window.
    pub fn max_tokens(&self) -> u32 {
        self.max_tokens
    }

    /// Returns the tokens reserved for the output.
    pub fn reserved_for_output(&self) -> u32 {
        self.reserved_for_output
    }

    /// Removes all messages.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.total_tokens = 0;
    }

    /// Returns the tokens of a message.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_token_count`] does not.
    #[track_caller]
    pub fn token_count(&self, index: usize) -> u32 {
        or_panic(self.try_token_count(index))
    }

    /// Returns the tokens of a message; fails if there is none.
    pub fn try_token_count(&self, index: usize) -> Result<u32, WindowError> {
        self.slot(index).map(|slot| slot.tokens)
    }

    /// Replaces the tokens of a message, once the provider has counted them.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_update_token_count`] does not.
    #[track_caller]
    pub fn update_token_count(&mut self, index: usize, tokens: u32) {
        or_panic(self.try_update_token_count(index, tokens));
    }

    /// Replaces the tokens of a message; fails if there is none.
    pub fn try_update_token_count(&mut self, index: usize, tokens: u32) -> Result<(), WindowError> {
        let before = std::mem::replace(&mut self.slot_mut(index)?.tokens, tokens);
        self.total_tokens = self.total_tokens - u64::from(before) + u64::from(tokens);
        Ok(())
    }

    fn slot(&self, index: usize) -> Result<&Slot, WindowError> {
        self.slots.get(index).ok_or(WindowError::NoMessage { index, len: self.len() })
    }

    fn slot_mut(&mut self, index: usize) -> Result<&mut Slot, WindowError> {
        let len = self.len();
        self.slots.get_mut(index).ok_or(WindowError::NoMessage { index, len })
    }
}
