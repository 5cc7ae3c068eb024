//! Runs the steps of a pipeline over a draft, until it fits.

mod fold;

use wb_budget::{Budget, BudgetSplit, WeighedTranscript};
use wb_message::{Edit, Patch, ToolVocabulary};
use wb_passes::{Goal, Pass, RestoreLimits, restore_reads};
use wb_summarize::Facts;

use crate::draft::Draft;
use crate::pipeline::{DigestStep, Pipeline, Step, Trigger};
use crate::plan::{Head, Plan};
use crate::report::{CompactionReport, StepReport, Unchanged};

impl Pipeline {
    /// Plans all steps over a transcript. Nothing is changed or paid for; a report with the reason comes back where
    /// there is nothing to do.
    ///
    /// A digest is told from the newest messages alone; [`Self::plan_with`] tells it from the whole session.
    pub fn plan<'a>(
        &self,
        view: &'a WeighedTranscript<'a>,
        budget: &Budget,
        trigger: Trigger,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        self.plan_with(view, budget, trigger, None)
    }

    /// As [`Self::plan`], with the facts of a session that ends with the transcript's last message.
    pub fn plan_with<'a>(
        &self,
        view: &'a WeighedTranscript<'a>,
        budget: &Budget,
        trigger: Trigger,
        facts: Option<&'a Facts>,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        StepRunner::new(view, *budget, trigger, &self.vocabulary, facts).run(&self.steps)
    }
}

/// The tokens of the lines below a digest, besides half of what the digest itself may weigh.
const LINES_TOKENS: u64 = 1450;

/// Where the steps stand to the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// None is asked for, or one only if it is needed.
    NoDigest,
    /// One that the host wants is still to come: what can be had again goes with its head.
    Before,
    After,
}

/// A draft on its way down.
pub(crate) struct StepRunner<'a, 'p> {
    pub(crate) draft: Draft<'a>,
    /// The pinned messages of the input, in order.
    pub(crate) pinned: Vec<usize>,
    pub(crate) budget: Budget,
    pub(crate) split: BudgetSplit,
    /// What the transcript may weigh at the end, pinned messages included.
    target: u64,
    /// What steps will add that are yet to come.
    reserved: u64,
    pub(crate) is_forced: bool,
    phase: Phase,
    pub(crate) vocabulary: &'p ToolVocabulary,
    pub(crate) facts: Option<&'a Facts>,
    pub(crate) head: Option<Head<'a>>,
    steps: Vec<StepReport>,
    /// Whether a step was run that may add weight.
    may_add: bool,
}

impl<'a, 'p> StepRunner<'a, 'p> {
    pub(crate) fn new(
        view: &'a WeighedTranscript<'a>,
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
            is_forced: trigger == Trigger::Forced,
            phase: Phase::NoDigest,
            vocabulary,
            facts,
            head: None,
            steps: Vec::new(),
            may_add: false,
        }
    }

    pub(crate) fn run(mut self, steps: &[Step]) -> Result<Plan<'a>, Box<CompactionReport>> {
        let tokens_before = self.draft.total();
        let added: u64 = steps.iter().map(|step| self.would_add(step)).fold(0, u64::saturating_add);
        let is_over = self.is_forced || self.budget.is_over(tokens_before.saturating_add(added));
        self.reserved = added;
        if self.is_forced && steps.iter().any(|step| matches!(step, Step::Digest(_))) {
            self.phase = Phase::Before;
        }
        for step in steps {
            self.take(step, is_over);
        }
        // A step may have made room for an earlier one to go on.
        while is_over && self.is_above_target() {
            let before = self.draft.total();
            steps.iter().filter(|step| matches!(step, Step::Pass(_))).for_each(|step| self.take(step, true));
            if self.draft.total() >= before {
                break;
            }
        }
        self.fit_digest();
        let report = self.report(is_over);
        if self.steps.is_empty() {
            let reason = if is_over { Unchanged::NothingToFold } else { Unchanged::UnderBudget };
            let irreducible = self.budget.irreducible(report.tokens_before, is_over);
            return Err(Box::new(CompactionReport { irreducible, ..report.not_changed(reason) }));
        }
        let report = CompactionReport { steps: self.steps, ..report };
        let head = self.head.filter(|_| self.draft.hole().is_some());
        Ok(Plan {
            draft: self.draft,
            head,
            budget: self.budget,
            is_over,
            may_add: self.may_add,
            sent: None,
            is_guarded: true,
            report,
        })
    }

    fn report(&self, is_over: bool) -> CompactionReport {
        let input = self.draft.input;
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

    /// Returns what a step that is always run would add now; those before it may leave less to add.
    fn would_add(&self, step: &Step) -> u64 {
        let Step::Always(pass) = step else { return 0 };
        let Some(patch) = pass.plan(self.draft.input, self.goal(&[])) else { return 0 };
        let input = self.draft.input;
        let (mut added, mut removed) = (0_u64, 0_u64);
        for edit in &patch.edits {
            match edit {
                Edit::Fold { range, with } => {
                    added = with
                        .iter()
                        .map(|message| input.counter.message(message))
                        .fold(added, u64::saturating_add);
                    let gone =
                        range.clone().filter_map(|at| input.messages.get(at).map(|_| input.weight(at)));
                    removed += gone.sum::<u64>();
                }
                Edit::Body { .. } => return 0,
            }
        }
        added.saturating_sub(removed)
    }

    fn goal<'g>(&'g self, keep: &'g [usize]) -> Goal<'g> {
        Goal { target_tokens: self.target.saturating_sub(self.reserved), keep, vocabulary: self.vocabulary }
    }

    /// Tells whether the draft is above its target, the digest counted with all that it may weigh. Without a window a
    /// digest is all that can be asked for.
    fn is_above_target(&self) -> bool {
        if self.phase == Phase::After && !self.budget.has_target() {
            return false;
        }
        self.draft.total().saturating_add(self.reserved) > self.target
    }

    fn take(&mut self, step: &Step, is_over: bool) {
        let due = is_over && self.is_above_target();
        let done = match step {
            Step::Pass(pass) => (due || self.phase == Phase::Before) && self.pass(pass.as_ref(), false),
            Step::Always(pass) => {
                self.reserved = 0;
                self.pass(pass.as_ref(), true)
            }
            Step::Digest(digest) => {
                self.phase = Phase::After;
                (due || self.is_forced) && self.head.is_none() && self.digest(*digest)
            }
            Step::Restore(restore) => self.head.is_some() && self.restore(restore.max_files),
        };
        if done {
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

    fn pass(&mut self, pass: &dyn Pass, may_add: bool) -> bool {
        let keep: Vec<usize> = self.draft.hole().map(|(at, _)| at).into_iter().collect();
        let patch = pass.plan(&self.draft.view(), self.goal(&keep));
        // A pass from elsewhere may plan what is not allowed; then it has done nothing.
        patch.is_some_and(|patch| !patch.is_empty() && self.draft.take_in(patch, may_add).is_ok())
    }

    /// Returns the most tokens of the lines below a digest: most of what may be given back, since a line says more for its
    /// tokens than a whole file, and no more than half of what the digest itself may weigh and [`LINES_TOKENS`], nor than twice the digest. All figures are chosen
    /// by measurement (docs/evaluation/retention.md).
    pub(crate) fn most_lines(&self) -> u64 {
        let most = (self.split.restored / 8 * 7)
            .min(self.budget.digest / 2 + LINES_TOKENS)
            .min(self.budget.digest.saturating_mul(2));
        if self.split.is_hopeless { 0 } else { most }
    }

    fn digest(&mut self, step: DigestStep) -> bool {
        self.head = self.fold_head(step);
        self.head.is_some()
    }

    /// Gives files back within what is left, and never so many that there are more messages than before.
    fn restore(&mut self, max_files: usize) -> bool {
        let (Some(head), Some((hole, digest_tokens))) = (&self.head, self.draft.hole()) else { return false };
        // What does not fit anyway is not made heavier.
        if self.budget.has_target() && self.split.is_hopeless {
            return false;
        }
        let total = self.draft.total();
        let freed = self.draft.input.total_tokens().saturating_sub(total - digest_tokens);
        let has_target = self.budget.has_target();
        let room = self.target.saturating_sub(self.reserved.saturating_add(total));
        let room = if has_target { room } else { u64::MAX };
        // Lines and files compete for the same room: where there are as many lines as may be, no file is given back.
        let restored = u128::from(self.split.restored);
        let taken = restored * u128::from(head.lines_tokens) / u128::from(self.most_lines().max(1));
        let left = self.split.restored.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        let max_tokens = left.min(room).min(freed / 2);
        if max_tokens == 0 {
            return false;
        }
        let limits = RestoreLimits {
            max_files: max_files.min(self.draft.n_free()),
            max_tokens,
            vocabulary: self.vocabulary,
            is_stale: &|path| head.facts.files().is_stale(path),
        };
        let files = restore_reads(self.draft.input, head.cut, &self.draft.hidden(head.cut), limits);
        if files.is_empty() {
            return false;
        }
        let (least, before) = (head.least_tokens, total);
        let patch = Patch::new(vec![Edit::Fold { range: hole + 1..hole + 1, with: files }]);
        let done = self.draft.take_in(patch, true).is_ok();
        // What replaces a head is lighter by much: the digest takes at most half of what the files leave.
        let left = freed.saturating_sub(self.draft.total() - before);
        self.draft.resize_hole(digest_tokens.min(left / 2).max(least));
        done
    }

    /// Takes from the digest what is missing; where not even the shortest one fits, nothing does, and it keeps its share.
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
