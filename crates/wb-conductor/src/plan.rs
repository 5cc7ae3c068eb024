//! The plan of a compaction: pure arithmetic over weights and pairs, before any text is written.

use std::collections::HashMap;
use std::ops::Range;

use wb_budget::{Shares, View, budget_limit, is_over, plan_cut, prefix_sums};
use wb_message::marks::{cleared_body, is_pinned};
use wb_message::{Edit, Message, Pairing, last_prompt_start, runs};
use wb_passes::{Goal, Microcompact, Pass, Preview};
use wb_summarize::{REQUEST_BYTES, has_news};

use crate::report::{CondenseReport, Unchanged, refused_usage};
use crate::settings::{CondenseOpts, CondenseSettings};

/// A transcript, weighed and paired once, and what was decided about it.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) messages: &'a [Message],
    settings: &'a CondenseSettings,
    /// Running sums of the weights.
    pub(crate) prefix: Vec<u64>,
    pub(crate) pairing: Pairing,
    /// Running sums in which pinned messages are 0 and stale results weigh what they will when cleared.
    light: Vec<u64>,
    /// Results to clear, ascending.
    pub(crate) stale: Vec<usize>,
    /// Bodies to shorten, ascending, and what each will weigh.
    pub(crate) previews: Vec<(Edit, u64)>,
    /// What is in the window beside the transcript.
    pub(crate) extra_tokens: u64,
    pub(crate) shares: Shares,
    pub(crate) cut: usize,
    /// The latest prompt, where it stands before the cut and stays all the same.
    kept_prompt: Option<usize>,
    pub(crate) report: CondenseReport,
}

/// A digest needs about this much to be more than a count; for less no model is asked.
pub(crate) const USEFUL_DIGEST_TOKENS: u64 = 120;
/// The weight of a digest that is only a count, which is never left out.
const LEAST_DIGEST_TOKENS: u64 = 45;

impl<'a> Plan<'a> {
    /// Decides what to clear, where to cut and what to shorten, or tells why nothing is to be done.
    pub(crate) fn make(
        messages: &'a [Message],
        settings: &'a CondenseSettings,
        opts: &CondenseOpts,
    ) -> Result<Self, Box<CondenseReport>> {
        let weights = messages.iter().map(|message| settings.weigher.weigh(message));
        let mut plan = Self {
            messages,
            settings,
            prefix: prefix_sums(weights),
            pairing: Pairing::default(),
            light: Vec::new(),
            stale: Vec::new(),
            previews: Vec::new(),
            extra_tokens: settings.overhead_tokens,
            shares: Shares::unbounded(&settings.policy),
            cut: 0,
            kept_prompt: None,
            report: CondenseReport::default(),
        };
        match plan.gate(opts) {
            None => Ok(plan.cut_and_fit(opts)),
            Some(reason) => Err(Box::new(plan.report.unchanged(reason))),
        }
    }

    fn total(&self) -> u64 {
        self.prefix[self.messages.len()]
    }

    /// Measures, and tells why nothing is to be done.
    fn gate(&mut self, opts: &CondenseOpts) -> Option<Unchanged> {
        self.report.tokens_before = self.total();
        self.report.messages_before = self.messages.len();
        self.report.context_tokens = self.total().saturating_add(self.settings.overhead_tokens);
        if let Err(error) = self.settings.policy.validated() {
            return Some(Unchanged::BadPolicy(error));
        }
        self.anchor(opts.context_tokens);
        let Some(card) = &self.settings.card else {
            let tight = self.total() <= self.settings.policy.keep_recent;
            return (tight && !opts.force).then_some(Unchanged::UnderBudget);
        };
        self.report.limit_tokens = Some(floor(budget_limit(card, &self.settings.policy)));
        let over = self.settings.due || is_over(self.report.context_tokens, card, &self.settings.policy);
        (!over && !opts.force).then_some(Unchanged::UnderBudget)
    }

    /// Believes the provider's figure unless it is far above the window; what it has over the estimate counts as
    /// fixed, so that the result fits even if none of it can be removed.
    fn anchor(&mut self, context_tokens: u64) {
        let window = self.settings.card.as_ref().map_or(u64::MAX, |card| card.context_window);
        self.report.refused = refused_usage(context_tokens, window);
        if self.report.refused.is_none() && context_tokens > 0 {
            let surplus = context_tokens.saturating_sub(self.report.context_tokens);
            self.extra_tokens = self.extra_tokens.saturating_add(surplus);
            self.report.context_tokens = context_tokens;
            self.report.anchored = true;
        }
    }

    fn cut_and_fit(mut self, opts: &CondenseOpts) -> Self {
        self.pairing = Pairing::of(self.messages);
        self.share();
        self.lighten();
        let free_is_enough = !self.stale.is_empty() && !opts.force && self.fits(self.light_total());
        if !free_is_enough {
            self.cut = self.choose_cut(opts.force);
            self.kept_prompt = self.prompt_to_keep(self.cut);
            self.preview();
        }
        self
    }

    pub(crate) fn view<'b>(&'b self, prefix: &'b [u64]) -> View<'b> {
        View { messages: self.messages, prefix, pairing: &self.pairing }
    }

    fn weight(&self, at: usize) -> u64 {
        self.prefix[at + 1] - self.prefix[at]
    }

    fn pinned_tokens(&self) -> u64 {
        let pinned = (0..self.messages.len()).filter(|&at| is_pinned(&self.messages[at]));
        pinned.map(|at| self.weight(at)).sum()
    }

    fn fixed_tokens(&self) -> u64 {
        self.extra_tokens.saturating_add(self.pinned_tokens())
    }

    fn share(&mut self) {
        if let Some(card) = &self.settings.card {
            self.shares = Shares::of(card, &self.settings.policy, self.fixed_tokens());
            self.report.target_tokens = Some(self.shares.target_tokens);
        }
    }

    /// Finds the stale results and what the transcript weighs without them and without pinned messages.
    fn lighten(&mut self) {
        let vocabulary = self.settings.vocabulary;
        let keep_recent_results = self.settings.keep_recent_results();
        let pass = Microcompact { vocabulary, keep_recent_results };
        let mut cleared = ClearedWeights::default();
        let mut stale = pass.stale(self.view(&self.prefix));
        stale.retain(|&at| cleared.of(&self.messages[at], self.settings) < self.weight(at));
        let mut next = stale.iter().copied().peekable();
        let light = self.messages.iter().enumerate().map(|(at, message)| {
            if next.next_if_eq(&at).is_some() {
                cleared.of(message, self.settings)
            } else if is_pinned(message) {
                0
            } else {
                self.weight(at)
            }
        });
        self.light = prefix_sums(light);
        self.stale = stale;
    }

    fn light_total(&self) -> u64 {
        self.light[self.messages.len()]
    }

    /// Tells whether that much beside the fixed parts is within the target; without a window, within the tail.
    fn fits(&self, tokens: u64) -> bool {
        match self.report.target_tokens {
            Some(target) => self.fixed_tokens().saturating_add(tokens) <= target,
            None => tokens <= self.settings.policy.keep_recent,
        }
    }

    /// Returns the cut, 0 where folding would say nothing new.
    fn choose_cut(&self, force: bool) -> usize {
        let by_tokens = || plan_cut(&self.light, &self.pairing, self.shares.tail_tokens);
        let cut = if force { self.forced_cut().max(self.cut_inside(by_tokens)) } else { by_tokens() };
        let kept = self.prompt_to_keep(cut);
        let (before, after) = self.messages[..cut].split_at(kept.unwrap_or(cut));
        let kept_tokens = kept.map_or(0, |at| self.light_weight(at));
        // Digests and restored files alone are folded only to make room, and only if one digest is shorter.
        let one_digest = self.shares.digest_tokens.max(2 * LEAST_DIGEST_TOKENS);
        let sheds = !self.fits(self.light_total()) && self.light[cut] - kept_tokens > one_digest;
        let news = has_news(before) || has_news(after.get(1..).unwrap_or_default());
        if news || (sheds && self.settings.card.is_some()) { cut } else { 0 }
    }

    /// Returns the latest prompt where the cut would take it, a digest could not hold it word for word, and there is
    /// room for it.
    fn prompt_to_keep(&self, cut: usize) -> Option<usize> {
        let at = last_prompt_start(self.messages).filter(|at| *at < cut && self.settings.passes)?;
        let Message::User { content, .. } = &self.messages[at] else { return None };
        let n_bytes: usize = content.texts().map(str::len).sum();
        // What carries results cannot stay without their calls.
        let can_stay = n_bytes > REQUEST_BYTES && self.messages[at].answered_ids().next().is_none();
        let tail = self.light_total() - self.light[cut];
        let needed = tail + self.light_weight(at) + self.needed_digest();
        let fits = !self.is_hopeless() && self.budget_tokens().is_none_or(|budget| needed <= budget);
        (can_stay && fits).then_some(at)
    }

    fn kept_prompt_tokens(&self) -> u64 {
        self.kept_prompt.map_or(0, |at| self.light_weight(at))
    }

    fn forced_cut(&self) -> usize {
        let prompt = last_prompt_start(self.messages).unwrap_or(0);
        self.pairing.legal_at_or_before(prompt).unwrap_or(0)
    }

    /// A forced cut goes inside the last turn only where that turn leaves no room for a digest.
    fn cut_inside(&self, by_tokens: impl Fn() -> usize) -> usize {
        let last_turn = self.light_total() - self.light[self.forced_cut()];
        let roomy = self.settings.card.is_none() || self.fits(last_turn + self.needed_digest());
        if roomy { 0 } else { by_tokens() }
    }

    fn needed_digest(&self) -> u64 {
        self.shares.digest_tokens.clamp(LEAST_DIGEST_TOKENS, USEFUL_DIGEST_TOKENS)
    }

    /// Weight of what stays, pinned messages apart.
    fn tail_tokens(&self) -> u64 {
        let saved: u64 =
            self.previews.iter().map(|(edit, after)| self.light_weight(edit_at(edit)) - after).sum();
        self.light_total() - self.light[self.cut] - saved + self.kept_prompt_tokens()
    }

    /// Returns what is left for digest and restored files; where nothing can fit, the digest's share alone.
    pub(crate) fn room_tokens(&self) -> u64 {
        if self.is_hopeless() {
            return self.shares.digest_tokens;
        }
        self.budget_tokens().map_or(u64::MAX, |budget| budget.saturating_sub(self.tail_tokens()))
    }

    /// Tells whether the fixed parts alone reach the target.
    fn is_hopeless(&self) -> bool {
        self.report.target_tokens.is_some_and(|target| self.fixed_tokens() >= target)
    }

    fn light_weight(&self, at: usize) -> u64 {
        self.light[at + 1] - self.light[at]
    }

    /// Shortens giant bodies of the tail to its share where it would not fit otherwise.
    fn preview(&mut self) {
        let Some(budget) = self.budget_tokens().filter(|_| self.settings.passes) else { return };
        let digest = if self.cut > 0 { self.needed_digest() } else { 0 };
        if self.tail_tokens() + digest <= budget {
            return;
        }
        let tail = budget.saturating_sub(digest + self.kept_prompt_tokens());
        self.previews = self.plan_previews(tail.min(self.shares.tail_tokens));
    }

    /// Returns what the target leaves beside the fixed parts; where that is nothing, what the shares leave.
    fn budget_tokens(&self) -> Option<u64> {
        let target = self.report.target_tokens?;
        let shares = self.shares.tail_tokens + self.shares.digest_tokens;
        Some(if self.is_hopeless() { shares } else { target - self.fixed_tokens() })
    }

    fn plan_previews(&self, tail_goal: u64) -> Vec<(Edit, u64)> {
        let goal =
            Goal { target_tokens: self.light[self.cut] + tail_goal, weigher: self.settings.weigher.as_ref() };
        let patch = Preview { from: self.cut }.plan(self.view(&self.light), goal).unwrap_or_default();
        let weighed = patch.edits.into_iter().map(|edit| {
            let weight = self.edited_weight(&edit);
            (edit, weight)
        });
        weighed.filter(|(edit, weight)| *weight < self.light_weight(edit_at(edit))).collect()
    }

    fn edited_weight(&self, edit: &Edit) -> u64 {
        let Edit::Body { at, content } = edit else { return 0 };
        let text: String = content.iter().filter_map(wb_message::Block::as_text).collect();
        let short = match &self.messages[*at] {
            Message::BashExecution { command, exit_code, .. } => Message::bash(command, text, *exit_code),
            Message::ToolResult { tool_call_id, tool_name, .. } => {
                Message::tool_result(tool_call_id, tool_name, text)
            }
            other => return self.settings.weigher.weigh(other),
        };
        self.settings.weigher.weigh(&short)
    }

    /// Returns the runs of messages before the cut that go.
    pub(crate) fn folds(&self) -> Vec<Range<usize>> {
        let goes = |at: &usize| !is_pinned(&self.messages[*at]) && Some(*at) != self.kept_prompt;
        runs((0..self.cut).filter(goes))
    }

    /// Returns the stale results that stay and are to be cleared.
    pub(crate) fn cleared(&self) -> Vec<usize> {
        let shortened =
            |at: &usize| self.previews.binary_search_by_key(at, |(edit, _)| edit_at(edit)).is_ok();
        let kept = &self.stale[self.stale.partition_point(|&at| at < self.cut)..];
        let mut cleared = Vec::with_capacity(kept.len());
        cleared.extend(kept.iter().filter(|at| !shortened(at)));
        cleared
    }

    /// Returns the tokens that clearing and shortening save.
    pub(crate) fn saved_tokens(&self) -> u64 {
        let cleared = self.cleared();
        let by_clearing: u64 = cleared.iter().map(|&at| self.weight(at) - self.light_weight(at)).sum();
        let by_previews = self.previews.iter().map(|(edit, after)| self.weight(edit_at(edit)) - after);
        by_clearing + by_previews.sum::<u64>()
    }

    /// Moves the edits of bodies that stay out of the plan and notes them in its report.
    pub(crate) fn take_body_edits(&mut self) -> Vec<Edit> {
        self.report.cleared = self.cleared();
        self.report.previewed = self.previews.iter().map(|(edit, _)| edit_at(edit)).collect();
        let cleared = self.report.cleared.iter().copied().map(wb_passes::microcompact::clear);
        std::mem::take(&mut self.previews).into_iter().map(|(edit, _)| edit).chain(cleared).collect()
    }

    /// Decides anew without a fold.
    pub(crate) fn keep_whole(&mut self) {
        self.cut = 0;
        self.kept_prompt = None;
        self.previews.clear();
        self.preview();
    }
}

fn edit_at(edit: &Edit) -> usize {
    match edit {
        Edit::Body { at, .. } => *at,
        Edit::Fold { range, .. } => range.start,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is not negative")]
fn floor(limit: f64) -> u64 {
    limit as u64
}

/// What a cleared result weighs, by tool: nothing else of it is left.
#[derive(Debug, Default)]
struct ClearedWeights(HashMap<String, u64>);

impl ClearedWeights {
    fn of(&mut self, message: &Message, settings: &CondenseSettings) -> u64 {
        let Message::ToolResult { tool_call_id, tool_name, is_error, .. } = message else {
            return settings.weigher.weigh(message);
        };
        if let Some(weight) = self.0.get(tool_name) {
            return *weight;
        }
        let cleared = Message::ToolResult {
            tool_call_id: tool_call_id.clone(),
            tool_name: tool_name.clone(),
            content: cleared_body(),
            is_error: *is_error,
        };
        let weight = settings.weigher.weigh(&cleared);
        self.0.insert(tool_name.clone(), weight);
        weight
    }
}
