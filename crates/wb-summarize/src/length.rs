//! The requested length of a digest, in words, and the most tokens of a reply.

use wb_budget::ModelCard;

use crate::chunking::ASSUMED_WINDOW_TOKENS;

/// Tokens of room for each requested word. Paths, commands and error texts take about two; prose
/// takes less.
const TOKENS_PER_WORD: u64 = 2;

/// Returns the number of words to request for a room in tokens, rounded down to tens.
pub(crate) fn words_within(room_tokens: u64) -> u64 {
    (room_tokens / TOKENS_PER_WORD / 10 * 10).max(10)
}

/// Returns the most tokens of a reply for a room in tokens: half as many more, so that a model
/// within the words is never cut off, but no more than [`most_output_tokens`].
pub(crate) fn reply_tokens(room_tokens: u64, card: Option<&ModelCard>) -> u64 {
    room_tokens.saturating_add(room_tokens / 2).min(most_output_tokens(card)).max(1)
}

/// Returns the most tokens of any reply: the card's limit, and at most half of the window, so that
/// the prompt has the other half.
pub fn most_output_tokens(card: Option<&ModelCard>) -> u64 {
    let known = |tokens: fn(&ModelCard) -> u64| card.map(tokens).filter(|tokens| *tokens > 0);
    let window = known(|card| card.context_window).unwrap_or(ASSUMED_WINDOW_TOKENS);
    known(|card| card.max_output_tokens).unwrap_or(u64::MAX).min(window / 2)
}

/// Bytes of a reply per token: no text has as much, so a longer one has exceeded its limit.
const MAX_BYTES_PER_TOKEN: u64 = 8;

/// Returns the most bytes of a reply that keeps to its limit.
pub(crate) fn max_reply_bytes(max_output_tokens: u64) -> usize {
    usize::try_from(max_output_tokens.saturating_mul(MAX_BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_of_the_words_that_are_asked_for_is_not_cut_off() {
        for room_tokens in [120, 500, 2_000, 13_107] {
            let n_words = words_within(room_tokens);
            let cap = reply_tokens(room_tokens, None);
            assert!(n_words * 3 <= cap, "{n_words} words, {cap} tokens");
            assert!(n_words * 2 <= room_tokens && n_words.is_multiple_of(10));
        }
        assert_eq!((words_within(0), words_within(u64::MAX) > 0), (10, true));
    }

    #[test]
    fn a_small_model_writes_no_more_than_it_can() {
        let card = ModelCard { max_output_tokens: 800, ..ModelCard::with_window(100_000) };
        assert_eq!(reply_tokens(2_000, Some(&card)), 800);
        assert_eq!(reply_tokens(2_000, Some(&ModelCard::with_window(3_000))), 1_500);
        assert_eq!(reply_tokens(2_000, Some(&ModelCard::default())), 3_000);
        assert_eq!((reply_tokens(0, None), reply_tokens(u64::MAX, None)), (1, ASSUMED_WINDOW_TOKENS / 2));
    }
}
