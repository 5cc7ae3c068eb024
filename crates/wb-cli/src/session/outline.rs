//! The outline of what stays and what goes.

use std::io::{self, Write};

use anstyle::Style;

use crate::session::outcome::{Fate, Line};
use crate::terminal::escape::escaped;
use crate::terminal::number::grouped;
use crate::terminal::style::{BAD, DIM, GOOD, WARN};
use crate::terminal::wrap::Page;

/// Lines of a long run that are shown at its start and at its end.
const SHOWN: usize = 6;

/// Writes the outline; the middle of a long part is counted instead, unless all is wanted.
pub(crate) fn write(page: &mut Page<'_>, lines: &[Line], all: bool) -> io::Result<()> {
    for run in lines.chunk_by(|one, two| part(one.fate) == part(two.fate)) {
        if all || run.len() <= SHOWN * 2 + 1 {
            run.iter().try_for_each(|line| write_line(page, line))?;
            continue;
        }
        run[..SHOWN].iter().try_for_each(|line| write_line(page, line))?;
        writeln!(page, "    {DIM}  … {} more{DIM:#}", grouped((run.len() - SHOWN * 2) as u64))?;
        run[run.len() - SHOWN..].iter().try_for_each(|line| write_line(page, line))?;
    }
    Ok(())
}

/// Returns the outline's part: what goes, what is new, what stays.
fn part(fate: Fate) -> u8 {
    match fate {
        Fate::Dropped => 0,
        Fate::Added => 1,
        Fate::Kept | Fate::Cleared | Fate::Shortened => 2,
    }
}

fn write_line(page: &mut Page<'_>, line: &Line) -> io::Result<()> {
    let (mark, style) = look(line.fate);
    let at = line.at.map_or_else(String::new, |at| at.to_string());
    page.cut(&format!("  {style}{mark}{style:#} {DIM}{at:>5}{DIM:#} "), &escaped(&line.text), "")
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
