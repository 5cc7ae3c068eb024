//! The policy of a runtime that truncates, previews and compacts.

use serde::{Deserialize, Serialize};

use crate::card::ModelCard;
use crate::policy::PolicyError;

/// The part of the history that stays raw when a compaction fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextCompactionMode {
    /// The newest [`ContextWindowPolicy::compaction_raw_suffix_messages`] messages.
    #[default]
    KeepRecentRawSuffix,
    /// All messages after the latest point without an open call, but at least
    /// [`ContextWindowPolicy::min_recent_messages`]; a call whose result never came is not open.
    CompactToSafeFrontier,
}

/// The policy that keeps an agent's history inside the window; missing keys get the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ContextWindowPolicy {
    /// The model's whole window in tokens.
    pub max_context_tokens: usize,
    /// Tokens reserved for the answer.
    pub max_output_tokens: usize,
    /// The fewest recent messages to keep, even over budget.
    pub min_recent_messages: usize,
    /// Whether the stable prefix is reported, so that a host can place its cache breakpoints.
    pub enable_prompt_cache: bool,
    /// Tokens above which a compaction fires; without a threshold none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autocompact_threshold: Option<usize>,
    /// The part that stays raw when a compaction fires.
    pub compaction_mode: ContextCompactionMode,
    /// The number of messages that [`ContextCompactionMode::KeepRecentRawSuffix`] keeps raw.
    pub compaction_raw_suffix_messages: usize,
}

/// The defaults.
pub const CONTEXT_WINDOW_POLICY: ContextWindowPolicy = ContextWindowPolicy {
    max_context_tokens: 200_000,
    max_output_tokens: 16_384,
    min_recent_messages: 10,
    enable_prompt_cache: true,
    autocompact_threshold: None,
    compaction_mode: ContextCompactionMode::KeepRecentRawSuffix,
    compaction_raw_suffix_messages: 2,
};

impl Default for ContextWindowPolicy {
    fn default() -> Self {
        CONTEXT_WINDOW_POLICY
    }
}

impl ContextWindowPolicy {
    /// Returns the policy if it leaves room for a transcript.
    pub fn validated(self) -> Result<Self, PolicyError> {
        let (window, output) = (self.max_context_tokens, self.max_output_tokens);
        match window {
            0 => Err(PolicyError::NoWindow),
            _ if output >= window => Err(PolicyError::NoInput { window, output }),
            _ => Ok(self),
        }
    }

    /// Returns the tokens available to a transcript: the window less the answer and the tool schemas, at least 0.
    pub fn available_tokens(&self, tool_schema_tokens: usize) -> usize {
        self.max_context_tokens.saturating_sub(self.max_output_tokens).saturating_sub(tool_schema_tokens)
    }

    /// Narrows the policy to a model's limits; figures that the card does not know (0) narrow nothing.
    ///
    /// The window and the answer become no larger than the model's, the answer no larger than the window, and the
    /// threshold no larger than what the answer leaves; if that is nothing, there is no threshold.
    #[must_use]
    pub fn clamp_to(mut self, card: &ModelCard) -> Self {
        let known = |tokens: u64| usize::try_from(tokens).ok().filter(|tokens| *tokens > 0);
        let window = known(card.context_window).unwrap_or(usize::MAX);
        let output = known(card.max_output_tokens).unwrap_or(usize::MAX);
        self.max_context_tokens = self.max_context_tokens.min(window);
        self.max_output_tokens = self.max_output_tokens.min(output).min(self.max_context_tokens);
        let usable = self.max_context_tokens - self.max_output_tokens;
        self.autocompact_threshold =
            self.autocompact_threshold.map(|threshold| threshold.min(usable)).filter(|_| usable > 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_keys_get_the_defaults() {
        let policy: ContextWindowPolicy = serde_json::from_str("{}").expect("all keys have defaults");
        assert_eq!(policy, CONTEXT_WINDOW_POLICY);
        let json = serde_json::to_value(policy).expect("JSON");
        let quoted = serde_json::json!({
            "max_context_tokens": 200_000,
            "max_output_tokens": 16_384,
            "min_recent_messages": 10,
            "enable_prompt_cache": true,
            "compaction_mode": "keep_recent_raw_suffix",
            "compaction_raw_suffix_messages": 2,
        });
        assert_eq!(json, quoted);
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let error = serde_json::from_str::<ContextWindowPolicy>(r#"{"max_context": 1}"#).expect_err("a typo");
        assert!(error.to_string().contains("unknown field `max_context`"), "{error}");
    }

    #[test]
    fn available_tokens_never_underflow() {
        let policy =
            ContextWindowPolicy { max_context_tokens: 100, max_output_tokens: 60, ..CONTEXT_WINDOW_POLICY };
        assert_eq!(policy.available_tokens(30), 10);
        assert_eq!(policy.available_tokens(41), 0);
        assert_eq!(policy.available_tokens(usize::MAX), 0);
    }

    #[test]
    fn a_policy_without_room_for_a_transcript_is_refused() {
        let with = |max_context_tokens, max_output_tokens| {
            let policy =
                ContextWindowPolicy { max_context_tokens, max_output_tokens, ..CONTEXT_WINDOW_POLICY };
            policy.validated()
        };
        assert_eq!(with(0, 0), Err(PolicyError::NoWindow));
        assert_eq!(with(10, 10), Err(PolicyError::NoInput { window: 10, output: 10 }));
        assert!(with(10, 9).is_ok());
    }
}
