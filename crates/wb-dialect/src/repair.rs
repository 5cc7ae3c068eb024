//! Mends what a provider would refuse.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::request::Asked;
use crate::rules::{RULES, Rule};
use crate::validate::violations;
use crate::violation::Violation;

/// Mends a request body by the smallest change for each violation, and returns what was mended.
///
/// What cannot be mended stays: [`validate`](crate::validate) finds it again. Nothing is invented but marks: that a call
/// was interrupted, that a picture was there, that something went before. A second run changes nothing.
///
/// ```
/// use serde_json::json;
/// use wb_dialect::{Dialect, repair, validate};
///
/// let call = json!({ "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{}" } });
/// let mut request = json!({ "messages": [
///     { "role": "user", "content": "Look." },
///     { "role": "assistant", "content": null, "tool_calls": [call] },
///     { "role": "user", "content": "Well?" }
/// ] });
/// let mended = repair(&mut request, Dialect::OpenaiChat);
/// assert_eq!(mended.len(), 1);
/// assert_eq!(request["messages"][2]["content"], "[Tool execution was interrupted]");
/// assert_eq!(validate(&request, Dialect::OpenaiChat), []);
/// ```
pub fn repair(request: &mut Value, dialect: Dialect) -> Vec<Violation> {
    let mut mended = Vec::new();
    // A mend can leave something for a rule that stands before it; two rounds are enough for all that are known.
    let mut rounds: Vec<(usize, Value)> = Vec::new();
    while rounds.len() < MAX_ROUNDS {
        rounds.push((mended.len(), request.clone()));
        for rule in RULES.iter().filter(|rule| rule.source(dialect).is_some()) {
            mended.extend(mend(rule, request, dialect));
        }
        // Of what is no call at all, one mend takes back the other.
        if let Some((n_before, _)) = rounds.iter().find(|(_, before)| before == request) {
            mended.truncate(*n_before);
            break;
        }
    }
    mended
}

const MAX_ROUNDS: usize = 8;

/// Mends all that breaks one rule, from the end on, as long as it gets less.
fn mend(rule: &Rule, request: &mut Value, dialect: Dialect) -> Vec<Violation> {
    let mut mended = Vec::new();
    let mut left = usize::MAX;
    loop {
        let found = violations(rule, &Asked::of(request, dialect));
        if found.is_empty() || found.len() >= left {
            return mended;
        }
        left = found.len();
        // What moves things changes places in front of it too.
        let n_at_once = if rule.is_local() { found.len() } else { 1 };
        for violation in found.into_iter().rev().take(n_at_once) {
            if !(rule.mend)(request, dialect, &violation.at) {
                return mended;
            }
            mended.push(violation);
        }
    }
}
