//! A digest requested at the end of a conversation in the provider's cache, and its cost compared
//! with a separate request.

use std::fmt;

use wb_budget::{ModelCard, Prices, Usage};
use wb_message::Conversation;

use wb_invoke::invoker::ThinkingLevel;

/// A conversation that a request for a digest can follow: reading the provider's cache is cheaper
/// than writing a separate prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedConversation {
    /// System text, tools and turns as they were sent, to the end of the part that the digest
    /// replaces.
    pub conversation: Conversation,
    /// The thinking level in it; to a cache another level is another prompt.
    pub thinking: Option<ThinkingLevel>,
    /// The size of the conversation, in tokens.
    pub tokens: u64,
    /// The part that is in the cache, in tokens.
    pub cached_tokens: u64,
}

impl CachedConversation {
    /// Returns the usage billed for a request of `request_tokens` after it and a reply of
    /// `reply_tokens`. The uncached part counts as written to the cache if that is dearer.
    pub(crate) fn usage(&self, request_tokens: u64, reply_tokens: u64, prices: &Prices) -> Usage {
        let cached = self.cached_tokens.min(self.tokens);
        let rest = (self.tokens - cached).saturating_add(request_tokens);
        let is_written = prices.write > prices.input;
        Usage {
            input_tokens: if is_written { 0 } else { rest },
            output_tokens: reply_tokens,
            cache_read_tokens: Some(cached),
            cache_write_tokens: is_written.then_some(rest),
        }
    }

    /// Returns whether the window has room for it, the request, the reply and the thinking before
    /// that.
    pub(crate) fn leaves_room(&self, request_tokens: u64, reply_tokens: u64, card: &ModelCard) -> bool {
        let unsaid = if card.reasoning { ThinkingLevel::Medium } else { ThinkingLevel::Off };
        let thought = self.thinking.unwrap_or(unsaid).reserve_tokens();
        let parts = [self.tokens, request_tokens, reply_tokens, thought];
        parts.into_iter().fold(0, u64::saturating_add) <= card.context_window
    }
}

/// The estimated costs of both ways to ask for a digest. [`fmt::Display`] shows them in one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskCosts {
    /// The usage of a request after the conversation.
    pub cached: Usage,
    /// The same in US dollars.
    pub cached_cost: f64,
    /// Is true if the window has room for that.
    pub has_room: bool,
    /// The usage of separate requests.
    pub separate: Usage,
    /// The same in US dollars.
    pub separate_cost: f64,
}

impl AskCosts {
    pub(crate) fn new(cached: Usage, has_room: bool, separate: Usage, prices: &Prices) -> Self {
        let (cached_cost, separate_cost) = (prices.cost(&cached), prices.cost(&separate));
        Self { cached, cached_cost, has_room, separate, separate_cost }
    }

    /// Returns whether to ask after the conversation: that is possible, and cheaper.
    pub fn is_cached(&self) -> bool {
        self.has_room && self.cached_cost < self.separate_cost
    }
}

impl fmt::Display for AskCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cached, cached_cost, separate, separate_cost, .. } = self;
        let (n_cached, tokens) = (cached.cache_read_tokens.unwrap_or(0), cached.prompt_tokens());
        let alone = format_args!("by itself {} tokens, ${separate_cost:.4}", separate.prompt_tokens());
        let behind = format_args!(
            "behind the conversation {tokens} tokens, {n_cached} in the cache, ${cached_cost:.4}"
        );
        match (self.is_cached(), self.has_room) {
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
    fn the_cheaper_way_is_taken_and_reported() {
        let alone = Usage { input_tokens: 9_000, output_tokens: 2_000, ..Usage::EMPTY };
        let costs = |cached, has_room| {
            AskCosts::new(conversation(cached).usage(400, 2_000, &prices()), has_room, alone, &prices())
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
