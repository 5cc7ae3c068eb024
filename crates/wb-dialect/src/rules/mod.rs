//! The providers' rules: one row each, with a check and a repair.

mod roles;
mod results;
mod calls;
mod order;
mod content;
mod thinking;
mod item_ids;
mod sizes;
mod tools;
mod table;

use serde_json::Value;

use crate::dialect::Dialect;
use crate::request::RequestView;
pub use table::RULES;

/// A rule that providers enforce.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The stable id.
    pub id: &'static str,
    /// The requirement.
    pub says: &'static str,
    /// The fix for a violation.
    pub fix: &'static str,
    /// The dialects with the rule, each with a source: documentation, or a report that quotes the
    /// refusal.
    pub sources: &'static [(Dialect, &'static str)],
    pub(crate) check: fn(&RequestView<'_>) -> Vec<Finding>,
    /// Repairs the value at a JSON pointer; returns whether it could.
    pub(crate) repair: fn(&mut Value, Dialect, &str) -> bool,
}

impl Rule {
    /// Returns the source for the rule in a dialect; `None` if the dialect lacks the rule.
    pub fn source(&self, dialect: Dialect) -> Option<&'static str> {
        self.sources.iter().find(|(of_rule, _)| *of_rule == dialect).map(|(_, source)| *source)
    }

    /// Returns whether a repair leaves the places before it unchanged.
    pub(crate) fn is_local(&self) -> bool {
        self.id != "result-misplaced"
    }
}

/// A place that breaks a rule.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The JSON pointer into the request.
    pub(crate) at: String,
    /// The problem found there.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}
