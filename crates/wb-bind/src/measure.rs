//! The weight of a session: each message, and what is sent outside of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use wb_budget::{
    BudgetPolicy, Catalog, ContextTracker, FittedCounter, ModelCard, TokenCounter, WeighedTranscript,
    budget_limit, prefix_sums,
};
use wb_formats::{Document, Segment, SystemAndTools, UsageAt, View};
use wb_message::Message;
use wb_message::markers::{is_pinned, is_synthetic};
use wb_message::pairing::unanswered_start;

use crate::known_window::KnownWindow;

/// The size of a session: its window, its limit and its weight.
#[derive(Debug)]
pub struct Size {
    /// The window and its source.
    pub window: KnownWindow,
    /// The size in tokens above which the session is over budget.
    pub limit: u64,
    /// The weight.
    pub measure: Measure,
}

impl Size {
    /// Weighs a conversation of a document in the window that was asked for, or else in that of its
    /// model; `overhead_tokens` are sent in addition to what the document has.
    pub fn new(
        (document, conversation, view): (&dyn Document, &str, &View),
        asked_window: Option<u64>,
        policy: &BudgetPolicy,
        overhead_tokens: u64,
        catalog: &Catalog,
    ) -> Self {
        let window = KnownWindow::new(asked_window, view, catalog);
        let card = card_of(view, window.tokens);
        let limit = whole_tokens(budget_limit(&card, policy));
        let outside = SystemAndTools::from_document(document).unwrap_or_default();
        let outside = |counter: &dyn TokenCounter| outside.tokens(counter).saturating_add(overhead_tokens);
        let before = counted_before(document, conversation, view);
        let measure = Measure::new(view, &outside, before.as_ref(), &card, limit);
        Self { window, limit, measure }
    }
}

/// Returns the card of a session's model with a window.
pub fn card_of(view: &View, window: u64) -> ModelCard {
    let id = view.model.clone().unwrap_or_default();
    ModelCard { id, ..ModelCard::with_window(window) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is not negative")]
fn whole_tokens(limit: f64) -> u64 {
    limit as u64
}

/// The weight of a session.
#[derive(Debug)]
pub struct Measure {
    /// Tokens that the context holds.
    pub context_tokens: u64,
    /// Indicates that the weight is based on the provider's count.
    pub anchored: bool,
    /// The tokens sent outside the messages, as far as the provider's counts or a request reveal
    /// them: system prompt and tools.
    pub overhead_tokens: u64,
    /// The overhead that is left out because it would leave no room in a smaller window.
    pub left_out_tokens: u64,
    /// The provider's count, if it is too low to be true: the messages alone weigh several times as
    /// much.
    pub refused_tokens: Option<u64>,
    /// The weight of each message, on the provider's scale.
    tracker: ContextTracker,
}

impl Measure {
    /// Weighs messages and anchors the weight on the providers' counts; `outside` weighs what is
    /// sent outside of them, such as the system prompt. If the providers counted nothing
    /// since a compaction, `before` supplies the overhead; a request contains it.
    fn new(
        opened: &View,
        outside: &dyn Fn(&dyn TokenCounter) -> u64,
        before: Option<&Segment>,
        card: &ModelCard,
        limit: u64,
    ) -> Self {
        let start = || tracker_of(opened.model.as_deref());
        let tracker = start();
        let said_tokens = outside(&*tracker.calibrated());
        let mut tracker = tracker.with_overhead_tokens(said_tokens);
        // A window that fit what was counted also fit the overhead; a smaller one is only tried
        // out.
        let (mut held, mut most_overhead) = (true, 0);
        let mut look = |tracker: &ContextTracker| {
            held &= tracker.context_tokens() <= card.context_window;
            // With a large count for little text, a small context appears to be mostly overhead.
            most_overhead =
                most_overhead.max(tracker.overhead_tokens()).max(tracker.overhead_tokens_at(limit));
        };
        if let Some(Segment { messages, usage, .. }) = before {
            follow(&mut tracker, messages, usage);
            look(&tracker);
            tracker.rebuild(&opened.messages);
        } else {
            follow(&mut tracker, &opened.messages, &opened.usage);
        }
        look(&tracker);
        let refused_tokens = too_low(&tracker);
        if refused_tokens.is_some() {
            tracker = start().with_overhead_tokens(said_tokens);
            tracker.rebuild(&opened.messages);
            (held, most_overhead) = (true, 0);
        }
        if held || said_tokens > 0 || most_overhead <= limit / 2 {
            let overhead_tokens = tracker.overhead_tokens();
            let anchored = tracker.estimate(card).anchored;
            let context_tokens = tracker.context_tokens();
            return Self {
                context_tokens,
                anchored,
                overhead_tokens,
                left_out_tokens: 0,
                refused_tokens,
                tracker,
            };
        }
        let context_tokens = (0..tracker.len()).filter_map(|at| tracker.weight(at)).sum();
        Self {
            context_tokens,
            anchored: false,
            overhead_tokens: 0,
            left_out_tokens: most_overhead,
            refused_tokens,
            tracker,
        }
    }

    /// Returns the weight of a message.
    pub fn weight(&self, at: usize) -> u64 {
        self.tracker.weight(at).unwrap_or(0)
    }

    /// Returns the provider's count for the gate, if a window can have held it; 0 without one. A
    /// smaller window that is only tried out is measured by the same figures without it.
    pub fn counted_within(&self, window: u64) -> u64 {
        if self.anchored && self.context_tokens <= window { self.context_tokens } else { 0 }
    }

    /// Returns the weight of all messages.
    pub fn message_tokens(&self) -> u64 {
        (0..self.tracker.len()).map(|at| self.weight(at)).sum()
    }

    /// Explains a result that is more than a twentieth off the size that was asked for, and one
    /// that stays as it is; `None` for others. Of these messages, instructions and the last prompt
    /// stay.
    pub fn missed_target(
        &self,
        asked: u64,
        [before, after]: [u64; 2],
        messages: &[Message],
    ) -> Option<String> {
        if before == after && before <= asked.saturating_add(asked / 20) {
            return Some(format!("asked for {asked} tokens of messages, and they take {before}"));
        }
        if asked.abs_diff(after) <= asked / 20 {
            return None;
        }
        let counter = self.counter();
        let weight = |messages: &mut dyn Iterator<Item = &Message>| -> u64 {
            messages.map(|message| counter.message(message)).sum()
        };
        let (answered, unanswered) = messages.split_at(unanswered_start(messages));
        let pinned = weight(&mut answered.iter().filter(|message| is_pinned(message)));
        let prompt = weight(&mut unanswered.iter().filter(|message| !is_synthetic(message)));
        let why = if pinned + prompt > asked / 2 && prompt > pinned {
            format!("but the last prompt of {prompt} stays as it is")
        } else if pinned + prompt > asked / 2 {
            format!("but instructions of {pinned} stay as they are")
        } else if after == before {
            "and no smaller result is possible".to_owned()
        } else {
            format!("and the nearest result has {after}")
        };
        Some(format!("asked for {asked} tokens of messages, {why}"))
    }

    /// Returns the counter that weighs on this scale.
    pub fn counter(&self) -> Arc<dyn TokenCounter> {
        self.tracker.calibrated()
    }

    /// Returns the session's messages as they were weighed.
    pub fn view<'a>(&'a mut self, messages: &'a [Message]) -> WeighedTranscript<'a> {
        // Each message separately, as new messages are weighed.
        let weights = (0..messages.len()).map(|at| self.weight(at));
        let prefix = Cow::Owned(prefix_sums(weights));
        WeighedTranscript { prefix, ..self.tracker.view(messages) }
    }

    /// Returns whether the provider's counts reveal the overhead.
    pub fn is_overhead_known(&self) -> bool {
        self.overhead_tokens + self.left_out_tokens > 0 || self.tracker.is_calibrated()
    }

    /// Returns the size of the context once its messages weigh `tokens`, by the same measure.
    ///
    /// A count below the estimate is the measure of the result too, if that would seem heavier
    /// otherwise.
    pub fn context_tokens_at(&self, tokens: u64) -> u64 {
        let is_left_out = self.left_out_tokens > 0;
        let at = tokens + if is_left_out { 0 } else { self.tracker.overhead_tokens_at(tokens) };
        let total = self.message_tokens();
        if at < self.context_tokens || tokens >= total {
            return at;
        }
        self.overhead_tokens + self.scaled(tokens, total)
    }

    /// Explains why the provider's count is not used, if it is not.
    pub fn refusal(&self) -> Option<String> {
        let counted = self.refused_tokens?;
        Some(format!(
            "the provider's count of {counted} tokens is not used: the messages alone are about {}",
            self.tracker.total_tokens()
        ))
    }

    /// Scales weights of messages, `total` in all, down to the provider's count, if they were too
    /// high.
    pub fn scaled(&self, tokens: u64, total: u64) -> u64 {
        let counted = self.context_tokens.saturating_sub(self.overhead_tokens);
        let scaled = u128::from(tokens) * u128::from(counted.min(total)) / u128::from(total.max(1));
        u64::try_from(scaled).unwrap_or(tokens)
    }

    /// Adds up the tokens by kind of message; content sent outside the messages is a kind too.
    pub fn by_kind(&self, messages: &[Message]) -> BTreeMap<&'static str, u64> {
        let mut kinds = BTreeMap::new();
        for (at, message) in messages.iter().enumerate() {
            *kinds.entry(kind(message)).or_default() += self.weight(at);
        }
        let total: u64 = kinds.values().sum();
        for tokens in kinds.values_mut() {
            *tokens = self.scaled(*tokens, total);
        }
        let seen: u64 = kinds.values().sum();
        let rest = self.context_tokens.saturating_sub(seen);
        if self.overhead_tokens > 0 {
            kinds.insert(UNSEEN, rest);
        } else if let Some(most) = kinds.values_mut().max() {
            // What rounding left.
            *most += rest;
        }
        kinds
    }
}

/// The part of the estimate below which a count is refused. Chosen: no tokenizer counts a quarter
/// of what another one does, but a provider that counts only what it did not have in a cache may.
const LEAST_COUNTED: u64 = 4;
/// The fewest tokens of messages by which a count is judged. Chosen: short texts vary most.
const FEWEST_JUDGED: u64 = 400;

/// Returns the count on which the weight is based, if it is too low to be true.
fn too_low(tracker: &ContextTracker) -> Option<u64> {
    let (counted, estimated) = (tracker.context_tokens(), tracker.total_tokens());
    let is_low = estimated >= FEWEST_JUDGED && counted.saturating_mul(LEAST_COUNTED) < estimated;
    (tracker.is_anchored() && is_low).then_some(counted)
}

/// Adds messages and the provider's counts for them.
fn follow(tracker: &mut ContextTracker, messages: &[Message], usage: &[UsageAt]) {
    follow_from(0, tracker, messages, usage, |_, _| {});
}

/// Adds the messages from one on, and the provider's counts for them; `see` sees each message and
/// the weight with it.
pub fn follow_from(
    first: usize,
    tracker: &mut ContextTracker,
    messages: &[Message],
    usage: &[UsageAt],
    mut see: impl FnMut(usize, &ContextTracker),
) {
    let mut usage = usage.iter().skip_while(|counted| counted.at < first).peekable();
    for (at, message) in messages.iter().enumerate().skip(first) {
        tracker.push(message);
        while let Some(counted) = usage.next_if(|usage| usage.at == at) {
            let id = counted.model.clone().unwrap_or_default();
            // A refused count leaves the estimate unchanged, and the meter shows it.
            let _ = tracker.anchor(at, &counted.usage, Some(&ModelCard { id, ..ModelCard::default() }));
        }
        see(at, tracker);
    }
}

/// Returns the last segment before the present one in which something was counted, if nothing was
/// counted since.
fn counted_before(document: &dyn Document, conversation: &str, opened: &View) -> Option<Segment> {
    let is_later = opened.is_compacted() || opened.messages.iter().any(is_synthetic);
    if !opened.usage.is_empty() || !is_later {
        return None;
    }
    let newest_first = document.segments(conversation).ok()?.rev();
    newest_first.map_while(Result::ok).find(|segment| !segment.usage.is_empty())
}

/// Starts a tracker that estimates as fits the model's family, if that is known.
pub fn tracker_of(model: Option<&str>) -> ContextTracker {
    match model.and_then(FittedCounter::from_model_id) {
        Some(counter) => ContextTracker::with_counter(Arc::new(counter)),
        None => ContextTracker::new(),
    }
}

/// The kind for tokens that the provider counted and no message shows.
const UNSEEN: &str = "system_prompt_and_tools";

/// Returns the name of a message's kind.
pub fn kind(message: &Message) -> &'static str {
    if is_synthetic(message) {
        return "digests_and_restored_files";
    }
    match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::ToolResult { .. } => "tool_results",
        Message::BashExecution { .. } => "shell",
        Message::Custom { .. } => "custom",
        Message::BranchSummary { .. } | Message::CompactionSummary { .. } => "digests_and_restored_files",
    }
}
