//! The session files of a folder on one line each: what they are, a meter, and the figures.

use std::io::{self, Write};

use super::meter;
use crate::session::Session;
use crate::terminal::escape::escaped;
use crate::terminal::number::grouped;
use crate::terminal::style::{BAD, DIM, HEAD};
use crate::terminal::wrap::{Page, head, tail, width};

/// Includes the column for the over-budget mark.
const TOKEN_COLUMNS: usize = 10;
const LIMIT_COLUMNS: usize = 9;
const MOST_CELLS: usize = 30;
const LEAST_CELLS: usize = 8;
const LEAST_NAME: usize = 7;
/// Narrower pages have no column for the limit, which the bar shows.
const COLUMNS_WITH_LIMIT: usize = 80;

/// The widths of a list's columns: short ones, a name, then the meter.
#[derive(Debug)]
pub(crate) struct RowLayout {
    leads: Vec<usize>,
    n_cells: usize,
    has_limit: bool,
}

impl RowLayout {
    /// Divides a page among columns of these widths, a name that may take half of the rest, and the
    /// meter.
    pub(crate) fn new(columns: usize, fixed: &[usize], longest_name: usize) -> Self {
        let has_limit = columns >= COLUMNS_WITH_LIMIT;
        let figures = TOKEN_COLUMNS + 2 + if has_limit { LIMIT_COLUMNS + 2 } else { 0 };
        let taken = fixed.iter().map(|width| width + 2).sum::<usize>() + figures + 6;
        let room = columns.saturating_sub(taken);
        let most = (room / 2).max(room.saturating_sub(MOST_CELLS));
        let name = longest_name.clamp(LEAST_NAME, most.max(LEAST_NAME));
        let n_cells = room.saturating_sub(name).clamp(LEAST_CELLS, MOST_CELLS);
        let leads = fixed.iter().copied().chain([name]).collect();
        Self { leads, n_cells, has_limit }
    }

    /// Writes the column titles.
    pub(crate) fn titles(&self, page: &mut Page<'_>, titles: &[&str]) -> io::Result<()> {
        let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
        let bar = self.n_cells + 2;
        write!(page, "  {HEAD}{}{:<bar$}  {:>9}", self.leads(&titles), "window", "tokens")?;
        if self.has_limit {
            write!(page, "   {:>LIMIT_COLUMNS$}", "limit")?;
        }
        writeln!(page, "{HEAD:#}")
    }

    /// Writes a session.
    pub(crate) fn session(&self, page: &mut Page<'_>, leads: &[String], session: &Session) -> io::Result<()> {
        let tokens = session.measure.context_tokens;
        let bar = meter::bar(session, tokens, self.n_cells);
        let (style, mark) = if session.is_over() { (BAD, '!') } else { (anstyle::Style::new(), ' ') };
        let figure = format!("{:>TOKEN_COLUMNS$}", grouped(tokens) + &mark.to_string());
        let limit = format!("{:>LIMIT_COLUMNS$}", grouped(session.limit));
        let limit = if self.has_limit { format!("  {DIM}{limit}{DIM:#}") } else { String::new() };
        let line = format!("  {}{bar}  {style}{figure}{style:#}{limit}", self.leads(leads));
        writeln!(page, "{}", line.trim_end())
    }

    fn leads(&self, cells: &[String]) -> String {
        let last = self.leads.len().saturating_sub(1);
        let cell = |(at, (cell, columns)): (usize, (&String, &usize))| {
            let cell = escaped(cell);
            let cell = if at == last { tail(&cell, *columns) } else { head(&cell, *columns) };
            let blanks = columns.saturating_sub(width(&cell)) + 2;
            cell + &" ".repeat(blanks)
        };
        cells.iter().zip(&self.leads).enumerate().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_the_page() {
        for columns in [60, 79, 80, 100, 200] {
            let layout = RowLayout::new(columns, &[11, 6], 90);
            let mut out = anstream::StripStream::new(Vec::new());
            layout.titles(&mut Page::new(&mut out, columns), &["agent", "age", "folder"]).unwrap();
            let line = String::from_utf8(out.into_inner()).unwrap();
            assert!(width(line.trim_end()) <= columns, "{columns}: {line}");
            assert_eq!(line.contains("limit"), columns >= 80, "{line}");
        }
    }
}
