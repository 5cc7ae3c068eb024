//! The replay as tables for people.

use std::io::{self, Write};

use anstyle::Style;
use wb_replay::{CAVEAT, CostRow, Replay, Summary};

use crate::number::{count, grouped};
use crate::show::style::{BAD, DIM, GOOD, HEAD};

/// Writes what was kept and what it would have cost.
pub(crate) fn write(out: &mut dyn Write, replay: &Replay) -> io::Result<()> {
    heading(out, replay)?;
    if replay.summary.is_empty() && replay.native.is_empty() {
        writeln!(
            out,
            "  {DIM}hint: no place is full enough with enough to come, or fewer than five names were needed"
        )?;
        writeln!(out, "  of the history there; --window tries smaller windows{DIM:#}\n")?;
    } else {
        kept(out, replay)?;
    }
    costs(out, replay)
}

fn heading(out: &mut dyn Write, replay: &Replay) -> io::Result<()> {
    let sessions = count(replay.sessions.len(), "session", "sessions");
    let in_them = replay.sessions.iter().filter(|report| !report.trials.is_empty()).count();
    let places = format!("{} in {in_them} of them", count(replay.n_trials(), "place", "places"));
    let windows: Vec<String> = replay.options.windows.iter().map(|window| grouped(*window)).collect();
    let future = replay.options.n_future;
    writeln!(out, "{HEAD}{sessions}, {places}{HEAD:#}  {DIM}windows {}{DIM:#}", windows.join(" and "))?;
    writeln!(
        out,
        "  {DIM}what the next {future} messages needed of the history, and what was still there{DIM:#}\n"
    )
}

fn kept(out: &mut dyn Write, replay: &Replay) -> io::Result<()> {
    kept_table(out, &replay.summary)?;
    if let Some(native) = replay.native.first() {
        let digests = count(native.trials, "native digest", "native digests");
        writeln!(out, "\n{HEAD}Beside {digests}{HEAD:#}  {DIM}what else is at most as large there{DIM:#}")?;
        kept_table(out, &replay.native)?;
    }
    writeln!(
        out,
        "\n  {DIM}per cent of the history; in brackets a 95 % interval, by a bootstrap over sessions{DIM:#}"
    )?;
    writeln!(out, "  {DIM}{CAVEAT}{DIM:#}\n")
}

fn kept_table(out: &mut dyn Write, rows: &[Summary]) -> io::Result<()> {
    let titles =
        ["strategy", "changed", "size", "names kept", "lines kept", "user words", "constraints", "pairs"];
    let [name, changed, size, names, lines, user, constraints, pairs] = titles;
    write!(out, "  {HEAD}{name:<15}{changed:>9}{size:>16}{names:>16}{lines:>16}{user:>16}")?;
    writeln!(out, "{constraints:>16}{pairs:>8}{HEAD:#}")?;
    rows.iter().try_for_each(|summary| kept_line(out, summary))
}

fn kept_line(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let Summary { strategy, changed, trials, broken, .. } = summary;
    let changed = format!("{changed}/{trials}");
    write!(out, "  {strategy:<15}{changed:>9}")?;
    for share in summary.shares() {
        write!(out, "{:>16}", share.map_or_else(|| "–".to_owned(), |share| share.percent()))?;
    }
    let (style, pairs) = if *broken == 0 { (GOOD, "intact") } else { (BAD, "broken") };
    writeln!(out, "{style}{pairs:>8}{style:#}")
}

fn costs(out: &mut dyn Write, replay: &Replay) -> io::Result<()> {
    for window in &replay.options.windows {
        let rows = || replay.costs.iter().filter(|row| row.window.is_none_or(|of| of == *window));
        let about = "in tokens; a prompt above the window, in red, could not have been sent";
        writeln!(out, "{HEAD}Cost with a window of {}{HEAD:#}  {DIM}{about}{DIM:#}", grouped(*window))?;
        let titles = ["strategy", "requests", "compacted", "fresh", "cached", "written", "output", "largest"];
        let [name, requests, compacted, fresh, cached, written, output, largest] = titles;
        write!(out, "  {HEAD}{name:<15}{requests:>9}{compacted:>11}{fresh:>11}{cached:>15}{written:>13}")?;
        write!(out, "{output:>12}{largest:>11}{HEAD:#}")?;
        writeln!(
            out,
            "{HEAD}{}{HEAD:#}",
            if replay.options.prices.is_some() { "           USD" } else { "" }
        )?;
        rows().try_for_each(|row| cost_line(out, row))?;
        writeln!(out)?;
    }
    Ok(())
}

fn cost_line(out: &mut dyn Write, row: &CostRow) -> io::Result<()> {
    let [requests, compactions, fresh, cached, written, output, largest] = row.counts().map(grouped);
    write!(out, "  {:<15}{requests:>9}{compactions:>11}{fresh:>11}{cached:>15}{written:>13}", row.strategy)?;
    let fits = row.window.is_none_or(|window| row.spent.max_prompt_tokens <= window);
    let style = if fits { Style::new() } else { BAD };
    write!(out, "{output:>12}{style}{largest:>11}{style:#}")?;
    writeln!(out, "{}", row.cost.map_or_else(String::new, |cost| format!("{cost:>14.2}")))
}
