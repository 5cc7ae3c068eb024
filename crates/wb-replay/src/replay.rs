//! Replays every strategy at places of past sessions, and measures it by what came next.

use serde::Serialize;
use wb_budget::{CatalogEntry, Prices};
use wb_message::{Message, markers};

use crate::bootstrap::Interval;
use crate::cost::{Spending, Tally, spend, spend_native};
use crate::cuts::CutRule;
use crate::needs::Names;
use crate::resized_history::{ResizedHistory, digest_presets};
use crate::retention::{Reference, Retention};
use crate::rules::{Course, RULES};
use crate::session::{Segment, Session};
use crate::strategy::{Engine, RIVALS, STRATEGIES, Strategy, pipeline};

/// The caveat for the figures of a [`Replay`].
pub const CAVEAT: &str = "A name or line that is still there can be used, but may be overlooked: containing it is \
    necessary, not sufficient.";

/// The minimum number of needed names at a place.
const MIN_NEEDS: usize = 5;

/// The options of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// The windows to try, in tokens.
    pub windows: Vec<u64>,
    /// The number of messages after a place that determine its needs.
    pub n_future: usize,
    /// The maximum number of places per segment and window.
    pub max_cuts: usize,
    /// The prices of tokens; without them costs are in tokens.
    pub prices: Option<Prices>,
    /// The model with these prices, for long-prompt prices and the cache's lifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<CatalogEntry>,
}

impl Default for Options {
    fn default() -> Self {
        Self { windows: vec![32_000, 64_000], n_future: 40, max_cuts: 6, prices: None, model: None }
    }
}

impl Options {
    /// Sets a model of the catalog and its prices.
    #[must_use]
    pub fn with_model(self, model: &CatalogEntry) -> Self {
        Self { prices: model.card.prices.clone(), model: Some(model.clone()), ..self }
    }

    /// Returns the lifetime of the cache, if it is known.
    pub(crate) fn life_seconds(&self) -> Option<u64> {
        self.model.as_ref()?.cache.map(|cache| cache.life_seconds)
    }

    /// Returns the cost in US dollars, with each request at the prices for its length.
    pub(crate) fn cost(&self, spent: &Spending) -> Option<f64> {
        let prices = self.prices.as_ref()?;
        let at = |tokens| self.model.as_ref().and_then(|model| model.prices_at(tokens)).unwrap_or(prices);
        Some(spent.cost(at))
    }
}

/// The results of a session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SessionReport {
    /// The session's name.
    pub session: String,
    /// The format of its file.
    pub format: &'static str,
    /// The number of native compactions.
    pub native_compactions: usize,
    /// The results at each place.
    pub trials: Vec<Trial>,
    /// The results at native digests: the agent's, and others of the same size.
    pub native_trials: Vec<Trial>,
    /// The spending of each strategy, per window.
    pub costs: Vec<CostRow>,
}

/// The results of the strategies at one place.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// The window in tokens; `None` at a native compaction.
    pub window: Option<u64>,
    /// The index of the segment.
    pub segment: usize,
    /// The number of messages before the place.
    pub cut: usize,
    /// The number of names needed after it.
    pub needs: usize,
    /// The size of the history; see [`crate::size`].
    pub history_size: f64,
    /// The result of each strategy.
    pub strategies: Vec<Outcome>,
}

/// The result of one strategy.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the strategy.
    pub strategy: &'static str,
    /// The retained content.
    #[serde(flatten)]
    pub kept: Retention,
}

/// The spending of one strategy on a session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CostRow {
    /// The window in tokens; `None` for the agent's compactions.
    pub window: Option<u64>,
    /// The name of the strategy, or [`NATIVE`].
    pub strategy: &'static str,
    /// The spending.
    #[serde(flatten)]
    pub spent: Spending,
    /// The cost in US dollars.
    pub cost: Option<f64>,
}

/// The name of the agent's behaviour; without a native compaction, the context grew.
pub const NATIVE: &str = "native";

/// The results of a strategy over all places of all sessions.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The name of the strategy.
    pub strategy: &'static str,
    /// The number of places.
    pub trials: usize,
    /// The number of places at which it changed the history.
    pub changed: usize,
    /// The number of places at which it left a call or result without the other.
    pub broken: usize,
    /// See [`Retention::size`].
    pub size: Interval,
    /// The mean of the engine's token counts.
    pub tokens: f64,
    /// See [`Retention::names`].
    pub names: Interval,
    /// See [`Retention::lines`].
    pub lines: Interval,
    /// See [`Retention::user_words`].
    pub user_words: Option<Interval>,
    /// See [`Retention::constraints`].
    pub constraints: Option<Interval>,
}

impl Summary {
    /// Returns the shares in table order: size, names, lines, user words, constraints.
    pub fn shares(&self) -> [Option<Interval>; 5] {
        [Some(self.size), Some(self.names), Some(self.lines), self.user_words, self.constraints]
    }
}

/// Replayed sessions with their totals.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// The options.
    pub options: Options,
    /// The results of each strategy over all places.
    pub summary: Vec<Summary>,
    /// The results at native digests: the agents', and others of the same size.
    pub native: Vec<Summary>,
    /// The spending of each strategy on all sessions.
    pub costs: Vec<CostRow>,
    /// The results of each session.
    pub sessions: Vec<SessionReport>,
}

impl Replay {
    /// Sums up the reports of sessions.
    pub fn new(options: Options, sessions: Vec<SessionReport>) -> Self {
        let (summary, native) = (summarize(&sessions), summarize_native(&sessions));
        let costs = total_costs(&sessions);
        Self { options, summary, native, costs, sessions }
    }

    /// Returns the total number of places.
    pub fn n_trials(&self) -> usize {
        self.sessions.iter().map(|report| report.trials.len()).sum()
    }
}

/// Adds up the spending of each strategy on several sessions; the agents' own is included if one of
/// them has compacted.
fn total_costs(reports: &[SessionReport]) -> Vec<CostRow> {
    let mut totals: Vec<CostRow> = Vec::new();
    for row in reports.iter().flat_map(|report| &report.costs) {
        match totals.iter_mut().find(|total| (total.window, total.strategy) == (row.window, row.strategy)) {
            Some(total) => total.add(row),
            None => totals.push(CostRow { spent: row.spent.without_points(), ..row.clone() }),
        }
    }
    let is_native = reports.iter().any(|report| report.native_compactions > 0);
    totals.retain(|row| row.strategy != NATIVE || is_native);
    totals
}

impl CostRow {
    /// Returns the table columns: requests, compactions, fresh, cached, written and output tokens,
    /// and the largest prompt.
    pub fn counts(&self) -> [u64; 7] {
        let Spending { requests, compactions, usage, max_prompt_tokens, .. } = &self.spent;
        let Tally { fresh_tokens, cached_tokens, written_tokens, output_tokens } = *usage;
        let (requests, compactions) = (*requests as u64, *compactions as u64);
        [
            requests,
            compactions,
            fresh_tokens,
            cached_tokens,
            written_tokens,
            output_tokens,
            *max_prompt_tokens,
        ]
    }

    fn add(&mut self, other: &Self) {
        self.spent.add(&other.spent);
        self.cost = self.cost.zip(other.cost).map(|(one, two)| one + two);
    }
}

/// Replays one session.
pub fn replay(session: &Session, options: &Options) -> SessionReport {
    SessionReport {
        session: session.name.clone(),
        format: session.format,
        native_compactions: session.n_native(),
        trials: trials(session, options),
        native_trials: native_trials(session, options.n_future),
        costs: costs(session, options),
    }
}

fn trials(session: &Session, options: &Options) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (index, segment) in session.segments.iter().enumerate() {
        let names = Names::new(&segment.messages);
        for &window in &options.windows {
            let rule = CutRule::from_window(window, options.n_future, options.max_cuts);
            let engine = Engine::new(window, session.vocabulary);
            for (cut, reference) in places(segment, &names, &rule) {
                let (needs, history_size) = (reference.needs.len(), reference.size);
                let strategies = outcomes(&reference, &engine);
                let window = Some(window);
                trials.push(Trial { window, segment: index, cut, needs, history_size, strategies });
            }
        }
    }
    trials
}

/// Returns the places of a segment with enough needs, and a reference for each.
pub fn places<'a>(segment: &'a Segment, names: &'a Names, rule: &CutRule) -> Vec<(usize, Reference<'a>)> {
    let cuts = rule.cuts(&segment.messages, &names.sizes(), segment.n_seen).into_iter();
    let needed = cuts.map(|cut| (cut, names.needs(cut, rule.n_future)));
    let enough = needed.filter(|(_, needs)| needs.len() >= MIN_NEEDS);
    enough.map(|(cut, needs)| (cut, Reference::new(&segment.messages[..cut], needs))).collect()
}

/// Compacts a history with every strategy; the rivals get the size that the first one reaches.
fn outcomes(reference: &Reference<'_>, engine: &Engine) -> Vec<Outcome> {
    let mut rival_size = 0.0;
    let mut outcome = |strategy: Strategy| {
        let kept = reference.measure(&strategy.compact(reference.history, engine, rival_size));
        if strategy == STRATEGIES[0] {
            rival_size = kept.size * reference.size;
        }
        Outcome { strategy: strategy.name(), kept }
    };
    STRATEGIES.into_iter().map(&mut outcome).collect()
}

/// Measures each native digest, and others of the same size.
fn native_trials(session: &Session, n_future: usize) -> Vec<Trial> {
    let pairs = session.segments.windows(2).enumerate();
    pairs.filter_map(|(segment, pair)| native_trial(session, segment, &pair[0], &pair[1], n_future)).collect()
}

fn native_trial(
    session: &Session,
    segment: usize,
    before: &Segment,
    after: &Segment,
    n_future: usize,
) -> Option<Trial> {
    let (left, new) = after.messages.split_at(after.n_seen);
    left.iter().find(|message| markers::digest_body(message).is_some())?;
    let all = [&before.messages[..], &new[..new.len().min(n_future)]].concat();
    let (names, cut) = (Names::new(&all), before.messages.len());
    let needs = names.needs(cut, n_future);
    if needs.len() < MIN_NEEDS {
        return None;
    }
    let reference = Reference::new(&all[..cut], needs);
    let (needs, history_size) = (reference.needs.len(), reference.size);
    let strategies = native_outcomes(&reference, left, session);
    Some(Trial { window: None, segment, cut, needs, history_size, strategies })
}

fn native_outcomes(reference: &Reference<'_>, left: &[Message], session: &Session) -> Vec<Outcome> {
    let native = reference.measure(left);
    let resized = ResizedHistory::new(reference.history, &session.vocabulary);
    let preset = |strategy| {
        let compacted = resized.nearest(native.size, &pipeline(strategy, session.vocabulary));
        Outcome { strategy, kept: reference.measure(&compacted) }
    };
    let rival = |strategy: Strategy| {
        let compacted = strategy.shorten(reference.history, native.size * reference.size);
        Outcome { strategy: strategy.name(), kept: reference.measure(&compacted) }
    };
    let native = Outcome { strategy: NATIVE, kept: native };
    std::iter::once(native).chain(digest_presets().into_iter().map(preset)).chain(RIVALS.map(rival)).collect()
}

fn costs(session: &Session, options: &Options) -> Vec<CostRow> {
    let row = |window, strategy, spent: Spending| {
        let cost = options.cost(&spent);
        CostRow { window, strategy, spent, cost }
    };
    let mut rows = Vec::new();
    for &window in &options.windows {
        let engine = Engine::new(window, session.vocabulary);
        let mut rival_size = None;
        for strategy in STRATEGIES {
            let (spent, mean_size) =
                spend(session, strategy, window, &engine, rival_size, options.life_seconds());
            if strategy == STRATEGIES[0] {
                rival_size = mean_size;
            }
            rows.push(row(Some(window), strategy.name(), spent));
        }
        if let Some(prices) = &options.prices {
            let course = Course::with_prices(session, prices, options.life_seconds());
            rows.extend(
                RULES.iter().map(|rule| row(Some(window), rule.name(), course.run(*rule, window).spent)),
            );
        }
    }
    rows.push(row(None, NATIVE, spend_native(session, options.life_seconds())));
    rows
}

/// Sums up the results of each strategy; empty without a place.
pub fn summarize(reports: &[SessionReport]) -> Vec<Summary> {
    let names = STRATEGIES.into_iter().map(Strategy::name);
    names.filter_map(|name| summary(reports, name, |report| &report.trials)).collect()
}

/// Sums up the results at native digests.
fn summarize_native(reports: &[SessionReport]) -> Vec<Summary> {
    let names = std::iter::once(NATIVE).chain(digest_presets()).chain(RIVALS.map(Strategy::name));
    names.filter_map(|name| summary(reports, name, |report| &report.native_trials)).collect()
}

fn summary(
    reports: &[SessionReport],
    strategy: &'static str,
    trials: impl Fn(&SessionReport) -> &[Trial],
) -> Option<Summary> {
    let of_session = |report: &SessionReport| -> Vec<Retention> {
        let outcomes = trials(report).iter().flat_map(|trial| &trial.strategies);
        outcomes.filter(|outcome| outcome.strategy == strategy).map(|outcome| outcome.kept).collect()
    };
    summarize_strategy(strategy, &reports.iter().map(of_session).collect::<Vec<_>>())
}

/// Sums up what a strategy retained at the places of each session.
pub fn summarize_strategy(strategy: &'static str, sessions: &[Vec<Retention>]) -> Option<Summary> {
    let all = || sessions.iter().flatten();
    let share = |value: fn(&Retention) -> Option<f64>| {
        let values = sessions.iter().map(|kept| kept.iter().filter_map(value).collect());
        Interval::from_sessions(&values.collect::<Vec<Vec<f64>>>())
    };
    let trials = all().count();
    Some(Summary {
        strategy,
        trials,
        changed: all().filter(|kept| kept.changed).count(),
        broken: all().filter(|kept| !kept.pairs_intact).count(),
        size: share(|kept| Some(kept.size))?,
        tokens: all().map(|kept| kept.tokens as f64).sum::<f64>() / trials as f64,
        names: share(|kept| Some(kept.names))?,
        lines: share(|kept| Some(kept.lines))?,
        user_words: share(|kept| kept.user_words),
        constraints: share(|kept| kept.constraints),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::Block;

    fn step(n: usize) -> [Message; 2] {
        let id = format!("c{n}");
        let file = format!("src/part_{}.rs", n % 12);
        let call = Block::call(&id, "Read", json!({ "path": file }));
        let result = Message::tool_result(id, "Read", format!("mod of {file};\n").repeat(20));
        [Message::assistant_blocks(vec![call]), result]
    }

    /// A session with a native compaction after 40 steps, whose digest names two of twelve files.
    fn session() -> Session {
        let summary = "They read src/part_3.rs and src/part_7.rs.".to_owned();
        let summary = Message::CompactionSummary { summary, tokens_before: 0 };
        let steps = |range: std::ops::Range<usize>| range.flat_map(step);
        let before = std::iter::once(Message::user("Read all.")).chain(steps(0..40)).collect();
        let after = std::iter::once(summary).chain(steps(40..80)).collect();
        let segments = vec![
            Segment { messages: before, ..Segment::default() },
            Segment { messages: after, n_seen: 1, ..Segment::default() },
        ];
        Session { segments, ..Session::new("s", Vec::new()) }
    }

    #[test]
    fn a_native_digest_is_compared_with_others_of_its_size() {
        let report = replay(&session(), &Options::default());
        let [trial] = &report.native_trials[..] else { panic!("one digest") };
        assert_eq!((trial.window, trial.segment, trial.cut, trial.needs), (None, 0, 81, 12));
        let native = &trial.strategies[0];
        assert_eq!((native.strategy, native.kept.messages), (NATIVE, 1));
        assert!((native.kept.names - 2.0 / 12.0).abs() < 1e-9 && native.kept.lines == 0.0, "{native:?}");
        assert_eq!(native.kept.user_words, Some(0.0));
        let rows = summarize_native(&[report]);
        let names: Vec<_> = rows.iter().map(|row| row.strategy).collect();
        assert_eq!(names, ["native", "window-budget", "ladder", "sliding-window", "masked-window"]);
    }

    #[test]
    fn costs_add_up_and_include_native_ones_if_any() {
        let options = Options { windows: vec![64_000], ..Options::default() };
        let plain = Session::new("p", step(1).into());
        let reports = [replay(&session(), &options), replay(&plain, &options)];
        let totals = total_costs(&reports);
        assert_eq!(totals.len(), STRATEGIES.len() + 1);
        let native = totals.last().map(|row| (row.strategy, row.spent.requests, row.spent.compactions));
        assert_eq!(native, Some((NATIVE, 80 + 1 + 1, 1)), "the digest is a request");
        assert_eq!(total_costs(&reports[1..]).len(), STRATEGIES.len());
    }

    #[test]
    fn rivals_change_nothing_where_the_engine_does_not() {
        let messages = vec![Message::user("x".repeat(400_000)), Message::assistant("Well.")];
        let options = Options { windows: vec![32_000], ..Options::default() };
        let report = replay(&Session::new("s", messages), &options);
        let spent = |name: &str| report.costs.iter().find(|row| row.strategy == name).map(|row| &row.spent);
        for name in ["window-budget", "sliding-window", "masked-window"] {
            assert_eq!(spent(name), spent("everything"), "{name}");
        }
    }
}
