//! What a session would have cost, request by request.
//!
//! The model of cost: each message of the assistant is the answer to one request, whose prompt is the whole context
//! before it. The longest part of the prompt, from its start, that is unchanged since the last request is read from the
//! cache, unless it has fewer than [`MIN_CACHED_TOKENS`]. The rest is written to it, since the next request reads it
//! again. A prompt below [`MIN_CACHED_TOKENS`] is not cached at all, and is fresh input. A compaction breaks the prefix at
//! the first message that it changes. Where the life of the cache is known, a prompt that came later than that after
//! anything was written to the session's file finds it empty; else it never expires. The system prompt and the tools, which files do not hold,
//! are left out for all strategies alike.
//!
//! A strategy compacts before the request that would be above the limit of the engine's budget, without a model and so
//! for nothing. If it could not get below the limit, it is asked again when a sixteenth of the window has come in. The
//! native compaction is what the session holds: its digest counts as the answer to one more request, whose prompt is
//! the context that it stands for.

use serde::Serialize;
use wb_budget::{CatalogEntry, Prices, Usage, estimate_message_tokens};
use wb_message::{Message, markers};

use crate::message_text::total_size;
use crate::session::Session;
use crate::strategy::{Engine, Strategy, mask_in_place};
use crate::times::idle_ms;

/// Prompts, and unchanged parts of them, below this are not cached by providers, in tokens.
const MIN_CACHED_TOKENS: u64 = 1024;

/// What a strategy would have spent on a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spent {
    /// How many requests were made.
    pub requests: usize,
    /// How often the context was compacted.
    pub compactions: usize,
    /// The tokens by class: fresh input, read from the cache, written to it, output.
    #[serde(flatten)]
    pub usage: Tally,
    /// The largest prompt, in tokens.
    pub max_prompt_tokens: u64,
    /// What each request added up to.
    #[serde(skip)]
    pub points: Vec<Point>,
}

/// Tokens by what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Prompt tokens that no cache had or took.
    pub fresh_tokens: u64,
    /// Prompt tokens that were read from the cache.
    pub cached_tokens: u64,
    /// Prompt tokens that were written to the cache.
    pub written_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
}

/// One request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The tokens of its prompt.
    pub prompt_tokens: u64,
    /// What was spent up to and with it.
    pub usage: Tally,
}

impl Tally {
    /// Returns the tokens as a provider would report them.
    pub fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.fresh_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: Some(self.cached_tokens),
            cache_write_tokens: Some(self.written_tokens),
        }
    }

    /// Returns the sum of two.
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

impl Spent {
    /// Returns what the prompts cost at the prices of a model, in US dollars; 0 if it tells none.
    pub fn prompt_cost(&self, model: &CatalogEntry) -> f64 {
        let free = Prices::default();
        let output_cost = |point: &Point| model.prices_at(point.prompt_tokens).unwrap_or(&free).output;
        let mut told = 0;
        let outputs = self.points.iter().map(|point| {
            let output_tokens =
                point.usage.output_tokens - std::mem::replace(&mut told, point.usage.output_tokens);
            output_tokens as f64 * output_cost(point) / 1e6
        });
        self.cost(|tokens| model.prices_at(tokens).unwrap_or(&free)) - outputs.sum::<f64>()
    }

    /// Returns what was spent in US dollars, each request at the prices of its length.
    pub(crate) fn cost<'a>(&self, prices_at: impl Fn(u64) -> &'a Prices) -> f64 {
        let mut paid = Tally::default();
        let of_request = |point: &Point| {
            let (prices, before) =
                (prices_at(point.prompt_tokens), std::mem::replace(&mut paid, point.usage));
            prices.cost(&point.usage.usage()) - prices.cost(&before.usage())
        };
        self.points.iter().map(of_request).sum()
    }

    /// Adds one request.
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

    /// Adds what was spent on another session.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.compactions += other.compactions;
        self.usage = self.usage.plus(other.usage);
        self.max_prompt_tokens = self.max_prompt_tokens.max(other.max_prompt_tokens);
    }
}

/// A context that grows, and what of it the cache holds.
#[derive(Debug, Default)]
pub(crate) struct Growing<'a> {
    pub(crate) messages: Vec<Message>,
    clock: Clock<'a>,
    /// True if the cache has outlived its time.
    pub(crate) is_cold: bool,
    /// The weight of each message, in tokens.
    weights: Vec<u64>,
    pub(crate) tokens: u64,
    /// How many messages the last request sent and are still the same.
    n_cached: usize,
    cached_tokens: u64,
    /// The sum of the sizes after compactions to another context; see [`crate::size`].
    compacted_size: f64,
    pub(crate) spent: Spent,
}

/// When a session was written, and how long a cache lives.
#[derive(Clone, Copy, Debug, Default)]
struct Clock<'a> {
    times_ms: &'a [i64],
    life_ms: Option<i64>,
}

impl<'a> Growing<'a> {
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

    /// Sends the context; the answer weighs this much.
    pub(crate) fn request(&mut self, output_tokens: u64) {
        if std::mem::take(&mut self.is_cold) {
            (self.n_cached, self.cached_tokens) = (0, 0);
        }
        let was_cached = self.cached_tokens >= MIN_CACHED_TOKENS;
        self.spent.request(self.tokens, if was_cached { self.cached_tokens } else { 0 }, output_tokens);
        (self.n_cached, self.cached_tokens) = (self.messages.len(), self.tokens);
    }

    /// Puts another context in the place of this one; what is the same from its start on stays in the cache.
    fn replace(&mut self, messages: Vec<Message>) {
        let sent = &self.messages[..self.n_cached];
        let n_same = sent.iter().zip(&messages).take_while(|(old, new)| old == new).count();
        self.weights = messages.iter().map(estimate_message_tokens).collect();
        self.messages = messages;
        self.break_cache(n_same);
    }

    /// Takes in a compaction that left so many messages at the start as they were.
    pub(crate) fn compacted(&mut self, n_same: usize) {
        self.weights = self.messages.iter().map(estimate_message_tokens).collect();
        self.break_cache(n_same);
        self.spent.compactions += 1;
    }

    /// Takes from the cache what comes after so many messages, and adds the weights up anew.
    fn break_cache(&mut self, n_same: usize) {
        self.n_cached = self.n_cached.min(n_same);
        self.cached_tokens = self.weights[..self.n_cached].iter().sum();
        self.tokens = self.weights.iter().sum();
    }

    /// Compacts with a strategy; a rival that has no size leaves the context as it is.
    fn compact(&mut self, strategy: Strategy, engine: &Engine, rival_size: Option<f64>) {
        match strategy {
            Strategy::Everything => {}
            Strategy::MaskLast10 => self.mask(),
            Strategy::Preset(name) => self.compact_to(engine.compact(name, self.messages.clone())),
            Strategy::SlidingWindow | Strategy::MaskedWindow => {
                if let Some(size) = rival_size {
                    self.compact_to(strategy.at_size(&self.messages, size));
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

    /// Returns the mean size after a compaction to another context; none if there was none.
    fn mean_size(&self) -> Option<f64> {
        (self.compacted_size > 0.0).then(|| self.compacted_size / self.spent.compactions as f64)
    }

    /// Clears stale results where they stand: this never gets small, so it must not be copied each time.
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

/// Goes through a session with a strategy that compacts it whenever it is above the limit of a window; returns
/// what that costs, and the mean size after a compaction.
pub(crate) fn spend(
    session: &Session,
    strategy: Strategy,
    window: u64,
    engine: &Engine,
    rival_size: Option<f64>,
    life_seconds: Option<u64>,
) -> (Spent, Option<f64>) {
    let (limit, patience) = (engine.limit_tokens(), window / 16);
    let (mut context, mut ask_above) = (Growing::new(session, life_seconds), limit);
    for message in session.said() {
        if is_answer(message) {
            if context.tokens > ask_above {
                context.compact(strategy, engine, rival_size);
                ask_above = if context.tokens <= limit { limit } else { context.tokens + patience };
            }
            context.request(estimate_message_tokens(message));
        }
        context.push(message.clone());
        ask_above = if context.tokens <= limit { limit } else { ask_above };
    }
    let mean_size = context.mean_size();
    (context.spent, mean_size)
}

/// Goes through a session as its agent compacted it.
pub(crate) fn spend_native(session: &Session, life_seconds: Option<u64>) -> Spent {
    let mut context = Growing::new(session, life_seconds);
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
    use crate::session::Stretch;
    use wb_message::ToolVocabulary;

    /// A prompt of 3 × 3 600 characters is about 1 000 tokens.
    fn prompt(n: usize) -> Message {
        Message::user("x".repeat(3600 * n))
    }

    fn spent(messages: Vec<Message>, strategy: Strategy, window: u64) -> Spent {
        let engine = Engine::new(window, ToolVocabulary::UNIVERSAL);
        spend(&Session::of("s", messages), strategy, window, &engine, None, None).0
    }

    #[test]
    fn what_was_sent_before_is_read_from_the_cache_and_the_rest_is_written() {
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
    fn a_prompt_after_the_life_of_the_cache_is_written_whole() {
        let at = |timestamp| Message::User { content: "x".repeat(7200).into(), timestamp };
        let messages = vec![at(1_000_000_000_000), Message::assistant("Yes."), at(1_000_000_600_000)];
        let messages = [messages, vec![Message::assistant("No.")]].concat();
        let session = Session { times_ms: vec![1_000_000_000_000], ..Session::of("s", messages) };
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
    fn a_compaction_breaks_the_cache_at_the_first_message_that_it_changes() {
        let messages: Vec<Message> = (0..12).flat_map(|_| [prompt(2), Message::assistant("Yes.")]).collect();
        let spent = spent(messages, Strategy::Preset("window-budget"), 12_000);
        assert!(spent.compactions > 0 && spent.max_prompt_tokens <= 7_464, "{spent:?}");
        let broken =
            spent.points.windows(2).filter(|pair| pair[0].usage.cached_tokens == pair[1].usage.cached_tokens);
        assert_eq!(broken.count(), spent.compactions, "the digest stands in front");
    }

    #[test]
    fn a_native_compaction_is_one_more_request() {
        let summary = Message::CompactionSummary { summary: "Yes.".into(), tokens_before: 0 };
        let segments = vec![
            Stretch { messages: vec![prompt(2), Message::assistant("Yes.")], n_seen: 0 },
            Stretch { messages: vec![summary.clone(), prompt(1), Message::assistant("No.")], n_seen: 1 },
        ];
        let session = Session { segments, ..Session::of("s", Vec::new()) };
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
