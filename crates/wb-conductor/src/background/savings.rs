//! Whether a summary is worth it: estimated before it is paid for, verified after.

use wb_budget::TokenCounter;
use wb_message::Message;
use wb_message::markers::{conversation_summary, summary_text};
use wb_summarize::{CompactionConfig, MIN_COMPACTION_GAIN_TOKENS, savings_ratio_ppm};

use crate::compaction_state::SkipReason;

const MILLION: u128 = 1_000_000;

/// Tells why replacing that many tokens by that many is not worth it.
pub(crate) fn refused(pre_tokens: u64, post_tokens: u64, min_ratio_ppm: u64) -> Option<SkipReason> {
    if savings_ratio_ppm(pre_tokens, post_tokens) < min_ratio_ppm {
        return Some(SkipReason::MinSavingsRatio);
    }
    let gain_tokens = pre_tokens.saturating_sub(post_tokens);
    (gain_tokens < MIN_COMPACTION_GAIN_TOKENS).then_some(SkipReason::MinGainTokens)
}

/// Returns the most that the next summary is expected to weigh, in tokens.
///
/// That is the configured most and its frame; but a summary that is carried is not expected to become any shorter.
pub(crate) fn expected_tokens(
    messages: &[&Message],
    counter: &dyn TokenCounter,
    config: &CompactionConfig,
) -> u64 {
    let frame_tokens = counter.message(&conversation_summary(""));
    let carried = messages.iter().filter(|message| summary_text(message).is_some());
    let carried_tokens = carried.fold(0, |sum: u64, summary| sum.saturating_add(counter.message(summary)));
    frame_tokens.saturating_add(config.max_summary_tokens()).max(carried_tokens)
}

/// Returns the fewest tokens that must go for a summary of `post_tokens` to be worth it.
pub(crate) fn needed_tokens(post_tokens: u64, min_ratio_ppm: u64) -> u64 {
    let for_gain = post_tokens.saturating_add(MIN_COMPACTION_GAIN_TOKENS);
    let kept_ppm = MILLION.saturating_sub(min_ratio_ppm.into());
    let for_ratio = (u128::from(post_tokens) * MILLION + kept_ppm.saturating_sub(1)).checked_div(kept_ppm);
    let for_ratio = for_ratio.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(u64::MAX);
    for_gain.max(for_ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_just_enough() {
        for (post_tokens, ppm) in
            [(0, 0), (1_039, 300_000), (1_039, 900_000), (5_000, 990_000), (50_000, 500_000)]
        {
            let needed = needed_tokens(post_tokens, ppm);
            assert_eq!(refused(needed, post_tokens, ppm), None, "{post_tokens} {ppm}");
            let for_gain = needed == post_tokens + MIN_COMPACTION_GAIN_TOKENS;
            let less = if for_gain { needed - 1 } else { needed - needed / 1_000 - 1 };
            assert!(refused(less, post_tokens, ppm).is_some(), "{post_tokens} {ppm} {less}");
        }
        assert_eq!(needed_tokens(5, 1_000_000), u64::MAX, "no summary saves all");
    }
}
