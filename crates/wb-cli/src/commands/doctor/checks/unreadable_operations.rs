//! A list of operations with lines that cannot be read.

use wb_record::History;

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::terminal::escape::file_word;
use crate::terminal::number::count;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "unreadable-operations", find };

fn find(case: &Examination<'_>) -> Vec<Problem> {
    // There is no list next to standard input.
    let unreadable = History::unreadable_lines(case.path).unwrap_or_default();
    if unreadable.is_empty() {
        return Vec::new();
    }
    let lines = count(unreadable.len(), "line", "lines");
    let what = format!("nothing can be undone: {lines} of its .wb-log file cannot be read");
    vec![Problem::new(what, Some(format!("wb repair {} --in-place", file_word(case.path))), "")]
}
