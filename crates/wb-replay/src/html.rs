//! Renders a replay as a page: one file with charts, in light or dark mode, without scripts.

use wb_message::text::escape_xml;

use crate::bootstrap::Interval;
use crate::cost::Tally;
use crate::replay::{CAVEAT, CostRow, NATIVE, Replay, SessionReport, Summary};
use crate::strategy::STRATEGIES;
use crate::svg::{Chart, Series};

/// The page up to the first heading.
const HEAD: &str = include_str!("page_head.html");

/// Renders a replay as a self-contained page.
pub fn page(replay: &Replay) -> String {
    let options = &replay.options;
    let windows: Vec<String> = options.windows.iter().map(u64::to_string).collect();
    let mut page = format!(
        "{HEAD}<h1>Replay</h1>\n<p>{} sessions, {} places, windows of {} tokens. What the next {} messages needed of \
         the history, and what of it each strategy had kept.</p>\n<p><strong>{}</strong></p>\n",
        replay.sessions.len(),
        replay.n_trials(),
        windows.join(" and "),
        options.n_future,
        CAVEAT
    );
    page.push_str(&legend());
    if !replay.summary.is_empty() {
        page.push_str(&retention_table(replay));
    }
    for &window in &options.windows {
        page.push_str(&costs(replay, window));
    }
    let sessions =
        replay.sessions.iter().filter(|report| report.costs.iter().any(|row| row.spent.requests > 1));
    sessions.for_each(|report| page.push_str(&session(report, replay)));
    page.push_str("</main></html>\n");
    page
}

/// Returns the colour of a strategy, its index in table order.
fn colour(name: &str) -> usize {
    STRATEGIES.iter().position(|strategy| strategy.name() == name).unwrap_or(STRATEGIES.len())
}

fn legend() -> String {
    let names = STRATEGIES.iter().map(|strategy| strategy.name()).chain([NATIVE]);
    let item = |name: &str| format!("<li class=\"s{}\"><span>{name}</span></li>", colour(name));
    format!("<ul class=\"legend\">{}</ul>\n", names.map(item).collect::<Vec<_>>().concat())
}

/// Renders what was retained: a table, and charts of names and lines against size.
fn retention_table(replay: &Replay) -> String {
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
    let chart = |title: &str, y, value: fn(&Summary) -> f64| {
        let point = |summary: &Summary| Series {
            name: summary.strategy,
            colour: colour(summary.strategy),
            points: vec![(summary.size.mean * 100.0, value(summary) * 100.0)],
        };
        let series = replay.summary.iter().map(point).collect();
        let chart =
            Chart { title: title.to_owned(), x: "size, % of the history", y, max: Some(100.0), series };
        figure(&chart)
    };
    let charts = chart("Names kept against size", "names kept, %", |summary| summary.names.mean)
        + &chart("Lines kept against size", "lines kept, %", |summary| summary.lines.mean);
    let rows = |summaries: &[Summary]| table(&titles, summaries.iter().map(kept_row).collect());
    let mut out = format!(
        "<h2>Retention against size</h2>\n<div class=\"two\">{charts}</div>\n{}",
        rows(&replay.summary)
    );
    if !replay.native.is_empty() {
        out.push_str("<h2>Compared with native digests, at most as large</h2>\n");
        out.push_str(&rows(&replay.native));
    }
    out
}

fn kept_row(summary: &Summary) -> Vec<String> {
    let shares = summary.shares().map(|share| share.map_or("–".to_owned(), percent));
    let ends = [summary.strategy.to_owned(), format!("{} of {}", summary.changed, summary.trials)];
    ends.into_iter().chain(shares).chain([summary.broken.to_string()]).collect()
}

fn percent(share: Interval) -> String {
    share.percent_with(" <small>", "</small>")
}

/// Renders the cost of all sessions with a window.
fn costs(replay: &Replay, window: u64) -> String {
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
    let rows = replay
        .costs
        .iter()
        .filter(|row| row.window.is_none_or(|row_window| row_window == window))
        .map(cost_row)
        .collect();
    format!("<h2>Cost with a window of {window} tokens</h2>\n{}", table(&titles, rows))
}

fn cost_row(row: &CostRow) -> Vec<String> {
    let cost = row.cost.map_or("–".to_owned(), |cost| format!("{cost:.2}"));
    let counts = row.counts().map(|count| count.to_string());
    [row.strategy.to_owned()].into_iter().chain(counts).chain([cost]).collect()
}

/// Renders one session: prompt size and cost over time, for each window.
fn session(report: &SessionReport, replay: &Replay) -> String {
    let mut out = format!("<details><summary>{}</summary>\n", escape_xml(&report.session));
    for &window in &replay.options.windows {
        let rows = || {
            report.costs.iter().filter(move |row| row.window.is_none_or(|row_window| row_window == window))
        };
        let prompt =
            |row: &CostRow| row.spent.points.iter().map(|point| point.prompt_tokens as f64).collect();
        let cost = |row: &CostRow| row.spent.points.iter().map(|point| spent(replay, point.usage)).collect();
        let unit = if replay.options.prices.is_some() { "USD" } else { "tokens that no cache had" };
        let title = |what: &str| format!("{what}, window of {window} tokens");
        out.push_str("<div class=\"two\">");
        out.push_str(&over_time(title("Window over time"), "tokens of the prompt", rows(), prompt));
        out.push_str(&over_time(title("Cost over time"), unit, rows(), cost));
        out.push_str("</div>\n");
    }
    out.push_str("</details>\n");
    out
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
) -> String {
    let series = |row: &CostRow| {
        let points = (1..).map(f64::from).zip(values(row)).collect();
        Series { name: row.strategy, colour: colour(row.strategy), points }
    };
    figure(&Chart { title, x: "request", y, max: None, series: rows.map(series).collect() })
}

fn figure(chart: &Chart) -> String {
    format!("<figure>{}<figcaption>{}</figcaption></figure>\n", chart.svg(), chart.title)
}

fn table(titles: &[&str], rows: Vec<Vec<String>>) -> String {
    let titles = titles.iter().map(|title| format!("<th>{title}</th>")).collect::<Vec<_>>().concat();
    let row = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect::<Vec<_>>().concat();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.into_iter().map(row).collect();
    format!(
        "<div class=\"wide\"><table><thead><tr>{titles}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    )
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
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for outside in ["<script", "http:", "https:", "url(", "<link", "<b>"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("&lt;b&gt;&amp;amp;") && page.contains("prefers-color-scheme: dark"));
        assert_eq!((page.matches("<svg").count(), page.matches("<details>").count()), (2, 1));
        assert!(page.contains("necessary, not sufficient"));
    }
}
