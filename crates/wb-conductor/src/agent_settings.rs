//! An agent's settings as JSON: every policy, section and ladder, with defaults for what is left out.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_budget::{BudgetPolicy, ContextWindowPolicy, PolicyError, WindowPolicyError};
use wb_passes::three_level::ContextConfig;
use wb_passes::{ArtifactCompactionConfig, ArtifactConfigError};
use wb_summarize::{CompactionConfig, CompactionConfigError};

use crate::ladder::{Ladder, Rung};
use crate::recovery::DEFAULT_MAX_CONTINUATIONS;

/// What can be set for one agent; keys that are left out get the defaults, unknown keys are refused.
///
/// The keys `context_policy`, `sections` and `max_continuation_retries` are those of seed 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// When the pipeline condenses and how much of the tail it keeps.
    pub budget: BudgetPolicy,
    /// How a runtime truncates and compacts in the background.
    pub context_policy: ContextWindowPolicy,
    /// The three levels.
    pub three_level: ContextConfig,
    /// The steps from cheap to dear.
    pub ladder: Ladder,
    /// The sections of the subsystems.
    pub sections: Sections,
    /// How often an answer that was cut off is continued; 0 never does.
    pub max_continuation_retries: u32,
}

/// The sections of an agent's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Sections {
    /// How older history becomes a summary.
    pub compaction: CompactionConfig,
    /// What is done to a request before it is sent.
    pub context_transform: ContextTransform,
}

/// The section of what is done to a request before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ContextTransform {
    /// When tool results are previewed and how long a preview is.
    pub artifact_compaction: ArtifactCompactionConfig,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            budget: BudgetPolicy::default(),
            context_policy: ContextWindowPolicy::default(),
            three_level: ContextConfig::default(),
            ladder: Ladder::default(),
            sections: Sections::default(),
            max_continuation_retries: DEFAULT_MAX_CONTINUATIONS,
        }
    }
}

/// Why settings were refused; nothing of them is used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No JSON, a key that is unknown, or a value of the wrong type; the message has line and column.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A key that its place does not have.
    #[error("{at}: unknown field `{key}`")]
    UnknownKey {
        /// Where it stands.
        at: String,
        /// The key.
        key: String,
    },
    /// A value of `budget` makes no sense.
    #[error("budget: {0}")]
    Budget(#[from] PolicyError),
    /// A value of `context_policy` makes no sense.
    #[error("context_policy: {0}")]
    ContextPolicy(#[from] WindowPolicyError),
    /// A value of `sections.compaction` makes no sense.
    #[error("sections.compaction: {0}")]
    Compaction(#[from] CompactionConfigError),
    /// A value of an artifact's section or step makes no sense.
    #[error("{at}.{error}")]
    Artifact {
        /// Where it stands.
        at: String,
        /// What is wrong with it.
        error: ArtifactConfigError,
    },
}

impl AgentSettings {
    /// Reads settings and checks every value that has a range.
    pub fn from_json(json: &str) -> Result<Self, SettingsError> {
        let settings: Self = serde_json::from_str(json)?;
        refuse_unknown_keys_of_steps(&serde_json::from_str(json)?)?;
        settings.validated()
    }

    /// Returns the settings if every value that has a range is within it.
    pub fn validated(mut self) -> Result<Self, SettingsError> {
        self.budget = self.budget.validated()?;
        self.context_policy = self.context_policy.validated()?;
        self.sections.compaction = self.sections.compaction.validated()?;
        let artifact = self.sections.context_transform.artifact_compaction;
        check_artifact(artifact, || "sections.context_transform.artifact_compaction".to_owned())?;
        for (at, rung) in self.ladder.rungs.iter().enumerate() {
            if let Rung::Artifact(config) = rung {
                check_artifact(*config, || format!("ladder[{at}]"))?;
            }
        }
        Ok(self)
    }
}

/// Refuses keys of steps that have none, which serde passes over in an internally tagged enum.
fn refuse_unknown_keys_of_steps(settings: &Value) -> Result<(), SettingsError> {
    let steps = settings["ladder"].as_array().map_or(&[][..], Vec::as_slice);
    for (at, step) in steps.iter().enumerate() {
        let has_keys = !matches!(step["step"].as_str(), Some("preview" | "condense" | "repair"));
        let unknown = step.as_object().into_iter().flat_map(|step| step.keys()).find(|key| *key != "step");
        if let Some(key) = unknown.filter(|_| !has_keys) {
            return Err(SettingsError::UnknownKey { at: format!("ladder[{at}]"), key: key.clone() });
        }
    }
    Ok(())
}

fn check_artifact(
    config: ArtifactCompactionConfig,
    at: impl FnOnce() -> String,
) -> Result<(), SettingsError> {
    let artifact = |error| SettingsError::Artifact { at: at(), error };
    config.validated().map(drop).map_err(artifact)
}
