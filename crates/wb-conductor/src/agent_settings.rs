//! From an agent's settings file to an [`AgentContext`]: each key acts, or is refused with its reason.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_budget::{BudgetPolicy, ContextCompactionMode, ContextWindowPolicy, ModelCard, PolicyError};
use wb_passes::{ArtifactCompactionConfig, ImagePolicy, OversizedResult};
use wb_summarize::{
    CompactionConfig, CompactionConfigError, CompactionExecutionMode, ModelInvoker, Summarizer,
};

use crate::compactor::Compactor;
use crate::context::AgentContext;
use crate::continuation::DEFAULT_MAX_CONTINUATIONS;
use crate::pipeline::{Pipeline, PipelineError, Step};

/// What can be set for one agent; keys that are left out get the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// When a transcript is compacted and how much of its tail stays.
    pub budget: BudgetPolicy,
    /// The window, the answer's part of it, and when a digest is asked for while turns go on.
    pub context_policy: ContextWindowPolicy,
    /// The steps: the name of a preset, or a list; see [`Pipeline::of`].
    pub pipeline: Value,
    /// The sections of the subsystems.
    pub sections: AgentSections,
    /// How often an answer that was cut off is continued; with 0 it never is.
    pub max_continuation_retries: u32,
}

/// The sections of an agent's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AgentSections {
    /// How older history becomes a digest.
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
    /// What becomes of images in older tool results once a transcript is over its budget.
    pub images: ImagePolicy,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            budget: BudgetPolicy::default(),
            context_policy: ContextWindowPolicy::default(),
            pipeline: Value::from(crate::pipeline::PRESETS[0]),
            sections: AgentSections::default(),
            max_continuation_retries: DEFAULT_MAX_CONTINUATIONS,
        }
    }
}

/// Why settings were refused; nothing of them is used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No JSON, or a value of the wrong type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The file has no such key.
    #[error("there is no key `{0}`")]
    NoKey(String),
    /// A value of `budget` makes no sense.
    #[error("budget: {0}")]
    Budget(#[from] PolicyError),
    /// A value of `context_policy` makes no sense.
    #[error("context_policy: {0}")]
    ContextPolicy(#[source] PolicyError),
    /// A value of `sections.compaction` makes no sense.
    #[error("sections.compaction: {0}")]
    Compaction(#[from] CompactionConfigError),
    /// A value of `sections.context_transform.artifact_compaction` makes no sense.
    #[error("sections.context_transform.artifact_compaction.{0}")]
    Artifact(#[source] PolicyError),
    /// The steps make no sense.
    #[error("pipeline: {0}")]
    Pipeline(#[from] PipelineError),
}

impl AgentSettings {
    /// Reads settings that stand alone; unknown keys are refused.
    pub fn from_json(json: &str) -> Result<Self, SettingsError> {
        serde_json::from_str::<Self>(json)?.validated()
    }

    /// Reads settings out of an agent's own file, where they stand under a key such as `agent.context`; an empty key
    /// means the whole file. What stands beside them is not looked at; keys inside that are unknown here are passed over
    /// and returned.
    ///
    /// ```
    /// use wb_conductor::AgentSettings;
    ///
    /// let file = r#"{"theme": "dark", "context": {"budget": {"keep_recent": 4000}, "colour": 3}}"#;
    /// let (settings, unknown) = AgentSettings::from_file(file, "context")?;
    /// assert_eq!((settings.budget.keep_recent, unknown), (4000, vec!["colour".to_owned()]));
    /// # Ok::<(), wb_conductor::SettingsError>(())
    /// ```
    pub fn from_file(json: &str, key: &str) -> Result<(Self, Vec<String>), SettingsError> {
        let file: Value = serde_json::from_str(json)?;
        let mut place = Some(&file);
        for part in key.split('.').filter(|part| !part.is_empty()) {
            place = place.and_then(|value| value.get(part));
        }
        let mut settings = place.ok_or_else(|| SettingsError::NoKey(key.to_owned()))?.clone();
        let mut unknown = Vec::new();
        take_unknown(&mut settings, &known_keys()?, "", &mut unknown);
        Ok((serde_json::from_value::<Self>(settings)?.validated()?, unknown))
    }

    /// Returns the settings if every value that has a range is within it, and every key is acted on.
    pub fn validated(mut self) -> Result<Self, SettingsError> {
        self.budget = self.budget.validated()?;
        self.context_policy = self.context_policy.validated().map_err(SettingsError::ContextPolicy)?;
        self.sections.compaction = self.sections.compaction.validated()?;
        let artifacts = self.sections.context_transform.artifact_compaction.validated();
        artifacts.map_err(SettingsError::Artifact)?;
        Pipeline::of(&self.pipeline)?;
        Ok(self)
    }

    /// Builds the context of an agent that runs on a model, which also writes the digests if it can be asked.
    pub fn context(
        &self,
        card: &ModelCard,
        invoke: Option<Arc<dyn ModelInvoker>>,
    ) -> Result<AgentContext, SettingsError> {
        Ok(self.follow(self.compactor(card, invoke)?, card))
    }

    /// Builds the compactor alone, for a host that sets more on it before it [follows](Self::follow) a transcript.
    pub fn compactor(
        &self,
        card: &ModelCard,
        invoke: Option<Arc<dyn ModelInvoker>>,
    ) -> Result<Compactor, SettingsError> {
        let policy = self.context_policy.clamped_to(card);
        let compaction = &self.sections.compaction;
        let reserve = self.budget.reserve_tokens.unwrap_or(0).max(policy.max_output_tokens as u64);
        let budget = BudgetPolicy { reserve_tokens: Some(reserve), ..self.budget };
        let card = ModelCard { context_window: policy.max_context_tokens as u64, ..card.clone() };
        let compactor = Compactor::new()
            .card(card)
            .policy(budget)
            .digest_tokens(compaction.max_summary_tokens())
            .pipeline(self.steps()?);
        Ok(match invoke.filter(|_| !self.is_off()) {
            Some(invoke) => compactor.summarizer(Summarizer::new(invoke).configured(compaction)?),
            None => compactor,
        })
    }

    /// Follows a transcript with a compactor, as these settings want it for a model of that card.
    pub fn follow(&self, compactor: Compactor, card: &ModelCard) -> AgentContext {
        let policy = self.context_policy.clamped_to(card);
        let threshold = policy.autocompact_threshold.filter(|_| !self.is_off()).map(|most| most as u64);
        AgentContext::with(compactor)
            .start_above(threshold)
            .min_savings_ppm(self.sections.compaction.min_savings_ppm())
            .prompt_cache(policy.enable_prompt_cache)
            .max_continuations(self.max_continuation_retries)
    }

    fn is_off(&self) -> bool {
        self.sections.compaction.execution_mode == CompactionExecutionMode::Off
    }

    /// Returns the steps, with oversized results previewed in front and the raw tail that the policy asks for.
    fn steps(&self) -> Result<Pipeline, SettingsError> {
        let ContextTransform { artifact_compaction: config, images } = self.sections.context_transform;
        let mut pipeline = Pipeline::of(&self.pipeline)?.images(images);
        let previews = Step::always(OversizedResult { config });
        if pipeline.steps.iter().all(|step| step.name() != previews.name()) {
            pipeline.steps.insert(0, previews);
        }
        let n_raw = match self.context_policy.compaction_mode {
            ContextCompactionMode::KeepRecentRawSuffix => self.context_policy.compaction_raw_suffix_messages,
            ContextCompactionMode::CompactToSafeFrontier => self.context_policy.min_recent_messages,
        };
        for step in &mut pipeline.steps {
            if let Step::Digest(digest) = step {
                digest.min_recent_messages = digest.min_recent_messages.max(n_raw);
            }
        }
        Ok(pipeline)
    }
}

/// Returns settings in which every key is there.
fn known_keys() -> serde_json::Result<Value> {
    let mut settings = AgentSettings::default();
    settings.budget.reserve_tokens = Some(0);
    settings.context_policy.autocompact_threshold = Some(0);
    settings.sections.compaction.summary_max_tokens = Some(0);
    settings.sections.compaction.summary_model = Some(String::new());
    serde_json::to_value(settings)
}

/// Takes the keys out of settings that the known ones do not have, and notes where they stood.
fn take_unknown(settings: &mut Value, known: &Value, at: &str, unknown: &mut Vec<String>) {
    let (Value::Object(map), Value::Object(known)) = (settings, known) else { return };
    for (key, mut value) in std::mem::replace(map, Map::new()) {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match known.get(&key) {
            None => unknown.push(path),
            Some(known) => {
                take_unknown(&mut value, known, &path, unknown);
                map.insert(key, value);
            }
        }
    }
}
