//! The outline of what stays and what goes.

use std::io::{self, Write};

use anstyle::Style;

use crate::session::outcome::{Fate, Line};
use crate::terminal::escape::escaped;
use crate::terminal::style::{BAD, DIM, GOOD, WARN};
use crate::terminal::wrap::Page;

/// Writes the outline, with the number in the whole session of each message of the context.
pub(crate) fn write(page: &mut Page<'_>, lines: &[Line], numbers: &[Option<usize>]) -> io::Result<()> {
    lines.iter().try_for_each(|line| {
        let (mark, style) = look(line.fate);
        let number = line.at.and_then(|at| *numbers.get(at)?);
        let number = number.map_or_else(String::new, |number| number.to_string());
        page.cut(&format!("  {style}{mark}{style:#} {DIM}{number:>5}{DIM:#} "), &escaped(&line.text), "")
    })
}

fn look(fate: Fate) -> (char, Style) {
    match fate {
        Fate::Kept => (' ', Style::new()),
        Fate::Dropped => ('-', BAD),
        Fate::Cleared => ('~', WARN),
        Fate::Shortened => ('<', WARN),
        Fate::Added => ('+', GOOD),
    }
}

/// Writes what the marks mean.
pub(crate) fn legend(page: &mut Page<'_>, has_digest: bool) -> io::Result<()> {
    let gone = if has_digest { "folded into the digest" } else { "gone" };
    writeln!(page, "  {DIM}- {gone}  + new  ~ cleared  < shortened{DIM:#}")
}
