//! Renders the tables as Markdown.

use wb_budget::CatalogEntry;
use wb_replay::{Interval, RULES, Rule, Run};

/// The outcome of a rule on one session.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    compactions: usize,
    max_prompt_tokens: u64,
    cost: f64,
    lines: Vec<f64>,
}

impl Outcome {
    pub(crate) fn new(run: &Run, model: &CatalogEntry) -> Self {
        let spent = &run.spent;
        let (compactions, max_prompt_tokens) = (spent.compactions, spent.max_prompt_tokens);
        let cost = spent.prompt_cost(model);
        Self { compactions, max_prompt_tokens, cost, lines: run.lines.clone() }
    }
}

/// The outcome of every rule on every session.
type Outcomes = [Vec<Outcome>];

fn outcome(session: &[Outcome], rule: Rule) -> &Outcome {
    // Every session has every rule, in the same order.
    &session[RULES.iter().position(|known| *known == rule).unwrap_or(0)]
}

fn total(outcomes: &Outcomes, rule: Rule) -> f64 {
    outcomes.iter().map(|session| outcome(session, rule).cost).sum()
}

/// Returns the gain in retained lines over the limit rule, for each session and place.
fn gains(outcomes: &Outcomes, rule: Rule) -> Vec<Vec<f64>> {
    let gain = |session: &Vec<Outcome>| {
        let pairs = outcome(session, rule).lines.iter().zip(&outcome(session, Rule::AtLimit).lines);
        pairs.map(|(one, other)| one - other).collect()
    };
    outcomes.iter().map(gain).collect()
}

fn mean(values: &[Vec<f64>]) -> f64 {
    let n = values.iter().map(Vec::len).sum::<usize>().max(1);
    values.iter().flatten().sum::<f64>() / n as f64
}

/// Returns the rules without a forecast.
fn rivals() -> impl Iterator<Item = Rule> {
    RULES.into_iter().filter(|rule| !matches!(rule, Rule::AtLimit | Rule::Weighed))
}

/// Returns the total cost when each session uses the rule that was cheapest on the other sessions,
/// among those that retained enough there and fit.
fn left_one_out(outcomes: &Outcomes, most_lost: f64) -> f64 {
    let cost = |left: usize| {
        let others = [&outcomes[..left], &outcomes[left + 1..]].concat();
        let keeps = |rule: &Rule| *rule != Rule::Never && mean(&gains(&others, *rule)) >= -most_lost;
        let best =
            rivals().filter(keeps).min_by(|one, two| total(&others, *one).total_cmp(&total(&others, *two)));
        best.map_or(f64::INFINITY, |rule| outcome(&outcomes[left], rule).cost)
    };
    (0..outcomes.len()).map(cost).sum()
}

/// Returns the number of sessions that fit the window uncompacted, and the highest cost among them
/// relative to doing nothing.
fn worst(outcomes: &Outcomes, window: u64, rule: Rule) -> (usize, f64) {
    dearest(outcomes, rule, |session| outcome(session, Rule::Never).max_prompt_tokens <= window)
}

/// Returns the same as [`worst`] for sessions below the engine's limit.
fn worst_below(outcomes: &Outcomes, rule: Rule) -> (usize, f64) {
    dearest(outcomes, rule, |session| outcome(session, Rule::AtLimit).compactions == 0)
}

fn dearest(outcomes: &Outcomes, rule: Rule, fits: impl Fn(&[Outcome]) -> bool) -> (usize, f64) {
    let free = outcomes.iter().filter(|session| fits(session) && outcome(session, Rule::Never).cost > 0.0);
    let parts = free.map(|session| outcome(session, rule).cost / outcome(session, Rule::Never).cost);
    parts.fold((0, 0.0), |(n, most), part| (n + 1, part.max(most)))
}

fn row_of(cells: std::fmt::Arguments<'_>) -> String {
    cells.to_string()
}

fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.1}", part * 100.0) } else { "–".to_owned() }
}

fn points(values: &[Vec<f64>]) -> String {
    let Some(Interval { mean, range, .. }) = Interval::from_sessions(values) else { return "–".to_owned() };
    let range = range.map(|(low, high)| format!(" ({:+.1} to {:+.1})", low * 100.0, high * 100.0));
    format!("{:+.1}{}", mean * 100.0, range.unwrap_or_default())
}

/// Renders the engine's choice next to the others over all windows, one row per model.
pub(crate) fn choice(all: &[(&CatalogEntry, u64, Vec<Vec<Outcome>>)]) -> String {
    let mut out = "## The engine's choice\n\nIn % of what `at-limit` costs.\n\nprices of | weighed | best that keeps the lines \
        | best of any | lines, by window | worst % | worst % below the limit\n--- | ---: | ---: | ---: | ---: | ---: | ---:\n"
        .to_owned();
    for with_model in all.chunk_by(|one, other| one.0.card.id == other.0.card.id) {
        let mut sums = [0.0; 4];
        let (mut most, mut most_below) = (0.0_f64, 0.0_f64);
        let (mut least_lines, mut most_lines) = (f64::INFINITY, f64::NEG_INFINITY);
        for (_, window, outcomes) in with_model {
            sums.iter_mut().zip(costs_of_choice(outcomes)).for_each(|(sum, cost)| *sum += cost);
            most = most.max(worst(outcomes, *window, Rule::Weighed).1);
            most_below = most_below.max(worst_below(outcomes, Rule::Weighed).1);
            let lines = mean(&gains(outcomes, Rule::Weighed)) * 100.0;
            (least_lines, most_lines) = (least_lines.min(lines), most_lines.max(lines));
        }
        out += &row_of(format_args!(
            "{} | {} | {least_lines:+.1} to {most_lines:+.1} | {} | {}\n",
            with_model[0].0.card.id,
            relative_to_limit(sums),
            percent(most),
            percent(most_below)
        ));
    }
    out
}

/// Renders the same for each window.
pub(crate) fn totals(all: &[(&CatalogEntry, u64, Vec<Vec<Outcome>>)]) -> String {
    let mut out = "## The engine's choice\n\n| prices of | window | weighed | best that keeps the lines | best of any | lines of weighed | fit the window | worst % | worst % at-limit | below the limit | worst % |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for with_model in all.chunk_by(|one, other| one.0.card.id == other.0.card.id) {
        let mut sums = [0.0; 4];
        for (model, window, outcomes) in with_model {
            let costs = costs_of_choice(outcomes);
            sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost);
            let (n, most) = worst(outcomes, *window, Rule::Weighed);
            let (_, at_limit) = worst(outcomes, *window, Rule::AtLimit);
            let (n_below, below) = worst_below(outcomes, Rule::Weighed);
            let lines = points(&gains(outcomes, Rule::Weighed));
            out += &row_of(format_args!(
                "| {} | {window} | {} | {lines} | {n} | {} | {} | {n_below} | {} |\n",
                model.card.id,
                relative_to_limit(costs),
                percent(most),
                percent(at_limit),
                percent(below)
            ));
        }
        if let Some((model, ..)) = with_model.first() {
            out += &row_of(format_args!("| {} | all | {} |\n", model.card.id, relative_to_limit(sums)));
        }
    }
    out
}

/// Returns the costs at the limit, weighed, by the best other rule that keeps enough, by the best
/// of any.
fn costs_of_choice(outcomes: &Outcomes) -> [f64; 4] {
    let [limit, weighed] = [Rule::AtLimit, Rule::Weighed].map(|rule| total(outcomes, rule));
    [limit, weighed, left_one_out(outcomes, 0.01), left_one_out(outcomes, 1.0)]
}

fn relative_to_limit([limit, costs @ ..]: [f64; 4]) -> String {
    costs.map(|cost| percent(cost / limit)).join(" | ")
}

/// Renders the cost of every rule at a model's prices in a window.
pub(crate) fn rules(model: &CatalogEntry, window: u64, outcomes: &Outcomes) -> String {
    let as_of = model.card.prices.as_ref().map_or("", |prices| &prices.as_of);
    let life = model.cache.map_or_else(String::new, |cache| format!(", cache of {} s", cache.life_seconds));
    let mut out = format!(
        "### {}, window of {window}, prices of {as_of}{life}\n\n| rule | compacted | $ | % of at-limit | lines % | points | worst \
         % |\n|---|---:|---:|---:|---:|---:|---:|\n",
        model.card.id
    );
    let at_limit = total(outcomes, Rule::AtLimit);
    for rule in RULES {
        let cost = total(outcomes, rule);
        let n: usize = outcomes.iter().map(|session| outcome(session, rule).compactions).sum();
        let lines: Vec<_> = outcomes.iter().map(|session| outcome(session, rule).lines.clone()).collect();
        out += &row_of(format_args!(
            "| {} | {n} | {cost:.2} | {} | {} | {} | {} |\n",
            rule.name(),
            percent(cost / at_limit),
            percent(mean(&lines)),
            points(&gains(outcomes, rule)),
            percent(worst(outcomes, window, rule).1)
        ));
    }
    out
}
