//! A last request that the provider refused, and would refuse again.

use wb_formats::Note;

use super::{Check, GO_BACK};
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::commands::doctor::remedies::Remedies;
use crate::session::Session;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "last-request-refused", find };

fn find(Examination { session, remedies, last_failure, .. }: &Examination<'_>) -> Vec<Problem> {
    let refused = last_failure.iter().filter(|failure| failure.is_refusal());
    let refused = refused.map(|failure| {
        let command = remedies.now.violations().iter().find_map(|it| remedies.fix_rule(&it.rule));
        Problem::new(failure.to_string(), command, GO_BACK)
    });
    refused.chain(undecryptable_line(session).map(|line| undecryptable(line, remedies))).collect()
}

fn undecryptable(line: usize, remedies: &Remedies) -> Problem {
    let what = "the provider cannot decrypt the last compaction, and refuses every request with it";
    Problem::new(what.to_owned(), remedies.compact_again(), GO_BACK).at_line(Some(line))
}

fn undecryptable_line(session: &Session) -> Option<usize> {
    session.opened.notes.iter().find_map(|note| match note {
        Note::UndecryptableCompaction { line } => Some(*line),
        _ => None,
    })
}

/// Returns whether the provider cannot decrypt the last compaction of a session.
pub(crate) fn is_undecryptable(session: &Session) -> bool {
    undecryptable_line(session).is_some()
}
