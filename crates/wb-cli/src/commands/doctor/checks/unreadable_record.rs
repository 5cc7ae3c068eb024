//! Records that cannot be read, and a last line that was cut off.

use std::path::Path;

use wb_formats::Note;

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::line_starts::unreadable_lines;
use crate::commands::doctor::problem::Problem;
use crate::session::Session;
use crate::terminal::json_layout::{GLUED, JsonLayout, SPREAD};
use crate::terminal::number::count;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "unreadable-record", find };

fn find(case: &Examination<'_>) -> Vec<Problem> {
    case.session.opened.notes.iter().filter_map(|note| problem(note, case)).collect()
}

fn problem(note: &Note, Examination { session, path, remedies, .. }: &Examination<'_>) -> Option<Problem> {
    let (what, line, advice) = match note {
        Note::LineSeparators { n, line } => {
            let lines = count(*n, "line has", "lines have");
            (format!("{lines} a raw U+2028 or U+2029, at which the agent splits lines"), *line, UNREAD)
        }
        Note::TruncatedLastLine { line } => ("its last line is truncated".to_owned(), *line, CUT_OFF),
        Note::UnreadableRecords { n, line } => {
            let (names, advice) = unread(session, path, *line);
            let which = which_lines(*n, *line, session);
            (format!("{} cannot be read{which}", count(*n, names[0], names[1])), *line, advice)
        }
        _ => return None,
    };
    Some(Problem::new(what, remedies.fix_record(note), advice).at_line(Some(line)))
}

/// Returns the words for one record and for several, and the advice if one cannot be read.
fn unread(session: &Session, path: &Path, line: usize) -> ([&'static str; 2], &'static str) {
    let is_one_file = session.document.parts().list("").is_ok_and(|parts| parts.len() == 1);
    let (lines, elements) = (["line", "lines"], ["element", "elements"]);
    match JsonLayout::read(path, line) {
        _ if !is_one_file => (["row", "rows"], UNREAD_ROW),
        JsonLayout::Document | JsonLayout::Cut => (elements, UNREAD_ELEMENT),
        JsonLayout::Glued => (lines, GLUED),
        JsonLayout::Spread => (lines, SPREAD),
        JsonLayout::Line => (lines, UNREAD),
    }
}

/// Names the first few of several unreadable lines; none if the session has no lines.
fn which_lines(n: usize, first: usize, session: &Session) -> String {
    let found = if n > 1 { unreadable_lines(session.document.parts()) } else { Vec::new() };
    if found.first() != Some(&first) || found.len() > n {
        return String::new();
    }
    let numbers: Vec<String> = found.iter().map(ToString::to_string).collect();
    format!(": {}{}", numbers.join(", "), if n > found.len() { ", …" } else { "" })
}

const CUT_OFF: &str = "its content is lost; if the agent does not open the session, or before another program appends to it, \
     remove the line in an editor";
const UNREAD: &str = "wb reads the others and leaves it unchanged; if the agent does not open the session, copy the file, remove the line \
     in an editor, and run `wb doctor` again";
const UNREAD_ELEMENT: &str = "wb reads the others and leaves it unchanged; if the agent does not open the session, copy the file, remove the whole \
     element in an editor, from the `{` at this line to its `}` with one adjacent comma, and run `wb doctor` again";
const UNREAD_ROW: &str = "wb reads the others and leaves it unchanged";
