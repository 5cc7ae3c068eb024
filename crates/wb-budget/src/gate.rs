//! The gate: decides whether a transcript is over budget.

use wb_message::Message;

use crate::card::ModelCard;
use crate::count::estimate_tokens;
use crate::policy::BudgetPolicy;

/// The size of a context and its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEstimate {
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Tokens of the model's window.
    pub context_window: u64,
    /// True if the figure is based on usage reported by the provider.
    pub anchored: bool,
}

/// Returns the tokens above which a transcript is over budget:
/// `max(0, window − reserve) × trigger_ratio`.
pub fn budget_limit(card: &ModelCard, policy: &BudgetPolicy) -> f64 {
    let reserve = policy.reserve_tokens.unwrap_or(0);
    card.context_window.saturating_sub(reserve) as f64 * policy.trigger_ratio
}

/// Returns whether the estimate of a transcript strictly exceeds [`budget_limit`].
pub fn is_over_budget(messages: &[Message], card: &ModelCard, policy: &BudgetPolicy) -> bool {
    estimate_tokens(messages) as f64 > budget_limit(card, policy)
}

/// The most tokens of restored files.
pub(crate) const RESTORED_TOKENS: u64 = 8000;
/// The most tokens of restored files and lines if the model can look up what is folded.
pub(crate) const RESTORED_WITH_RECALL: u64 = 2000;
/// The most tokens of a digest in a window of common size.
pub const DIGEST_TOKENS: u64 = 2000;
/// The most tokens of a digest in a large window.
pub(crate) const MOST_DIGEST_TOKENS: u64 = 8000;

/// A transcript cannot be reduced to its target; the figures are in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("irreducible: {reached_tokens} tokens remain where {target_tokens} are allowed")]
pub struct Irreducible {
    /// The target.
    pub target_tokens: u64,
    /// The least possible weight, fixed parts included.
    pub reached_tokens: u64,
}

impl Irreducible {
    /// Builds the report if the reached weight is above the target.
    pub fn from_weights(target_tokens: u64, reached_tokens: u64) -> Option<Self> {
        (reached_tokens > target_tokens).then_some(Self { target_tokens, reached_tokens })
    }
}
