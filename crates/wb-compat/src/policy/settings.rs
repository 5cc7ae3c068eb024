//! The policy and what a model narrows of it.

use serde::{Deserialize, Serialize};

/// What stays raw when a compaction fires; the two differ in one number alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextCompactionMode {
    /// The newest [`ContextWindowPolicy::compaction_raw_suffix_messages`] messages.
    #[default]
    KeepRecentRawSuffix,
    /// The newest [`ContextWindowPolicy::min_recent_messages`] messages.
    CompactToSafeFrontier,
}

/// How an agent's history is kept inside the window.
///
/// Fault: in JSON the first four keys are required although each has a default, unknown keys are ignored, and nothing
/// is validated. `wb_budget::ContextWindowPolicy` fills in what is left out and refuses what makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindowPolicy {
    /// The model's whole window in tokens.
    pub max_context_tokens: usize,
    /// Tokens that are reserved for the answer.
    pub max_output_tokens: usize,
    /// The fewest recent messages that stay, even over budget; system messages take up places.
    pub min_recent_messages: usize,
    /// Whether prompts are cached; nothing reads it here, nor in the published loop.
    pub enable_prompt_cache: bool,
    /// Tokens from which on a compaction fires; none never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocompact_threshold: Option<usize>,
    /// What stays raw when a compaction fires.
    #[serde(default)]
    pub compaction_mode: ContextCompactionMode,
    /// How many messages [`ContextCompactionMode::KeepRecentRawSuffix`] keeps raw.
    #[serde(default = "raw_suffix")]
    pub compaction_raw_suffix_messages: usize,
}

fn raw_suffix() -> usize {
    2
}

impl Default for ContextWindowPolicy {
    fn default() -> Self {
        Self {
            max_context_tokens: 200_000,
            max_output_tokens: 16_384,
            min_recent_messages: 10,
            enable_prompt_cache: true,
            autocompact_threshold: None,
            compaction_mode: ContextCompactionMode::KeepRecentRawSuffix,
            compaction_raw_suffix_messages: raw_suffix(),
        }
    }
}

impl ContextWindowPolicy {
    /// Returns the tokens that messages may have: the window less the answer and the schemas of tools, at least 0.
    pub fn available_tokens(&self, tool_schema_tokens: usize) -> usize {
        self.max_context_tokens.saturating_sub(self.max_output_tokens).saturating_sub(tool_schema_tokens)
    }

    /// Returns how many of the newest messages the mode keeps raw.
    pub(super) fn raw_messages(&self) -> usize {
        match self.compaction_mode {
            ContextCompactionMode::KeepRecentRawSuffix => self.compaction_raw_suffix_messages,
            ContextCompactionMode::CompactToSafeFrontier => self.min_recent_messages,
        }
    }
}

/// Narrows a policy to a model's window and its longest answer, in tokens; what is not known narrows nothing.
///
/// The threshold becomes no larger than what the answer leaves of the window; if that is nothing, there is none.
///
/// Fault: the schemas of tools are left out of what the answer leaves. Use the budget of `wb-budget`.
pub fn effective_policy(
    policy: &ContextWindowPolicy,
    context_window: Option<usize>,
    max_output_tokens: Option<usize>,
) -> ContextWindowPolicy {
    let narrowed = |own: usize, model: Option<usize>| model.map_or(own, |model| own.min(model));
    let window = narrowed(policy.max_context_tokens, context_window);
    let output = narrowed(policy.max_output_tokens, max_output_tokens).min(window);
    let usable = window - output;
    let threshold = policy.autocompact_threshold.filter(|_| usable > 0);
    ContextWindowPolicy {
        max_context_tokens: window,
        max_output_tokens: output,
        autocompact_threshold: threshold.map(|threshold| threshold.min(usable)),
        ..*policy
    }
}
