//! Parts of a request body that the provider would refuse, although the session read from it is
//! valid.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use wb_dialect::{Dialect, Violation, repair, validate};

use super::{Check, GO_BACK, place};
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::session::Session;
use crate::session::input::{REQUESTS, RequestBody};

/// The check.
pub(crate) const CHECK: Check = Check { rule: "raw-request-refused", find };

/// The body of a request, and its violations as is.
#[derive(Debug)]
pub(crate) struct RawRequest {
    body: Value,
    dialect: Dialect,
    /// The violations in all dialects that the body can be in.
    violations: Vec<Violation>,
}

impl RawRequest {
    /// Reads a request; `None` if the file is a session.
    pub(crate) fn read(session: &Session) -> Option<Self> {
        if !REQUESTS.contains(&session.opened.format) {
            return None;
        }
        let bytes = session.document.parts().whole("").unwrap_or_default();
        let RequestBody { body, dialects, .. } = RequestBody::parse(bytes).ok()?;
        let violations = dialects.iter().flat_map(|dialect| validate(&body, *dialect)).collect();
        Some(Self { body, dialect: *dialects.first()?, violations })
    }

    /// Returns whether the body breaks a rule as is.
    pub(crate) fn breaks(&self, rule: &str) -> bool {
        self.violations.iter().any(|it| it.rule == rule)
    }
}

/// Returns violations in the body of a request of rules that the session in it does not break.
fn find(Examination { request, remedies, .. }: &Examination<'_>) -> Vec<Problem> {
    let Some(RawRequest { body, dialect, violations }) = request else { return Vec::new() };
    let known: HashSet<&str> = remedies.now.violations().iter().map(|it| it.rule.as_ref()).collect();
    let is_new = |it: &&Violation| it.dialect == *dialect && !known.contains(it.rule.as_ref());
    let found: Vec<&Violation> = violations.iter().filter(is_new).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let mut body = body.clone();
    repair(&mut body, *dialect);
    let left: HashSet<Cow<'static, str>> = validate(&body, *dialect).into_iter().map(|it| it.rule).collect();
    let problem = |it: &Violation| {
        let what = format!("the provider would reject {} as is: {}", place(it), it.what);
        let command = (!left.contains(&it.rule)).then(|| remedies.fix_request());
        Problem::new(what, command, GO_BACK)
    };
    found.into_iter().map(problem).collect()
}
