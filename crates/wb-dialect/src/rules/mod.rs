//! The providers' rules: one row each, with a check and a repair.

mod roles;
mod interrupted_items;
mod results;
mod calls;
mod server_tools;
mod order;
mod content;
mod thinking;
mod item_ids;
mod responses_items;
mod sizes;
mod pictures;
mod tools;
mod deferred_tools;
mod table;

use crate::dialect::Dialect;
use crate::request::RequestView;
use crate::request_edit::RequestEdit;
pub use table::RULES;

/// The replacement for a removed picture.
pub(crate) const NO_PICTURE: &str = "[image]";

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
    /// Repairs the place of a finding; returns whether it could. The last finding comes first.
    pub(crate) repair: fn(&mut RequestEdit<'_>, &Finding) -> bool,
}

impl Rule {
    /// The ids of the rules on single pictures.
    pub const OF_PICTURES: [&str; 5] =
        ["picture-empty", "picture-type", "picture-pixels", "picture-size", "picture-count"];

    /// Returns the source for the rule in a dialect; `None` if the dialect lacks the rule.
    pub fn source(&self, dialect: Dialect) -> Option<&'static str> {
        self.sources.iter().find(|(of_rule, _)| *of_rule == dialect).map(|(_, source)| *source)
    }
}

/// A place that breaks a rule.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The JSON pointer into the request.
    pub(crate) at: String,
    /// The problem found there.
    pub(crate) what: String,
    /// The other value that a repair needs: the JSON pointer to the other part of a pair, a role or
    /// a media type.
    pub(crate) repair_value: Option<String>,
}

impl Finding {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into(), repair_value: None }
    }

    pub(crate) fn with_repair_value(self, repair_value: Option<String>) -> Self {
        Self { repair_value, ..self }
    }
}
