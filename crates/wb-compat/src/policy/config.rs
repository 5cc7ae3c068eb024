//! The configuration: sections of an agent's settings.

use serde::{Deserialize, Serialize};

/// The most tokens of a summary by default.
pub const DEFAULT_SUMMARY_TOKENS: u32 = 1024;

/// The execution mode of compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionExecutionMode {
    /// Summarizes in the background.
    #[default]
    Background,
    /// Never compacts automatically, even if a threshold is set.
    Off,
}

/// The retention of summarized messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionRawRetention {
    /// They leave the window and stay in the durable history.
    #[default]
    PreserveDurable,
}

/// The section `compaction`: the summary of older history.
///
/// Fault: in JSON both prompts and the ratio are required, so `{"mode": "off"}` alone is refused;
/// unknown keys, including `execution_mode`, are ignored, and nothing is validated.
/// `wb_summarize::CompactionConfig` fills in missing keys and refuses unknown ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionConfig {
    /// The execution mode; the key is `mode`.
    #[serde(rename = "mode", default)]
    pub execution_mode: CompactionExecutionMode,
    /// The system text of the request.
    pub summarizer_system_prompt: String,
    /// The user text of the request; `{messages}` and `{previous_summary}` are filled in.
    pub summarizer_user_prompt: String,
    /// The most tokens of a summary; `None` is [`DEFAULT_SUMMARY_TOKENS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_max_tokens: Option<u32>,
    /// The model to ask; `None` is the model with an empty name, which no provider has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// The least saving as a part of the summarized tokens, clamped to 0 and 1.
    pub min_savings_ratio: f64,
    /// The retention of summarized messages; it has one value, and nothing reads it.
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
    /// Returns the least saving in millionths; NaN requires none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped before")]
    pub fn min_savings_ratio_ppm(&self) -> u64 {
        (self.min_savings_ratio.clamp(0.0, 1.0) * 1e6).round() as u64
    }

    /// Returns the user text of a request: `{previous_summary}` is filled in first, then
    /// `{messages}`.
    ///
    /// Fault: the transcript is inserted into a previous summary that contains `{messages}`, and
    /// nothing is escaped. Use `wb_summarize::Summarizer`.
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

/// The threshold and size of previews of tool outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArtifactCompactionConfig {
    /// The fewest tokens of a text to preview.
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

/// The section `context_transform`: the preparation of requests, validated when read.
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
