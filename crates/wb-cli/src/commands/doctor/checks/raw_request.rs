//! Parts of a request body that the provider would refuse, although the session read from it is
//! valid.

use std::borrow::Cow;
use std::collections::HashSet;

use wb_dialect::{repair, validate};

use super::{Check, GO_BACK, place};
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::session::Session;
use crate::session::input::{REQUESTS, RequestBody};

/// The check.
pub(crate) const CHECK: Check = Check { rule: "raw-request-refused", find };

/// Returns violations in the body of a request of rules that the session in it does not break.
fn find(Examination { session, remedies, .. }: &Examination<'_>) -> Vec<Problem> {
    let Some(RequestBody { mut body, dialects, .. }) = body(session) else { return Vec::new() };
    let Some(dialect) = dialects.first().copied() else { return Vec::new() };
    let known: HashSet<&str> = remedies.now.violations().iter().map(|it| it.rule.as_ref()).collect();
    let mut found = validate(&body, dialect);
    found.retain(|it| !known.contains(it.rule.as_ref()));
    if found.is_empty() {
        return Vec::new();
    }
    repair(&mut body, dialect);
    let left: HashSet<Cow<'static, str>> = validate(&body, dialect).into_iter().map(|it| it.rule).collect();
    let problem = |it: &wb_dialect::Violation| {
        let what = format!("the provider would reject {} as is: {}", place(it), it.what);
        let command = (!left.contains(&it.rule)).then(|| remedies.fix_request());
        Problem::new(what, command, GO_BACK)
    };
    found.iter().map(problem).collect()
}

/// Returns the rules that the body of a request breaks as is; `None` if the file is a session.
pub(super) fn broken_as_is(session: &Session) -> Option<HashSet<Cow<'static, str>>> {
    let RequestBody { body, dialects, .. } = body(session)?;
    Some(dialects.iter().flat_map(|dialect| validate(&body, *dialect)).map(|it| it.rule).collect())
}

fn body(session: &Session) -> Option<RequestBody> {
    if !REQUESTS.contains(&session.opened.format) {
        return None;
    }
    RequestBody::parse(session.document.parts().whole("").unwrap_or_default()).ok()
}
