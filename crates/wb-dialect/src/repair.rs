//! Repairs what a provider would refuse.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::request::RequestView;
use crate::rules::{RULES, Rule};
use crate::validate::violations;
use crate::violation::Violation;

/// Repairs a request body with the smallest change per violation; returns the repaired violations.
///
/// [`validate`](crate::validate) still reports whatever could not be repaired. The only invented
/// content is markers, for an interrupted call, a removed picture or dropped messages. A second run
/// changes nothing.
///
/// ```
/// use serde_json::json;
/// use wb_dialect::{Dialect, repair, validate};
///
/// let function = json!({ "name": "ls", "arguments": "{}" });
/// let call = json!({ "id": "c1", "type": "function", "function": function });
/// let mut request = json!({ "messages": [
///     { "role": "user", "content": "Look." },
///     { "role": "assistant", "content": null, "tool_calls": [call] },
///     { "role": "user", "content": "Well?" }
/// ] });
/// let repaired = repair(&mut request, Dialect::OpenaiChat);
/// assert_eq!(repaired.len(), 1);
/// assert_eq!(request["messages"][2]["content"], "[Tool execution was interrupted]");
/// assert_eq!(validate(&request, Dialect::OpenaiChat), []);
/// ```
pub fn repair(request: &mut Value, dialect: Dialect) -> Vec<Violation> {
    let mut repaired = Vec::new();
    // A repair can break an earlier rule; two rounds suffice for all known cases.
    let mut rounds: Vec<(usize, Value)> = Vec::new();
    while rounds.len() < MAX_ROUNDS {
        rounds.push((repaired.len(), request.clone()));
        for rule in RULES.iter().filter(|rule| rule.source(dialect).is_some()) {
            repaired.extend(apply_rule(rule, request, dialect));
        }
        // Repairs of malformed calls can undo each other.
        if let Some((n_before, _)) = rounds.iter().find(|(_, before)| before == request) {
            repaired.truncate(*n_before);
            break;
        }
    }
    repaired
}

const MAX_ROUNDS: usize = 8;

/// Repairs the violations of one rule, last one first, for as long as their number falls.
fn apply_rule(rule: &Rule, request: &mut Value, dialect: Dialect) -> Vec<Violation> {
    let mut repaired = Vec::new();
    let mut left = usize::MAX;
    loop {
        let found = violations(rule, &RequestView::new(request, dialect));
        if found.is_empty() || found.len() >= left {
            return repaired;
        }
        left = found.len();
        // A repair that moves parts also shifts places before it.
        let n_at_once = if rule.is_local() { found.len() } else { 1 };
        for violation in found.into_iter().rev().take(n_at_once) {
            if !(rule.repair)(request, dialect, &violation.at) {
                return repaired;
            }
            repaired.push(violation);
        }
    }
}
