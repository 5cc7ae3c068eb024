//! Renders the tables as Markdown.

use wb_replay::{CostRow, Interval, Replay, SessionReport, Summary};

use crate::equal_sizes::SizeComparison;

const KEPT: &str = "size % | names % | lines % | user words % | constraints % | broken pairs |";

/// Renders what a preset and its rivals retain at equal sizes.
pub(crate) fn compare_at_sizes(preset: &str, all: &[SizeComparison]) -> String {
    let row = |at: &SizeComparison, summary: &Summary| {
        format!("| {:.0} | {} | {} |{}", at.part * 100.0, summary.strategy, summary.trials, shares(summary))
    };
    let table = rows(all.iter().flat_map(|at| at.summaries.iter().map(move |summary| row(at, summary))));
    let near = rows(all.iter().map(near));
    format!(
        "### {preset}\n\n| reference % | strategy | places | {KEPT}\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n{table}\n{near}"
    )
}

/// Renders how many results reached the requested size.
fn near(at: &SizeComparison) -> String {
    let n = at.summaries.first().map_or(0, |summary| summary.trials);
    format!(
        "- {:.0} %: {} of {n} results within one point; {} more could not be brought near that size.",
        at.part * 100.0,
        at.within,
        at.missed
    )
}

/// Renders what every strategy retains under the budget of a window.
pub(crate) fn retention(replay: &Replay) -> String {
    let windows: Vec<String> = replay.options.windows.iter().map(u64::to_string).collect();
    let row = |summary: &Summary| {
        format!("| {} | {} of {} |{}", summary.strategy, summary.changed, summary.trials, shares(summary))
    };
    format!(
        "## Under the budget of a window\n\nWindows of {} tokens, all settings at their defaults. The rival windows have at most \
         the size that `window-budget` reaches.\n\n| strategy | changed | {KEPT}\n|---|---:|---:|---:|---:|---:|---:|---:|\n{}",
        windows.join(" and "),
        rows(replay.summary.iter().map(row))
    )
}

/// Renders what is retained at native compactions.
pub(crate) fn native(replay: &Replay) -> String {
    let row = |summary: &Summary| format!("| {} | {} |{}", summary.strategy, summary.trials, shares(summary));
    format!(
        "## Compared with native digests\n\nWhere the agents had written a digest with a model: what it kept, and what others \
         keep at that size or below, without a model.\n\n| strategy | places | {KEPT}\n|---|---:|---:|---:|---:|---:|---:|---:|\n{}",
        rows(replay.native.iter().map(row))
    )
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

fn shares(summary: &Summary) -> String {
    let share = |share: Option<Interval>| share.map_or_else(|| "–".to_owned(), |share| share.percent());
    format!(" {} | {} |", summary.shares().map(share).join(" | "), summary.broken)
}

/// Joins lines, each with a line break.
fn rows(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
