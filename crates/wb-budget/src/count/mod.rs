//! Weighing: the cost of messages in tokens.

mod walk;
mod json_len;
pub mod heuristic;
pub mod anchor;
pub mod presets;
mod fitted_weights;
pub mod fitted;

use wb_message::{Conversation, Message, ToolDescriptor};

pub use self::fitted_weights::FITTED_ON;
use self::heuristic::TokenHeuristic;

/// Counts tokens; the seam for exact tokenizers. Only [`Self::text`] is required.
pub trait TokenCounter: Send + Sync {
    /// Returns the tokens of a text.
    fn text(&self, text: &str) -> u64;

    /// Returns the weight of a message in tokens.
    fn message(&self, message: &Message) -> u64 {
        walk::message(self, message)
    }

    /// Returns the weight of a tool's description in tokens.
    fn tool(&self, tool: &ToolDescriptor) -> u64 {
        walk::tool(self, tool)
    }

    /// Returns the upper error of an estimate in thousandths; 0 for exact counts or if unknown.
    fn margin_permille(&self) -> u64 {
        0
    }

    /// Returns the tokens of a conversation's system text and tools, without its turns.
    fn overhead(&self, conversation: &Conversation) -> u64 {
        let system = conversation.system.as_deref().map_or(0, |system| self.text(system));
        conversation.tools.iter().flatten().map(|tool| self.tool(tool)).fold(system, u64::saturating_add)
    }
}

/// Any closure over text is a counter, such as a custom tokenizer.
impl<F: Fn(&str) -> u64 + Send + Sync> TokenCounter for F {
    fn text(&self, text: &str) -> u64 {
        self(text)
    }
}

impl TokenCounter for TokenHeuristic {
    fn text(&self, text: &str) -> u64 {
        self.text_tokens(text)
    }

    fn message(&self, message: &Message) -> u64 {
        self.message_tokens(message)
    }
}

/// Estimates one message in tokens under [`TokenHeuristic::DEFAULT`].
pub fn estimate_message_tokens(message: &Message) -> u64 {
    TokenHeuristic::DEFAULT.message_tokens(message)
}

/// Estimates a transcript in tokens under [`TokenHeuristic::DEFAULT`]; an empty one is 0.
pub fn estimate_tokens(messages: &[Message]) -> u64 {
    messages.iter().map(estimate_message_tokens).sum()
}

/// Estimates a plain text in tokens, without framing.
pub fn estimate_text(text: &str) -> u64 {
    TokenHeuristic::DEFAULT.text_tokens(text)
}

/// Returns the cumulative tokens, one entry more than messages: entry `i` is the weight of `messages[..i]`.
pub fn prefix_tokens(messages: &[Message]) -> Vec<u64> {
    prefix_sums(messages.iter().map(estimate_message_tokens))
}

/// Returns the running sums of weights, from 0.
pub fn prefix_sums(weights: impl ExactSizeIterator<Item = u64>) -> Vec<u64> {
    let mut sums = Vec::with_capacity(weights.len() + 1);
    let mut total = 0;
    sums.push(total);
    sums.extend(weights.map(|weight| {
        total = u64::saturating_add(total, weight);
        total
    }));
    sums
}
