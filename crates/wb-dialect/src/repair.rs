//! Repairs what a provider would refuse.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::request::RequestView;
use crate::request_edit::RequestEdit;
use crate::rules::{Finding, RULES, Rule};
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
        let n_before = repaired.len();
        let mut rules = RULES.as_slice();
        let mut broken = first_broken(rules, request, dialect);
        if broken.is_none() {
            break;
        }
        let before = request.clone();
        while let Some((nth, found)) = broken {
            repaired.extend(apply_rule(&rules[nth], found, request, dialect));
            rules = &rules[nth + 1..];
            broken = first_broken(rules, request, dialect);
        }
        if repaired.len() == n_before {
            break;
        }
        rounds.push((n_before, before));
        // Repairs of malformed calls can undo each other.
        if let Some((n_before, _)) = rounds.iter().find(|(_, before)| before == request) {
            repaired.truncate(*n_before);
            break;
        }
    }
    repaired
}

const MAX_ROUNDS: usize = 8;

/// Returns the index of the first rule that a request breaks, and where.
fn first_broken(rules: &[Rule], request: &Value, dialect: Dialect) -> Option<(usize, Vec<Finding>)> {
    let view = RequestView::new(request, dialect);
    let of_dialect = rules.iter().enumerate().filter(|(_, rule)| rule.source(dialect).is_some());
    of_dialect.map(|(nth, rule)| (nth, (rule.check)(&view))).find(|(_, found)| !found.is_empty())
}

/// Repairs the violations of one rule, last one first, for as long as their number falls.
fn apply_rule(rule: &Rule, mut found: Vec<Finding>, request: &mut Value, dialect: Dialect) -> Vec<Violation> {
    let mut repaired = Vec::new();
    let Some(source) = rule.source(dialect) else { return repaired };
    let mut left = usize::MAX;
    while !found.is_empty() && found.len() < left {
        left = found.len();
        let mut edit = RequestEdit::new(request, dialect);
        let n_before = repaired.len();
        let of_rule = |finding| Violation::new(rule, dialect, source, finding);
        let fixed = found.into_iter().rev().take_while(|finding| (rule.repair)(&mut edit, finding));
        repaired.extend(fixed.map(of_rule));
        edit.finish();
        if repaired.len() < n_before + left {
            break;
        }
        found = (rule.check)(&RequestView::new(request, dialect));
    }
    repaired
}
