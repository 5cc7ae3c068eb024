//! The gate: whether a transcript is over budget, and what each part of a condensed one may weigh.

use wb_message::Message;

use crate::card::ModelCard;
use crate::policy::BudgetPolicy;
use crate::weigh::estimate_tokens;

/// How full a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEstimate {
    /// Tokens that the context holds.
    pub context_tokens: u64,
    /// Tokens that the model's window holds.
    pub context_window: u64,
    /// Whether the figure rests on usage that the provider reported.
    pub anchored: bool,
}

/// Returns the tokens above which a transcript is over budget: `max(0, window − reserve) × trigger_ratio`.
pub fn budget_limit(card: &ModelCard, policy: &BudgetPolicy) -> f64 {
    let reserve = policy.reserve_tokens.unwrap_or(0);
    card.context_window.saturating_sub(reserve) as f64 * policy.trigger_ratio
}

/// Tells whether the estimate of a transcript strictly exceeds [`budget_limit`].
pub fn is_over_budget(messages: &[Message], card: &ModelCard, policy: &BudgetPolicy) -> bool {
    is_over(estimate_tokens(messages), card, policy)
}

/// Tells whether a known total, in tokens, strictly exceeds [`budget_limit`].
pub fn is_over(context_tokens: u64, card: &ModelCard, policy: &BudgetPolicy) -> bool {
    context_tokens as f64 > budget_limit(card, policy)
}

/// What the parts of a condensed transcript may weigh, in tokens.
///
/// Of the room that fixed parts (system prompt, tool schemas, pinned messages) leave in seven eighths of the
/// limit, the tail takes at most four sevenths, restored files two, the digest one: with nothing fixed these
/// are a half, a quarter and an eighth of the limit. What lands there is a real distance below the next trigger.
/// Where the fixed parts leave no room at all, nothing can fit; an eighth of the limit is divided then, so that
/// what remains is still of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The limit of the gate, rounded down.
    pub limit_tokens: u64,
    /// Where a condensed transcript must land, fixed parts included: seven eighths of the limit.
    pub target_tokens: u64,
    /// The verbatim tail: at most `keep_recent`.
    pub tail_tokens: u64,
    /// Restored files: at most [`RESTORED_TOKENS`].
    pub restored_tokens: u64,
    /// The digest: at most [`DIGEST_TOKENS`].
    pub digest_tokens: u64,
}

/// The most that restored files may weigh (seed 0: the rehydrate budget).
pub const RESTORED_TOKENS: u64 = 8000;
/// The most that a digest may weigh.
pub const DIGEST_TOKENS: u64 = 2000;

impl Shares {
    /// Divides the budget of a window; `fixed_tokens` is what no compaction can remove.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
    pub fn of(card: &ModelCard, policy: &BudgetPolicy, fixed_tokens: u64) -> Self {
        let limit_tokens = budget_limit(card, policy) as u64;
        let target_tokens = limit_tokens - limit_tokens.div_ceil(8);
        let room = match target_tokens.saturating_sub(fixed_tokens) {
            0 => limit_tokens / 8,
            room => room,
        };
        Self {
            limit_tokens,
            target_tokens,
            tail_tokens: policy.keep_recent.min(sevenths(room, 4)),
            restored_tokens: RESTORED_TOKENS.min(sevenths(room, 2)),
            digest_tokens: DIGEST_TOKENS.min(room / 7),
        }
    }

    /// Divides nothing: the caps alone, for a transcript whose window is unknown.
    pub fn unbounded(policy: &BudgetPolicy) -> Self {
        Self {
            limit_tokens: u64::MAX,
            target_tokens: u64::MAX,
            tail_tokens: policy.keep_recent,
            restored_tokens: RESTORED_TOKENS,
            digest_tokens: DIGEST_TOKENS,
        }
    }
}

/// Returns `room × n / 7` without overflow.
fn sevenths(room: u64, n: u64) -> u64 {
    room / 7 * n + room % 7 * n / 7
}

/// A transcript cannot be brought to its target; the figures are in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("irreducible: {reached_tokens} tokens remain where {target_tokens} are allowed")]
pub struct Irreducible {
    /// Where it should have landed.
    pub target_tokens: u64,
    /// What it weighs at the least, fixed parts included.
    pub reached_tokens: u64,
}

impl Irreducible {
    /// Returns what is reached where it is above the target.
    pub fn above(target_tokens: u64, reached_tokens: u64) -> Option<Self> {
        (reached_tokens > target_tokens).then_some(Self { target_tokens, reached_tokens })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AUTO_CONDENSE_POLICY;

    #[test]
    fn shares_are_a_half_a_quarter_and_an_eighth_of_the_limit_and_sum_to_the_target() {
        let policy = BudgetPolicy { trigger_ratio: 1.0, keep_recent: u64::MAX, reserve_tokens: None };
        for window in 0..20_000 {
            let shares = Shares::of(&ModelCard::with_window(window), &policy, 0);
            assert!(shares.tail_tokens <= window / 2, "{window}");
            assert!(shares.restored_tokens <= window / 4);
            assert!(shares.digest_tokens <= window / 8);
            let sum = shares.tail_tokens + shares.restored_tokens + shares.digest_tokens;
            assert!(sum <= shares.target_tokens && shares.target_tokens <= window * 7 / 8);
        }
    }

    #[test]
    fn a_large_window_is_held_to_the_caps() {
        let shares = Shares::of(&ModelCard::with_window(200_000), &AUTO_CONDENSE_POLICY, 0);
        let parts = (shares.tail_tokens, shares.restored_tokens, shares.digest_tokens);
        assert_eq!(parts, (6000, RESTORED_TOKENS, DIGEST_TOKENS));
    }

    #[test]
    fn fixed_parts_shrink_the_room_and_never_underflow() {
        let card = ModelCard::with_window(10_000);
        let policy = BudgetPolicy { reserve_tokens: None, ..AUTO_CONDENSE_POLICY };
        let shares = Shares::of(&card, &policy, 3_000);
        assert!(
            3_000 + shares.tail_tokens + shares.restored_tokens + shares.digest_tokens
                <= shares.target_tokens
        );
        let hopeless = Shares::of(&card, &policy, u64::MAX);
        assert_eq!((hopeless.tail_tokens, hopeless.digest_tokens), (7_500 / 8 * 4 / 7, 7_500 / 8 / 7));
    }
}
