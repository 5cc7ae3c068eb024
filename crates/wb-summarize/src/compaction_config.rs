//! The settings for summaries of older history in a host's file, and the savings that a compaction
//! must reach.

use serde::{Deserialize, Serialize};

/// The key of a [`CompactionConfig`] among an agent's sections.
pub const COMPACTION_KEY: &str = "compaction";
/// The most tokens of a summary if none are configured.
pub const DEFAULT_SUMMARY_TOKENS: u32 = 1024;
/// The fewest tokens that a compaction must save to be worth a request.
pub const MIN_COMPACTION_GAIN_TOKENS: u64 = 1024;
/// The part of what is summarized that must be saved if none is configured.
pub const DEFAULT_MIN_SAVINGS_RATIO: f64 = 0.3;
/// The placeholder for the transcript in a user prompt.
pub(crate) const MESSAGES_PLACEHOLDER: &str = "{messages}";
/// The placeholder for the previous summary in a user prompt.
pub(crate) const PREVIOUS_SUMMARY_PLACEHOLDER: &str = "{previous_summary}";

/// The mode of compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionExecutionMode {
    /// Summaries are made in the background; turns go on meanwhile.
    #[default]
    Background,
    /// No compaction by itself, even where a threshold is set.
    Off,
}

/// The fate of the messages that a summary replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionRawRetention {
    /// They leave the window and stay in the durable history.
    #[default]
    PreserveDurable,
}

/// The settings for summaries of older history: the section [`COMPACTION_KEY`] of an agent's
/// settings.
///
/// Missing keys get the defaults, unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CompactionConfig {
    /// The mode; the key is `mode`.
    #[serde(rename = "mode")]
    pub execution_mode: CompactionExecutionMode,
    /// The system text of the request; blank is ours.
    pub summarizer_system_prompt: String,
    /// The user text of the request; `{messages}` and `{previous_summary}` are filled in. A blank
    /// one selects ours, which asks for headings; the reply to a custom one goes under the status.
    pub summarizer_user_prompt: String,
    /// The most tokens of a summary; none is [`DEFAULT_SUMMARY_TOKENS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_max_tokens: Option<u32>,
    /// The model that is asked; none is the invoker's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// The part of what is summarized, in [0, 1], that must be saved at least.
    pub min_savings_ratio: f64,
    /// The fate of the messages that a summary replaces.
    pub raw_retention: CompactionRawRetention,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            execution_mode: CompactionExecutionMode::default(),
            summarizer_system_prompt: String::new(),
            summarizer_user_prompt: String::new(),
            summary_max_tokens: None,
            summary_model: None,
            min_savings_ratio: DEFAULT_MIN_SAVINGS_RATIO,
            raw_retention: CompactionRawRetention::default(),
        }
    }
}

/// The reason why a [`CompactionConfig`] was refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionConfigError {
    /// The ratio is none, or not a number.
    #[error("min_savings_ratio is {ratio}; it must be between 0 and 1")]
    NoRatio {
        /// The given value.
        ratio: f64,
    },
    /// A summary could hold nothing.
    #[error("summary_max_tokens is 0; leave it out for the default of {DEFAULT_SUMMARY_TOKENS}")]
    NoSummaryTokens,
    /// The transcript has not exactly one place in the user prompt.
    #[error("summarizer_user_prompt holds {MESSAGES_PLACEHOLDER} {found} times; it must hold it once")]
    MessagesNotOnce {
        /// The number of times that the placeholder occurs.
        found: usize,
    },
}

impl CompactionConfig {
    /// Returns the config if a summarizer can work with it.
    pub fn validated(self) -> Result<Self, CompactionConfigError> {
        let ratio = self.min_savings_ratio;
        if !(0.0..=1.0).contains(&ratio) {
            return Err(CompactionConfigError::NoRatio { ratio });
        }
        if self.summary_max_tokens == Some(0) {
            return Err(CompactionConfigError::NoSummaryTokens);
        }
        if self.summarizer_user_prompt.trim().is_empty() {
            return Ok(self);
        }
        match self.summarizer_user_prompt.matches(MESSAGES_PLACEHOLDER).count() {
            1 => Ok(self),
            found => Err(CompactionConfigError::MessagesNotOnce { found }),
        }
    }

    /// Returns the most tokens of a summary.
    pub fn max_summary_tokens(&self) -> u64 {
        self.summary_max_tokens.unwrap_or(DEFAULT_SUMMARY_TOKENS).max(1).into()
    }

    /// Returns the least savings of an accepted compaction, in millionths; a ratio that is not a
    /// number demands none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped before")]
    pub fn min_savings_ppm(&self) -> u64 {
        (self.min_savings_ratio.clamp(0.0, 1.0) * 1e6).round() as u64
    }
}

/// Returns the part of `pre_tokens` that is saved if `post_tokens` remain, in millionths, rounded
/// to the nearest; 0 if nothing is saved.
pub fn savings_ratio_ppm(pre_tokens: u64, post_tokens: u64) -> u64 {
    let saved = u128::from(pre_tokens.saturating_sub(post_tokens));
    let pre = u128::from(pre_tokens.max(1));
    u64::try_from((saved * 1_000_000 + pre / 2) / pre).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut CompactionConfig)) -> Result<CompactionConfig, CompactionConfigError> {
        let mut config = CompactionConfig::default();
        change(&mut config);
        config.validated()
    }

    fn says(change: impl FnOnce(&mut CompactionConfig), why: &str) {
        assert_eq!(with(change).expect_err(why).to_string(), why);
    }

    #[test]
    fn omitted_keys_get_the_defaults() {
        let config: CompactionConfig = serde_json::from_str("{}").expect("all keys have defaults");
        assert_eq!(config, CompactionConfig::default());
        assert_eq!(config.execution_mode, CompactionExecutionMode::Background);
        assert_eq!((config.summary_max_tokens, config.summary_model.as_deref()), (None, None));
        assert_eq!((config.max_summary_tokens(), config.min_savings_ppm()), (1024, 300_000));
        assert_eq!(MIN_COMPACTION_GAIN_TOKENS, 1024);
        assert_eq!(COMPACTION_KEY, "compaction");
        assert!(config.validated().is_ok());
    }

    #[test]
    fn one_key_alone_is_enough() {
        let config: CompactionConfig = serde_json::from_str(r#"{"mode":"off"}"#).expect("a config");
        let off =
            CompactionConfig { execution_mode: CompactionExecutionMode::Off, ..CompactionConfig::default() };
        assert_eq!(config, off);
        let json = serde_json::to_value(&off).expect("JSON");
        assert_eq!((&json["mode"], &json["raw_retention"]), (&"off".into(), &"preserve_durable".into()));
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(5), "what is none is left out");
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let error =
            serde_json::from_str::<CompactionConfig>(r#"{"execution_mode":"off"}"#).expect_err("a key");
        assert!(error.to_string().contains("unknown field `execution_mode`"), "{error}");
    }

    #[test]
    fn what_no_summarizer_can_work_with_is_refused() {
        says(|c| c.min_savings_ratio = 1.5, "min_savings_ratio is 1.5; it must be between 0 and 1");
        says(|c| c.min_savings_ratio = -0.1, "min_savings_ratio is -0.1; it must be between 0 and 1");
        says(|c| c.min_savings_ratio = f64::NAN, "min_savings_ratio is NaN; it must be between 0 and 1");
        says(
            |c| c.summary_max_tokens = Some(0),
            "summary_max_tokens is 0; leave it out for the default of 1024",
        );
        says(
            |c| c.summarizer_user_prompt = "{previous_summary} {message}".to_owned(),
            "summarizer_user_prompt holds {messages} 0 times; it must hold it once",
        );
        says(
            |c| c.summarizer_user_prompt = MESSAGES_PLACEHOLDER.repeat(2),
            "summarizer_user_prompt holds {messages} 2 times; it must hold it once",
        );
        assert!(with(|c| c.summarizer_user_prompt = " \n".to_owned()).is_ok(), "blank is ours");
        for ratio in [0.0, 1.0] {
            assert!(with(|c| c.min_savings_ratio = ratio).is_ok());
        }
    }

    #[test]
    fn a_config_that_was_never_validated_still_gives_figures_in_range() {
        let ratio = |ratio| CompactionConfig { min_savings_ratio: ratio, ..CompactionConfig::default() };
        assert_eq!([-1.0, 7.0, f64::NAN].map(|r| ratio(r).min_savings_ppm()), [0, 1_000_000, 0]);
        let none = CompactionConfig { summary_max_tokens: Some(0), ..CompactionConfig::default() };
        assert_eq!(none.max_summary_tokens(), 1);
    }

    #[test]
    fn savings_never_overflow() {
        assert_eq!(savings_ratio_ppm(u64::MAX, 0), 1_000_000);
        assert_eq!(savings_ratio_ppm(0, u64::MAX), 0);
        assert_eq!(savings_ratio_ppm(u64::MAX, u64::MAX - 1), 0);
    }
}
