//! Parts of the next request that the provider would refuse.

use std::collections::HashMap;

use wb_dialect::Violation;

use super::{Check, GO_BACK, place};
use crate::commands::doctor::examination::{Examination, lines_of};
use crate::commands::doctor::problem::Problem;
use crate::commands::recall::session_index::renumber;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "request-refused", find };

fn find(Examination { session, remedies, request, .. }: &Examination<'_>) -> Vec<Problem> {
    let mut found = remedies.now.violations().to_vec();
    // What a request says in items of its own may look like a violation once it is read.
    if let Some(request) = request {
        found.retain(|it| request.breaks(&it.rule));
    }
    // Providers phrase the same violation differently; use the words of the first.
    let mut dialects = HashMap::new();
    found.retain(|it| *dialects.entry((it.message, it.rule.clone())).or_insert(it.dialect) == it.dialect);
    if found.is_empty() {
        return Vec::new();
    }
    let line_of = lines_of(session);
    let line = |violation: &Violation| {
        // The first name is the call or the result.
        let named = violation.what.split('`').nth(1).unwrap_or_default();
        violation.message.and_then(|at| line_of(at, named))
    };
    let lines: Vec<Option<usize>> = found.iter().map(line).collect();
    // What could be read once can be read again.
    let _ =
        renumber(session.document.as_ref(), &session.opened, &mut [(&session.opened.messages, &mut found)]);
    let problem = |(violation, line): (&Violation, Option<usize>)| {
        let what = format!("the provider would reject {}: {}", place(violation), violation.what);
        let otherwise = remedies.repair_advice().unwrap_or(GO_BACK);
        Problem::new(what, remedies.fix_rule(&violation.rule), otherwise).at_line(line)
    };
    found.iter().zip(lines).map(problem).collect()
}
