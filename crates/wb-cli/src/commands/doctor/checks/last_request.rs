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
    refused.chain(undecryptable_note(session).map(|note| undecryptable(note, remedies))).collect()
}

fn undecryptable(note: &Note, remedies: &Remedies) -> Problem {
    let line = match note {
        Note::UndecryptableCompaction { line } => Some(*line),
        _ => None,
    };
    let what = "the provider cannot decrypt the last compaction, and refuses every request with it";
    let command = remedies.compact_again().or_else(|| remedies.fix_record(note));
    Problem::new(what.to_owned(), command, GO_BACK).at_line(line)
}

fn undecryptable_note(session: &Session) -> Option<&Note> {
    session.opened.notes.iter().find(|note| matches!(note, Note::UndecryptableCompaction { .. }))
}

/// Returns whether the provider cannot decrypt the last compaction of a session.
pub(crate) fn is_undecryptable(session: &Session) -> bool {
    undecryptable_note(session).is_some()
}
