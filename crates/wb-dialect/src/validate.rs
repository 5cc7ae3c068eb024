//! From a request to what a provider would refuse of it.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::encode::Encoded;
use crate::pointer::message_and_part;
use crate::request::Asked;
use crate::rules::{RULES, Rule};
use crate::violation::Violation;

/// Checks a request body against all rules of a dialect; the findings stand in the order of the messages.
///
/// Keys that are not about messages are not looked at, and neither are contents that are not known here.
pub fn validate(request: &Value, dialect: Dialect) -> Vec<Violation> {
    let asked = Asked::of(request, dialect);
    let mut found: Vec<Violation> = RULES.iter().flat_map(|rule| violations(rule, &asked)).collect();
    found.sort_by_key(|violation| violation.message);
    found
}

/// Checks one rule.
pub(crate) fn violations(rule: &Rule, asked: &Asked<'_>) -> Vec<Violation> {
    let Some(source) = rule.source(asked.dialect) else { return Vec::new() };
    let found = (rule.check)(asked).into_iter();
    found.map(|finding| Violation::of(rule, asked.dialect, source, finding)).collect()
}

impl Encoded {
    /// Checks the request; the violations name the turns or messages that it was made of.
    pub fn validate(&self) -> Vec<Violation> {
        let mut found = validate(&self.body, self.dialect);
        for violation in &mut found {
            let (message, part) = message_and_part(&violation.at);
            violation.message = message.and_then(|message| self.origin(message, part));
        }
        found
    }
}
