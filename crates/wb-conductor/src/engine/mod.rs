//! [`StepRunner`] runs the steps of a pipeline over a draft until it fits: passes and the order of
//! steps here, the digest's head in `fold`, restored files in `restore`.

mod fold;
mod restore;

use wb_budget::{Budget, BudgetSplit, WeighedTranscript};
use wb_facts::Facts;
use wb_message::{Edit, ToolVocabulary};
use wb_passes::{Goal, Pass};

use crate::draft::Draft;
use crate::plan::{Head, Plan};
use crate::report::{CompactionReport, StepReport, Unchanged};
use crate::step::{DigestStep, Step, Trigger};

/// The tokens of the lines below a digest, in addition to half of the digest's bound.
const LINES_TOKENS: u64 = 1450;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DigestPhase {
    /// No digest is due, or one only if it is needed.
    None,
    /// A forced digest is still to come: what can be had again goes with its head.
    Before,
    After,
}

/// A draft and the state of the steps that run over it.
pub(crate) struct StepRunner<'a, 'p> {
    draft: Draft<'a>,
    /// The pinned messages of the input, in order.
    pinned: Vec<usize>,
    budget: Budget,
    split: BudgetSplit,
    /// The most that the transcript may weigh at the end, pinned messages included.
    target: u64,
    /// The tokens that later steps will add.
    reserved: u64,
    trigger: Trigger,
    phase: DigestPhase,
    vocabulary: &'p ToolVocabulary,
    facts: Option<&'a Facts>,
    head: Option<Head<'a>>,
    steps: Vec<StepReport>,
    /// Is true if a step ran that may add weight.
    may_add: bool,
    /// Is true if a digest that keeps the user's words would save nothing.
    is_floor_too_heavy: bool,
}

impl<'a, 'p> StepRunner<'a, 'p> {
    pub(crate) fn new(
        view: WeighedTranscript<'a>,
        budget: Budget,
        trigger: Trigger,
        vocabulary: &'p ToolVocabulary,
        facts: Option<&'a Facts>,
    ) -> Self {
        let pinned = view.pinned();
        let pinned_tokens = pinned.iter().map(|at| view.weight(*at)).fold(0, u64::saturating_add);
        let split = budget.split(pinned_tokens);
        Self {
            draft: Draft::new(view),
            pinned,
            budget,
            split,
            target: split.room.saturating_add(pinned_tokens),
            reserved: 0,
            trigger,
            phase: DigestPhase::None,
            vocabulary,
            facts,
            head: None,
            steps: Vec::new(),
            may_add: false,
            is_floor_too_heavy: false,
        }
    }

    pub(crate) fn run(mut self, steps: &[Step]) -> Result<Plan<'a>, Box<CompactionReport>> {
        let tokens_before = self.draft.total();
        self.reserved = steps.iter().map(|step| self.added_tokens(step)).fold(0, u64::saturating_add);
        let is_over = self.is_forced() || self.budget.is_over(tokens_before.saturating_add(self.reserved));
        if self.is_forced() && steps.iter().any(|step| matches!(step, Step::Digest(_))) {
            self.phase = DigestPhase::Before;
        }
        for step in steps {
            self.run_step(step, is_over);
        }
        // A step may have made room for an earlier one to go on.
        while is_over && self.is_above_target() {
            let before = self.draft.total();
            let passes = steps.iter().filter(|step| matches!(step, Step::Pass(_)));
            passes.for_each(|step| self.run_step(step, true));
            if self.draft.total() >= before {
                break;
            }
        }
        self.fit_digest();
        let report = self.report(is_over);
        if self.steps.is_empty() {
            let reason = if self.is_floor_too_heavy {
                Unchanged::NotWorthIt { saves: 0 }
            } else if is_over {
                Unchanged::NothingToFold
            } else {
                Unchanged::UnderBudget
            };
            let irreducible = self.budget.irreducible(report.tokens_before, is_over);
            return Err(Box::new(CompactionReport { irreducible, ..report.into_unchanged(reason) }));
        }
        let report = CompactionReport { steps: self.steps, ..report };
        let head = self.head.filter(|_| self.draft.hole().is_some());
        Ok(Plan {
            draft: self.draft,
            head,
            budget: self.budget,
            is_over,
            trigger: self.trigger,
            may_add: self.may_add,
            sent: None,
            is_guarded: true,
            report,
        })
    }

    fn is_forced(&self) -> bool {
        self.trigger != Trigger::Auto
    }

    fn report(&self, is_over: bool) -> CompactionReport {
        let input = &self.draft.input;
        CompactionReport {
            tokens_before: input.total_tokens(),
            tokens_after: input.total_tokens(),
            messages_before: input.messages.len(),
            messages_after: input.messages.len(),
            context_tokens: self.budget.context_tokens(input.total_tokens()),
            limit_tokens: self.budget.has_target().then_some(self.budget.limit),
            target_tokens: (is_over && self.budget.has_target()).then_some(self.budget.target),
            ..CompactionReport::default()
        }
    }

    /// Returns the tokens that a `Step::Always` would add now; earlier steps may leave less to add.
    fn added_tokens(&self, step: &Step) -> u64 {
        let Step::Always(pass) = step else { return 0 };
        let input = &self.draft.input;
        let Some(patch) = pass.plan(input, self.goal(&[])) else { return 0 };
        let (mut added, mut removed) = (0_u64, 0_u64);
        for edit in &patch.edits {
            match edit {
                Edit::Fold { range, with } => {
                    added = with
                        .iter()
                        .map(|message| input.counter.message(message))
                        .fold(added, u64::saturating_add);
                    let removals =
                        range.clone().filter_map(|at| input.messages.get(at).map(|_| input.weight(at)));
                    removed += removals.sum::<u64>();
                }
                Edit::Body { .. } => return 0,
            }
        }
        added.saturating_sub(removed)
    }

    fn goal<'g>(&'g self, keep: &'g [usize]) -> Goal<'g> {
        Goal { target_tokens: self.target.saturating_sub(self.reserved), keep, vocabulary: self.vocabulary }
    }

    /// Returns whether the draft is above its target, the digest counted with the most that it may
    /// weigh. Without a window nothing runs after a digest.
    fn is_above_target(&self) -> bool {
        if self.phase == DigestPhase::After && !self.budget.has_target() {
            return false;
        }
        self.draft.total().saturating_add(self.reserved) > self.target
    }

    fn run_step(&mut self, step: &Step, is_over: bool) {
        let is_due = is_over && self.is_above_target();
        let is_changed = match step {
            Step::Pass(pass) => {
                (is_due || self.phase == DigestPhase::Before) && self.run_pass(pass.as_ref(), false)
            }
            Step::Always(pass) => {
                self.reserved = 0;
                self.run_pass(pass.as_ref(), true)
            }
            Step::Digest(digest) => {
                self.phase = DigestPhase::After;
                (is_due || self.is_forced()) && self.head.is_none() && self.run_digest(*digest)
            }
            Step::Restore(restore) => self.head.is_some() && self.restore(restore.max_files),
        };
        if is_changed {
            self.note(step.name(), matches!(step, Step::Always(_)));
        }
    }

    fn note(&mut self, name: &str, may_add: bool) {
        self.may_add |= may_add;
        let (tokens_after, messages_after) = (self.draft.total(), self.draft.len());
        match self.steps.iter_mut().find(|step| step.name == name) {
            Some(step) => (step.tokens_after, step.messages_after) = (tokens_after, messages_after),
            None => self.steps.push(StepReport { name: name.to_owned(), tokens_after, messages_after }),
        }
    }

    fn run_pass(&mut self, pass: &dyn Pass, may_add: bool) -> bool {
        let keep: Vec<usize> = self.draft.hole().map(|(at, _)| at).into_iter().collect();
        let patch = pass.plan(&self.draft.view(), self.goal(&keep));
        // An illegal patch, which a pass from outside may plan, changes nothing.
        patch.is_some_and(|patch| !patch.is_empty() && self.draft.apply(patch, may_add).is_ok())
    }

    fn run_digest(&mut self, step: DigestStep) -> bool {
        self.head = self.fold_head(step);
        self.head.is_some()
    }

    /// Returns the most tokens of the lines below a digest: most of the share of restored files,
    /// since a line says more for its tokens than a whole file. It is at most half of the digest's
    /// bound plus [`LINES_TOKENS`], and at most twice the digest. All figures are chosen by
    /// measurement (docs/evaluation/retention.md).
    fn most_lines(&self) -> u64 {
        let most = (self.split.restored / 8 * 7)
            .min(self.budget.digest / 2 + LINES_TOKENS)
            .min(self.budget.digest.saturating_mul(2));
        if self.split.is_hopeless { 0 } else { most }
    }

    /// Shrinks the digest by the excess; if even the shortest one does not fit, it keeps its share.
    fn fit_digest(&mut self) {
        let Some((_, room)) = self.draft.hole() else { return };
        let excess = (self.draft.total().saturating_add(self.reserved)).saturating_sub(self.target);
        let least = self.head.as_ref().map_or(0, |head| head.least_tokens);
        let fitting = room.saturating_sub(excess);
        if self.budget.has_target() && fitting >= least {
            self.draft.resize_hole(fitting);
        }
    }
}
