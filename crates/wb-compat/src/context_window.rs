//! Document 3: a buffer of messages with a token budget, which reports when it is too full.
//!
//! The caller counts the tokens; roles, calls and models are ignored. Every recorded answer is
//! equal, also where the document's text differs: it promises to retain system messages, and the
//! recorded answers do not. Messages are ours, with system texts as
//! [`Custom`](wb_message::Message::Custom) messages.
//!
//! # Faults
//! Calls and results are separated; protection accumulates; large numbers are compared as `f32`;
//! time is quadratic; a summary can only be appended. Use the `ContextWindow` of `wb-budget`, or
//! the drivers of `wb-conductor`, whose tracker weighs each message once and whose patches keep
//! calls with their results.

use wb_message::{Block, Content, Message};

/// The document's name of a message.
pub type ChatMessage = Message;

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
    #[error("index out of bounds: the len is {len} but the index is {index}")]
    NoMessage {
        /// The index.
        index: usize,
        /// The number of messages.
        len: usize,
    },
}

#[derive(Clone, Debug)]
struct Slot {
    message: ChatMessage,
    tokens: u32,
    compactable: bool,
}

/// A buffer of messages with a token budget, which reports when it is too full and returns the
/// unprotected messages.
///
/// The budget is `max_tokens - reserved_for_output`. Each method that panics on a bad argument has
/// a `try_` twin.
///
/// ```
/// use wb_compat::context_window::{ChatMessage, ContextWindow};
///
/// let mut window = ContextWindow::new(1000, 200);
/// window.protect_recent(2); // protects nothing, since the window is empty
/// for n in 0..10 {
///     window.push(ChatMessage::user(format!("message {n}")), 70);
/// }
/// window.protect_recent(2); // protects the current last two
/// assert_eq!(window.compact().len(), 8);
/// assert_eq!((window.len(), window.total_tokens()), (2, 140));
/// ```
#[derive(Clone, Debug)]
pub struct ContextWindow {
    max_tokens: u32,
    reserved_for_output: u32,
    slots: Vec<Slot>,
}

const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<ContextWindow>();
};

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
        Ok(Self { max_tokens, reserved_for_output, slots: Vec::new() })
    }

    /// Adds a message of `tokens`, compactable for any role and even over budget.
    ///
    /// Fault: a system prompt is not protected; [`Self::protect`] it. The drivers of `wb-conductor`
    /// keep system texts.
    pub fn push(&mut self, message: ChatMessage, tokens: u32) {
        self.slots.push(Slot { message, tokens, compactable: true });
    }

    /// Returns the remaining tokens: `max_tokens - reserved_for_output - total_tokens()`, at least
    /// 0.
    ///
    /// Fault: it cannot distinguish a full window from one over budget; compare
    /// [`Self::total_tokens`] with [`Self::input_budget`].
    pub fn available(&self) -> u32 {
        self.input_budget().saturating_sub(self.total_tokens())
    }

    /// Visits the messages in order.
    pub fn iter(&self) -> impl Iterator<Item = &ChatMessage> {
        self.slots.iter().map(|slot| &slot.message)
    }

    /// Returns the messages in order; [`Self::iter`] builds no list.
    pub fn messages(&self) -> Vec<&ChatMessage> {
        self.iter().collect()
    }

    /// Returns copies of the messages in order.
    pub fn messages_owned(&self) -> Vec<ChatMessage> {
        self.iter().cloned().collect()
    }

    /// Returns the tokens of all messages, at most `u32::MAX`.
    ///
    /// Fault: it sums them each time, and an excess over `u32::MAX` is lost. The tracker of
    /// `wb-budget` keeps the sum as `u64`.
    pub fn total_tokens(&self) -> u32 {
        self.slots.iter().fold(0, |sum, slot| sum.saturating_add(slot.tokens))
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
    /// Nothing exceeds NaN; everything exceeds a negative threshold, even an empty window.
    ///
    /// Fault: an `f32` has 24 bits, so above 16 777 216 tokens an excess of one token is lost. Use
    /// the gate of `wb-budget`.
    #[expect(clippy::cast_precision_loss, reason = "the recorded answers depend on it")]
    pub fn needs_compaction(&self, threshold: f32) -> bool {
        self.total_tokens() as f32 / self.input_budget() as f32 > threshold
    }

    /// Removes and returns all unprotected messages in order, so that they can be summarized.
    ///
    /// Fault: the budget plays no part, unprotected system messages go, and a result can stay
    /// without its call. A summary pushed afterwards comes after the protected messages and goes
    /// with the next compaction. Use the drivers of `wb-conductor`.
    pub fn compact(&mut self) -> Vec<ChatMessage> {
        let removed = self.slots.extract_if(.., |slot| slot.compactable);
        removed.map(|slot| slot.message).collect()
    }

    /// Removes the oldest unprotected messages one by one until the rest fits the budget, and
    /// returns them in order; from a later published version.
    ///
    /// Fault: calls and results are separated, small messages go where one large one would suffice,
    /// and the window can still exceed its budget, without a report if the tokens exceed the
    /// precision of `f32`. It takes quadratic time. Use the pass `DropMiddle` of `wb-passes`.
    pub fn force_fit(&mut self) -> Vec<ChatMessage> {
        let mut removed = Vec::new();
        while self.needs_compaction(1.0) {
            let Some(oldest) = self.slots.iter().position(|slot| slot.compactable) else { break };
            removed.push(self.slots.remove(oldest).message);
        }
        removed
    }

    /// Protects the current last `n` messages, or all if there are fewer.
    ///
    /// Fault: a message stays protected until [`Self::unprotect`]; called each turn, it protects
    /// everything in the end. The drivers of `wb-conductor` keep a moving tail.
    pub fn protect_recent(&mut self, n: usize) {
        let from = self.len().saturating_sub(n);
        for slot in &mut self.slots[from..] {
            slot.compactable = false;
        }
    }

    /// Protects a message.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_protect`] does not.
    #[track_caller]
    pub fn protect(&mut self, index: usize) {
        or_panic(self.try_protect(index));
    }

    /// Protects a message; fails if there is none.
    pub fn try_protect(&mut self, index: usize) -> Result<(), WindowError> {
        self.slot_mut(index)?.compactable = false;
        Ok(())
    }

    /// Makes a message compactable.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_unprotect`] does not.
    #[track_caller]
    pub fn unprotect(&mut self, index: usize) {
        or_panic(self.try_unprotect(index));
    }

    /// Makes a message compactable; fails if there is none.
    pub fn try_unprotect(&mut self, index: usize) -> Result<(), WindowError> {
        self.slot_mut(index)?.compactable = true;
        Ok(())
    }

    /// Returns whether a message is protected.
    ///
    /// # Panics
    /// Panics if `index >= len()`; [`Self::try_is_protected`] does not.
    #[track_caller]
    pub fn is_protected(&self, index: usize) -> bool {
        or_panic(self.try_is_protected(index))
    }

    /// Returns whether a message is protected; fails if there is none.
    pub fn try_is_protected(&self, index: usize) -> Result<bool, WindowError> {
        self.slot(index).map(|slot| !slot.compactable)
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

    /// Removes all messages and their protection.
    pub fn clear(&mut self) {
        self.slots.clear();
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
        self.slot_mut(index)?.tokens = tokens;
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

/// Tokens of the frame of a message.
const FRAME_TOKENS: u32 = 4;
/// Tokens of an image, whatever its size.
const IMAGE_TOKENS: u32 = 85;
/// Tokens of a result in addition to its content.
const RESULT_TOKENS: u32 = 10;

/// Estimates a text in tokens: its UTF-8 bytes / 4, rounded up; from the published crate, not the
/// document.
///
/// Fault: wrong for scripts of several bytes a character. Use an exact tokenizer with the estimates
/// of `wb-budget`.
pub fn estimate_tokens(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX).div_ceil(4)
}

/// Estimates a message in tokens: 4, its texts, 85 for an image, 10 more for a result.
///
/// From the published crate, not the document. Messages of unknown kinds weigh as their texts.
///
/// Fault: ids of calls and schemas of tools weigh nothing. Use the estimates of `wb-budget`.
pub fn estimate_message_tokens(message: &ChatMessage) -> u32 {
    FRAME_TOKENS
        + match message {
            Message::User { content, .. } | Message::Custom { content, .. } => content_tokens(content),
            Message::Assistant { content, .. } => sum(content),
            Message::ToolResult { content, .. } => RESULT_TOKENS + sum(content),
            Message::BashExecution { command, output, .. } => {
                estimate_tokens(command) + estimate_tokens(output)
            }
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                estimate_tokens(summary)
            }
        }
}

fn content_tokens(content: &Content) -> u32 {
    match content {
        Content::Text(text) => estimate_tokens(text),
        Content::Blocks(blocks) => sum(blocks),
    }
}

fn sum(blocks: &[Block]) -> u32 {
    blocks.iter().map(block_tokens).sum()
}

fn block_tokens(block: &Block) -> u32 {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => estimate_tokens(text),
        Block::Image { .. } => IMAGE_TOKENS,
        Block::ToolCall { name, input, .. } => estimate_tokens(name) + estimate_tokens(&input.to_string()),
        Block::ToolResult { output, .. } => {
            RESULT_TOKENS
                + output.as_str().map_or_else(|| estimate_tokens(&output.to_string()), estimate_tokens)
        }
        Block::Command { command, .. } => estimate_tokens(command),
    }
}
