//! A [`Pipeline`] is a list of steps, from cheap to expensive; [`Pipeline::plan`] plans them over a
//! transcript until it fits. Every strategy is a preset, and a preset is data.

use serde_json::{Value, json};
use wb_budget::{Budget, PolicyError, WeighedTranscript};
use wb_facts::Facts;
use wb_message::ToolVocabulary;
use wb_passes::{ImagePolicy, Images, Microcompact, Preview};

use crate::engine::StepRunner;
use crate::plan::Plan;
use crate::report::CompactionReport;
use crate::step::{DigestStep, DropStep, RestoreStep, Step, Trigger};

/// The reason why settings make no [`Pipeline`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// No preset has this name.
    #[error("unknown preset `{name}` (available: {})", PRESETS.join(", "))]
    NoPreset {
        /// The name in the settings.
        name: String,
    },
    /// The value is neither a name nor a list.
    #[error("a pipeline is the name of a preset or a list of steps")]
    NoList,
    /// A step is invalid.
    #[error("step {nth}: {why}")]
    Step {
        /// The position, from 1 on.
        nth: usize,
        /// The reason.
        why: String,
    },
}

/// Everything that [`Pipeline::plan`] needs in addition to the transcript.
#[derive(Debug)]
pub struct PlanInput<'a> {
    pub(crate) budget: Result<Budget, PolicyError>,
    pub(crate) trigger: Trigger,
    pub(crate) facts: Option<&'a Facts>,
    /// Is true if the budget is based on the provider's count.
    pub(crate) anchored: bool,
    /// The reason why the provider's count was refused.
    pub(crate) refused: Option<String>,
    /// The most tokens that the context may hold if the estimate is too low.
    pub(crate) at_most_tokens: Option<u64>,
    /// Requires a result with fewer messages, or turns, than the input.
    pub(crate) requires_fewer: bool,
}

impl<'a> PlanInput<'a> {
    /// Plans within a budget.
    pub fn new(budget: Budget, trigger: Trigger) -> Self {
        let (budget, facts) = (Ok(budget), None);
        Self {
            budget,
            trigger,
            facts,
            anchored: false,
            refused: None,
            at_most_tokens: None,
            requires_fewer: false,
        }
    }

    /// Writes the digest from the facts of a whole session, which ends with the transcript's last
    /// message. Without them the facts are collected from the newest messages.
    #[must_use]
    pub fn facts(self, facts: &'a Facts) -> Self {
        Self { facts: Some(facts), ..self }
    }
}

/// Steps in the order in which they are tried.
///
/// ```
/// use wb_budget::{AUTO_CONDENSE_POLICY, Budget, ModelCard, WeighedTranscript};
/// use wb_conductor::{Compactor, Pipeline, PlanInput, Trigger};
/// use wb_message::Message;
///
/// let mut messages: Vec<Message> = (0..40)
///     .map(|n| Message::user(format!("Step {n}: {}", "x".repeat(900))))
///     .flat_map(|step| [step, Message::assistant("Done.")])
///     .collect();
/// let card = ModelCard::with_window(12_000);
/// let budget = Budget::resolve(Some(&card), &AUTO_CONDENSE_POLICY, 0)?;
/// let view = WeighedTranscript::new(&messages, Compactor::new().token_counter());
/// let input = PlanInput::new(budget, Trigger::Auto);
/// let plan = Pipeline::default().plan(view, input).expect("it is over budget");
/// let ready = plan.local();
/// let report = ready.apply(&mut messages);
/// assert!(report.tokens_after <= budget.target);
/// # Ok::<(), wb_budget::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The steps, from cheap to expensive.
    pub steps: Vec<Step>,
    /// The names of the tools that read, change files and can be run again.
    pub vocabulary: ToolVocabulary,
}

/// The most lines of a tool output in the preset `ladder`.
const LADDER_MAX_LINES: usize = 200;

impl Default for Pipeline {
    /// Builds the preset `window-budget`: stale results cleared, one digest of the head, restored
    /// files.
    fn default() -> Self {
        let digest = Step::Digest(DigestStep::default());
        let restore = Step::Restore(RestoreStep::default());
        Self::new(vec![Step::pass(Microcompact::default()), digest, Step::pass(Preview::default()), restore])
    }
}

/// The presets, by name; the first one is the default.
pub const PRESETS: [&str; 4] = ["window-budget", "three-level", "policy", "ladder"];

impl Pipeline {
    /// Builds a pipeline of these steps under the universal vocabulary.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps, vocabulary: ToolVocabulary::default() }
    }

    /// Builds a preset by its name, one of [`PRESETS`]; each is a list of steps with their
    /// defaults.
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
        Self::from_settings(&steps).ok()
    }

    /// Builds a pipeline from settings: the name of a preset, or a list of steps.
    ///
    /// A step is its name, or an object with its name under `step` and its options.
    ///
    /// ```
    /// use serde_json::json;
    /// use wb_conductor::Pipeline;
    ///
    /// let output = json!({"step": "tool-output", "max_lines": 20});
    /// let steps = json!([output, "digest", {"step": "restore", "max_files": 2}]);
    /// let steps = Pipeline::from_settings(&steps)?.steps;
    /// assert_eq!(format!("{steps:?}"), "[tool-output, digest, restore]");
    /// assert!(Pipeline::from_settings(&json!("ladder")).is_ok());
    /// let error = Pipeline::from_settings(&json!(["tool-outputs"])).unwrap_err();
    /// let reason = "step 1: unknown step `tool-outputs` (available: microcompact, images, \
    ///     preview, oversized-result, tool-output, collapse, drop-middle, truncate, repair, \
    ///     digest, restore)";
    /// assert_eq!(error.to_string(), reason);
    /// # Ok::<(), wb_conductor::PipelineError>(())
    /// ```
    pub fn from_settings(settings: &Value) -> Result<Self, PipelineError> {
        match settings {
            Value::String(name) => {
                Self::preset(name).ok_or_else(|| PipelineError::NoPreset { name: name.clone() })
            }
            Value::Array(steps) => {
                let step = |(at, step)| {
                    Step::from_settings(step).map_err(|why| PipelineError::Step { nth: at + 1, why })
                };
                steps.iter().enumerate().map(step).collect::<Result<_, _>>().map(Self::new)
            }
            _ => Err(PipelineError::NoList),
        }
    }

    /// Builds the pipeline of the bare condenser: one digest and no other step.
    pub fn digest_only() -> Self {
        Self::new(vec![Step::Digest(DigestStep { keep_prompt: false, ..DigestStep::default() })])
    }

    /// Limits the number of restored files.
    #[must_use]
    pub fn max_restored(mut self, n: usize) -> Self {
        for step in &mut self.steps {
            if let Step::Restore(restore) = step {
                restore.max_files = n;
            }
        }
        self
    }

    /// Folds the messages before a cut that the host chose; with `None` the budget decides.
    #[must_use]
    pub fn cut_at(mut self, cut: Option<usize>) -> Self {
        for step in &mut self.steps {
            if let Step::Digest(digest) = step {
                digest.cut = cut;
            }
        }
        self
    }

    /// Drops messages of the user's choice first, if there are any.
    #[must_use]
    pub fn drop_first(mut self, step: DropStep) -> Self {
        if !step.messages.is_empty() {
            self.steps.insert(0, Step::Drop(step));
        }
        self
    }

    /// Removes images from older tool results first; with [`ImagePolicy::Keep`] nothing changes.
    #[must_use]
    pub fn images(self, policy: ImagePolicy) -> Self {
        if policy == ImagePolicy::Keep {
            return self;
        }
        let step = Step::pass(Images { policy });
        let mut pipeline = self.without_step(step.name());
        pipeline.steps.insert(0, step);
        pipeline
    }

    /// Removes the steps with a name such as `microcompact`.
    #[must_use]
    pub fn without_step(mut self, name: &str) -> Self {
        self.steps.retain(|step| step.name() != name);
        self
    }

    /// Sets the names of the agent's tools.
    #[must_use]
    pub fn vocabulary(self, vocabulary: ToolVocabulary) -> Self {
        Self { vocabulary, ..self }
    }

    /// Plans all steps over a transcript. It is pure: nothing is changed or paid for. If there is
    /// nothing to do, the error is a report with the reason.
    pub fn plan<'a>(
        &self,
        view: WeighedTranscript<'a>,
        input: PlanInput<'a>,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        let PlanInput { budget, trigger, facts, anchored, refused, at_most_tokens, requires_fewer } = input;
        let budget = budget.map_err(|error| {
            let report = CompactionReport::from_policy_error(&view, error);
            Box::new(CompactionReport { at_most_tokens, ..report })
        })?;
        let noted = |report| CompactionReport { anchored, at_most_tokens, refused, ..report };
        let run = |view, steps: &[Step]| {
            let runner = StepRunner::new(view, budget, trigger, &self.vocabulary, facts);
            runner.requires_fewer(requires_fewer).run(steps)
        };
        let clearing = self.clearing_drops();
        let planned = match clearing.map(|steps| (run(view.clone(), &self.steps), steps)) {
            // Messages of the user's choice do not go without a digest that covers them.
            Some((Ok(plan), steps)) if plan.head.is_none() => run(view, &steps),
            Some((planned, _)) => planned,
            None => run(view, &self.steps),
        };
        match planned {
            Ok(plan) => Ok(Plan { report: noted(plan.report), ..plan }),
            Err(report) => Err(Box::new(noted(*report))),
        }
    }

    /// Returns steps in which a drop clears results and folds nothing; none if that is no change,
    /// or no step writes a digest.
    fn clearing_drops(&self) -> Option<Vec<Step>> {
        let has_digest = self.steps.iter().any(|step| matches!(step, Step::Digest(_)));
        let folds = |step: &Step| matches!(step, Step::Drop(drop) if !drop.clears_only);
        if !has_digest || !self.steps.iter().any(folds) {
            return None;
        }
        let mut steps = self.steps.clone();
        for step in &mut steps {
            if let Step::Drop(drop) = step {
                drop.clears_only = true;
            }
        }
        Some(steps)
    }
}
