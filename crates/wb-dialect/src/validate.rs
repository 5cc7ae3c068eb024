//! Validates requests against the rules of a dialect.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::encode::EncodedRequest;
use crate::pointer::message_and_part;
use crate::request::RequestView;
use crate::rules::{RULES, Rule};
use crate::violation::Violation;

/// Checks a request body against all rules of a dialect; violations are in message order.
///
/// Only keys that concern messages and known kinds of content are checked.
pub fn validate(request: &Value, dialect: Dialect) -> Vec<Violation> {
    let view = RequestView::new(request, dialect);
    let mut found: Vec<Violation> = RULES.iter().flat_map(|rule| violations(rule, &view)).collect();
    found.sort_by_key(|violation| violation.message);
    found
}

pub(crate) fn violations(rule: &Rule, view: &RequestView<'_>) -> Vec<Violation> {
    let Some(source) = rule.source(view.dialect) else { return Vec::new() };
    let found = (rule.check)(view).into_iter();
    found.map(|finding| Violation::new(rule, view.dialect, source, finding)).collect()
}

impl EncodedRequest {
    /// Checks the request; violations name the source turns or messages.
    pub fn validate(&self) -> Vec<Violation> {
        let mut found = validate(&self.body, self.dialect);
        for violation in &mut found {
            let (message, part) = message_and_part(&violation.at);
            violation.message = message.and_then(|message| self.origin(message, part));
        }
        found
    }
}
