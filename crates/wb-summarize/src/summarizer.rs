//! The seam to a summarizer that keeps one cumulative summary, and its configuration (seed 4).

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use wb_budget::Usage;

/// Whether compaction runs beside the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionExecutionMode {
    /// Summaries are made in the background; turns go on meanwhile.
    #[default]
    Background,
    /// No compaction by itself, even where a threshold is set.
    Off,
}

/// What becomes of the messages that a summary stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionRawRetention {
    /// They leave the window and stay in the durable history.
    #[default]
    PreserveDurable,
}

/// How older history becomes a summary: the section `compaction` of an agent's settings.
///
/// Keys that are left out get the defaults, unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompactionConfig {
    /// Whether and how it runs; the key is `mode`.
    #[serde(rename = "mode")]
    pub execution_mode: CompactionExecutionMode,
    /// The system text of the request.
    pub summarizer_system_prompt: String,
    /// The user text of the request; `{messages}` and `{previous_summary}` are filled in.
    pub summarizer_user_prompt: String,
    /// The most tokens of a summary; none is [`DEFAULT_SUMMARY_TOKENS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_max_tokens: Option<u32>,
    /// The model that is asked; none is the invoker's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// The part of what is summarized, in [0, 1], that must be saved at least.
    pub min_savings_ratio: f64,
    /// What becomes of the messages that a summary stands for.
    pub raw_retention: CompactionRawRetention,
}

/// The most tokens of a summary where none are configured (seed 4).
pub const DEFAULT_SUMMARY_TOKENS: u32 = 1024;
/// The fewest tokens that a compaction must save to be worth a request (seed 4).
pub const MIN_COMPACTION_GAIN_TOKENS: u64 = 1024;
/// The part of what is summarized that must be saved where none is configured (seed 4).
pub const DEFAULT_MIN_SAVINGS_RATIO: f64 = 0.3;

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            execution_mode: CompactionExecutionMode::default(),
            summarizer_system_prompt: include_str!("templates/summarizer_system.md")
                .trim_ascii_end()
                .to_owned(),
            summarizer_user_prompt: include_str!("templates/summarizer_user.md").trim_ascii_end().to_owned(),
            summary_max_tokens: None,
            summary_model: None,
            min_savings_ratio: DEFAULT_MIN_SAVINGS_RATIO,
            raw_retention: CompactionRawRetention::default(),
        }
    }
}

/// What a summarizer is given; it holds no transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The rendered messages, cut to the summarizer's window: to be summarized one after the other.
    pub parts: Vec<String>,
    /// The summary so far, where there is one.
    pub previous_summary: Option<String>,
}

/// A cumulative summary, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSummary {
    /// The summary; not blank.
    pub text: String,
    /// What the requests for it cost.
    pub usage: Usage,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummarizerError {
    /// The request failed, was refused or was cancelled.
    #[error("the summarizer failed: {0}")]
    Inference(String),
    /// The summary was blank.
    #[error("the summary was blank")]
    EmptySummary,
    /// The summary was cut off at its limit.
    #[error("the summary was cut off at its limit")]
    Truncated,
}

/// Makes the summary that stands for older messages. Retrying is asking again.
pub trait ContextSummarizer: Send + Sync {
    /// Summarizes what is given on top of the summary so far.
    fn summarize(
        &self,
        request: SummaryRequest,
    ) -> BoxFuture<'static, Result<ContextSummary, SummarizerError>>;
}

const _: fn(&dyn ContextSummarizer) = |_| ();
