//! Renders the tables as Markdown.

use wb_replay::{CostRow, Interval, Replay, SessionReport, Summary};

use crate::equal_sizes::SizeComparison;
use crate::parts::PartLoss;

/// The columns of a table of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Means, and the intervals of names and lines.
    Page,
    /// All intervals and counts.
    All,
}

impl Columns {
    /// Renders a table below its heading, given the name of the first column and the first cell of
    /// each row.
    fn table<'s>(
        self,
        heading: &str,
        first: &str,
        all: impl Iterator<Item = (String, &'s Summary)>,
    ) -> String {
        let kept = format!("{first} | size % | names % | lines % | user words % | constraints %");
        let head = match self {
            Self::Page => format!("{kept}\n---{}", " | ---:".repeat(kept.matches('|').count())),
            Self::All => format!("| {kept} | places | broken pairs |"),
        };
        format!("{heading}\n\n{head}\n{}", rows(all.map(|it| self.row(it))))
    }

    fn row(self, (first, summary): (String, &Summary)) -> String {
        let cell = |(at, share): (usize, Option<Interval>)| match share {
            Some(share) if self == Self::All || matches!(at, 1 | 2) => share.percent(),
            Some(share) => format!("{:.1}", share.mean * 100.0),
            None => "–".to_owned(),
        };
        let shares: Vec<String> = summary.shares().into_iter().enumerate().map(cell).collect();
        let kept = format!("{first} | {}", shares.join(" | "));
        let Summary { trials, broken, .. } = summary;
        if self == Self::Page { kept } else { format!("| {kept} | {trials} | {broken} |") }
    }
}

fn by_strategy(all: &[Summary]) -> impl Iterator<Item = (String, &Summary)> {
    all.iter().map(|summary| (summary.strategy.to_owned(), summary))
}

/// Renders what a preset and its rivals retain at equal sizes.
pub(crate) fn compare_at_sizes(preset: &str, all: &[SizeComparison], columns: Columns) -> String {
    let named = |at: &SizeComparison, strategy: &str| format!("{:.0}, {strategy}", at.part * 100.0);
    let summaries = all
        .iter()
        .flat_map(|at| at.summaries.iter().map(move |summary| (named(at, summary.strategy), summary)));
    let near: Vec<String> = all.iter().map(near).collect();
    columns.table(&format!("### {preset}"), "at %, strategy", summaries)
        + &format!("\nWithin one point of that size: {}.\n", near.join(", "))
}

/// Renders how many results reached the requested size, of all places.
fn near(at: &SizeComparison) -> String {
    let n = at.summaries.first().map_or(0, |summary| summary.trials);
    format!("{} of {}", at.within, n + at.missed)
}

/// Renders what is lost without each part of a result.
pub(crate) fn losses(all: &[(f64, Vec<PartLoss>)], columns: Columns) -> String {
    let point = |lost: Option<Interval>| match lost {
        Some(lost) if columns == Columns::All => lost.percent(),
        Some(lost) => format!("{:.1}", lost.mean * 100.0),
        None => "–".to_owned(),
    };
    let row = |share: f64, loss: &PartLoss| {
        let points = loss.lost.map(point).join(" | ");
        match columns {
            Columns::Page => format!("{} | {points}", loss.name),
            Columns::All => format!("| {:.0}, {} | {points} |", share * 100.0, loss.name),
        }
    };
    let head = "without | size | names | lines | user words | constraints";
    let head = match columns {
        Columns::Page => format!("{head}\n---{}", " | ---:".repeat(5)),
        Columns::All => format!("| at %, {head} |"),
    };
    let shares: Vec<String> = all.iter().map(|(share, _)| format!("{:.0} %", share * 100.0)).collect();
    let all = all.iter().flat_map(|(share, losses)| losses.iter().map(move |loss| row(*share, loss)));
    format!(
        "### What each part brings, at {}\n\nEach part is taken out of the results above, and its room stays empty: what is lost \
         was nowhere else. In percentage points; *size* is of the history.\n\n{head}\n{}",
        shares.join(" and "),
        rows(all)
    )
}

/// Renders what every strategy retains under the budget of a window.
pub(crate) fn retention(replay: &Replay, columns: Columns) -> String {
    let windows: Vec<String> = replay.options.windows.iter().map(u64::to_string).collect();
    let heading = format!(
        "## Under the budget of a window\n\nWindows of {} tokens, default settings, {} points. Rival windows have at most \
         the size of `window-budget`.",
        windows.join(" and "),
        replay.summary.first().map_or(0, |summary| summary.trials)
    );
    match columns {
        Columns::Page => {
            let all = by_strategy(&replay.summary).filter(|(_, summary)| summary.changed > 0);
            columns.table(&heading, "strategy", all)
        }
        Columns::All => {
            let first = |it: &Summary| format!("{} | {} of {}", it.strategy, it.changed, it.trials);
            columns.table(&heading, "strategy | changed", replay.summary.iter().map(|it| (first(it), it)))
        }
    }
}

/// Renders what is retained at native compactions.
pub(crate) fn native(replay: &Replay, columns: Columns) -> String {
    let heading = format!(
        "## Compared with native digests\n\nWhat the agent's model kept at {} points, and others at that size or below.",
        replay.native.first().map_or(0, |summary| summary.trials)
    );
    columns.table(&heading, "strategy", by_strategy(&replay.native))
}

/// Renders the spending of every strategy.
pub(crate) fn costs(replay: &Replay) -> String {
    let row = |row: &CostRow| {
        let window = row.window.map_or_else(|| "–".to_owned(), |window| window.to_string());
        format!(
            "| {window} | {} | {} |",
            row.strategy,
            row.counts().map(|count| count.to_string()).join(" | ")
        )
    };
    format!(
        "## What the sessions would have cost\n\nIn tokens, all sessions together; `everything` never compacts, `native` is what the \
         agents did.\n\n| window | strategy | requests | compacted | fresh | cached | written | output | largest prompt \
         |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n{}",
        rows(replay.costs.iter().map(row))
    )
}

/// Renders the sessions with their numbers of places.
pub(crate) fn sessions(replay: &Replay) -> String {
    let row = |report: &SessionReport| {
        let needs: usize = report.trials.iter().map(|trial| trial.needs).sum();
        format!("| {} | {} | {} | {needs} |", report.session, report.native_compactions, report.trials.len())
    };
    let (long, short): (Vec<_>, Vec<_>) =
        replay.sessions.iter().partition(|report| !report.trials.is_empty());
    format!(
        "## The sessions\n\n| session | native compactions | places | names needed |\n|---|---:|---:|---:|\n{}\n\
         {} more sessions have no place; they count in the costs alone.\n",
        rows(long.into_iter().map(row)),
        short.len()
    )
}

/// Joins lines, each with a line break.
fn rows(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
