//! Where the head ends that becomes a digest, and what may be said of it.

use std::borrow::Cow;
use std::ops::Range;

use wb_budget::{BudgetSplit, TokenHeuristic, plan_cut, prefix_sums};
use wb_message::markers::{is_pinned, is_prompt};
use wb_message::{Edit, Message, Patch, runs};
use wb_summarize::{
    CondenseScope, Facts, LocalDigest, REQUEST_BYTES, digest_message, has_news, is_request, newest_timestamp,
};

use crate::engine::StepRunner;
use crate::pipeline::DigestStep;
use crate::plan::{Head, within_transcript};

/// The weight in tokens of a digest that is only a count, which is never left out.
const LEAST_DIGEST_TOKENS: u64 = 45;

/// The places of a draft as the cut sees them.
struct Places<'d> {
    /// Running sums of the weights in which pinned messages are 0.
    light: Cow<'d, [u64]>,
    /// The last message with the user's own words.
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

/// Tells whether a prompt says anything: an empty one is no place to begin a tail at.
fn has_words(message: &Message) -> bool {
    let Message::User { content, .. } = message else { return false };
    is_prompt(message) && content.texts().any(|text| !text.trim().is_empty())
}

impl<'a> StepRunner<'a, '_> {
    fn places(&self) -> Places<'_> {
        let draft = &self.draft;
        let weights = (0..draft.len())
            .map(|at| if self.is_pinned(at) { 0 } else { draft.prefix[at + 1] - draft.prefix[at] });
        let light = if self.has_no_pinned() {
            Cow::Borrowed(draft.prefix.as_ref())
        } else {
            Cow::Owned(prefix_sums(weights))
        };
        let last = |is: fn(&Message) -> bool| (0..draft.len()).rev().find(|at| is(draft.original(*at)));
        Places { light, prompt: last(is_request).or_else(|| last(has_words)) }
    }

    fn is_pinned(&self, at: usize) -> bool {
        is_pinned(self.draft.original(at))
    }

    /// Tells whether no message of the draft needs to be asked whether it is pinned.
    fn has_no_pinned(&self) -> bool {
        self.pinned.is_empty() && self.draft.has_only_input()
    }

    /// Returns what goes of the head: all but pinned messages and the prompt that is kept.
    fn going(&self, cut: usize, kept: Option<usize>) -> Vec<Range<usize>> {
        if self.has_no_pinned() {
            let kept = kept.filter(|at| *at < cut).unwrap_or(cut);
            let parts = [0..kept, (kept + 1).min(cut)..cut];
            return parts.into_iter().filter(|part| !part.is_empty()).collect();
        }
        runs((0..cut).filter(|at| !self.is_pinned(*at) && Some(*at) != kept))
    }

    /// Folds the head of the draft and leaves a place for its digest; nothing where that would gain nothing.
    pub(crate) fn fold_head(&mut self, step: DigestStep) -> Option<Head<'a>> {
        let places = self.places();
        let cut = self.choose_cut(step, &places);
        if cut == 0 {
            return None;
        }
        let kept = self.prompt_to_keep(step, &places, cut);
        let ranges = self.going(cut, kept);
        let last = ranges.last()?.clone();
        let head = self.head_before(cut, kept);
        let gone: u64 =
            ranges.iter().map(|range| self.draft.prefix[range.end] - self.draft.prefix[range.start]).sum();
        let freed = self.draft.input.total_tokens().saturating_sub(self.draft.total() - gone);
        let most = head.own_tokens.saturating_add(head.lines_tokens);
        let room = most.min(freed / 2).max(head.least_tokens);
        if room >= freed {
            return None;
        }
        let place = digest_message(CondenseScope::Session, "# Carryover", head.timestamp);
        let folds = ranges.into_iter().map(|range| {
            let with = if range == last { vec![place.clone()] } else { Vec::new() };
            Edit::Fold { range, with }
        });
        self.draft.dig(Patch::new(folds.collect()), room).ok()?;
        Some(head)
    }

    fn head_before(&self, cut: usize, kept: Option<usize>) -> Head<'a> {
        let input = self.draft.input;
        let first = (cut..self.draft.len()).find_map(|at| self.draft.origin(at));
        let cut = first.unwrap_or(input.messages.len());
        let kept = kept.and_then(|at| self.draft.origin(at)).filter(|at| *at < cut);
        let messages = &input.messages[..cut];
        let facts = match self.facts {
            Some(facts) => Cow::Borrowed(facts),
            None => Cow::Owned(Facts::of_newest(&input.messages, self.vocabulary)),
        };
        let timestamp = newest_timestamp(messages);
        let stays = |at: usize| at >= cut || Some(at) == kept;
        let n_elided = cut - self.pinned.partition_point(|at| *at < cut) - kept.iter().count();
        let least = LocalDigest::new(&facts, n_elided).least();
        let least = input.counter.message(&digest_message(CondenseScope::Session, least, timestamp));
        let lines_tokens = self.needed_lines(&facts, cut);
        let own_tokens = self.split.digest.saturating_add(self.request_tokens(&facts, &stays));
        Head { cut, facts, n_elided, own_tokens, lines_tokens, least_tokens: least, timestamp }
    }

    /// Returns the room beside its share that a digest may take to tell whole what was asked for first and last: what no
    /// other part may have, and with the share no more than a quarter of the limit.
    fn most_for_requests(&self) -> u64 {
        let BudgetSplit { room, tail, digest, restored, is_hopeless } = self.split;
        if is_hopeless || !self.budget.has_target() {
            return 0;
        }
        let free = room.saturating_sub(tail.saturating_add(digest).saturating_add(restored));
        free.min((self.budget.limit / 4).saturating_sub(digest))
    }

    /// Returns how much of that room it needs.
    fn request_tokens(&self, facts: &Facts, stays: &dyn Fn(usize) -> bool) -> u64 {
        let most = self.most_for_requests();
        if most == 0 {
            return 0;
        }
        let n_messages = self.draft.input.messages.len();
        let told = within_transcript(facts, n_messages, &|at, _| stays(at), |shows| {
            LocalDigest::new(facts, 0).beside(shows).requests_to_tell()
        });
        self.draft.input.counter.text(&told).min(most)
    }

    /// Returns how much room the lines below the digest need, no more than they may have: files get the rest.
    fn needed_lines(&self, facts: &Facts, cut: usize) -> u64 {
        let most = self.most_lines();
        if most == 0 {
            return 0;
        }
        let shown = self.draft.shown();
        let stays = |at: usize, line: &str| at >= cut && shown.shows(at, line);
        let n_messages = self.draft.input.messages.len();
        let lines = within_transcript(facts, n_messages, &stays, |shows| {
            LocalDigest::new(facts, 0).beside(shows).lines(TokenHeuristic::DEFAULT.chars_within(most))
        });
        self.draft.input.counter.text(&lines).min(most)
    }

    /// Returns the cut, 0 where folding would say nothing new.
    fn choose_cut(&self, step: DigestStep, places: &Places) -> usize {
        let by_tokens = || plan_cut(&places.light, self.draft.pairing(), self.split.tail);
        let cut = match step.cut {
            Some(at) => self.cut_at(at),
            None if self.is_forced => self.forced_cut(places).max(self.cut_inside(places, by_tokens)),
            None => by_tokens(),
        };
        let cut = self.within_recent(step, cut);
        let kept = self.prompt_to_keep(step, places, cut);
        let kept_tokens = kept.map_or(0, |at| places.weight(at));
        // Digests and restored files alone are folded only to make room, and only if one digest is shorter.
        let one_digest = self.split.digest + self.most_lines() + self.most_for_requests();
        let one_digest = one_digest.max(2 * LEAST_DIGEST_TOKENS);
        let sheds = !self.fits(places.total()) && places.light[cut] - kept_tokens > one_digest;
        let news = (0..cut).filter(|at| Some(*at) != kept).any(|at| self.says_something_new(at));
        if news || (sheds && self.budget.has_target()) { cut } else { 0 }
    }

    /// Returns where a message of the input stands, or the next one that is there; earlier where that would part a pair.
    fn cut_at(&self, at: usize) -> usize {
        let is_there = |place: &usize| self.draft.origin(*place).is_some_and(|origin| origin >= at);
        let place = (0..self.draft.len()).find(is_there);
        place.map_or(self.draft.len(), |at| self.draft.pairing().legal_at_or_before(at).unwrap_or(0))
    }

    /// Moves a cut back where it would leave fewer of the newest messages than are asked for.
    fn within_recent(&self, step: DigestStep, cut: usize) -> usize {
        let last = self.draft.len().saturating_sub(step.min_recent_messages);
        if cut <= last { cut } else { self.draft.pairing().legal_at_or_before(last).unwrap_or(0) }
    }

    fn says_something_new(&self, at: usize) -> bool {
        has_news(std::slice::from_ref(&self.draft.original(at)))
    }

    /// Tells whether that much beside the fixed parts is within the target; without a window, within the tail.
    fn fits(&self, tokens: u64) -> bool {
        !self.split.is_hopeless && tokens <= self.split.room
    }

    fn forced_cut(&self, places: &Places) -> usize {
        self.draft.pairing().legal_at_or_before(places.prompt.unwrap_or(0)).unwrap_or(0)
    }

    /// A forced cut goes inside the last turn only where that turn leaves no room for a digest.
    fn cut_inside(&self, places: &Places, by_tokens: impl Fn() -> usize) -> usize {
        let last_turn = places.tail(self.forced_cut(places));
        let is_roomy = !self.budget.has_target() || self.fits(last_turn + self.needed_digest());
        if is_roomy { 0 } else { by_tokens() }
    }

    fn needed_digest(&self) -> u64 {
        (self.split.digest + self.most_lines()).max(LEAST_DIGEST_TOKENS)
    }

    /// Returns the latest prompt where the cut would take it, a digest could not hold it word for word, and there is
    /// room for it.
    fn prompt_to_keep(&self, step: DigestStep, places: &Places, cut: usize) -> Option<usize> {
        let at = places.prompt.filter(|at| *at < cut && step.keep_prompt)?;
        let message = self.draft.original(at);
        let Message::User { content, .. } = message else { return None };
        let n_bytes: usize = content.texts().map(str::len).sum();
        // What carries results cannot stay without their calls.
        let can_stay = n_bytes > REQUEST_BYTES && message.answered_ids().next().is_none();
        let needed = places.tail(cut) + places.weight(at) + self.needed_digest();
        // Where all of it fits as it is, what was given back before must not drive the prompt out.
        let has_room = !self.budget.has_target() || self.fits(needed) || self.fits(places.total());
        (can_stay && has_room).then_some(at)
    }
}
