//! Halves of characters in the next request.

use super::{Check, GO_BACK};
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::line_starts::LineStarts;
use crate::commands::doctor::problem::Problem;
use crate::terminal::number::count;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "half-character", find };

fn find(Examination { session, remedies, .. }: &Examination<'_>) -> Vec<Problem> {
    let Some(first) = remedies.half_characters.first() else { return Vec::new() };
    let halves = count(remedies.half_characters.len(), "unpaired surrogate", "unpaired surrogates");
    let what = format!("the provider would reject the request as invalid JSON: it contains {halves}");
    let starts = LineStarts::new(session.document.parts());
    let line = starts.filter(|_| first.part.is_empty()).map(|lines| lines.line_of(first.at));
    vec![Problem::new(what, remedies.fix_half_characters(), GO_BACK).at_line(line)]
}
