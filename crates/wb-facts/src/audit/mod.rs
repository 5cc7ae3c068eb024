//! Holds a summary of a session against what the session shows.
//!
//! Any summary will do: a digest of ours, a model's, one that a host made. What is found is wrong or missing as far as
//! the facts tell; what they cannot tell is passed over, so that a finding is worth reading.

mod text;
mod names;
mod changes;
mod outcomes;
mod tasks;
mod withdrawn;
mod words;
mod correct;

use serde::{Deserialize, Serialize};

pub use self::correct::corrected;
use self::text::Line;
use crate::facts::Facts;

/// What is wrong with a piece of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// It names a path that never occurred.
    UnknownPath,
    /// It names an identifier or a hash that never occurred.
    UnknownName,
    /// It says that a file was changed or deleted, and no event shows that.
    UnshownChange,
    /// It says that something was run, ended in some way or was committed, and no event shows that.
    UnshownEnd,
    /// It says that something works that failed last.
    FailedSince,
    /// It tells another state of a task than the list has.
    TaskState,
    /// It plans again what the user took back.
    TakenBack,
    /// It leaves out what the user asks for or forbids in all that is done.
    MissingConstraint,
    /// It says that the user agreed to something, and the user did not.
    UnknownApproval,
    /// It tells words as the user's that are not.
    NotTheUsers,
}

/// Something in a summary that the session does not bear out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The number of the line in the summary, from 1 on; 0 where something is missing.
    pub line: u32,
    /// The piece of the summary, word for word; of what is missing, the words that are.
    pub text: String,
    /// Why it is wrong.
    pub why: String,
    /// The number of the message that shows it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
}

impl Finding {
    fn new(kind: FindingKind, line: &Line<'_>, text: &str, why: String, message: Option<u32>) -> Self {
        Self { kind, line: line.number, text: text.to_owned(), why, message }
    }
}

/// Holds a summary against the facts of the messages that it stands for, and returns what they do not bear out, in the
/// order of the lines; what is missing comes last.
///
/// The facts must not have taken in the summary itself. Where they are partial, only what they contradict is found.
///
/// ```
/// use wb_message::{Message, ToolVocabulary};
/// use wb_facts::{Facts, audit};
///
/// let facts = Facts::of(&[Message::user("Why does src/cart.rs fail?")], &ToolVocabulary::default());
/// let found = audit("The cause is in `src/basket.rs`. All tests pass.", &facts);
/// let texts: Vec<&str> = found.iter().map(|finding| finding.text.as_str()).collect();
/// assert_eq!(texts, ["src/basket.rs", "All tests pass"]);
/// ```
pub fn audit(summary: &str, facts: &Facts) -> Vec<Finding> {
    let lines = text::lines(summary);
    let mut out = Vec::new();
    let ledger = facts.ledger();
    if !facts.is_partial() && ledger.n_messages == facts.n_messages() && !ledger.known.is_full() {
        names::check(&lines, facts, &mut out);
    }
    changes::check(&lines, facts, &mut out);
    outcomes::check(&lines, facts, &mut out);
    tasks::check(&lines, facts, &mut out);
    withdrawn::check(&lines, facts, &mut out);
    words::approvals(&lines, facts, &mut out);
    words::quotes(&lines, facts, &mut out);
    out.sort_by_key(|finding| finding.line);
    words::constraints(&lines, facts, &mut out);
    let mut seen = std::collections::HashSet::new();
    out.retain(|finding| seen.insert((finding.kind, finding.line, finding.text.clone())));
    out
}
