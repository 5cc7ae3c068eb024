//! The sections of an agent's settings.

use serde::{Deserialize, Serialize};

/// The most tokens of a summary if none are configured.
pub const DEFAULT_SUMMARY_TOKENS: u32 = 1024;

/// Whether compaction runs beside the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionExecutionMode {
    /// Summaries are made in the background.
    #[default]
    Background,
    /// No compaction by itself, even if a threshold is set.
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

/// How older history becomes a summary: the section `compaction`.
///
/// Fault: in JSON both prompts and the ratio are required, so that `{"mode": "off"}` alone is refused; unknown keys,
/// `execution_mode` among them, are ignored, and nothing is validated. `wb_summarize::CompactionConfig` fills in what
/// is left out and refuses the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionConfig {
    /// Whether and how it runs; the key is `mode`.
    #[serde(rename = "mode", default)]
    pub execution_mode: CompactionExecutionMode,
    /// The system text of the request.
    pub summarizer_system_prompt: String,
    /// The user text of the request; `{messages}` and `{previous_summary}` are filled in.
    pub summarizer_user_prompt: String,
    /// The most tokens of a summary; none is [`DEFAULT_SUMMARY_TOKENS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_max_tokens: Option<u32>,
    /// The model that is asked; none is the model of the empty name, which no provider has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// The part of what is summarized that must be saved at least; it is read within 0 and 1.
    pub min_savings_ratio: f64,
    /// What becomes of the messages that a summary stands for; it has one value, and nothing reads it.
    #[serde(default)]
    pub raw_retention: CompactionRawRetention,
}

impl Default for CompactionConfig {
    /// The document's values, with the prompts of its example.
    fn default() -> Self {
        Self {
            execution_mode: CompactionExecutionMode::Background,
            summarizer_system_prompt:
                "You are a conversation summarizer. Preserve all key facts, decisions, tool \
                                       results, and action items. Be concise but complete."
                    .to_owned(),
            summarizer_user_prompt: "Update the cumulative conversation summary.\n\n\
                                     <existing-summary>\n{previous_summary}\n</existing-summary>\n\n\
                                     <new-conversation>\n{messages}\n</new-conversation>"
                .to_owned(),
            summary_max_tokens: None,
            summary_model: None,
            min_savings_ratio: 0.3,
            raw_retention: CompactionRawRetention::PreserveDurable,
        }
    }
}

impl CompactionConfig {
    /// Returns the saving, in millionths, from which on a summary is accepted; a ratio that is no number asks for none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped before")]
    pub fn min_savings_ratio_ppm(&self) -> u64 {
        (self.min_savings_ratio.clamp(0.0, 1.0) * 1e6).round() as u64
    }

    /// Returns the user text of a request: `{previous_summary}` is filled in first, then `{messages}`.
    ///
    /// Fault: a previous summary that contains `{messages}` gets the transcript spliced in, and nothing is escaped.
    /// Use `wb_summarize::Summarizer`.
    pub fn user_prompt(&self, transcript: &str, previous_summary: Option<&str>) -> String {
        let previous = previous_summary.unwrap_or_default().trim();
        self.summarizer_user_prompt.replace("{previous_summary}", previous).replace("{messages}", transcript)
    }
}

/// A limit of previews is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("artifact_compaction.{key} must be >= 1")]
pub struct ZeroLimit {
    /// The key.
    pub key: &'static str,
}

/// From where on a tool output is shown by its head alone, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArtifactCompactionConfig {
    /// Tokens of a text from which on it is previewed.
    pub threshold_tokens: usize,
    /// The most characters of a preview.
    pub preview_max_chars: usize,
    /// The most lines of a preview.
    pub preview_max_lines: usize,
}

impl Default for ArtifactCompactionConfig {
    fn default() -> Self {
        Self { threshold_tokens: 2048, preview_max_chars: 1600, preview_max_lines: 24 }
    }
}

impl ArtifactCompactionConfig {
    /// Returns the limits if each is at least 1.
    pub fn validated(self) -> Result<Self, ZeroLimit> {
        let limits = [
            ("threshold_tokens", self.threshold_tokens),
            ("preview_max_chars", self.preview_max_chars),
            ("preview_max_lines", self.preview_max_lines),
        ];
        match limits.into_iter().find(|(_, limit)| *limit == 0) {
            Some((key, _)) => Err(ZeroLimit { key }),
            None => Ok(self),
        }
    }
}

/// How requests are prepared: the section `context_transform`, whose limits are checked as it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct ContextTransformConfig {
    /// The previews of tool outputs.
    pub artifact_compaction: ArtifactCompactionConfig,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Unchecked {
    artifact_compaction: ArtifactCompactionConfig,
}

impl TryFrom<Unchecked> for ContextTransformConfig {
    type Error = ZeroLimit;

    fn try_from(read: Unchecked) -> Result<Self, ZeroLimit> {
        read.artifact_compaction.validated().map(|artifact_compaction| Self { artifact_compaction })
    }
}
