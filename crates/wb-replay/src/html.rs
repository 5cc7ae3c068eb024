//! Renders a replay as a page: one file with charts, in light or dark mode, without scripts.

use maud::{Markup, html};
use wb_message::number::{grouped, grouped_in};
use wb_page::{Chart, Page, Series, quoted, table};

use crate::bootstrap::Interval;
use crate::cost::Tally;
use crate::replay::{CAVEAT, CostRow, NATIVE, Replay, SessionReport, Summary};
use crate::strategy::STRATEGIES;

/// The strategy that the verdict is about.
const OURS: &str = "window-budget";

/// Renders a replay as a self-contained page.
pub fn page(replay: &Replay) -> String {
    let sessions =
        replay.sessions.iter().filter(|report| report.costs.iter().any(|row| row.spent.requests > 1));
    let body = html! {
        (legend())
        @if !replay.summary.is_empty() { (retention(replay)) }
        @for &window in &replay.options.windows { (costs(replay, window)) }
        h2 { "Sessions" }
        @for report in sessions { (session(report, replay)) }
    };
    Page { title: "Replay", lead: lead(replay), body }.render()
}

fn lead(replay: &Replay) -> Markup {
    let options = &replay.options;
    let windows: Vec<String> = options.windows.iter().map(|window| grouped(*window)).collect();
    html! {
        p.path {
            (grouped(replay.sessions.len() as u64)) " sessions, " (grouped(replay.n_trials() as u64))
            " places, windows of " (windows.join(" and ")) " tokens. What the next "
            (grouped(options.n_future as u64))
            " messages needed of the history, and what of it each strategy had kept."
        }
        div.verdict {
            @for sentence in verdict(replay) { p { (sentence) } }
            p { strong { (CAVEAT) } }
        }
    }
}

/// Says in sentences what was kept, and what was cheapest.
fn verdict(replay: &Replay) -> Vec<String> {
    let kept = replay
        .summary
        .iter()
        .find(|summary| summary.strategy == OURS)
        .map(|ours| retained_words(ours, replay));
    let costs = replay.options.windows.iter().filter_map(|window| cheapest(replay, *window));
    let none = || {
        "No place was full enough with enough to come, so nothing can be said of what was kept.".to_owned()
    };
    std::iter::once(kept.unwrap_or_else(none)).chain(costs).collect()
}

fn retained_words(ours: &Summary, replay: &Replay) -> String {
    let percent = |share: Interval| format!("{:.0}\u{a0}%", share.mean * 100.0);
    let others =
        replay.summary.iter().filter(|it| it.strategy != OURS && it.size.mean <= ours.size.mean + 0.02);
    let best = others.max_by(|one, two| one.names.mean.total_cmp(&two.names.mean));
    let next = best.map_or_else(String::new, |best| {
        format!(
            "; of the others at most as large, {} kept the most names, {}",
            best.strategy,
            percent(best.names)
        )
    });
    let words = ours
        .user_words
        .map_or_else(String::new, |words| format!(" and {} of the user's words", percent(words)));
    format!(
        "{OURS} kept {} of the names and {} of the lines that were needed{words}, in {} of the size{next}.",
        percent(ours.names),
        percent(ours.lines),
        percent(ours.size),
    )
}

fn cheapest(replay: &Replay, window: u64) -> Option<String> {
    let rows = replay.costs.iter().filter(|row| row.window == Some(window));
    let rows = rows.filter(|row| row.spent.max_prompt_tokens <= window);
    let price = |row: &CostRow| spent(replay, row.spent.usage);
    let best = rows.min_by(|one, two| price(one).total_cmp(&price(two)))?;
    let cost = match best.cost {
        Some(cost) => format!("{cost:.2} USD"),
        None => grouped_in(&format!("{:.0} tokens that no cache had", price(best))),
    };
    Some(format!("In a window of {} tokens {} costs least: {cost}.", grouped(window), best.strategy))
}

/// Returns the style of a strategy, its index in table order.
fn style_of(name: &str) -> usize {
    STRATEGIES.iter().position(|strategy| strategy.name() == name).unwrap_or(STRATEGIES.len())
}

fn legend() -> Markup {
    let names = STRATEGIES.iter().map(|strategy| strategy.name()).chain([NATIVE]);
    html! {
        ul.legend {
            @for name in names { li { (wb_page::sample(style_of(name))) (name) } }
        }
    }
}

/// Renders what was retained: charts of names and lines against size, and a table.
fn retention(replay: &Replay) -> Markup {
    let chart = |title: &str, y, value: fn(&Summary) -> f64| {
        let point = |summary: &Summary| Series {
            name: summary.strategy.to_owned(),
            style: style_of(summary.strategy),
            points: vec![(summary.size.mean * 100.0, value(summary) * 100.0)],
        };
        let series = replay.summary.iter().map(point).collect();
        let (title, x) = (title.to_owned(), "size, % of the history");
        figure(&Chart { title, x, y, max: Some(100.0), series, ..Chart::default() })
    };
    html! {
        h2 { "Retention against size" }
        div.two {
            (chart("Names kept against size", "names kept, %", |summary| summary.names.mean))
            (chart("Lines kept against size", "lines kept, %", |summary| summary.lines.mean))
        }
        (kept_table("What each strategy kept", &replay.summary))
        @if !replay.native.is_empty() {
            h2 { "Compared with native digests, at most as large" }
            (kept_table("What else was kept next to native digests", &replay.native))
        }
    }
}

fn kept_table(caption: &str, rows: &[Summary]) -> Markup {
    let titles = [
        "strategy",
        "changed",
        "size %",
        "names kept %",
        "lines kept %",
        "user words %",
        "constraints %",
        "broken",
    ];
    table(caption, &titles, rows.iter().map(kept_row))
}

fn kept_row(summary: &Summary) -> Vec<Markup> {
    let (changed, trials) = (grouped(summary.changed as u64), grouped(summary.trials as u64));
    let shares = summary.shares().map(|share| share.map_or_else(|| html! { "–" }, percent));
    let ends = [html! { (summary.strategy) }, html! { (changed) " of " (trials) }];
    ends.into_iter().chain(shares).chain([html! { (grouped(summary.broken as u64)) }]).collect()
}

fn percent(share: Interval) -> Markup {
    let range = share.range.map(|(low, high)| format!("{:.0}–{:.0}", low * 100.0, high * 100.0));
    html! { (format!("{:.1}", share.mean * 100.0)) @if let Some(range) = range { " " small { (range) } } }
}

/// Renders the cost of all sessions with a window.
fn costs(replay: &Replay, window: u64) -> Markup {
    let titles = [
        "strategy",
        "requests",
        "compacted",
        "fresh",
        "cached",
        "written",
        "output",
        "largest prompt",
        "USD",
    ];
    let rows = replay.costs.iter().filter(|row| row.window.is_none_or(|row_window| row_window == window));
    let title = format!("Cost with a window of {} tokens", grouped(window));
    let caption = format!("In tokens; ! marks a prompt above {}", grouped(window));
    html! {
        h2 { (title) }
        (table(&caption, &titles, rows.map(|row| cost_row(row, window))))
    }
}

fn cost_row(row: &CostRow, window: u64) -> Vec<Markup> {
    let cost = row.cost.map_or("–".to_owned(), |cost| format!("{cost:.2}"));
    let mut counts = row.counts().map(grouped);
    if row.spent.max_prompt_tokens > row.window.unwrap_or(window) {
        counts[6].push('!');
    }
    let cells = [row.strategy.to_owned()].into_iter().chain(counts).chain([cost]);
    cells.map(|cell| html! { (cell) }).collect()
}

/// Renders one session: prompt size and cost over time, for each window.
fn session(report: &SessionReport, replay: &Replay) -> Markup {
    let in_window = |window: u64| {
        let rows = || {
            report.costs.iter().filter(move |row| row.window.is_none_or(|row_window| row_window == window))
        };
        let prompt =
            |row: &CostRow| row.spent.points.iter().map(|point| point.prompt_tokens as f64).collect();
        let cost = |row: &CostRow| row.spent.points.iter().map(|point| spent(replay, point.usage)).collect();
        let unit = if replay.options.prices.is_some() { "USD" } else { "tokens that no cache had" };
        let title = |what: &str| format!("{what}, window of {} tokens", grouped(window));
        html! {
            div.two {
                (over_time(title("Window over time"), "tokens of the prompt", rows(), prompt))
                (over_time(title("Cost over time"), unit, rows(), cost))
            }
        }
    };
    html! {
        details {
            summary { (quoted(&report.session)) }
            @for &window in &replay.options.windows { (in_window(window)) }
        }
    }
}

/// Returns the running total: its price, or without prices the uncached and output tokens.
fn spent(replay: &Replay, usage: Tally) -> f64 {
    let dear = usage.fresh_tokens + usage.written_tokens + usage.output_tokens;
    replay.options.prices.as_ref().map_or(dear as f64, |prices| prices.cost(&usage.usage()))
}

fn over_time<'a>(
    title: String,
    y: &'static str,
    rows: impl Iterator<Item = &'a CostRow>,
    values: impl Fn(&CostRow) -> Vec<f64>,
) -> Markup {
    let series = |row: &CostRow| {
        let points = (1..).map(f64::from).zip(values(row)).collect();
        Series { name: row.strategy.to_owned(), style: style_of(row.strategy), points }
    };
    figure(&Chart { title, x: "request", y, series: rows.map(series).collect(), ..Chart::default() })
}

fn figure(chart: &Chart) -> Markup {
    html! { figure { (chart) figcaption { (chart.title) } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Options, replay};
    use crate::session::Session;
    use wb_message::Message;

    #[test]
    fn a_page_is_self_contained_and_escapes_names() {
        let messages = (0..60)
            .flat_map(|n| [Message::user(format!("{n} {}", "x".repeat(900))), Message::assistant("Yes.")]);
        let session = Session::new("<b>&amp;", messages.collect());
        let options = Options { windows: vec![8_000], ..Options::default() };
        let page = page(&Replay::new(options.clone(), vec![replay(&session, &options)]));
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        for outside in ["<script", "http:", "https:", "url(", "<link", "<b>"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("&lt;b&gt;&amp;amp;") && page.contains("prefers-color-scheme: dark"));
        assert_eq!(
            (page.matches("<svg viewBox=\"0 0 640").count(), page.matches("<details>").count()),
            (2, 1)
        );
        assert!(page.contains("necessary, not sufficient"));
    }
}
