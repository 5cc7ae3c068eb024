//! The rules of the providers: one row each, with what is checked and how it is mended.

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
use crate::request::Asked;
pub use table::RULES;

/// A rule that providers enforce.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name, which stays the same.
    pub id: &'static str,
    /// What has to be so.
    pub says: &'static str,
    /// What is done where it is not so.
    pub fix: &'static str,
    /// The dialects that it holds in, each with where that can be read: documentation, or a report that quotes the refusal.
    pub sources: &'static [(Dialect, &'static str)],
    pub(crate) check: fn(&Asked<'_>) -> Vec<Finding>,
    /// Mends what stands at a place; tells whether it could.
    pub(crate) mend: fn(&mut Value, Dialect, &str) -> bool,
}

impl Rule {
    /// Returns where it can be read that the rule holds in a dialect; nothing if it does not.
    pub fn source(&self, dialect: Dialect) -> Option<&'static str> {
        self.sources.iter().find(|(of, _)| *of == dialect).map(|(_, source)| *source)
    }

    /// Returns whether a mend leaves the places in front of it as they are.
    pub(crate) fn is_local(&self) -> bool {
        self.id != "result-misplaced"
    }
}

/// Something that breaks a rule.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The place in the request, as a JSON pointer.
    pub(crate) at: String,
    /// What is so there.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}
