//! [`AgentSettings`]: an agent's settings file, which builds an [`AgentContext`]. Each key has an
//! effect, or is refused with the reason.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_budget::{BudgetPolicy, ContextCompactionMode, ContextWindowPolicy, ModelCard, PolicyError};
use wb_invoke::ModelInvoker;
use wb_passes::{ArtifactCompactionConfig, ImagePolicy, OversizedResult, Truncate};
use wb_summarize::{CompactionConfig, CompactionConfigError, CompactionExecutionMode, Summarizer};

use crate::compactor::Compactor;
use crate::context::AgentContext;
use crate::continuation::DEFAULT_MAX_CONTINUATIONS;
use crate::pipeline::{Pipeline, PipelineError};
use crate::step::{DIGEST, Step};

/// The name of the step that drops the oldest messages.
const TRUNCATE: &str = "truncate";

/// The settings of one agent; missing keys get the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// The gate, and the size of the tail that stays.
    pub budget: BudgetPolicy,
    /// The window, the answer's part of it, and the threshold for a digest while turns go on.
    pub context_policy: ContextWindowPolicy,
    /// The steps: the name of a preset, or a list; see [`Pipeline::from_settings`].
    pub pipeline: Value,
    /// The sections of the subsystems.
    pub sections: AgentSections,
    /// The number of continuations of an answer that was cut off; with 0 there are none.
    pub max_continuation_retries: u32,
}

/// The sections of an agent's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AgentSections {
    /// The digest of older history.
    pub compaction: CompactionConfig,
    /// The changes to a request before it is sent.
    pub context_transform: ContextTransform,
}

/// The section about changes to a request before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ContextTransform {
    /// The size of tool results that are previewed, and of a preview.
    pub artifact_compaction: ArtifactCompactionConfig,
    /// The treatment of images in older tool results once a transcript is over its budget.
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

/// The reason why settings were refused; none of them is used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Invalid JSON, or a value of the wrong type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The file has no such key.
    #[error("there is no key `{0}`")]
    NoKey(String),
    /// A value of `budget` is invalid.
    #[error("budget: {0}")]
    Budget(#[from] PolicyError),
    /// A value of `context_policy` is invalid.
    #[error("context_policy: {0}")]
    ContextPolicy(#[source] PolicyError),
    /// A value of `sections.compaction` is invalid.
    #[error("sections.compaction: {0}")]
    Compaction(#[from] CompactionConfigError),
    /// A value of `sections.context_transform.artifact_compaction` is invalid.
    #[error("sections.context_transform.artifact_compaction.{0}")]
    Artifact(#[source] PolicyError),
    /// The steps are invalid.
    #[error("pipeline: {0}")]
    Pipeline(#[from] PipelineError),
    /// A key was set that has no effect next to the others.
    #[error("context_policy.{key} has no effect here: {why}")]
    NoEffect {
        /// The key.
        key: &'static str,
        /// The reason.
        why: &'static str,
    },
}

impl AgentSettings {
    /// Reads a settings file; unknown keys are refused.
    pub fn from_json(json: &str) -> Result<Self, SettingsError> {
        serde_json::from_str::<Self>(json)?.validated()
    }

    /// Reads settings from an agent's file, under a key such as `agent.context`; an empty key means
    /// the whole file. Other parts of the file are ignored; unknown keys in the settings are
    /// skipped and returned.
    ///
    /// ```
    /// use wb_conductor::AgentSettings;
    ///
    /// let file = r#"{"theme": 1, "context": {"colour": 3, "budget": {"keep_recent": 4000}}}"#;
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
        remove_unknown(&mut settings, &known_keys()?, "", &mut unknown);
        Ok((serde_json::from_value::<Self>(settings)?.validated()?, unknown))
    }

    /// Returns the settings if every value is within its range.
    pub fn validated(mut self) -> Result<Self, SettingsError> {
        self.budget = self.budget.validated()?;
        self.context_policy = self.context_policy.validated().map_err(SettingsError::ContextPolicy)?;
        self.sections.compaction = self.sections.compaction.validated()?;
        let artifacts = self.sections.context_transform.artifact_compaction.validated();
        artifacts.map_err(SettingsError::Artifact)?;
        self.check_effects(&Pipeline::from_settings(&self.pipeline)?)?;
        Ok(self)
    }

    /// Refuses a key of the policy that was set and is not used.
    fn check_effects(&self, pipeline: &Pipeline) -> Result<(), SettingsError> {
        let ContextWindowPolicy { min_recent_messages, compaction_raw_suffix_messages, .. } =
            self.context_policy;
        let defaults = ContextWindowPolicy::default();
        let has = |name: &str| pipeline.steps.iter().any(|step| step.name() == name);
        let is_frontier = self.context_policy.compaction_mode == ContextCompactionMode::CompactToSafeFrontier;
        let unused = |key, why| Err(SettingsError::NoEffect { key, why });
        if min_recent_messages != defaults.min_recent_messages
            && !has(TRUNCATE)
            && !(is_frontier && has(DIGEST))
        {
            return unused(
                "min_recent_messages",
                "no step `truncate`, and no digest up to the safe frontier",
            );
        }
        if compaction_raw_suffix_messages != defaults.compaction_raw_suffix_messages
            && (is_frontier || !has(DIGEST))
        {
            return unused("compaction_raw_suffix_messages", "no digest with a raw suffix");
        }
        Ok(())
    }

    /// Builds the context of an agent that runs on a model, which also writes the digests if it has
    /// an invoker.
    pub fn context(
        &self,
        card: &ModelCard,
        invoke: Option<Arc<dyn ModelInvoker>>,
    ) -> Result<AgentContext, SettingsError> {
        Ok(self.follow(self.compactor(card, invoke)?, card))
    }

    /// Builds the compactor alone, for a host that sets more on it before it
    /// [follows](Self::follow) a transcript.
    pub fn compactor(
        &self,
        card: &ModelCard,
        invoke: Option<Arc<dyn ModelInvoker>>,
    ) -> Result<Compactor, SettingsError> {
        let policy = self.context_policy.clamp_to(card);
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
        let policy = self.context_policy.clamp_to(card);
        let threshold = policy.autocompact_threshold.filter(|_| !self.is_off()).map(|most| most as u64);
        AgentContext::from_compactor(compactor)
            .start_above(threshold)
            .min_savings_ppm(self.sections.compaction.min_savings_ppm())
            .prompt_cache(policy.enable_prompt_cache)
            .max_continuations(self.max_continuation_retries)
    }

    fn is_off(&self) -> bool {
        self.sections.compaction.execution_mode == CompactionExecutionMode::Off
    }

    /// Returns the steps, after a preview of oversized results and with the raw tail and the least
    /// recent messages of the policy; an option of a step itself has precedence.
    fn steps(&self) -> Result<Pipeline, SettingsError> {
        let ContextTransform { artifact_compaction: config, images } = self.sections.context_transform;
        let mut pipeline = Pipeline::from_settings(&self.pipeline)?;
        let min_recent_messages = self.context_policy.min_recent_messages;
        for (nth, step) in pipeline.steps.iter_mut().enumerate().filter(|(_, step)| step.name() == TRUNCATE) {
            if self.pipeline.get(nth).and_then(|options| options.get("min_recent_messages")).is_none() {
                *step = Step::pass(Truncate { min_recent_messages });
            }
        }
        let mut pipeline = pipeline.images(images);
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

/// Returns settings in which every key is present.
fn known_keys() -> serde_json::Result<Value> {
    let mut settings = AgentSettings::default();
    settings.budget.reserve_tokens = Some(0);
    settings.context_policy.autocompact_threshold = Some(0);
    settings.sections.compaction.summary_max_tokens = Some(0);
    settings.sections.compaction.summary_model = Some(String::new());
    serde_json::to_value(settings)
}

/// Removes the unknown keys of settings and adds their paths to `unknown`.
fn remove_unknown(settings: &mut Value, known: &Value, at: &str, unknown: &mut Vec<String>) {
    let (Value::Object(map), Value::Object(known)) = (settings, known) else { return };
    for (key, mut value) in std::mem::replace(map, Map::new()) {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match known.get(&key) {
            None => unknown.push(path),
            Some(known) => {
                remove_unknown(&mut value, known, &path, unknown);
                map.insert(key, value);
            }
        }
    }
}
