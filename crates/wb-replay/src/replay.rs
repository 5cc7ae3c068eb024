//! A replay: every strategy at the past places of sessions, measured on what came next.

use serde::Serialize;
use wb_budget::{CatalogEntry, Prices};
use wb_message::{Message, markers};

use crate::bootstrap::Interval;
use crate::cost::{Spent, Tally, spend, spend_native};
use crate::cuts::CutRule;
use crate::kept::{Asked, Kept};
use crate::needs::Names;
use crate::rules::{Course, RULES};
use crate::session::{Session, Stretch};
use crate::strategy::{Engine, RIVALS, STRATEGIES, Strategy, pipeline};
use crate::to_size::{Forced, digesting};

/// What must be said beside the figures of a [`Replay`].
pub const CAVEAT: &str = "A name or line that is still there can be used, but may be overlooked: containing it is \
    necessary, not sufficient.";

/// A place whose future needs fewer names than this says too little.
const MIN_NEEDS: usize = 5;

/// How sessions are replayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// The windows that are tried, in tokens.
    pub windows: Vec<u64>,
    /// How many messages after a place tell what was needed.
    pub n_future: usize,
    /// The most places in one segment, for one window.
    pub max_cuts: usize,
    /// What tokens cost; none leaves costs in tokens.
    pub prices: Option<Prices>,
    /// The model whose prices these are, which may have others for long prompts, and a cache that expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<CatalogEntry>,
}

impl Default for Options {
    fn default() -> Self {
        Self { windows: vec![32_000, 64_000], n_future: 40, max_cuts: 6, prices: None, model: None }
    }
}

impl Options {
    /// Replays with the prices of a model of the catalog.
    #[must_use]
    pub fn of_model(self, model: &CatalogEntry) -> Self {
        Self { prices: model.card.prices.clone(), model: Some(model.clone()), ..self }
    }

    /// Returns for how long the cache lives, if that is known.
    pub(crate) fn life_seconds(&self) -> Option<u64> {
        self.model.as_ref()?.cache.map(|cache| cache.life_seconds)
    }

    /// Returns what was spent in US dollars, each request at the price of its length.
    pub(crate) fn cost(&self, spent: &Spent) -> Option<f64> {
        let prices = self.prices.as_ref()?;
        let at = |tokens| self.model.as_ref().and_then(|model| model.prices_at(tokens)).unwrap_or(prices);
        Some(spent.cost(at))
    }
}

/// What a session gave.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SessionReport {
    /// The session's name.
    pub session: String,
    /// The format of its file.
    pub format: &'static str,
    /// How often its agent has compacted it.
    pub native_compactions: usize,
    /// What was kept at each place.
    pub trials: Vec<Trial>,
    /// What was kept where the agent itself has written a digest, by it and by others of the same size.
    pub native_trials: Vec<Trial>,
    /// What each strategy would have spent, for each window.
    pub costs: Vec<CostRow>,
}

/// What each strategy kept at one place.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// The window in tokens; none where the agent itself has compacted.
    pub window: Option<u64>,
    /// Which segment of the session, from 0.
    pub segment: usize,
    /// How many messages stand before the place.
    pub cut: usize,
    /// How many names were needed after it.
    pub needs: usize,
    /// The size of the history; see [`crate::size`].
    pub history_size: f64,
    /// What each strategy kept.
    pub strategies: Vec<Outcome>,
}

/// What one strategy kept.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the strategy.
    pub strategy: &'static str,
    /// What it kept.
    #[serde(flatten)]
    pub kept: Kept,
}

/// What one strategy would have spent on a session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CostRow {
    /// The window in tokens; none of what the agent itself did.
    pub window: Option<u64>,
    /// The name of the strategy, or [`NATIVE`].
    pub strategy: &'static str,
    /// What it would have spent.
    #[serde(flatten)]
    pub spent: Spent,
    /// That in US dollars.
    pub cost: Option<f64>,
}

/// The name of what the agent itself did; without a native compaction it let the context grow.
pub const NATIVE: &str = "native";

/// What a strategy kept over all places of all sessions.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The name of the strategy.
    pub strategy: &'static str,
    /// The places.
    pub trials: usize,
    /// The places at which it changed the history.
    pub changed: usize,
    /// The places at which it left a call without its result, or a result without its call.
    pub broken: usize,
    /// See [`Kept::size`].
    pub size: Interval,
    /// The mean weight in tokens, as the engine counts them.
    pub tokens: f64,
    /// See [`Kept::names`].
    pub names: Interval,
    /// See [`Kept::lines`].
    pub lines: Interval,
    /// See [`Kept::user_words`].
    pub user_words: Option<Interval>,
    /// See [`Kept::constraints`].
    pub constraints: Option<Interval>,
}

impl Summary {
    /// Returns the shares in the order of the tables: size, names, lines, user words, constraints.
    pub fn shares(&self) -> [Option<Interval>; 5] {
        [Some(self.size), Some(self.names), Some(self.lines), self.user_words, self.constraints]
    }
}

/// Sessions that were replayed, and what they have in common.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// How they were replayed.
    pub options: Options,
    /// What each strategy kept, over all places.
    pub summary: Vec<Summary>,
    /// What was kept where the agents themselves have written a digest, by them and by others of the same size.
    pub native: Vec<Summary>,
    /// What each strategy would have spent on all sessions.
    pub costs: Vec<CostRow>,
    /// What each session gave.
    pub sessions: Vec<SessionReport>,
}

impl Replay {
    /// Sums up what sessions gave that were replayed with these options.
    pub fn of(options: Options, sessions: Vec<SessionReport>) -> Self {
        let (summary, native) = (summarize(&sessions), summarize_native(&sessions));
        let costs = total_costs(&sessions);
        Self { options, summary, native, costs, sessions }
    }

    /// Returns how many places there are in all.
    pub fn n_trials(&self) -> usize {
        self.sessions.iter().map(|report| report.trials.len()).sum()
    }
}

/// Adds up what each strategy would have spent on several sessions; what the agents themselves did is told if one of
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
    /// Returns requests, compactions, fresh, cached, written and output tokens and the largest prompt, as tables have them.
    pub fn counts(&self) -> [u64; 7] {
        let Spent { requests, compactions, usage, max_prompt_tokens, .. } = &self.spent;
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
    for (segment, stretch) in session.segments.iter().enumerate() {
        let names = Names::of(&stretch.messages);
        for &window in &options.windows {
            let rule = CutRule::of_window(window, options.n_future, options.max_cuts);
            let engine = Engine::new(window, session.vocabulary);
            for (cut, asked) in places(stretch, &names, &rule) {
                let (needs, history_size) = (asked.needs.len(), asked.size);
                let strategies = outcomes(&asked, &engine);
                let window = Some(window);
                trials.push(Trial { window, segment, cut, needs, history_size, strategies });
            }
        }
    }
    trials
}

/// Returns the places of a segment after which enough was needed, each with what a context can keep there.
pub(crate) fn places<'a>(stretch: &'a Stretch, names: &'a Names, rule: &CutRule) -> Vec<(usize, Asked<'a>)> {
    let cuts = rule.cuts(&stretch.messages, &names.sizes(), stretch.n_seen).into_iter();
    let needed = cuts.map(|cut| (cut, names.needs(cut, rule.n_future)));
    let enough = needed.filter(|(_, needs)| needs.len() >= MIN_NEEDS);
    enough.map(|(cut, needs)| (cut, Asked::new(&stretch.messages[..cut], needs))).collect()
}

/// Compacts a history with every strategy; the rivals get the size that the first one reaches.
fn outcomes(asked: &Asked<'_>, engine: &Engine) -> Vec<Outcome> {
    let mut rival_size = 0.0;
    let mut of = |strategy: Strategy| {
        let kept = asked.kept_in(&strategy.compact(asked.history, engine, rival_size));
        if strategy == STRATEGIES[0] {
            rival_size = kept.size * asked.size;
        }
        Outcome { strategy: strategy.name(), kept }
    };
    STRATEGIES.into_iter().map(&mut of).collect()
}

/// Measures each digest that the agent itself has written, beside others of the same size.
fn native_trials(session: &Session, n_future: usize) -> Vec<Trial> {
    let pairs = session.segments.windows(2).enumerate();
    pairs.filter_map(|(segment, pair)| native_trial(session, segment, &pair[0], &pair[1], n_future)).collect()
}

fn native_trial(
    session: &Session,
    segment: usize,
    before: &Stretch,
    after: &Stretch,
    n_future: usize,
) -> Option<Trial> {
    let (left, new) = after.messages.split_at(after.n_seen);
    left.iter().find(|message| markers::digest_body(message).is_some())?;
    let all = [&before.messages[..], &new[..new.len().min(n_future)]].concat();
    let (names, cut) = (Names::of(&all), before.messages.len());
    let needs = names.needs(cut, n_future);
    if needs.len() < MIN_NEEDS {
        return None;
    }
    let asked = Asked::new(&all[..cut], needs);
    let (needs, history_size) = (asked.needs.len(), asked.size);
    let strategies = beside_native(&asked, left, session);
    Some(Trial { window: None, segment, cut, needs, history_size, strategies })
}

fn beside_native(asked: &Asked<'_>, left: &[Message], session: &Session) -> Vec<Outcome> {
    let native = asked.kept_in(left);
    let forced = Forced::new(asked.history, &session.vocabulary);
    let preset = |strategy| {
        let compacted = forced.nearest(native.size, &pipeline(strategy, session.vocabulary));
        Outcome { strategy, kept: asked.kept_in(&compacted) }
    };
    let rival = |strategy: Strategy| {
        let compacted = strategy.at_size(asked.history, native.size * asked.size);
        Outcome { strategy: strategy.name(), kept: asked.kept_in(&compacted) }
    };
    let native = Outcome { strategy: NATIVE, kept: native };
    std::iter::once(native).chain(digesting().into_iter().map(preset)).chain(RIVALS.map(rival)).collect()
}

fn costs(session: &Session, options: &Options) -> Vec<CostRow> {
    let row = |window, strategy, spent: Spent| {
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
            let course = Course::at(session, prices, options.life_seconds());
            rows.extend(
                RULES.iter().map(|rule| row(Some(window), rule.name(), course.run(*rule, window).spent)),
            );
        }
    }
    rows.push(row(None, NATIVE, spend_native(session, options.life_seconds())));
    rows
}

/// Sums up what each strategy kept, over all places; none if there is no place.
pub fn summarize(reports: &[SessionReport]) -> Vec<Summary> {
    let names = STRATEGIES.into_iter().map(Strategy::name);
    names.filter_map(|name| summary(reports, name, |report| &report.trials)).collect()
}

/// Sums up what was kept where the agents themselves have written a digest.
fn summarize_native(reports: &[SessionReport]) -> Vec<Summary> {
    let names = std::iter::once(NATIVE).chain(digesting()).chain(RIVALS.map(Strategy::name));
    names.filter_map(|name| summary(reports, name, |report| &report.native_trials)).collect()
}

fn summary(
    reports: &[SessionReport],
    strategy: &'static str,
    trials: impl Fn(&SessionReport) -> &[Trial],
) -> Option<Summary> {
    let of_session = |report: &SessionReport| -> Vec<Kept> {
        let outcomes = trials(report).iter().flat_map(|trial| &trial.strategies);
        outcomes.filter(|outcome| outcome.strategy == strategy).map(|outcome| outcome.kept).collect()
    };
    summary_of(strategy, &reports.iter().map(of_session).collect::<Vec<_>>())
}

/// Sums up what a strategy kept at the places of each session.
pub(crate) fn summary_of(strategy: &'static str, sessions: &[Vec<Kept>]) -> Option<Summary> {
    let all = || sessions.iter().flatten();
    let share = |value: fn(&Kept) -> Option<f64>| {
        let values = sessions.iter().map(|kept| kept.iter().filter_map(value).collect());
        Interval::of(&values.collect::<Vec<Vec<f64>>>())
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

    /// A session that its agent compacts after 40 steps, with a digest that names two of twelve files.
    fn session() -> Session {
        let summary = "They read src/part_3.rs and src/part_7.rs.".to_owned();
        let summary = Message::CompactionSummary { summary, tokens_before: 0 };
        let steps = |range: std::ops::Range<usize>| range.flat_map(step);
        let before = std::iter::once(Message::user("Read all.")).chain(steps(0..40)).collect();
        let after = std::iter::once(summary).chain(steps(40..80)).collect();
        let segments = vec![Stretch { messages: before, n_seen: 0 }, Stretch { messages: after, n_seen: 1 }];
        Session { segments, ..Session::of("s", Vec::new()) }
    }

    #[test]
    fn a_native_digest_is_measured_beside_others_of_its_size() {
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
    fn costs_of_sessions_add_up_and_what_agents_did_is_told_if_one_has_compacted() {
        let options = Options { windows: vec![64_000], ..Options::default() };
        let plain = Session::of("p", step(1).into());
        let reports = [replay(&session(), &options), replay(&plain, &options)];
        let totals = total_costs(&reports);
        assert_eq!(totals.len(), STRATEGIES.len() + 1);
        let native = totals.last().map(|row| (row.strategy, row.spent.requests, row.spent.compactions));
        assert_eq!(native, Some((NATIVE, 80 + 1 + 1, 1)), "the digest is a request");
        assert_eq!(total_costs(&reports[1..]).len(), STRATEGIES.len());
    }

    #[test]
    fn where_the_engine_changes_nothing_its_rivals_leave_the_context_alone() {
        let messages = vec![Message::user("x".repeat(400_000)), Message::assistant("Well.")];
        let options = Options { windows: vec![32_000], ..Options::default() };
        let report = replay(&Session::of("s", messages), &options);
        let spent = |name: &str| report.costs.iter().find(|row| row.strategy == name).map(|row| &row.spent);
        for name in ["window-budget", "sliding-window", "masked-window"] {
            assert_eq!(spent(name), spent("everything"), "{name}");
        }
    }
}
