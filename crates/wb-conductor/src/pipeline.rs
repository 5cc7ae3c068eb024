//! The one way down: steps from cheap to dear, planned until the transcript fits. Every strategy is a preset, data.

use std::fmt;
use std::sync::Arc;

use wb_budget::{Budget, WeighedTranscript};
use wb_message::ToolVocabulary;
use wb_passes::{
    Artifact, ArtifactCompactionConfig, Collapse, DropMiddle, Microcompact, Pass, Preview, Repair, ToolOutput,
    Truncate,
};

use crate::plan::Plan;
use crate::report::CondenseReport;
use crate::step_runner::StepRunner;

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
    Restore {
        /// The most files.
        max_files: usize,
    },
}

/// How a head is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestStep {
    /// Whether a latest prompt that is too long for a digest stays although it stands before the cut.
    pub keep_prompt: bool,
}

impl Default for DigestStep {
    fn default() -> Self {
        Self { keep_prompt: true }
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

    /// Returns the step's name, as reports and settings show it.
    pub fn name(&self) -> &str {
        match self {
            Self::Pass(pass) | Self::Always(pass) => pass.name(),
            Self::Digest(_) => DIGEST,
            Self::Restore { .. } => RESTORE,
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a gate decides, or the host has asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing is planned unless the transcript is over budget.
    #[default]
    Auto,
    /// Everything before the last prompt is folded, whatever the transcript weighs (a manual `/compact`).
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
        let restore = Step::Restore { max_files: DEFAULT_MAX_RESTORED };
        Self::new(vec![Step::pass(Microcompact::default()), digest, Step::pass(Preview::default()), restore])
    }
}

impl Pipeline {
    /// Builds a pipeline of these steps under the universal vocabulary.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps, vocabulary: ToolVocabulary::default() }
    }

    /// Builds the preset `ladder`: clears, shortens outputs, writes a digest, and drops the middle as the last resort.
    pub fn ladder() -> Self {
        Self::new(vec![
            Step::pass(Microcompact::default()),
            Step::pass(ToolOutput { max_lines: LADDER_MAX_LINES }),
            Step::Digest(DigestStep::default()),
            Step::pass(Preview::default()),
            Step::pass(DropMiddle::default()),
            Step::Restore { max_files: DEFAULT_MAX_RESTORED },
        ])
    }

    /// Builds the preset `three-level`: shorter tool outputs, a line for each old reply, giant bodies shortened, the
    /// middle dropped. No digest is written.
    pub fn three_level(outputs: ToolOutput, replies: Collapse, middle: DropMiddle) -> Self {
        let preview = Step::pass(Preview::default());
        Self::new(vec![Step::pass(outputs), Step::pass(replies), preview, Step::pass(middle)])
    }

    /// Builds the preset `policy`: oversized results previewed, the oldest messages dropped, loose ends repaired. No
    /// digest is written.
    pub fn policy(min_recent_messages: usize, artifact: ArtifactCompactionConfig) -> Self {
        let artifact = Step::always(Artifact { config: artifact });
        let truncate = Step::pass(Truncate { min_recent_messages });
        // Calls that are in flight are left to the host, which knows whether they still run.
        Self::new(vec![artifact, truncate, Step::always(Repair::default())])
    }

    /// Builds the pipeline of the bare condenser: one digest and nothing beside it.
    pub fn bare() -> Self {
        Self::new(vec![Step::Digest(DigestStep { keep_prompt: false })])
    }

    /// Limits how many files are given back; 0 gives none back.
    #[must_use]
    pub fn max_restored(mut self, n: usize) -> Self {
        for step in &mut self.steps {
            if let Step::Restore { max_files } = step {
                *max_files = n;
            }
        }
        self.steps.retain(|step| !matches!(step, Step::Restore { max_files: 0 }));
        self
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

    /// Plans all steps over a transcript. Nothing is changed or paid for; a report with the reason comes back where
    /// there is nothing to do.
    pub fn plan<'a>(
        &self,
        view: &'a WeighedTranscript<'a>,
        budget: &Budget,
        trigger: Trigger,
    ) -> Result<Plan<'a>, Box<CondenseReport>> {
        StepRunner::new(view, *budget, trigger, &self.vocabulary).run(&self.steps)
    }
}
