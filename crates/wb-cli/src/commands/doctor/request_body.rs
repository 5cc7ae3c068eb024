//! What a provider would refuse of a request as it stands, which is read as a session more kindly.

use std::borrow::Cow;
use std::collections::HashSet;

use wb_dialect::{repair, validate};

use super::ways::Ways;
use super::{Complaint, GO_BACK, place};
use crate::session::Session;
use crate::session::input::{REQUESTS, Request};

/// Returns what is refused of the body of a request by rules that the session in it does not break.
pub(crate) fn refused_as_it_stands(session: &Session, ways: &Ways) -> Vec<Complaint> {
    if !REQUESTS.contains(&session.opened.format) {
        return Vec::new();
    }
    let bytes = session.document.parts().whole("").unwrap_or_default();
    let Ok(Request { mut body, dialects, .. }) = Request::of(bytes) else { return Vec::new() };
    let Some(dialect) = dialects.first().copied() else { return Vec::new() };
    let told: HashSet<&str> = ways.now.violations().iter().map(|it| it.rule.as_ref()).collect();
    let mut found = validate(&body, dialect);
    found.retain(|it| !told.contains(it.rule.as_ref()));
    repair(&mut body, dialect);
    let left: HashSet<Cow<'static, str>> = validate(&body, dialect).into_iter().map(|it| it.rule).collect();
    let complaint = |it: &wb_dialect::Violation| {
        let what = format!("its provider would refuse {} as it stands: {}", place(it), it.what);
        let mend = (!left.contains(&it.rule)).then(|| ways.mend_request());
        Complaint::new(what, mend, GO_BACK)
    };
    found.iter().map(complaint).collect()
}
