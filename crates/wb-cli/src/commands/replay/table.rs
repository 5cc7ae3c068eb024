//! The replay as text tables.

use std::io::{self, Write};

use anstyle::Style;
use wb_replay::{CAVEAT, CostRow, Replay, Summary};

use crate::terminal::number::{count, grouped};
use crate::terminal::style::{BAD, DIM, GOOD};
use crate::terminal::table::{Cell, Table};
use crate::terminal::wrap::Page;

/// Writes what each strategy kept, and its cost.
pub(crate) fn write(page: &mut Page<'_>, replay: &Replay) -> io::Result<()> {
    heading(page, replay)?;
    if replay.summary.is_empty() && replay.native.is_empty() {
        dim(
            page,
            "hint: no place is full enough with enough to come, or fewer than five names were needed of the \
             history there; --window tries smaller windows",
        )?;
        writeln!(page)?;
    } else {
        write_kept(page, replay)?;
    }
    costs(page, replay)
}

fn dim(page: &mut Page<'_>, text: &str) -> io::Result<()> {
    page.prose("  ", 2, &format!("{DIM}{text}{DIM:#}"))
}

fn heading(page: &mut Page<'_>, replay: &Replay) -> io::Result<()> {
    let sessions = count(replay.sessions.len(), "session", "sessions");
    let in_them = replay.sessions.iter().filter(|report| !report.trials.is_empty()).count();
    let places =
        format!("{} in {} of them", count(replay.n_trials(), "place", "places"), grouped(in_them as u64));
    let windows: Vec<String> = replay.options.windows.iter().map(|window| grouped(*window)).collect();
    let future = grouped(replay.options.n_future as u64);
    let what = if windows.len() == 1 { "window" } else { "windows" };
    page.heading(&format!("{sessions}, {places}"), &format!("{what} {}", windows.join(" and ")))?;
    dim(page, &format!("what the next {future} messages needed of the history, and what was still there"))?;
    writeln!(page)
}

fn write_kept(page: &mut Page<'_>, replay: &Replay) -> io::Result<()> {
    kept_table(page, &replay.summary)?;
    if let Some(native) = replay.native.first() {
        let digests = count(native.trials, "native digest", "native digests");
        writeln!(page)?;
        page.heading(&format!("Next to {digests}"), "what else is at most as large there")?;
        kept_table(page, &replay.native)?;
    }
    writeln!(page)?;
    dim(page, "per cent of the history; in brackets a 95 % interval, by a bootstrap over sessions")?;
    dim(page, CAVEAT)?;
    writeln!(page)
}

fn kept_table(page: &mut Page<'_>, rows: &[Summary]) -> io::Result<()> {
    let titles =
        ["strategy", "changed", "size", "names kept", "lines kept", "user words", "constraints", "pairs"];
    let mut table = Table::new(titles);
    for summary in rows {
        let Summary { strategy, changed, trials, broken, .. } = summary;
        let mut cells: Vec<Cell> = vec![strategy.to_string().into(), format!("{changed}/{trials}").into()];
        let shares = summary.shares().into_iter();
        cells
            .extend(shares.map(|share| share.map_or_else(|| "–".to_owned(), |share| share.percent()).into()));
        cells.push(if *broken == 0 { Cell::styled("intact", GOOD) } else { Cell::styled("broken", BAD) });
        table.push(cells, "");
    }
    table.write(page)
}

fn costs(page: &mut Page<'_>, replay: &Replay) -> io::Result<()> {
    for window in &replay.options.windows {
        let rows = replay.costs.iter().filter(|row| row.window.is_none_or(|of| of == *window));
        let about = "in tokens; a prompt above the window, marked !, could not have been sent";
        page.heading(&format!("Cost with a window of {}", grouped(*window)), about)?;
        let mut titles =
            vec!["strategy", "requests", "compacted", "fresh", "cached", "written", "output", "largest"];
        titles.extend(replay.options.prices.as_ref().map(|_| "USD"));
        let mut table = Table::new(titles);
        rows.for_each(|row| table.push(cost_cells(row), ""));
        table.write(page)?;
        writeln!(page)?;
    }
    Ok(())
}

fn cost_cells(row: &CostRow) -> Vec<Cell> {
    let [requests, compactions, fresh, cached, written, output, largest] = row.counts().map(grouped);
    let fits = row.window.is_none_or(|window| row.spent.max_prompt_tokens <= window);
    let (mark, style) = if fits { (' ', Style::new()) } else { ('!', BAD) };
    let figures = [requests, compactions, fresh, cached, written, output].map(Cell::from);
    let mut cells = vec![row.strategy.to_string().into()];
    cells.extend(figures);
    cells.push(Cell::styled(format!("{largest}{mark}"), style));
    cells.extend(row.cost.map(|cost| format!("{cost:.2}").into()));
    cells
}
