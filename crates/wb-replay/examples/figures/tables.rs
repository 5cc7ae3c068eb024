//! The tables as Markdown.

use std::fmt::Write;

use wb_replay::{AtSize, Interval, Replay, Summary};

const KEPT: &str = "size % | names % | lines % | user words % | constraints % | broken pairs |";

/// Renders what a preset and its rivals keep at equal sizes.
pub(crate) fn at_sizes(preset: &str, rows: &[AtSize]) -> String {
    let mut out = format!(
        "### {preset}\n\n| asked % | strategy | places | {KEPT}\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for at in rows {
        let asked = at.part * 100.0;
        for summary in &at.summaries {
            line(
                &mut out,
                format_args!("| {asked:.0} | {} | {} |{}", summary.strategy, summary.trials, shares(summary)),
            );
        }
    }
    out.push('\n');
    for at in rows {
        let (asked, within) = (at.part * 100.0, at.within);
        let n = at.summaries.first().map_or(0, |summary| summary.trials);
        let missed = at.missed;
        line(
            &mut out,
            format_args!(
                "- {asked:.0} %: {within} of {n} within one point; {missed} more could not be brought near it."
            ),
        );
    }
    out
}

/// Renders what every strategy keeps under its own budget.
pub(crate) fn kept(replay: &Replay) -> String {
    let windows: Vec<String> = replay.options.windows.iter().map(u64::to_string).collect();
    let mut out = format!(
        "## Under the budget of a window\n\nWindows of {} tokens, all settings at their defaults. The windows have the \
         size that `window-budget` reaches.\n\n| strategy | changed | {KEPT}\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
        windows.join(" and ")
    );
    for summary in &replay.summary {
        let (changed, all) = (summary.changed, summary.trials);
        line(&mut out, format_args!("| {} | {changed} of {all} |{}", summary.strategy, shares(summary)));
    }
    out
}

/// Renders what is kept where the agents themselves have compacted.
pub(crate) fn native(replay: &Replay) -> String {
    let mut out = format!(
        "## Beside native digests\n\nWhere the agents themselves have written a digest with a model: what they kept, and \
         what others keep at that size, without one.\n\n| strategy | places | {KEPT}\n|---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for summary in &replay.native {
        line(&mut out, format_args!("| {} | {} |{}", summary.strategy, summary.trials, shares(summary)));
    }
    out
}

/// Renders what every strategy would have spent.
pub(crate) fn costs(replay: &Replay) -> String {
    let mut out = String::from(
        "## What the sessions would have cost\n\nIn tokens, all sessions together; `everything` never compacts, `native` is what the \
         agents did.\n\n| window | strategy | requests | compacted | fresh | cached | written | output | largest prompt \
         |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in &replay.costs {
        let window = row.window.map_or_else(|| "–".to_owned(), |window| window.to_string());
        let (spent, usage) = (&row.spent, row.spent.usage);
        line(
            &mut out,
            format_args!(
                "| {window} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.strategy,
                spent.requests,
                spent.compactions,
                usage.fresh_tokens,
                usage.cached_tokens,
                usage.written_tokens,
                usage.output_tokens,
                spent.max_prompt_tokens
            ),
        );
    }
    out
}

/// Renders which sessions there are, and how many places each has.
pub(crate) fn sessions(replay: &Replay) -> String {
    let mut out = String::from(
        "## The sessions\n\n| session | native compactions | places | names needed |\n|---|---:|---:|---:|\n",
    );
    for report in replay.sessions.iter().filter(|report| !report.trials.is_empty()) {
        let (native, places) = (report.native_compactions, report.trials.len());
        let needs: usize = report.trials.iter().map(|trial| trial.needs).sum();
        line(&mut out, format_args!("| {} | {native} | {places} | {needs} |", report.session));
    }
    let short = replay.sessions.iter().filter(|report| report.trials.is_empty()).count();
    line(
        &mut out,
        format_args!("\n{short} more sessions are too short for any place; they count in the costs alone."),
    );
    out
}

fn shares(summary: &Summary) -> String {
    let all = [
        Some(summary.size),
        Some(summary.names),
        Some(summary.lines),
        summary.user_words,
        summary.constraints,
    ];
    let shares: String =
        all.map(|share| format!(" {} |", share.map_or_else(|| "–".to_owned(), percent))).concat();
    format!("{shares} {} |", summary.broken)
}

fn percent(share: Interval) -> String {
    let mean = share.mean * 100.0;
    match share.range {
        Some((low, high)) => format!("{mean:.1} ({:.0}–{:.0})", low * 100.0, high * 100.0),
        None => format!("{mean:.1}"),
    }
}

fn line(out: &mut String, shown: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{shown}");
}
