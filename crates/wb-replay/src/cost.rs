//! The cost of a session, request by request.
//!
//! The cost model: each assistant message answers one request, whose prompt is the whole context
//! before it. The longest prefix of the prompt that is unchanged since the last request is read
//! from the cache if it has at least [`MIN_CACHED_TOKENS`]; the rest is written to it. A prompt
//! below [`MIN_CACHED_TOKENS`] is not cached and is fresh input. A compaction breaks the prefix at
//! the first message that it changes. If the cache's lifetime is known, a prompt after a longer
//! pause in the session's file finds it empty; else it never expires. Files do not contain the
//! system prompt and the tools, so these are left out for all strategies.
//!
//! A strategy compacts before a request above the limit of the engine's budget, without a model and
//! so for free. If the result is still above the limit, it tries again after a sixteenth of the
//! window has been added. A native compaction is as in the session: its digest answers one more
//! request, whose prompt is the context that it replaces.

use serde::Serialize;
use wb_budget::{CatalogEntry, Prices, Usage, estimate_message_tokens};
use wb_message::{Message, markers};

use crate::message_text::total_size;
use crate::session::Session;
use crate::strategy::{Engine, Strategy, mask_in_place};
use crate::times::idle_ms;

/// The minimum size of a cached prompt or prefix, in tokens.
const MIN_CACHED_TOKENS: u64 = 1024;

/// The spending of a strategy on a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spending {
    /// The number of requests.
    pub requests: usize,
    /// The number of compactions.
    pub compactions: usize,
    /// The tokens by class: fresh input, read from the cache, written to it, output.
    #[serde(flatten)]
    pub usage: Tally,
    /// The largest prompt, in tokens.
    pub max_prompt_tokens: u64,
    /// The running total at each request.
    #[serde(skip)]
    pub points: Vec<Point>,
}

/// Tokens by price class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Prompt tokens that were neither cached nor written to a cache.
    pub fresh_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cached_tokens: u64,
    /// Prompt tokens written to the cache.
    pub written_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

/// The running total at a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The tokens of its prompt.
    pub prompt_tokens: u64,
    /// The total including this request.
    pub usage: Tally,
}

impl Tally {
    /// Converts the tally to usage as a provider reports it.
    pub fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.fresh_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: Some(self.cached_tokens),
            cache_write_tokens: Some(self.written_tokens),
        }
    }

    /// Returns the sum of two tallies.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            fresh_tokens: self.fresh_tokens + other.fresh_tokens,
            cached_tokens: self.cached_tokens + other.cached_tokens,
            written_tokens: self.written_tokens + other.written_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
        }
    }
}

impl Spending {
    /// Returns the cost of the prompts at a model's prices in US dollars, 0 without prices.
    pub fn prompt_cost(&self, model: &CatalogEntry) -> f64 {
        let free = Prices::default();
        let output_cost = |point: &Point| model.prices_at(point.prompt_tokens).unwrap_or(&free).output;
        let mut counted = 0;
        let outputs = self.points.iter().map(|point| {
            let output_tokens =
                point.usage.output_tokens - std::mem::replace(&mut counted, point.usage.output_tokens);
            output_tokens as f64 * output_cost(point) / 1e6
        });
        self.cost(|tokens| model.prices_at(tokens).unwrap_or(&free)) - outputs.sum::<f64>()
    }

    /// Returns the cost in US dollars, with each request at the prices for its length.
    pub(crate) fn cost<'a>(&self, prices_at: impl Fn(u64) -> &'a Prices) -> f64 {
        let mut paid = Tally::default();
        let request_cost = |point: &Point| {
            let (prices, before) =
                (prices_at(point.prompt_tokens), std::mem::replace(&mut paid, point.usage));
            prices.cost(&point.usage.usage()) - prices.cost(&before.usage())
        };
        self.points.iter().map(request_cost).sum()
    }

    fn request(&mut self, prompt_tokens: u64, cached_tokens: u64, output_tokens: u64) {
        let new = prompt_tokens - cached_tokens;
        let (fresh_tokens, written_tokens) =
            if prompt_tokens < MIN_CACHED_TOKENS { (new, 0) } else { (0, new) };
        self.usage = self.usage.plus(Tally { fresh_tokens, cached_tokens, written_tokens, output_tokens });
        self.requests += 1;
        self.max_prompt_tokens = self.max_prompt_tokens.max(prompt_tokens);
        self.points.push(Point { prompt_tokens, usage: self.usage });
    }

    pub(crate) fn without_points(&self) -> Self {
        Self { points: Vec::new(), ..self.clone() }
    }

    /// Adds the spending on another session.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.compactions += other.compactions;
        self.usage = self.usage.plus(other.usage);
        self.max_prompt_tokens = self.max_prompt_tokens.max(other.max_prompt_tokens);
    }
}

/// A growing context and its cached prefix.
#[derive(Debug, Default)]
pub(crate) struct CachedContext<'a> {
    pub(crate) messages: Vec<Message>,
    clock: Clock<'a>,
    /// True if the cache has expired.
    pub(crate) is_cold: bool,
    /// The weight of each message, in tokens.
    weights: Vec<u64>,
    pub(crate) tokens: u64,
    /// The number of messages unchanged since the last request.
    n_cached: usize,
    cached_tokens: u64,
    /// The sum of the sizes after each compaction; see [`crate::size`].
    compacted_size: f64,
    pub(crate) spent: Spending,
}

/// The times of a session's records, and the lifetime of a cache.
#[derive(Clone, Copy, Debug, Default)]
struct Clock<'a> {
    times_ms: &'a [i64],
    life_ms: Option<i64>,
}

impl<'a> CachedContext<'a> {
    pub(crate) fn new(session: &'a Session, life_seconds: Option<u64>) -> Self {
        let life_ms = life_seconds.and_then(|life| i64::try_from(life.saturating_mul(1000)).ok());
        Self { clock: Clock { times_ms: &session.times_ms, life_ms }, ..Self::default() }
    }

    pub(crate) fn push(&mut self, message: Message) {
        let idle_ms = self.clock.life_ms.and_then(|_| idle_ms(&message, self.clock.times_ms));
        self.is_cold |= idle_ms > self.clock.life_ms;
        let tokens = estimate_message_tokens(&message);
        self.tokens += tokens;
        self.weights.push(tokens);
        self.messages.push(message);
    }

    /// Sends the context, for an answer of `output_tokens`.
    pub(crate) fn request(&mut self, output_tokens: u64) {
        if std::mem::take(&mut self.is_cold) {
            (self.n_cached, self.cached_tokens) = (0, 0);
        }
        let was_cached = self.cached_tokens >= MIN_CACHED_TOKENS;
        self.spent.request(self.tokens, if was_cached { self.cached_tokens } else { 0 }, output_tokens);
        (self.n_cached, self.cached_tokens) = (self.messages.len(), self.tokens);
    }

    /// Replaces the context; a common prefix stays cached.
    fn replace(&mut self, messages: Vec<Message>) {
        let sent = &self.messages[..self.n_cached];
        let n_same = sent.iter().zip(&messages).take_while(|(old, new)| old == new).count();
        self.weights = messages.iter().map(estimate_message_tokens).collect();
        self.messages = messages;
        self.break_cache(n_same);
    }

    /// Updates the weights after a compaction that left the first `n_same` messages unchanged.
    pub(crate) fn after_compaction(&mut self, n_same: usize) {
        self.weights = self.messages.iter().map(estimate_message_tokens).collect();
        self.break_cache(n_same);
        self.spent.compactions += 1;
    }

    /// Drops the cache after the first `n_same` messages, and recomputes the totals.
    fn break_cache(&mut self, n_same: usize) {
        self.n_cached = self.n_cached.min(n_same);
        self.cached_tokens = self.weights[..self.n_cached].iter().sum();
        self.tokens = self.weights.iter().sum();
    }

    /// Compacts with a strategy; a window without a size leaves the context unchanged.
    fn compact(&mut self, strategy: Strategy, engine: &Engine, rival_size: Option<f64>) {
        match strategy {
            Strategy::Everything => {}
            Strategy::MaskLast10 => self.mask(),
            Strategy::Preset(name) => self.compact_to(engine.compact(name, self.messages.clone())),
            Strategy::SlidingWindow | Strategy::MaskedWindow => {
                if let Some(size) = rival_size {
                    self.compact_to(strategy.shorten(&self.messages, size));
                }
            }
        }
    }

    fn compact_to(&mut self, compacted: Vec<Message>) {
        if compacted != self.messages {
            self.compacted_size += total_size(&compacted);
            self.spent.compactions += 1;
            self.replace(compacted);
        }
    }

    /// Returns the mean size after a compaction, if there was one.
    fn mean_size(&self) -> Option<f64> {
        (self.compacted_size > 0.0).then(|| self.compacted_size / self.spent.compactions as f64)
    }

    /// Clears stale results in place: such a context stays large, so copies would be costly.
    fn mask(&mut self) {
        let cleared = mask_in_place(&mut self.messages);
        for &at in &cleared {
            self.weights[at] = estimate_message_tokens(&self.messages[at]);
        }
        if let Some(first) = cleared.last() {
            self.spent.compactions += 1;
            self.break_cache(*first);
        }
    }
}

pub(crate) fn is_answer(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

/// Replays a session with a strategy that compacts above the limit of a window; returns the
/// spending and the mean size after a compaction.
pub(crate) fn spend(
    session: &Session,
    strategy: Strategy,
    window: u64,
    engine: &Engine,
    rival_size: Option<f64>,
    life_seconds: Option<u64>,
) -> (Spending, Option<f64>) {
    let (limit, patience) = (engine.limit_tokens(), window / 16);
    let (mut context, mut compact_above) = (CachedContext::new(session, life_seconds), limit);
    for message in session.messages() {
        if is_answer(message) {
            if context.tokens > compact_above {
                context.compact(strategy, engine, rival_size);
                compact_above = if context.tokens <= limit { limit } else { context.tokens + patience };
            }
            context.request(estimate_message_tokens(message));
        }
        context.push(message.clone());
        compact_above = if context.tokens <= limit { limit } else { compact_above };
    }
    let mean_size = context.mean_size();
    (context.spent, mean_size)
}

/// Replays a session with its native compactions.
pub(crate) fn spend_native(session: &Session, life_seconds: Option<u64>) -> Spending {
    let mut context = CachedContext::new(session, life_seconds);
    for (at, segment) in session.segments.iter().enumerate() {
        let (left, new) = segment.messages.split_at(segment.n_seen);
        if at > 0 {
            let digests = left.iter().filter(|message| markers::digest_body(message).is_some());
            let digest_tokens: u64 = digests.map(estimate_message_tokens).sum();
            if digest_tokens > 0 {
                context.request(digest_tokens);
            }
            context.spent.compactions += 1;
            context.replace(left.to_vec());
        }
        for message in new {
            if is_answer(message) {
                context.request(estimate_message_tokens(message));
            }
            context.push(message.clone());
        }
    }
    context.spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Segment;
    use wb_message::ToolVocabulary;

    /// A prompt of about `n` × 1,000 tokens.
    fn prompt(n: usize) -> Message {
        Message::user("x".repeat(3600 * n))
    }

    fn spent(messages: Vec<Message>, strategy: Strategy, window: u64) -> Spending {
        let engine = Engine::new(window, ToolVocabulary::UNIVERSAL);
        spend(&Session::new("s", messages), strategy, window, &engine, None, None).0
    }

    #[test]
    fn the_unchanged_prefix_is_read_and_the_rest_written() {
        let messages = vec![prompt(2), Message::assistant("Yes."), prompt(1), Message::assistant("No.")];
        let weights: Vec<u64> = messages.iter().map(estimate_message_tokens).collect();
        let spent = spent(messages, Strategy::Everything, 200_000);
        let tally = Tally {
            fresh_tokens: 0,
            cached_tokens: weights[0],
            written_tokens: weights[0] + weights[1] + weights[2],
            output_tokens: weights[1] + weights[3],
        };
        assert_eq!((spent.requests, spent.compactions, spent.usage), (2, 0, tally));
        assert_eq!(spent.max_prompt_tokens, weights[..3].iter().sum::<u64>());
        assert_eq!(spent.points[0].prompt_tokens, weights[0]);
    }

    #[test]
    fn a_prompt_after_the_cache_expired_is_written_whole() {
        let at = |timestamp| Message::User { content: "x".repeat(7200).into(), timestamp };
        let messages = vec![at(1_000_000_000_000), Message::assistant("Yes."), at(1_000_000_600_000)];
        let messages = [messages, vec![Message::assistant("No.")]].concat();
        let session = Session { times_ms: vec![1_000_000_000_000], ..Session::new("s", messages) };
        let engine = Engine::new(200_000, ToolVocabulary::UNIVERSAL);
        let spent = |life| spend(&session, Strategy::Everything, 200_000, &engine, None, life).0.usage;
        assert!(spent(Some(600)).cached_tokens > 0 && spent(None).cached_tokens > 0);
        assert_eq!(spent(Some(300)).cached_tokens, 0);
    }

    #[test]
    fn a_short_prompt_is_fresh_input() {
        let spent =
            spent(vec![Message::user("Hi."), Message::assistant("Yes.")], Strategy::Everything, 200_000);
        assert_eq!((spent.usage.written_tokens, spent.usage.cached_tokens), (0, 0));
        assert!(spent.usage.fresh_tokens > 0);
    }

    #[test]
    fn a_compaction_breaks_the_cache_at_its_first_change() {
        let messages: Vec<Message> = (0..12).flat_map(|_| [prompt(2), Message::assistant("Yes.")]).collect();
        let spent = spent(messages, Strategy::Preset("window-budget"), 12_000);
        assert!(spent.compactions > 0 && spent.max_prompt_tokens <= 7_464, "{spent:?}");
        let broken =
            spent.points.windows(2).filter(|pair| pair[0].usage.cached_tokens == pair[1].usage.cached_tokens);
        assert_eq!(broken.count(), spent.compactions, "the digest comes first");
    }

    #[test]
    fn a_native_compaction_is_one_more_request() {
        let summary = Message::CompactionSummary { summary: "Yes.".into(), tokens_before: 0 };
        let segments = vec![
            Segment { messages: vec![prompt(2), Message::assistant("Yes.")], ..Segment::default() },
            Segment {
                messages: vec![summary.clone(), prompt(1), Message::assistant("No.")],
                n_seen: 1,
                ..Segment::default()
            },
        ];
        let session = Session { segments, ..Session::new("s", Vec::new()) };
        let native = spend_native(&session, None);
        assert_eq!((native.requests, native.compactions), (3, 1));
        let summary_tokens = estimate_message_tokens(&summary);
        assert_eq!(native.points[2].prompt_tokens, summary_tokens + estimate_message_tokens(&prompt(1)));
        assert_eq!(native.usage.cached_tokens, estimate_message_tokens(&prompt(2)), "and nothing after it");
        let output = Prices { output: 1e6, ..Prices::default() };
        let cost = output.cost(&native.usage.usage());
        assert!((cost - native.usage.output_tokens as f64).abs() < 1e-9);
    }
}
