//! Messages without a role, and lines whose parent is missing or a copy.

use wb_formats::Note;

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::terminal::number::{count, messages};

/// The check.
pub(crate) const CHECK: Check = Check { rule: "lost-record", find };

fn find(case: &Examination<'_>) -> Vec<Problem> {
    case.session.opened.notes.iter().filter_map(|note| problem(note, case)).collect()
}

fn problem(note: &Note, case: &Examination<'_>) -> Option<Problem> {
    let (problem, line) = match note {
        Note::MissingRoles { n, line } => {
            let (verb, messages) = (if *n == 1 { "does" } else { "do" }, count(*n, "message", "messages"));
            let what = format!("{messages} {verb} not have a role");
            (Problem::new(what, case.remedies.fix_record(note), NOBODY), *line)
        }
        Note::LostParent { line } => {
            let what =
                "a line names a parent that is not in the file, so the agent may see nothing before it";
            (Problem::new(what.to_owned(), case.remedies.fix_record(note), LOST), *line)
        }
        Note::CopiedParent { line, behind, n_summarized } => {
            let what = format!(
                "a line follows a copy of one that was summarized, so the agent sees {} again, and neither their \
                 summary nor anything up to line {behind}",
                messages(*n_summarized)
            );
            (Problem::new(what, case.remedies.fix_record(note), APART), *line)
        }
        _ => return None,
    };
    Some(problem.at_line(Some(line)))
}

const NOBODY: &str = "copy the file, then add the \"role\" of the message at this line in an editor";

const LOST: &str = "wb cannot restore the line: copy it from a backup, or repeat its content to the agent";

const APART: &str =
    "wb cannot link the line: in the agent, repeat what the summary and the lines after it say";
