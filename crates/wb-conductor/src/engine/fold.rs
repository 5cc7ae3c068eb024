//! The fold of a head into a digest: where the head ends, and how long the digest may be.

use std::borrow::Cow;
use std::ops::Range;

use wb_budget::{BudgetSplit, TokenHeuristic, plan_cut, prefix_sums};
use wb_facts::Facts;
use wb_language::user_text::is_request;
use wb_message::markers::{is_pinned, is_prompt};
use wb_message::{Edit, Message, Patch, runs};
use wb_summarize::{CondenseScope, LocalDigest, REQUEST_BYTES, digest_message, has_news, newest_timestamp};

use crate::digest_writer::by_message_number;
use crate::engine::StepRunner;
use crate::plan::{Floor, Head};
use crate::step::{DigestStep, Trigger};

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

impl<'a> StepRunner<'a, '_> {
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
    pub(super) fn fold_head(&mut self, step: DigestStep) -> Option<Head<'a>> {
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
        let is_over = self.budget.is_over(self.draft.input.total_tokens());
        if floor >= freed && !is_over && self.trigger != Trigger::Overflow {
            self.is_floor_too_heavy = true;
            return None;
        }
        // A transcript over its limit loses what the floor cannot hold.
        let floor = if floor < freed { floor } else { 0 };
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
        if is_hopeless || !self.budget.has_target() {
            return 0;
        }
        room.saturating_sub(tail.saturating_add(digest)).min(self.budget.floor)
    }

    /// Returns the part of [`Self::most_for_floor`] that the digest needs.
    fn floor(&self, facts: &Facts, stays: &dyn Fn(usize) -> bool) -> Floor {
        let most = self.most_for_floor();
        if most == 0 {
            return Floor::default();
        }
        let n_messages = self.draft.input.messages.len();
        let has_message = |at: usize, _: &str| stays(at);
        let shows = by_message_number(facts, n_messages, &has_message);
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
        let shows = by_message_number(facts, self.draft.input.messages.len(), &has_line);
        let max_chars = TokenHeuristic::DEFAULT.chars_within(most);
        let lines = LocalDigest::new(facts, 0).omit_visible(&shows).lines(max_chars);
        self.draft.input.counter.text(&lines).min(most)
    }

    /// Returns the cut, or 0 if the head has nothing new.
    fn choose_cut(&self, step: DigestStep, places: &Places) -> usize {
        let by_tokens = || plan_cut(&places.light, self.draft.pairing(), self.split.tail);
        let cut = match step.cut {
            Some(at) => self.place_of(at),
            None if self.is_forced() => self.forced_cut(places).max(self.cut_inside(places, by_tokens)),
            None => by_tokens(),
        };
        let cut = self.within_recent(step, cut);
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

    fn is_news(&self, at: usize) -> bool {
        has_news(std::slice::from_ref(&self.draft.original(at)))
    }

    /// Returns whether `tokens` fit in the room that the fixed parts leave; without a window the
    /// room is the tail's.
    fn fits(&self, tokens: u64) -> bool {
        !self.split.is_hopeless && tokens <= self.split.room
    }

    fn forced_cut(&self, places: &Places) -> usize {
        self.draft.pairing().legal_at_or_before(places.prompt.unwrap_or(0)).unwrap_or(0)
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
        let needed = places.tail(cut) + places.weight(at) + self.needed_digest();
        // If everything fits unchanged, files restored earlier must not displace the prompt.
        let has_room = !self.budget.has_target() || self.fits(needed) || self.fits(places.total());
        (can_stay && has_room).then_some(at)
    }
}
