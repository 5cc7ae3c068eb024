//! The one way down: steps from cheap to dear, planned until the transcript fits. Every strategy is a preset, data.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use wb_message::ToolVocabulary;
use wb_passes::{ImagePolicy, Images, Microcompact, PASSES, Pass, Preview, pass_entry};

/// The name of the step that folds the head into a digest, as reports and settings show it.
pub const DIGEST: &str = "digest";
/// The name of the step that gives files back.
pub const RESTORE: &str = "restore";

/// The most files that a compaction gives back by default.
pub const DEFAULT_MAX_RESTORED: usize = 5;

/// One step of a [`Pipeline`].
#[derive(Clone)]
#[non_exhaustive]
pub enum Step {
    /// A pass that is run while the transcript is over its target; what it plans must be lighter.
    Pass(Arc<dyn Pass>),
    /// A pass that is run whether or not the transcript is over budget, and may add weight.
    Always(Arc<dyn Pass>),
    /// Folds the head into one digest, asked of a model where there is one.
    Digest(DigestStep),
    /// Gives back files that the digest's head showed last; it adds weight within its share.
    Restore(RestoreStep),
}

/// How many files are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreStep {
    /// The most files.
    pub max_files: usize,
}

impl Default for RestoreStep {
    fn default() -> Self {
        Self { max_files: DEFAULT_MAX_RESTORED }
    }
}

/// How a head is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DigestStep {
    /// Whether a latest prompt that is too long for a digest stays although it stands before the cut.
    pub keep_prompt: bool,
    /// How many of the newest messages stay at the least.
    pub min_recent_messages: usize,
    /// The cut of a host that makes its own: the index of the first message that stays, whatever the budget says.
    #[serde(skip)]
    pub cut: Option<usize>,
}

impl Default for DigestStep {
    fn default() -> Self {
        Self { keep_prompt: true, min_recent_messages: 0, cut: None }
    }
}

impl Step {
    /// Builds a step of a pass that is run while the transcript is over its target.
    pub fn pass(pass: impl Pass + 'static) -> Self {
        Self::Pass(Arc::new(pass))
    }

    /// Builds a step of a pass that is always run.
    pub fn always(pass: impl Pass + 'static) -> Self {
        Self::Always(Arc::new(pass))
    }

    /// Builds a step from settings; see [`Pipeline::of`].
    fn of(settings: &Value) -> Result<Self, String> {
        let mut options = match settings {
            Value::Object(options) => options.clone(),
            _ => Map::new(),
        };
        let name = options.remove("step").unwrap_or_else(|| settings.clone());
        let name = name.as_str().ok_or("it is neither a name nor an object with a `step`")?.replace('_', "-");
        let told = |error: serde_json::Error| error.to_string();
        match name.as_str() {
            DIGEST => serde_json::from_value(Value::Object(options)).map(Self::Digest).map_err(told),
            RESTORE => serde_json::from_value(Value::Object(options)).map(Self::Restore).map_err(told),
            _ => {
                let entry = pass_entry(&name).ok_or_else(|| no_step(&name))?;
                let pass = entry.build(&options).map_err(told)?;
                Ok(if entry.always { Self::Always(pass) } else { Self::Pass(pass) })
            }
        }
    }

    /// Returns what the step did, in the past tense, as reports tell it; nothing for a pass from elsewhere.
    pub fn does(&self) -> Option<&'static str> {
        does(self.name())
    }

    /// Returns the step's name, as reports and settings show it.
    pub fn name(&self) -> &str {
        match self {
            Self::Pass(pass) | Self::Always(pass) => pass.name(),
            Self::Digest(_) => DIGEST,
            Self::Restore(_) => RESTORE,
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns what a step of that name did, in the past tense; nothing for a pass from elsewhere.
pub fn does(step: &str) -> Option<&'static str> {
    match step {
        DIGEST => Some("folded the head into a digest"),
        RESTORE => Some("gave back files that were read last"),
        pass => pass_entry(pass).map(|entry| entry.does),
    }
}

fn no_step(name: &str) -> String {
    let passes = PASSES.iter().map(|entry| entry.pass().name().to_owned());
    let all: Vec<String> = passes.chain([DIGEST.to_owned(), RESTORE.to_owned()]).collect();
    format!("there is no step `{name}`; there are {}", all.join(", "))
}

/// Why settings make no [`Pipeline`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// No preset has this name.
    #[error("there is no preset `{name}`; there are {}", PRESETS.join(", "))]
    NoPreset {
        /// What was given.
        name: String,
    },
    /// It is neither a name nor a list.
    #[error("a pipeline is the name of a preset or a list of steps")]
    NoList,
    /// A step makes no sense.
    #[error("step {nth}: {why}")]
    Step {
        /// Its place, from 1 on.
        nth: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// Whether a gate decides, or the host has asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing is planned unless the transcript is over budget.
    #[default]
    Auto,
    /// The steps are run whatever the transcript weighs (a manual `/compact`); a digest then takes everything before the
    /// last prompt.
    Forced,
}

/// Steps in the order in which they are tried.
///
/// ```
/// use std::sync::Arc;
/// use wb_budget::{AUTO_CONDENSE_POLICY, Budget, ModelCard, TokenCounter, TokenHeuristic, WeighedTranscript};
/// use wb_conductor::{Pipeline, Trigger};
/// use wb_message::Message;
///
/// let mut messages: Vec<Message> = (0..40)
///     .flat_map(|n| [Message::user(format!("Step {n}: {}", "x".repeat(900))), Message::assistant("Done.")])
///     .collect();
/// let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
/// let budget = Budget::resolve(Some(&ModelCard::with_window(12_000)), &AUTO_CONDENSE_POLICY, 0)?;
/// let view = WeighedTranscript::new(&messages, &counter);
/// let plan = Pipeline::default().plan(&view, &budget, Trigger::Auto).expect("it is over budget");
/// let ready = plan.local();
/// let report = ready.apply(&mut messages);
/// assert!(report.tokens_after <= budget.target);
/// # Ok::<(), wb_budget::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The steps, from cheap to dear.
    pub steps: Vec<Step>,
    /// Which tools read, change files and can be run again.
    pub vocabulary: ToolVocabulary,
}

/// The most lines of a tool output in the preset `ladder`.
const LADDER_MAX_LINES: usize = 200;

impl Default for Pipeline {
    /// Builds the preset `window-budget`: stale results cleared, then one digest of the head, files given back.
    fn default() -> Self {
        let digest = Step::Digest(DigestStep::default());
        let restore = Step::Restore(RestoreStep::default());
        Self::new(vec![Step::pass(Microcompact::default()), digest, Step::pass(Preview::default()), restore])
    }
}

/// The presets, by name; the first one is the default.
pub const PRESETS: [&str; 4] = ["window-budget", "three-level", "policy", "ladder"];

impl Pipeline {
    /// Builds a preset by its name, one of [`PRESETS`]; each is a list of steps with their defaults.
    pub fn preset(name: &str) -> Option<Self> {
        let steps = match name {
            "window-budget" => return Some(Self::default()),
            "three-level" => json!(["tool-output", "collapse", "preview", "drop-middle"]),
            "policy" => json!(["oversized-result", "truncate", "repair"]),
            "ladder" => {
                let output = json!({"step": "tool-output", "max_lines": LADDER_MAX_LINES});
                json!(["microcompact", output, "digest", "preview", "drop-middle", "restore"])
            }
            _ => return None,
        };
        Self::of(&steps).ok()
    }

    /// Builds a pipeline from settings: the name of a preset, or a list of steps.
    ///
    /// A step is its name, or an object with its name under `step` and its options.
    ///
    /// ```
    /// use serde_json::json;
    /// use wb_conductor::Pipeline;
    ///
    /// let steps = json!([{"step": "tool-output", "max_lines": 20}, "digest", {"step": "restore", "max_files": 2}]);
    /// assert_eq!(format!("{:?}", Pipeline::of(&steps)?.steps), "[tool-output, digest, restore]");
    /// assert!(Pipeline::of(&json!("ladder")).is_ok());
    /// assert_eq!(Pipeline::of(&json!(["tool-outputs"])).unwrap_err().to_string(), "step 1: there is no step `tool-outputs`; \
    ///     there are microcompact, images, preview, oversized-result, tool-output, collapse, drop-middle, truncate, repair, digest, restore");
    /// # Ok::<(), wb_conductor::PipelineError>(())
    /// ```
    pub fn of(settings: &Value) -> Result<Self, PipelineError> {
        match settings {
            Value::String(name) => {
                Self::preset(name).ok_or_else(|| PipelineError::NoPreset { name: name.clone() })
            }
            Value::Array(steps) => {
                let step =
                    |(at, step)| Step::of(step).map_err(|why| PipelineError::Step { nth: at + 1, why });
                steps.iter().enumerate().map(step).collect::<Result<_, _>>().map(Self::new)
            }
            _ => Err(PipelineError::NoList),
        }
    }

    /// Builds a pipeline of these steps under the universal vocabulary.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps, vocabulary: ToolVocabulary::default() }
    }

    /// Builds the pipeline of the bare condenser: one digest and nothing beside it.
    pub fn bare() -> Self {
        Self::new(vec![Step::Digest(DigestStep { keep_prompt: false, ..DigestStep::default() })])
    }

    /// Limits how many files are given back.
    #[must_use]
    pub fn max_restored(mut self, n: usize) -> Self {
        for step in &mut self.steps {
            if let Step::Restore(restore) = step {
                restore.max_files = n;
            }
        }
        self
    }

    /// Folds what stands before the cut of a host that makes its own; without one the budget says where.
    #[must_use]
    pub fn cut_at(mut self, cut: Option<usize>) -> Self {
        for step in &mut self.steps {
            if let Step::Digest(digest) = step {
                digest.cut = cut;
            }
        }
        self
    }

    /// Takes images out of older tool results before anything else is tried; with [`ImagePolicy::Keep`] nothing changes.
    #[must_use]
    pub fn images(self, policy: ImagePolicy) -> Self {
        if policy == ImagePolicy::Keep {
            return self;
        }
        let step = Step::pass(Images { policy });
        let mut pipeline = self.without(step.name());
        pipeline.steps.insert(0, step);
        pipeline
    }

    /// Leaves out the steps of that name, such as `microcompact`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.steps.retain(|step| step.name() != name);
        self
    }

    /// Sets how the agent's tools are called.
    #[must_use]
    pub fn vocabulary(self, vocabulary: ToolVocabulary) -> Self {
        Self { vocabulary, ..self }
    }
}
