//! Reports on sessions of agents in Parquet or JSON lines, on DataFusion: where tokens go, which
//! sessions would be refused, what a compaction saves, which summaries are untrue and which rules
//! of the user get lost.
//!
//! The work is done by one function of SQL, [`function()`]; [`Report`] is SQL over its results.

mod error;
mod function;
mod json_lines;
mod source;
mod run;
mod report;

pub use error::FleetError;
pub use function::{FUNCTION, function};
pub use report::{
    BrokenRule, FindingRow, FormatRow, Heaviest, KindRow, LostRule, Report, StrategyRow, Totals, Unreadable,
    Untrue,
};
pub use run::{Job, answers, write_answers};
