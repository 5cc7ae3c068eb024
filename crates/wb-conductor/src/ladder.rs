//! Passes from cheap to dear until the transcript fits; their order is data.

use serde::{Deserialize, Serialize};
use wb_budget::{BudgetPolicy, ContextWindowPolicy, Irreducible, ModelCard, Shares, Weigher};
use wb_message::marks::{DROPPED_MARK, digest_body, is_cleared, is_pinned};
use wb_message::{Edit, Message, Origin, Patch};
use wb_passes::three_level::ContextConfig;
use wb_passes::{
    Artifact, ArtifactCompactionConfig, Climb, ClimbStep, Climbed, Collapse, DEFAULT_KEEP_RECENT, DropMiddle,
    Microcompact, OrphanFate, Pass, Preview, Repair, ToolOutput, Truncate, UndoStack,
};

use crate::prepare::{apply, prepare_owned, run};
use crate::report::{CondenseReport, Stage, Unchanged, refused_usage};
use crate::settings::{CondenseOpts, CondenseSettings};

/// One step of a [`Ladder`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Rung {
    /// Clears stale tool results that can be had again.
    Microcompact {
        /// How many of the newest results stay.
        keep_recent_results: usize,
    },
    /// Previews oversized tool results, whether or not the transcript is over its limit.
    Artifact(ArtifactCompactionConfig),
    /// Keeps the head and tail lines of tool outputs.
    ToolOutput {
        /// The most lines of one output.
        max_lines: usize,
    },
    /// Turns old replies and their results into a line each, and one for each result that failed.
    Collapse {
        /// How many of the newest messages stay as they are.
        keep_recent: usize,
    },
    /// Shortens the largest tool bodies to one length.
    Preview,
    /// Folds the head into a digest; asks a model where there is one.
    Condense,
    /// Drops messages between the first and the recent ones, but neither the task nor the latest request.
    DropMiddle {
        /// How many of the first messages are kept before others.
        keep_first: usize,
        /// How many of the newest messages are kept before others.
        keep_recent: usize,
    },
    /// Drops the oldest messages.
    Truncate {
        /// The fewest recent messages that stay.
        min_recent_messages: usize,
    },
    /// Answers calls without a result and drops results without a call, whether or not the transcript is over.
    Repair,
}

/// Passes in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Ladder {
    /// The steps, from cheap to dear.
    pub rungs: Vec<Rung>,
}

/// The most lines of a tool output in our own ladder.
const LADDER_MAX_LINES: usize = 200;

impl Default for Ladder {
    /// Clears stale results, shortens outputs, condenses, and drops the middle as the last resort.
    fn default() -> Self {
        let ContextConfig { keep_first, keep_recent, .. } = ContextConfig::default();
        Self {
            rungs: vec![
                Rung::Microcompact { keep_recent_results: DEFAULT_KEEP_RECENT },
                Rung::ToolOutput { max_lines: LADDER_MAX_LINES },
                Rung::Condense,
                Rung::DropMiddle { keep_first, keep_recent },
            ],
        }
    }
}

impl Ladder {
    /// The three levels of seed 1, with giant bodies shortened before anything is dropped.
    pub fn three_level(config: &ContextConfig) -> Self {
        let ContextConfig { keep_first, keep_recent, tool_output_max_lines, .. } = *config;
        Self {
            rungs: vec![
                Rung::ToolOutput { max_lines: tool_output_max_lines },
                Rung::Collapse { keep_recent },
                Rung::Preview,
                Rung::DropMiddle { keep_first, keep_recent },
            ],
        }
    }

    /// The request transforms of seed 4: artifacts, truncation, repair.
    pub fn policy(policy: &ContextWindowPolicy, artifact: ArtifactCompactionConfig) -> Self {
        let min_recent_messages = policy.min_recent_messages;
        Self { rungs: vec![Rung::Artifact(artifact), Rung::Truncate { min_recent_messages }, Rung::Repair] }
    }
}

/// What a transcript may weigh, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderBudget {
    /// Above this the ladder is climbed.
    pub limit_tokens: u64,
    /// At or below this it ends.
    pub target_tokens: u64,
    /// What is sent beside the transcript.
    pub overhead_tokens: u64,
}

impl LadderBudget {
    /// The limit and target of a card under a policy, as the pipeline's.
    pub fn of(card: &ModelCard, policy: &BudgetPolicy, overhead_tokens: u64) -> Self {
        let Shares { limit_tokens, target_tokens, .. } = Shares::of(card, policy, overhead_tokens);
        Self { limit_tokens, target_tokens, overhead_tokens }
    }

    /// One figure for both, for steps that leave a distance to the next time themselves, as [`Rung::Truncate`] does.
    pub fn flat(tokens: u64, overhead_tokens: u64) -> Self {
        Self { limit_tokens: tokens, target_tokens: tokens, overhead_tokens }
    }

    /// A limit, and seven eighths of it as the target, so that the next message does not start another climb.
    pub fn landing(limit_tokens: u64, overhead_tokens: u64) -> Self {
        Self { limit_tokens, target_tokens: limit_tokens - limit_tokens.div_ceil(8), overhead_tokens }
    }

    /// Returns what the transcript alone may weigh at the end. Where what is sent beside it reaches the target, nothing
    /// fits anyway, and an eighth of the limit is left of it rather than nothing.
    fn transcript_tokens(&self) -> u64 {
        match self.target_tokens.saturating_sub(self.overhead_tokens) {
            0 => self.limit_tokens / 8,
            room => room,
        }
    }

    fn is_over(&self, tokens: u64) -> bool {
        tokens.saturating_add(self.overhead_tokens) > self.limit_tokens
    }

    /// Counts what the provider reported over the estimate as sent beside the transcript.
    fn anchored(mut self, context_tokens: u64, estimate: u64) -> Self {
        self.overhead_tokens = self.overhead_tokens.max(context_tokens.saturating_sub(estimate));
        self
    }

    /// Returns the window that a reported figure is judged by: the card's, else twice the limit.
    fn window(&self, settings: &CondenseSettings) -> u64 {
        let of_card = settings.card.as_ref().map(|card| card.context_window);
        of_card.unwrap_or(self.limit_tokens.saturating_mul(2))
    }

    /// Returns settings under which a condense is due now and aims at this budget's target.
    fn settings(&self, settings: &CondenseSettings) -> CondenseSettings {
        // Seven eighths of this window are the target.
        let window = self.target_tokens.saturating_add(self.target_tokens / 7).max(1);
        let input_card = settings.input_card.clone().or_else(|| settings.card.clone());
        let card = ModelCard { context_window: window, ..settings.card.clone().unwrap_or_default() };
        let policy = BudgetPolicy { trigger_ratio: 1.0, reserve_tokens: None, ..settings.policy };
        let settings = settings.clone().card(card).policy(policy).overhead_tokens(self.overhead_tokens);
        CondenseSettings { due: true, input_card, ..settings }
    }
}

/// What a ladder did.
#[derive(Debug)]
#[non_exhaustive]
pub struct LadderReport {
    /// The figures, as of any compaction; its `undo` is here instead.
    pub report: CondenseReport,
    /// What each step left, in order.
    pub steps: Vec<ClimbStep>,
    /// Where each message of the output comes from in the input.
    pub origins: Vec<Origin>,
    /// What takes it back.
    pub undo: UndoStack,
}

impl Ladder {
    /// Climbs until the transcript fits; one that is within its limit has its artifacts previewed and is repaired
    /// where the ladder says so, and is condensed where that is forced.
    ///
    /// `settings` are those of [`Rung::Condense`], and what messages are weighed with. Dropping the future before it
    /// is done leaves a transcript that is valid: some steps are done, the others are not.
    pub async fn climb(
        &self,
        messages: &mut Vec<Message>,
        budget: LadderBudget,
        settings: &CondenseSettings,
        opts: &CondenseOpts,
    ) -> LadderReport {
        let weigher = settings.weigher.clone();
        let mut climb = Climb::new(messages, weigher.as_ref());
        let mut report = CondenseReport::default();
        let budget = match refused_usage(opts.context_tokens, budget.window(settings)) {
            None => budget.anchored(opts.context_tokens, climb.total_tokens()),
            refused => {
                report.refused = refused;
                budget
            }
        };
        // What is added at the end has its room kept free by the steps before it.
        let repair_tokens = self.repair_tokens(&climb, weigher.as_ref());
        let over = budget.is_over(climb.total_tokens().saturating_add(repair_tokens));
        let added_tokens = self.mark_tokens(weigher.as_ref()).saturating_add(repair_tokens);
        let target = budget.transcript_tokens().saturating_sub(added_tokens);
        let mut stages = Vec::new();
        for rung in &self.rungs {
            let due = over && climb.total_tokens() > target;
            match rung {
                Rung::Repair => stages.extend(repair(&mut climb)),
                Rung::Condense if due || opts.force => {
                    let mut condensed = condense(&mut climb, budget, settings, opts).await;
                    stages.append(&mut condensed.stages);
                    merge(&mut report, condensed);
                }
                free if due || matches!(free, Rung::Artifact(_)) => {
                    stages.extend(free.step(&mut climb, settings, target));
                }
                _ => {}
            }
        }
        // A rung may have made room for an earlier one to go on.
        let is_over = |climb: &Climb<'_>| over && climb.total_tokens() > budget.transcript_tokens();
        while is_over(&climb) && self.climb_again(&mut climb, settings, target, &mut stages) {}
        report.stages = stages;
        if !over && report.unchanged.is_none() {
            report.unchanged = Some(Unchanged::UnderBudget);
        }
        let climbed = climb.done();
        told(messages, budget, climbed, report, !over)
    }

    /// Climbs the free rungs once more; tells whether any changed something.
    fn climb_again(
        &self,
        climb: &mut Climb<'_>,
        settings: &CondenseSettings,
        target: u64,
        stages: &mut Vec<Stage>,
    ) -> bool {
        let tokens_before = climb.total_tokens();
        for rung in &self.rungs {
            let stage = if climb.total_tokens() > target { rung.step(climb, settings, target) } else { None };
            stages.extend(stage.filter(|stage| !stages.contains(stage)));
        }
        climb.total_tokens() < tokens_before
    }

    /// Returns what the mark of a truncation may add, in tokens.
    fn mark_tokens(&self, weigher: &dyn Weigher) -> u64 {
        let truncates = self.rungs.iter().any(|rung| matches!(rung, Rung::Truncate { .. }));
        if truncates { weigher.weigh(&Message::user(DROPPED_MARK)) } else { 0 }
    }

    /// Returns what a repair would add now, in tokens; truncation before it may leave less to repair.
    fn repair_tokens(&self, climb: &Climb<'_>, weigher: &dyn Weigher) -> u64 {
        if !self.rungs.contains(&Rung::Repair) {
            return 0;
        }
        let patch = REPAIR.plan(climb.view()).unwrap_or_default();
        let brought = patch.edits.iter().flat_map(|edit| match edit {
            Edit::Fold { with, .. } => with.as_slice(),
            Edit::Body { .. } => &[],
        });
        brought.map(|message| weigher.weigh(message)).fold(0, u64::saturating_add)
    }
}

impl Rung {
    fn stage(&self) -> Stage {
        match self {
            Self::Microcompact { .. } => Stage::Microcompact,
            Self::Artifact(_) => Stage::Artifact,
            Self::ToolOutput { .. } => Stage::ToolOutput,
            Self::Collapse { .. } => Stage::Collapse,
            Self::Preview => Stage::Preview,
            Self::Condense => Stage::Condense,
            Self::DropMiddle { .. } => Stage::DropMiddle,
            Self::Truncate { .. } => Stage::Truncate,
            Self::Repair => Stage::Repair,
        }
    }

    /// Takes a free step; nothing for one that is none or changes nothing.
    fn step(&self, climb: &mut Climb<'_>, settings: &CondenseSettings, target: u64) -> Option<Stage> {
        let stepped = climb.step(self.pass(settings)?.as_ref(), target);
        if stepped && matches!(self, Self::Truncate { .. }) {
            open_with_a_user(climb);
        }
        stepped.then(|| self.stage())
    }

    /// Returns the pass of a free step.
    fn pass(&self, settings: &CondenseSettings) -> Option<Box<dyn Pass>> {
        Some(match *self {
            Self::Condense | Self::Repair => return None,
            Self::Microcompact { keep_recent_results } => {
                Box::new(Microcompact { vocabulary: settings.vocabulary, keep_recent_results })
            }
            Self::Artifact(config) => Box::new(Artifact { config }),
            Self::ToolOutput { max_lines } => Box::new(ToolOutput { max_lines }),
            Self::Collapse { keep_recent } => Box::new(Collapse { keep_recent }),
            Self::Preview => Box::new(Preview::default()),
            Self::DropMiddle { keep_first, keep_recent } => Box::new(DropMiddle { keep_first, keep_recent }),
            Self::Truncate { min_recent_messages } => Box::new(Truncate { min_recent_messages }),
        })
    }
}

/// Puts the mark of a drop in front where providers would refuse the first message, since it is not the user's.
fn open_with_a_user(climb: &mut Climb<'_>) {
    let messages = climb.view().messages;
    let Some(first) = messages.iter().position(|message| !is_pinned(message)) else { return };
    if matches!(messages[first], Message::Assistant { .. } | Message::ToolResult { .. }) {
        let with = vec![Message::user(DROPPED_MARK)];
        // A refused mark leaves the transcript as it is, which is all that can be done.
        let _ = climb.apply("truncate", Patch::new(vec![Edit::Fold { range: first..first, with }]));
    }
}

/// Calls that are in flight are left to the host, which knows whether they still run.
const REPAIR: Repair = Repair { orphans: OrphanFate::Drop, in_flight: false };

fn repair(climb: &mut Climb<'_>) -> Option<Stage> {
    let patch = REPAIR.plan(climb.view())?;
    // A refused repair leaves the transcript as it is, which is all that can be done.
    climb.apply("repair", patch).ok().map(|()| Stage::Repair)
}

/// Folds the head into a digest, so that what is left comes down to the ladder's target.
async fn condense(
    climb: &mut Climb<'_>,
    budget: LadderBudget,
    settings: &CondenseSettings,
    opts: &CondenseOpts,
) -> CondenseReport {
    let settings = budget.settings(settings);
    let opts = CondenseOpts { context_tokens: 0, ..opts.clone() };
    let prepared = match prepare_owned(climb.view().messages, &settings, &opts) {
        Ok(prepared) => prepared,
        Err(report) => return *report,
    };
    let proposal = run(prepared).await;
    climb.lend("condense", |messages| {
        let mut report = apply(messages, proposal);
        let undo = report.undo.take();
        (report, undo)
    })
}

/// Adds what another condense did and cost.
fn merge(report: &mut CondenseReport, condensed: CondenseReport) {
    let (usage, n_requests) = (report.usage.plus(condensed.usage), report.n_requests + condensed.n_requests);
    let refused = report.refused.take();
    if report.digest.is_none() || condensed.digest.is_some() {
        *report = condensed;
    }
    (report.usage, report.n_requests, report.refused) = (usage, n_requests, refused);
}

/// Tells what became of the input as a whole, whatever the steps were.
fn told(
    messages: &[Message],
    budget: LadderBudget,
    climbed: Climbed,
    mut report: CondenseReport,
    within: bool,
) -> LadderReport {
    let Climbed { steps, tokens_before, tokens_after, n_before, origins, replaced, undo, .. } = climbed;
    report.tokens_before = tokens_before;
    report.tokens_after = tokens_after;
    report.messages_before = n_before;
    report.messages_after = messages.len();
    report.context_tokens = tokens_before.saturating_add(budget.overhead_tokens);
    report.limit_tokens = Some(budget.limit_tokens);
    report.target_tokens = Some(budget.target_tokens);
    let reached_tokens = tokens_after.saturating_add(budget.overhead_tokens);
    // What was within its limit and has only been previewed or repaired need not come down to the target.
    let aim = if within { budget.limit_tokens } else { budget.target_tokens };
    report.irreducible = Irreducible::above(aim, reached_tokens);
    let kept = || origins.iter().enumerate().filter_map(|(at, origin)| Some((origin.kept()?, at)));
    let n_kept = kept().count();
    report.folded = n_before - n_kept;
    report.cut = first_of_the_kept_end(n_before, &origins);
    let shown = kept().filter(|(at, _)| replaced.binary_search(at).is_ok());
    let (cleared, previewed): (Vec<_>, Vec<_>) =
        shown.partition(|(_, now)| is_cleared(messages[*now].blocks()));
    report.cleared = cleared.into_iter().map(|(at, _)| at).collect();
    report.previewed = previewed.into_iter().map(|(at, _)| at).collect();
    report.unchanged = match report.unchanged {
        _ if !steps.is_empty() => None,
        Some(reason) => Some(reason),
        None => Some(Unchanged::NothingToFold),
    };
    let new = origins.iter().zip(messages).filter(|(origin, _)| **origin == Origin::New);
    if !new.map(|(_, message)| message).any(|message| digest_body(message).is_some()) {
        // A later step dropped it again.
        (report.digest, report.digest_tokens) = (None, 0);
    }
    LadderReport { report, steps, origins, undo }
}

/// Returns the index in the input from which on everything stays; 0 where nothing went.
fn first_of_the_kept_end(n_before: usize, origins: &[Origin]) -> usize {
    let from_end = origins.iter().rev().copied().filter_map(Origin::kept);
    let n_end = from_end.zip((0..n_before).rev()).take_while(|(at, expected)| at == expected).count();
    n_before - n_end
}
