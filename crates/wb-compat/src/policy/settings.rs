//! The policy, and its narrowing to a model.

use serde::{Deserialize, Serialize};

/// The part that stays raw when a compaction fires; the two modes differ only in a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextCompactionMode {
    /// The newest [`ContextWindowPolicy::compaction_raw_suffix_messages`] messages.
    #[default]
    KeepRecentRawSuffix,
    /// The newest [`ContextWindowPolicy::min_recent_messages`] messages.
    CompactToSafeFrontier,
}

/// The policy that keeps an agent's history inside the window.
///
/// Fault: in JSON the first four keys are required although each has a default, unknown keys are
/// ignored, and nothing is validated. `wb_budget::ContextWindowPolicy` fills in missing keys,
/// refuses unknown ones and validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindowPolicy {
    /// The model's whole window in tokens.
    pub max_context_tokens: usize,
    /// Tokens reserved for the answer.
    pub max_output_tokens: usize,
    /// The fewest recent messages to keep, even over budget; system messages count.
    pub min_recent_messages: usize,
    /// True if prompts are cached; nothing reads it, here or in the published loop.
    pub enable_prompt_cache: bool,
    /// The least tokens at which a compaction fires; `None` disables it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocompact_threshold: Option<usize>,
    /// The part that stays raw when a compaction fires.
    #[serde(default)]
    pub compaction_mode: ContextCompactionMode,
    /// The number of messages that [`ContextCompactionMode::KeepRecentRawSuffix`] keeps raw.
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
    /// Returns the tokens available to messages: the window less the answer and the schemas of
    /// tools, at least 0.
    pub fn available_tokens(&self, tool_schema_tokens: usize) -> usize {
        self.max_context_tokens.saturating_sub(self.max_output_tokens).saturating_sub(tool_schema_tokens)
    }

    /// Returns the number of the newest messages that the mode keeps raw.
    pub(super) fn raw_messages(&self) -> usize {
        match self.compaction_mode {
            ContextCompactionMode::KeepRecentRawSuffix => self.compaction_raw_suffix_messages,
            ContextCompactionMode::CompactToSafeFrontier => self.min_recent_messages,
        }
    }
}

/// Narrows a policy to a model's window and its longest answer, in tokens; an unknown limit narrows
/// nothing.
///
/// The threshold becomes no larger than the window less the answer; if that is nothing, there is no
/// threshold.
///
/// Fault: the schemas of tools are not subtracted from the threshold. Use the budget of
/// `wb-budget`.
pub fn effective_policy(
    policy: &ContextWindowPolicy,
    context_window: Option<usize>,
    max_output_tokens: Option<usize>,
) -> ContextWindowPolicy {
    let narrow = |tokens: usize, model: Option<usize>| model.map_or(tokens, |model| tokens.min(model));
    let window = narrow(policy.max_context_tokens, context_window);
    let output = narrow(policy.max_output_tokens, max_output_tokens).min(window);
    let usable = window - output;
    let threshold = policy.autocompact_threshold.filter(|_| usable > 0);
    ContextWindowPolicy {
        max_context_tokens: window,
        max_output_tokens: output,
        autocompact_threshold: threshold.map(|threshold| threshold.min(usable)),
        ..*policy
    }
}
