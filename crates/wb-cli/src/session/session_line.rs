//! The session files of a folder on one line each: the figures, a meter, and the word that names
//! the session in a command.

use std::io::{self, Write};

use super::meter;
use crate::session::Session;
use crate::terminal::escape::escaped;
use crate::terminal::number::grouped;
use crate::terminal::style::{BAD, DIM, HEAD};
use crate::terminal::wrap::{Page, head, width};

/// Includes the mark of a session over its limit.
const TOKEN_COLUMNS: usize = 11;
const FORMAT_COLUMNS: usize = 11;
const CELLS: usize = 12;
const FEW_CELLS: usize = 6;
/// Narrower pages have a shorter meter and no column for the limit, which the meter shows.
const COLUMNS_WITH_LIMIT: usize = 80;

/// Writes the titles of the columns.
pub(crate) fn titles(page: &mut Page<'_>) -> io::Result<()> {
    let (tokens, format) = ("tokens ", "format");
    let limit = if is_wide(page) { format!("{:>9}  ", "limit") } else { String::new() };
    let bar = n_cells(page) + 2;
    writeln!(
        page,
        "{HEAD}{tokens:>TOKEN_COLUMNS$}  {limit}{:<bar$}  {format:<FORMAT_COLUMNS$}  session{HEAD:#}",
        "window"
    )
}

/// Writes a session with its name, which is never cut: it is an argument.
pub(crate) fn session(page: &mut Page<'_>, session: &Session, name: &str) -> io::Result<()> {
    let tokens = session.measure.context_tokens;
    let bar = meter::bar(session, tokens, n_cells(page));
    let (style, mark) = if session.is_over() { (BAD, '!') } else { (anstyle::Style::new(), ' ') };
    let figure = format!("{:>TOKEN_COLUMNS$}", grouped(tokens) + &mark.to_string());
    let limit = format!("{DIM}{:>9}{DIM:#}  ", grouped(session.limit));
    let limit = if is_wide(page) { limit } else { String::new() };
    let format = head(&escaped(session.opened.format), FORMAT_COLUMNS);
    let line = format!("{style}{figure}{style:#}  {limit}{bar}  {format:<FORMAT_COLUMNS$}");
    let name = escaped(name);
    if width(&line) + 2 + width(&name) <= page.columns {
        return writeln!(page, "{line}  {name}");
    }
    // A name that does not fit has a line of its own.
    writeln!(page, "{}\n    {name}", line.trim_end())
}

fn is_wide(page: &Page<'_>) -> bool {
    page.columns >= COLUMNS_WITH_LIMIT
}

fn n_cells(page: &Page<'_>) -> usize {
    if is_wide(page) { CELLS } else { FEW_CELLS }
}
