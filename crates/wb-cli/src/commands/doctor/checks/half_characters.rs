//! Halves of characters in the next request.

use super::{Check, GO_BACK};
use crate::commands::doctor::complaint::Complaint;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::line_starts::LineStarts;
use crate::terminal::number::count;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "half-character", find };

fn find(Examination { session, remedies, .. }: &Examination<'_>) -> Vec<Complaint> {
    let Some(first) = remedies.halves.first() else { return Vec::new() };
    let halves = count(remedies.halves.len(), "half of a character", "halves of characters");
    let what = format!("its provider would reject the request as invalid JSON: it contains {halves}");
    let starts = LineStarts::of(session.document.parts());
    let line = starts.filter(|_| first.part.is_empty()).map(|lines| lines.line_of(first.at));
    vec![Complaint::new(what, remedies.mend_halves(), GO_BACK).at_line(line)]
}
