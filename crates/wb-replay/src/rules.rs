//! Rules for *when* to compact, compared with the engine's choice where prices are known.
//!
//! All rules compact with the default preset and as a host does: the context is followed from
//! request to request, and each compaction starts from the last one's result. All compact at the
//! limit of the window at the latest.

use serde::Serialize;
use wb_budget::{
    AUTO_CONDENSE_POLICY, BudgetPolicy, CatalogEntry, ModelCard, Prices, estimate_message_tokens,
};
use wb_conductor::{AgentContext, CompactionReport, Compactor, CondenseOpts};
use wb_message::{Message, Origin};

use crate::cost::{CachedContext, Spending, is_answer};
use crate::message_text::context_text;
use crate::needs::{Names, Need};
use crate::retention::retained_shares;
use crate::session::Session;

/// A rule for when to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum Rule {
    /// Never, even beyond the window.
    Never,
    /// At the limit of the engine's budget.
    AtLimit,
    /// If the engine expects a saving: [`wb_budget::Worth`].
    Weighed,
    /// Above this percentage of the window.
    Percent(u8),
    /// After this number of new tokens.
    Every(u64),
    /// After reading removable content has cost as much as the compaction.
    BreakEven,
}

/// Every rule in table order.
pub const RULES: [Rule; 9] = [
    Rule::Never,
    Rule::AtLimit,
    Rule::Weighed,
    Rule::Percent(25),
    Rule::Percent(50),
    Rule::Percent(75),
    Rule::Every(25_000),
    Rule::Every(50_000),
    Rule::BreakEven,
];

/// The assumed weight after the first compaction, in tokens; later ones are measured.
const COMPACTED_TOKENS: f64 = 12_000.0;
/// The size of a session at its first place; then one follows per [`STEP`]. See [`crate::size`].
const FIRST: f64 = 20_000.0;
const STEP: f64 = 10_000.0;
/// The number of messages after a place that determine its needs.
const N_FUTURE: usize = 40;
/// The minimum number of needed names at a place.
const MIN_NEEDS: usize = 5;

impl Rule {
    /// Returns the name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::AtLimit => "at-limit",
            Self::Weighed => "weighed",
            Self::Percent(25) => "quarter-full",
            Self::Percent(50) => "half-full",
            Self::Percent(_) => "three-quarters-full",
            Self::Every(25_000) => "every-25k",
            Self::Every(_) => "every-50k",
            Self::BreakEven => "break-even",
        }
    }

    fn policy(self) -> BudgetPolicy {
        let ratio =
            |trigger_ratio| BudgetPolicy { trigger_ratio, reserve_tokens: None, ..AUTO_CONDENSE_POLICY };
        match self {
            Self::Percent(percent) => ratio(f64::from(percent) / 100.0),
            _ => AUTO_CONDENSE_POLICY,
        }
    }
}

/// A session with the prices of its requests.
#[derive(Debug)]
pub struct Course<'a> {
    session: &'a Session,
    prices: &'a Prices,
    life_seconds: Option<u64>,
}

/// The result of a rule on a session.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Run {
    /// The spending.
    pub spent: Spending,
    /// The share of needed names whose last line the context retained, at each place; see
    /// [`crate::Retention::lines`].
    pub lines: Vec<f64>,
}

/// The places of a session: the index of the next message, and the needs after it.
#[derive(Debug, Default)]
pub struct Places<'a>(Vec<(usize, Vec<Need<'a>>)>);

impl<'a> Places<'a> {
    /// Finds places at the requests of a session.
    pub fn find(messages: &[&Message], names: &'a Names) -> Self {
        let (mut places, mut total, mut next) = (Vec::new(), 0.0, FIRST);
        for (at, (message, size)) in messages.iter().zip(names.sizes()).enumerate() {
            if total >= next && is_answer(message) {
                let needs = names.needs(at, N_FUTURE);
                if needs.len() >= MIN_NEEDS {
                    places.push((at, needs));
                    next = total + STEP;
                }
            }
            total += size;
        }
        Self(places)
    }
}

impl<'a> Course<'a> {
    /// Creates a course at a model's prices, if it has any.
    pub fn new(session: &'a Session, model: &'a CatalogEntry) -> Option<Self> {
        let life_seconds = model.cache.map(|cache| cache.life_seconds);
        Some(Self { session, prices: model.card.prices.as_ref()?, life_seconds })
    }

    /// Creates a course at given prices; without a lifetime the cache never expires.
    pub(crate) fn with_prices(session: &'a Session, prices: &'a Prices, life_seconds: Option<u64>) -> Self {
        Self { session, prices, life_seconds }
    }

    /// Runs a rule in a window.
    pub fn run(&self, rule: Rule, window: u64) -> Run {
        self.run_at(rule, window, &Places::default())
    }

    /// Runs a rule in a window, and measures what the context retains at places.
    pub fn run_at(&self, rule: Rule, window: u64, places: &Places<'_>) -> Run {
        let mut driver = Driver::new(self, rule, window);
        let (mut lines, mut places) = (Vec::new(), places.0.iter().peekable());
        for (at, message) in self.session.messages().enumerate() {
            if is_answer(message) {
                driver.request(message);
                if let Some((_, needs)) = places.next_if(|(place, _)| *place == at) {
                    lines.push(retained_shares(&context_text(&driver.cached.messages), needs).1);
                }
            }
            driver.cached.push(message.clone());
        }
        Run { spent: driver.cached.spent, lines }
    }
}

/// A host that compacts by a rule.
struct Driver<'a> {
    rule: Rule,
    prices: &'a Prices,
    compactor: Compactor,
    window: u64,
    context: AgentContext,
    cached: CachedContext<'a>,
    /// The tokens that the last compaction left.
    left: f64,
    /// The cost of reading more than that since then.
    overpaid: f64,
}

impl<'a> Driver<'a> {
    fn new(course: &Course<'a>, rule: Rule, window: u64) -> Self {
        let prices = (rule == Rule::Weighed).then(|| course.prices.clone());
        let card = ModelCard { prices, ..ModelCard::with_window(window) };
        let compactor =
            Compactor::new().card(card).policy(rule.policy()).vocabulary(course.session.vocabulary);
        Self {
            rule,
            prices: course.prices,
            window,
            context: AgentContext::from_compactor(compactor.clone()),
            compactor,
            cached: CachedContext::new(course.session, course.life_seconds),
            left: 0.0,
            overpaid: 0.0,
        }
    }

    /// Compacts if the rule demands it, and sends the context.
    fn request(&mut self, answer: &Message) {
        if self.rule != Rule::Never {
            let n_before = self.cached.messages.len();
            if self.cached.is_cold {
                self.context.mark_cache_cold();
            }
            let reports = if self.is_due() {
                vec![self.compact_now()]
            } else {
                self.context.before_request(&mut self.cached.messages)
            };
            for report in &reports {
                self.add(report, n_before);
            }
        }
        self.cached.request(estimate_message_tokens(answer));
    }

    fn is_due(&mut self) -> bool {
        let tokens = self.cached.tokens as f64;
        match self.rule {
            Rule::Every(n) => tokens > self.left + n as f64,
            Rule::BreakEven => {
                let compacted = if self.left > 0.0 { self.left } else { COMPACTED_TOKENS };
                self.overpaid += self.prices.cached * (tokens - compacted).max(0.0);
                self.overpaid > (self.prices.write - self.prices.cached) * compacted
            }
            _ => false,
        }
    }

    /// Compacts to less than half, independent of the limit.
    fn compact_now(&mut self) -> CompactionReport {
        let trigger_ratio = (self.cached.tokens as f64 / 2.0 / self.window as f64).min(1.0);
        let policy = BudgetPolicy { trigger_ratio, reserve_tokens: None, ..AUTO_CONDENSE_POLICY };
        self.context.observe(&self.cached.messages);
        let facts = self.context.facts().clone();
        let at_once = AgentContext::from_compactor(self.compactor.clone().policy(policy));
        let mut at_once = at_once.resume(&self.cached.messages, facts.clone());
        let report = at_once.compact_locally(&mut self.cached.messages, &CondenseOpts::default());
        self.context =
            AgentContext::from_compactor(self.compactor.clone()).resume(&self.cached.messages, facts);
        report
    }

    fn add(&mut self, report: &CompactionReport, n_before: usize) {
        let Some(undo) = &report.undo else { return };
        let origins = undo.origins(n_before);
        let is_same =
            |(at, origin): &(usize, &Origin)| **origin == Origin::Kept(*at) && !undo.has_new_body(*at);
        self.cached.after_compaction(origins.iter().enumerate().take_while(is_same).count());
        (self.left, self.overpaid) = (self.cached.tokens as f64, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::Block;

    fn session() -> Session {
        let step = |n: usize| {
            let (id, file) = (format!("c{n}"), format!("src/part_{}.rs", n % 30));
            let call = Block::call(&id, "Read", json!({ "path": file }));
            let result = Message::tool_result(id, "Read", format!("fn of_{n}() {{}}\n").repeat(100));
            [Message::assistant_blocks(vec![call]), result]
        };
        Session::new("s", [Message::user("Read all.")].into_iter().chain((0..200).flat_map(step)).collect())
    }

    #[test]
    fn every_rule_but_never_stays_within_the_window() {
        let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
        let session = session();
        let messages: Vec<&Message> = session.messages().collect();
        let owned: Vec<Message> = session.messages().cloned().collect();
        let names = Names::new(&owned);
        let places = Places::find(&messages, &names);
        for rule in RULES {
            let run = Course::with_prices(&session, &prices, None).run_at(rule, 32_000, &places);
            let is_within = run.spent.max_prompt_tokens <= 32_000 * 3 / 4;
            assert_eq!((run.spent.requests, is_within), (200, rule != Rule::Never), "{rule:?}");
            assert_eq!(run.spent.compactions > 0, rule != Rule::Never);
            assert!(
                !run.lines.is_empty() && (rule != Rule::Never || run.lines.iter().all(|kept| *kept > 0.99))
            );
        }
    }

    #[test]
    fn without_prices_the_engine_compacts_at_the_limit() {
        let session = session();
        let free = Prices::default();
        let course = Course::with_prices(&session, &free, None);
        assert_eq!(course.run(Rule::Weighed, 32_000).spent, course.run(Rule::AtLimit, 32_000).spent);
    }
}
