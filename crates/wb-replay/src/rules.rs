//! Rules for *when* to compact, held against the engine's own choice where prices are known.
//!
//! All compact with the default preset, in the way in which a host would: the context is followed from request to request, and
//! each compaction works on what the one before has left. All compact at the limit of the window at the latest.

use serde::Serialize;
use wb_budget::{
    AUTO_CONDENSE_POLICY, BudgetPolicy, CatalogEntry, ModelCard, Prices, estimate_message_tokens,
};
use wb_conductor::{AgentContext, CompactionReport, Compactor, CondenseOpts};
use wb_message::{Message, Origin};

use crate::cost::{Growing, Spent, is_answer};
use crate::kept::retained;
use crate::message_text::context_text;
use crate::needs::{Names, Need};
use crate::session::Session;

/// When a context is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum Rule {
    /// Never, whether or not the window would hold it.
    Never,
    /// At the limit of the engine's budget.
    AtLimit,
    /// Where the engine expects that it pays: [`wb_budget::Worth`].
    Weighed,
    /// Above so many hundredths of the window.
    Percent(u8),
    /// When so many tokens have come in.
    Every(u64),
    /// When reading what a compaction would have removed has cost as much as that compaction.
    BreakEven,
}

/// Every rule in the order of the tables.
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

/// What a context is taken to weigh after its first compaction, in tokens; later ones tell it themselves.
const COMPACTED_TOKENS: f64 = 12_000.0;
/// A place comes where the session has this size, then each [`STEP`]; see [`crate::size`].
const FIRST: f64 = 20_000.0;
const STEP: f64 = 10_000.0;
/// How many messages after a place tell what was needed.
const N_FUTURE: usize = 40;
/// A place whose future needs fewer names than this says too little.
const MIN_NEEDS: usize = 5;

impl Rule {
    /// Returns the name, as tables and JSON have it.
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

/// A session with what is needed at its places, and what its requests cost.
#[derive(Debug)]
pub struct Course<'a> {
    session: &'a Session,
    prices: &'a Prices,
    life_seconds: Option<u64>,
}

/// What a rule made of a session.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Run {
    /// What it spent.
    pub spent: Spent,
    /// At each place, the share of the needed names whose last line the context held; see [`crate::Kept::lines`].
    pub lines: Vec<f64>,
}

/// The places of a session: before which message it stands, and what is needed after it.
#[derive(Debug, Default)]
pub struct Places<'a>(Vec<(usize, Vec<Need<'a>>)>);

impl<'a> Places<'a> {
    /// Finds the places at requests of a session that was said so.
    pub fn of(said: &[&Message], names: &'a Names) -> Self {
        let (mut places, mut total, mut next) = (Vec::new(), 0.0, FIRST);
        for (at, (message, size)) in said.iter().zip(names.sizes()).enumerate() {
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
    /// Goes through a session at the prices of a model; nothing if it tells none.
    pub fn new(session: &'a Session, model: &'a CatalogEntry) -> Option<Self> {
        let life_seconds = model.cache.map(|cache| cache.life_seconds);
        Some(Self { session, prices: model.card.prices.as_ref()?, life_seconds })
    }

    /// Goes through a session at these prices; without the life of a cache it never expires.
    pub(crate) fn at(session: &'a Session, prices: &'a Prices, life_seconds: Option<u64>) -> Self {
        Self { session, prices, life_seconds }
    }

    /// Compacts by a rule in a window.
    pub fn run(&self, rule: Rule, window: u64) -> Run {
        self.run_at(rule, window, &Places::default())
    }

    /// As [`Self::run`], and measures what the context holds at places.
    pub fn run_at(&self, rule: Rule, window: u64, places: &Places<'_>) -> Run {
        let mut driver = Driver::new(self, rule, window);
        let (mut lines, mut places) = (Vec::new(), places.0.iter().peekable());
        for (at, message) in self.session.said().enumerate() {
            if is_answer(message) {
                driver.request(message);
                if let Some((_, needs)) = places.next_if(|(place, _)| *place == at) {
                    lines.push(retained(&context_text(&driver.growing.messages), needs).1);
                }
            }
            driver.growing.push(message.clone());
        }
        Run { spent: driver.growing.spent, lines }
    }
}

/// A host that compacts by a rule.
struct Driver<'a> {
    rule: Rule,
    prices: &'a Prices,
    compactor: Compactor,
    window: u64,
    context: AgentContext,
    growing: Growing<'a>,
    /// What the last compaction left, in tokens.
    left: f64,
    /// What reading more than that has cost since then.
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
            growing: Growing::new(course.session, course.life_seconds),
            left: 0.0,
            overpaid: 0.0,
        }
    }

    /// Compacts where the rule says so, and sends the context.
    fn request(&mut self, answer: &Message) {
        if self.rule != Rule::Never {
            let n_before = self.growing.messages.len();
            if self.growing.is_cold {
                self.context.mark_cache_cold();
            }
            let reports = if self.is_due() {
                vec![self.compact_now()]
            } else {
                self.context.before_request(&mut self.growing.messages)
            };
            for report in &reports {
                self.take_in(report, n_before);
            }
        }
        self.growing.request(estimate_message_tokens(answer));
    }

    fn is_due(&mut self) -> bool {
        let tokens = self.growing.tokens as f64;
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

    /// Compacts to less than half, whatever the limit is.
    fn compact_now(&mut self) -> CompactionReport {
        let trigger_ratio = (self.growing.tokens as f64 / 2.0 / self.window as f64).min(1.0);
        let policy = BudgetPolicy { trigger_ratio, reserve_tokens: None, ..AUTO_CONDENSE_POLICY };
        self.context.observe(&self.growing.messages);
        let facts = self.context.facts().clone();
        let at_once = AgentContext::from_compactor(self.compactor.clone().policy(policy));
        let mut at_once = at_once.resume(&self.growing.messages, facts.clone());
        let report = at_once.compact_locally(&mut self.growing.messages, &CondenseOpts::default());
        self.context =
            AgentContext::from_compactor(self.compactor.clone()).resume(&self.growing.messages, facts);
        report
    }

    fn take_in(&mut self, report: &CompactionReport, n_before: usize) {
        let Some(undo) = &report.undo else { return };
        let origins = undo.origins(n_before);
        let is_same = |(at, origin): &(usize, &Origin)| **origin == Origin::Kept(*at) && !undo.replaced(*at);
        self.growing.compacted(origins.iter().enumerate().take_while(is_same).count());
        (self.left, self.overpaid) = (self.growing.tokens as f64, 0.0);
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
        Session::of("s", [Message::user("Read all.")].into_iter().chain((0..200).flat_map(step)).collect())
    }

    #[test]
    fn every_rule_makes_the_same_requests_and_only_never_leaves_the_window() {
        let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
        let session = session();
        let said: Vec<&Message> = session.said().collect();
        let owned: Vec<Message> = session.said().cloned().collect();
        let names = Names::of(&owned);
        let places = Places::of(&said, &names);
        for rule in RULES {
            let run = Course::at(&session, &prices, None).run_at(rule, 32_000, &places);
            let is_within = run.spent.max_prompt_tokens <= 32_000 * 3 / 4;
            assert_eq!((run.spent.requests, is_within), (200, rule != Rule::Never), "{rule:?}");
            assert_eq!(run.spent.compactions > 0, rule != Rule::Never);
            assert!(
                !run.lines.is_empty() && (rule != Rule::Never || run.lines.iter().all(|kept| *kept > 0.99))
            );
        }
    }

    #[test]
    fn without_prices_that_matter_the_choice_is_the_limit() {
        let session = session();
        let free = Prices::default();
        let course = Course::at(&session, &free, None);
        assert_eq!(course.run(Rule::Weighed, 32_000).spent, course.run(Rule::AtLimit, 32_000).spent);
    }
}
