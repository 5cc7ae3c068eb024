//! A digest that is asked for behind a conversation, as its provider has it in the cache, and whether that is cheaper.

use std::fmt;

use wb_budget::{ModelCard, Prices, Usage};
use wb_message::Conversation;

use wb_invoke::invoker::ThinkingLevel;

/// A conversation behind which a digest can be asked for: what its provider has in the cache is cheaper to read again than
/// a prompt of its own is to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedConversation {
    /// System text, tools and turns as they were sent, to the end of what the digest is to stand for.
    pub conversation: Conversation,
    /// How much the model thinks in it; to a cache another level is another prompt.
    pub thinking: Option<ThinkingLevel>,
    /// What all of it weighs, in tokens.
    pub tokens: u64,
    /// What of it is in the cache, in tokens.
    pub cached_tokens: u64,
}

impl CachedConversation {
    /// Returns what a request behind it is billed for, where it asks for so much and so many tokens come back. What is not
    /// in the cache counts as written to it where that is dearer.
    pub(crate) fn usage(&self, asked_tokens: u64, reply_tokens: u64, prices: &Prices) -> Usage {
        let cached = self.cached_tokens.min(self.tokens);
        let rest = (self.tokens - cached).saturating_add(asked_tokens);
        let is_written = prices.write > prices.input;
        Usage {
            input_tokens: if is_written { 0 } else { rest },
            output_tokens: reply_tokens,
            cache_read_tokens: Some(cached),
            cache_write_tokens: is_written.then_some(rest),
        }
    }

    /// Tells whether the window holds it with a request behind it, the reply, and what the model thinks before that.
    pub(crate) fn leaves_room(&self, asked_tokens: u64, reply_tokens: u64, card: &ModelCard) -> bool {
        let unsaid = if card.reasoning { ThinkingLevel::Medium } else { ThinkingLevel::Off };
        let thought = self.thinking.unwrap_or(unsaid).reserve_tokens();
        let parts = [self.tokens, asked_tokens, reply_tokens, thought];
        parts.into_iter().fold(0, u64::saturating_add) <= card.context_window
    }
}

/// What both ways of asking for a digest are billed for, by estimate. [`fmt::Display`] gives it in one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskCosts {
    /// The tokens behind the conversation.
    pub behind: Usage,
    /// The same in US dollars.
    pub behind_cost: f64,
    /// Whether the window has room for that.
    pub has_room: bool,
    /// The tokens of prompts of its own.
    pub alone: Usage,
    /// The same in US dollars.
    pub alone_cost: f64,
}

impl AskCosts {
    pub(crate) fn of(behind: Usage, has_room: bool, alone: Usage, prices: &Prices) -> Self {
        let (behind_cost, alone_cost) = (prices.cost(&behind), prices.cost(&alone));
        Self { behind, behind_cost, has_room, alone, alone_cost }
    }

    /// Tells whether the digest is asked for behind the conversation: that is possible, and cheaper.
    pub fn is_behind(&self) -> bool {
        self.has_room && self.behind_cost < self.alone_cost
    }
}

impl fmt::Display for AskCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { behind, behind_cost, alone, alone_cost, .. } = self;
        let (cached, tokens) = (behind.cache_read_tokens.unwrap_or(0), behind.prompt_tokens());
        let alone = format_args!("by itself {} tokens, ${alone_cost:.4}", alone.prompt_tokens());
        let behind =
            format_args!("behind the conversation {tokens} tokens, {cached} in the cache, ${behind_cost:.4}");
        match (self.is_behind(), self.has_room) {
            (true, _) => write!(f, "asked {behind}; {alone}"),
            (false, true) => write!(f, "asked {alone}; {behind}"),
            (false, false) => write!(f, "asked {alone}; no room behind the conversation"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        Prices { input: 1.0, cached: 0.1, write: 1.25, output: 5.0, ..Prices::default() }
    }

    fn conversation(cached_tokens: u64) -> CachedConversation {
        let conversation = Conversation::default();
        CachedConversation { conversation, thinking: None, tokens: 10_000, cached_tokens }
    }

    #[test]
    fn what_the_cache_has_is_read_and_the_rest_is_written_or_plain_input() {
        let written = conversation(9_000).usage(400, 2_000, &prices());
        assert_eq!((written.cache_read_tokens, written.cache_write_tokens), (Some(9_000), Some(1_400)));
        let plain = conversation(20_000).usage(400, 2_000, &Prices { write: 1.0, ..prices() });
        assert_eq!(
            (plain.cache_read_tokens, plain.cache_write_tokens, plain.input_tokens),
            (Some(10_000), None, 400)
        );
    }

    #[test]
    fn the_window_must_hold_what_is_thought_too() {
        let card = ModelCard::with_window(12_400);
        assert!(conversation(0).leaves_room(400, 2_000, &card));
        assert!(!conversation(0).leaves_room(401, 2_000, &card));
        let reasoning = ModelCard { reasoning: true, ..card.clone() };
        assert!(!conversation(0).leaves_room(400, 2_000, &reasoning), "a level that nobody says");
        let low = CachedConversation { thinking: Some(ThinkingLevel::Low), ..conversation(0) };
        assert!(!low.leaves_room(400, 2_000, &card));
        assert!(low.leaves_room(400, 2_000, &ModelCard::with_window(14_448)));
    }

    #[test]
    fn the_cheaper_way_is_taken_and_told() {
        let alone = Usage { input_tokens: 9_000, output_tokens: 2_000, ..Usage::EMPTY };
        let costs = |cached, has_room| {
            AskCosts::of(conversation(cached).usage(400, 2_000, &prices()), has_room, alone, &prices())
        };
        assert_eq!(
            costs(9_000, true).to_string(),
            "asked behind the conversation 10400 tokens, 9000 in the cache, $0.0126; by itself 9000 tokens, $0.0190"
        );
        assert_eq!(
            costs(0, true).to_string(),
            "asked by itself 9000 tokens, $0.0190; behind the conversation 10400 tokens, 0 in the cache, $0.0230"
        );
        assert_eq!(
            costs(9_000, false).to_string(),
            "asked by itself 9000 tokens, $0.0190; no room behind the conversation"
        );
    }
}
