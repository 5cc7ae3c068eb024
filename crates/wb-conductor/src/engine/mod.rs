//! [`StepRunner`] runs the steps of a pipeline over a draft until it fits: passes, the fold of a
//! head into a digest, and restored files.

mod drop_step;

use std::borrow::Cow;
use std::ops::Range;

use wb_budget::{Budget, BudgetSplit, TokenHeuristic, WeighedTranscript, plan_cut, prefix_sums};
use wb_facts::Facts;
use wb_language::user_text::is_request;
use wb_message::markers::{is_pinned, is_prompt};
use wb_message::{Edit, Message, Patch, ToolVocabulary, runs};
use wb_passes::{Goal, Pass, RestoreLimits, restore_reads};
use wb_summarize::{CondenseScope, LocalDigest, REQUEST_BYTES, digest_message, has_news, newest_timestamp};

use self::drop_step::drop_chosen;
use crate::digest_writer::{Credentials, by_message_number};
use crate::draft::Draft;
use crate::plan::{Floor, Head, Plan};
use crate::report::{CompactionReport, StepReport, Unchanged};
use crate::step::{DigestStep, DropStep, Step, Trigger};

/// The tokens of the lines below a digest, in addition to half of the digest's bound.
const LINES_TOKENS: u64 = 1450;
/// The weight in tokens of a digest that is only a count, the least that a digest contains.
const LEAST_DIGEST_TOKENS: u64 = 45;

/// The weight in tokens of the headings of a digest.
const HEADING_TOKENS: u64 = 80;

/// The figures of a draft that choosing a cut needs.
struct Places<'d> {
    /// Running sums of the weights, in which pinned messages weigh 0.
    light: Cow<'d, [u64]>,
    /// The last message that the user wrote.
    prompt: Option<usize>,
}

impl Places<'_> {
    fn total(&self) -> u64 {
        self.light.last().copied().unwrap_or(0)
    }

    fn weight(&self, at: usize) -> u64 {
        self.light[at + 1] - self.light[at]
    }

    fn tail(&self, cut: usize) -> u64 {
        self.total() - self.light[cut]
    }
}

/// Returns whether a prompt has words; a tail cannot begin at an empty one.
fn has_words(message: &Message) -> bool {
    let Message::User { content, .. } = message else { return false };
    is_prompt(message) && content.texts().any(|text| !text.trim().is_empty())
}

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
    /// The messages of the input that the user dropped, ascending.
    dropped: Vec<usize>,
    steps: Vec<StepReport>,
    /// Is true if a step ran that may add weight.
    may_add: bool,
    /// Requires a result with fewer messages than the input.
    requires_fewer: bool,
    /// One of the steps writes a digest.
    has_digest: bool,
    /// Decides whether a digest may lose what it has no room for.
    floor_rule: FloorRule,
}

/// The treatment of a floor that weighs as much as the messages that a digest would replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FloorRule {
    /// There was no such floor.
    Unmet,
    /// Other steps come first.
    Wait,
    /// They were not enough: the digest loses what has no room.
    Lose,
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
            dropped: Vec::new(),
            steps: Vec::new(),
            may_add: false,
            requires_fewer: false,
            has_digest: false,
            floor_rule: FloorRule::Unmet,
        }
    }

    pub(crate) fn requires_fewer(self, requires_fewer: bool) -> Self {
        Self { requires_fewer, ..self }
    }

    pub(crate) fn run(mut self, steps: &[Step]) -> Result<Plan<'a>, Box<CompactionReport>> {
        let tokens_before = self.draft.total();
        self.reserved = steps.iter().map(|step| self.added_tokens(step)).fold(0, u64::saturating_add);
        let is_over = self.is_forced() || self.budget.is_over(tokens_before.saturating_add(self.reserved));
        self.has_digest = steps.iter().any(|step| matches!(step, Step::Digest(_)));
        if self.is_forced() && self.has_digest {
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
        let is_floor_too_heavy = self.floor_rule == FloorRule::Wait && !self.must_shrink();
        if self.floor_rule == FloorRule::Wait && !is_floor_too_heavy && self.is_above_target() {
            self.floor_rule = FloorRule::Lose;
            let digests = steps.iter().filter(|step| matches!(step, Step::Digest(_)));
            digests.for_each(|step| self.run_step(step, true));
        }
        self.fit_digest();
        // Within its limit, a transcript that stays has no target to miss.
        let is_over = is_over && !is_floor_too_heavy;
        let report = self.report(is_over);
        let is_refused = self.requires_fewer && self.draft.n_free() == 0;
        if self.steps.is_empty() || is_refused {
            let reason = if is_floor_too_heavy {
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
            credentials: Credentials::Marked,
            recall_tool: None,
            report,
        })
    }

    /// Returns whether the transcript may not stay as it is.
    fn must_shrink(&self) -> bool {
        self.trigger == Trigger::Overflow || self.budget.is_over(self.draft.input.total_tokens())
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
        let target_tokens = self.target.saturating_sub(self.reserved);
        // The budget of a requested size has no caps.
        let is_size = self.budget.digest == u64::MAX;
        Goal { target_tokens, is_size, keep, vocabulary: self.vocabulary }
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
            Step::Drop(drop) => is_over && self.dropped.is_empty() && self.run_drop(drop),
            Step::Digest(digest) => {
                self.phase = DigestPhase::After;
                let is_due = is_due || self.is_forced() || (is_over && self.requires_fewer);
                is_due && self.head.is_none() && self.run_digest(*digest)
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

    fn run_drop(&mut self, step: &DropStep) -> bool {
        let (dropped, patch) = drop_chosen(&self.draft.view(), step, self.has_digest);
        let is_changed = !patch.is_empty() && self.draft.apply(patch, false).is_ok();
        self.dropped = if is_changed { dropped } else { Vec::new() };
        is_changed
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

    fn places(&self) -> Places<'_> {
        let draft = &self.draft;
        let weights = (0..draft.len()).map(|at| if self.is_pinned(at) { 0 } else { draft.weight(at) });
        let light = if self.has_no_pinned() {
            Cow::Borrowed(draft.prefix())
        } else {
            Cow::Owned(prefix_sums(weights))
        };
        let last = |is: fn(&Message) -> bool| (0..draft.len()).rev().find(|at| is(draft.original(*at)));
        Places { light, prompt: last(is_request).or_else(|| last(has_words)) }
    }

    fn is_pinned(&self, at: usize) -> bool {
        is_pinned(self.draft.original(at))
    }

    /// Returns whether no message of the draft can be pinned.
    fn has_no_pinned(&self) -> bool {
        self.pinned.is_empty() && self.draft.has_only_input()
    }

    /// Returns the ranges of the head that are folded: all but pinned messages and a kept prompt.
    fn folded_ranges(&self, cut: usize, kept: Option<usize>) -> Vec<Range<usize>> {
        if self.has_no_pinned() {
            let kept = kept.filter(|at| *at < cut).unwrap_or(cut);
            let parts = [0..kept, (kept + 1).min(cut)..cut];
            return parts.into_iter().filter(|part| !part.is_empty()).collect();
        }
        runs((0..cut).filter(|at| !self.is_pinned(*at) && Some(*at) != kept))
    }

    /// Folds the head of the draft and leaves a hole for its digest; `None` if that saves nothing.
    fn fold_head(&mut self, step: DigestStep) -> Option<Head<'a>> {
        let places = self.places();
        let cut = self.choose_cut(step, &places);
        if cut == 0 {
            return None;
        }
        let kept = self.prompt_to_keep(step, &places, cut);
        let ranges = self.folded_ranges(cut, kept);
        let last = ranges.last()?.clone();
        let head = self.head_before(cut, kept);
        let folded: u64 = ranges.iter().map(|range| self.draft.range_weight(range)).sum();
        let freed = self.draft.input.total_tokens().saturating_sub(self.draft.total() - folded);
        let most = head.own_tokens.saturating_add(head.floor.tokens).saturating_add(head.lines_tokens);
        // The digest is fitted in steps, and its tokens are denser in some parts than in others.
        let floor = head.floor.tokens.saturating_add(head.floor.tokens / 8);
        let floor = floor.saturating_add(head.least_tokens).saturating_add(HEADING_TOKENS);
        if floor >= freed && self.floor_rule != FloorRule::Lose {
            self.floor_rule = FloorRule::Wait;
            return None;
        }
        // A transcript over its limit loses what the floor cannot hold.
        let floor = if floor < freed { floor } else { 0 };
        // The headings of a short digest weigh more than its share.
        let others = self.draft.total() - folded;
        let is_within = self.budget.has_target() && others.saturating_add(floor) <= self.target;
        let most = if is_within { most.max(floor) } else { most };
        let room = most.min((freed / 2).max(floor)).max(head.least_tokens);
        if room >= freed {
            return None;
        }
        let place = digest_message(CondenseScope::Session, "# Carryover", head.timestamp);
        let folds = ranges.into_iter().map(|range| {
            let with = if range == last { vec![place.clone()] } else { Vec::new() };
            Edit::Fold { range, with }
        });
        self.draft.apply_with_hole(Patch::new(folds.collect()), room).ok()?;
        Some(head)
    }

    fn head_before(&mut self, cut: usize, kept: Option<usize>) -> Head<'a> {
        let input = &self.draft.input;
        let first = (cut..self.draft.len()).find_map(|at| self.draft.origin(at));
        let cut = first.unwrap_or(input.messages.len());
        let kept = kept.and_then(|at| self.draft.origin(at)).filter(|at| *at < cut);
        let messages = &input.messages[..cut];
        let facts = match self.facts {
            Some(facts) => Cow::Borrowed(facts),
            None => Cow::Owned(Facts::from_newest(&input.messages, self.vocabulary)),
        };
        let timestamp = newest_timestamp(messages);
        let stays = |at: usize| at >= cut || Some(at) == kept;
        let n_elided = cut - self.pinned.partition_point(|at| *at < cut) - kept.iter().count();
        let least = LocalDigest::new(&facts, n_elided).least();
        let least = input.counter.message(&digest_message(CondenseScope::Session, least, timestamp));
        let floor = self.floor(&facts, &stays);
        self.make_room_for(floor);
        let lines_tokens = self.needed_lines(&facts, cut);
        let own_tokens = self.split.digest;
        Head { cut, facts, n_elided, own_tokens, floor, lines_tokens, least_tokens: least, timestamp }
    }

    /// Returns the tokens that a digest may take in addition to its share for what no compaction
    /// drops, if the tail and the share leave that.
    fn most_for_floor(&self) -> u64 {
        let BudgetSplit { room, tail, digest, is_hopeless, .. } = self.split;
        if !self.budget.has_target() {
            return 0;
        }
        // What the user asked for is not dropped for a transcript that cannot fit anyway.
        let left = if is_hopeless { room } else { room.saturating_sub(tail.saturating_add(digest)) };
        left.min(self.budget.floor)
    }

    /// Returns the part of [`Self::most_for_floor`] that the digest needs.
    fn floor(&self, facts: &Facts, stays: &dyn Fn(usize) -> bool) -> Floor {
        let most = self.most_for_floor();
        if most == 0 {
            return Floor::default();
        }
        let has_message = |at: usize, _: &str| stays(at);
        let shows = by_message_number(facts, &self.draft.input.messages, &has_message);
        let max_chars = TokenHeuristic::DEFAULT.chars_within(most);
        let floor = LocalDigest::new(facts, 0).omit_visible(&shows).floor(max_chars);
        Floor { tokens: self.draft.input.counter.text(&floor).min(most), chars: floor.chars().count() }
    }

    /// Takes what the floor needs from restored files and lines, which can be had again.
    fn make_room_for(&mut self, floor: Floor) {
        let BudgetSplit { room, tail, digest, restored, .. } = self.split;
        if self.budget.has_target() {
            let free = room.saturating_sub(tail.saturating_add(digest).saturating_add(floor.tokens));
            self.split.restored = restored.min(free);
        }
    }

    /// Returns the tokens that the lines below the digest need, at most [`Self::most_lines`]; files
    /// get the rest.
    fn needed_lines(&self, facts: &Facts, cut: usize) -> u64 {
        let most = self.most_lines();
        if most == 0 {
            return 0;
        }
        let visible = self.draft.visible();
        let has_line = |at: usize, line: &str| at >= cut && visible.has_line(at, line);
        let shows = by_message_number(facts, &self.draft.input.messages, &has_line);
        let max_chars = TokenHeuristic::DEFAULT.chars_within(most);
        let lines = LocalDigest::new(facts, 0).omit_visible(&shows).lines(max_chars);
        self.draft.input.counter.text(&lines).min(most)
    }

    /// Returns the cut, or 0 if the head has nothing new.
    fn choose_cut(&self, step: DigestStep, places: &Places) -> usize {
        let by_tokens = || {
            let cut = |tail| plan_cut(&places.light, self.draft.pairing(), tail);
            match cut(self.split.tail) {
                // Earlier steps made so much room that all of it would be the tail.
                0 if self.requires_fewer => cut(places.total() / 2),
                cut => cut,
            }
        };
        let cut = match step.cut {
            Some(at) => self.place_of(at),
            None if self.is_forced() => self.forced_cut(places).max(self.cut_inside(places, by_tokens)),
            None => by_tokens(),
        };
        let cut = self.within_recent(step, self.past_fixed_outputs(places, cut));
        let kept = self.prompt_to_keep(step, places, cut);
        let kept_tokens = kept.map_or(0, |at| places.weight(at));
        // A head of digests and restored files is folded only to make room, if one digest is
        // shorter.
        let one_digest = self.split.digest + self.most_lines() + self.most_for_floor();
        let one_digest = one_digest.max(2 * LEAST_DIGEST_TOKENS);
        let makes_room = !self.fits(places.total()) && places.light[cut] - kept_tokens > one_digest;
        let news = (0..cut).filter(|at| Some(*at) != kept).any(|at| self.is_news(at));
        if news || (makes_room && self.budget.has_target()) { cut } else { 0 }
    }

    /// Returns the place of a message of the input, or of the next one that is left; an earlier
    /// place if a cut there would separate a pair.
    fn place_of(&self, at: usize) -> usize {
        let is_there = |place: &usize| self.draft.origin(*place).is_some_and(|origin| origin >= at);
        let place = (0..self.draft.len()).find(is_there);
        place.map_or(self.draft.len(), |at| self.draft.pairing().legal_at_or_before(at).unwrap_or(0))
    }

    /// Moves a cut back if it leaves fewer than the required number of newest messages.
    fn within_recent(&self, step: DigestStep, cut: usize) -> usize {
        let last = self.draft.len().saturating_sub(step.min_recent_messages);
        if cut <= last { cut } else { self.draft.pairing().legal_at_or_before(last).unwrap_or(0) }
    }

    /// Moves a cut to the end if outputs behind it do not fit and no step can shorten them.
    fn past_fixed_outputs(&self, places: &Places, cut: usize) -> usize {
        let fixed = self.draft.fixed();
        let n_tokens: u64 = fixed.iter().filter(|at| **at >= cut).map(|at| places.weight(*at)).sum();
        let has_prompt = places.prompt.is_some_and(|at| at >= cut);
        let is_stuck = n_tokens > 0 && !self.fits(n_tokens + LEAST_DIGEST_TOKENS);
        let is_free = !has_prompt && self.draft.pairing().in_flight().is_none();
        if is_free && is_stuck && self.budget.has_target() { self.draft.len() } else { cut }
    }

    fn is_news(&self, at: usize) -> bool {
        has_news(std::slice::from_ref(&self.draft.original(at)))
    }

    /// Returns whether `tokens` fit in the room that the fixed parts leave; without a window the
    /// room is the tail's.
    fn fits(&self, tokens: u64) -> bool {
        !self.split.is_hopeless && tokens <= self.split.room
    }

    fn forced_cut(&self, places: &Places) -> usize {
        let legal = |at| self.draft.pairing().legal_at_or_before(at).unwrap_or(0);
        let cut = legal(places.prompt.unwrap_or(0));
        let before = cut.checked_sub(1).filter(|at| legal(*at) == *at && self.is_answered_reply(places, *at));
        before.unwrap_or(cut)
    }

    /// Returns whether a message is the reply that the last prompt answers, and there is room for
    /// it: "skip 2 and 5" means nothing without it.
    fn is_answered_reply(&self, places: &Places, at: usize) -> bool {
        let message = self.draft.original(at);
        let is_reply = matches!(message, Message::Assistant { .. }) && message.calls().next().is_none();
        let needed = places.tail(at).saturating_add(self.needed_digest());
        let most = (self.split.tail / 2).min(places.light[at] / 4);
        is_reply && self.budget.has_target() && places.weight(at) <= most && self.fits(needed)
    }

    /// Returns a cut inside the last turn if that turn leaves no room for a digest, else 0.
    fn cut_inside(&self, places: &Places, by_tokens: impl Fn() -> usize) -> usize {
        let last_turn = places.tail(self.forced_cut(places));
        let is_roomy = !self.budget.has_target() || self.fits(last_turn + self.needed_digest());
        if is_roomy { 0 } else { by_tokens() }
    }

    fn needed_digest(&self) -> u64 {
        (self.split.digest + self.most_lines()).max(LEAST_DIGEST_TOKENS)
    }

    /// Returns the latest prompt if it is before the cut, too long for a digest to quote in full,
    /// and there is room for it.
    fn prompt_to_keep(&self, step: DigestStep, places: &Places, cut: usize) -> Option<usize> {
        let at = places.prompt.filter(|at| *at < cut && step.keep_prompt)?;
        let message = self.draft.original(at);
        let Message::User { content, .. } = message else { return None };
        let n_bytes: usize = content.texts().map(str::len).sum();
        // A message with results cannot stay without their calls.
        let can_stay = n_bytes > REQUEST_BYTES && message.answered_ids().next().is_none();
        // Lines of evidence give way to what the user asked for.
        let digest = self.split.digest.max(LEAST_DIGEST_TOKENS);
        let needed = places.tail(cut).saturating_add(places.weight(at)).saturating_add(digest);
        // If everything fits unchanged, files restored earlier must not displace the prompt.
        let has_room = !self.budget.has_target() || self.fits(needed) || self.fits(places.total());
        (can_stay && has_room).then_some(at)
    }

    /// Restores files within the room that is left; the result has fewer messages than the input.
    fn restore(&mut self, max_files: usize) -> bool {
        let (Some(head), Some((hole, digest_tokens))) = (&self.head, self.draft.hole()) else { return false };
        // A transcript that cannot fit is not made heavier.
        if self.budget.has_target() && self.split.is_hopeless {
            return false;
        }
        let total = self.draft.total();
        let freed = self.draft.input.total_tokens().saturating_sub(total - digest_tokens);
        let has_target = self.budget.has_target();
        let room = self.target.saturating_sub(self.reserved.saturating_add(total));
        let room = if has_target { room } else { u64::MAX };
        // Lines and files share the same room: the most lines leave no room for a file.
        let restored = u128::from(self.split.restored);
        let used = restored * u128::from(head.lines_tokens) / u128::from(self.most_lines().max(1));
        let left = self.split.restored.saturating_sub(u64::try_from(used).unwrap_or(u64::MAX));
        let max_tokens = left.min(room).min(freed / 2);
        if max_tokens == 0 {
            return false;
        }
        let limits = RestoreLimits {
            // The digest makes the result shorter, and restored files keep it so.
            max_files: max_files.min(self.draft.n_free().saturating_sub(1)),
            max_tokens,
            vocabulary: self.vocabulary,
            is_stale: &|path| head.facts.files().is_stale(path),
        };
        let dropped = self.dropped.iter().copied().filter(|at| *at < head.cut);
        let hidden: Vec<usize> = dropped.chain(self.draft.hidden(head.cut)).collect();
        let files = restore_reads(&self.draft.input, head.cut, &hidden, limits);
        if files.is_empty() {
            return false;
        }
        let (least, before) = (head.least_tokens, total);
        let patch = Patch::new(vec![Edit::Fold { range: hole + 1..hole + 1, with: files }]);
        let is_changed = self.draft.apply(patch, true).is_ok();
        // The result stays much lighter than the head: the digest takes at most half of the rest.
        let left = freed.saturating_sub(self.draft.total() - before);
        self.draft.resize_hole(digest_tokens.min(left / 2).max(least));
        is_changed
    }
}
