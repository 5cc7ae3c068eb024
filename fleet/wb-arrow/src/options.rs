//! The options of an analysis.

use serde::{Deserialize, Serialize};
use wb_bind::Strategy;
use wb_dialect::Dialect;

/// A part of the answer. What is not asked for is not computed, and null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The weight.
    Weigh,
    /// The violations of provider rules.
    Validate,
    /// The facts and the rules of the user.
    Facts,
    /// The mistakes of the summary.
    Audit,
    /// The compacted messages.
    Compact,
    /// The figures of all strategies, without their messages.
    Compare,
}

/// The options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The parts; all but [`Part::Compare`] by default.
    pub parts: Vec<Part>,
    /// The strategies that [`Part::Compare`] compares; all by default.
    pub strategies: Vec<Strategy>,
    /// The dialects whose rules [`Part::Validate`] applies; those of the format by default.
    pub dialects: Vec<Dialect>,
    /// The names of the columns that are read.
    pub columns: ColumnNames,
    /// The options of a call, as `wb api` has them.
    pub options: wb_bind::Options,
}

/// The names of the columns that are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ColumnNames {
    /// The column that identifies a row; it is copied as text.
    pub id: String,
    /// The column with the format, as `wb formats` lists them; detected where it is null.
    pub format: String,
    /// The column with the messages, a whole request or a session file.
    pub messages: String,
    /// The column with the summary to audit.
    pub summary: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            parts: vec![Part::Weigh, Part::Validate, Part::Facts, Part::Audit, Part::Compact],
            strategies: Strategy::ALL.to_vec(),
            dialects: Vec::new(),
            columns: ColumnNames::default(),
            options: wb_bind::Options::default(),
        }
    }
}

impl Default for ColumnNames {
    fn default() -> Self {
        let name = str::to_owned;
        Self { id: name("id"), format: name("format"), messages: name("messages"), summary: name("summary") }
    }
}

impl Options {
    /// Parses options in JSON; an empty text has the defaults.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        if text.trim().is_empty() { Ok(Self::default()) } else { serde_json::from_str(text) }
    }

    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}
