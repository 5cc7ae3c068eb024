//! Checks a summary of a session against the session.
//!
//! Any summary works: one of our digests, a model's or a host's. A finding is something that the
//! facts show to be wrong or missing; what they cannot decide is skipped, so that a finding is
//! worth reading.

mod text;
pub mod names;
mod changes;
mod outcomes;
mod tasks;
mod withdrawn;
mod word_list;
mod consent;
mod words;
mod correct;

use serde::{Deserialize, Serialize};

pub use self::correct::corrected;
use self::text::SummaryLine;
use crate::facts::Facts;

/// The kind of mistake in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A path that never occurred.
    UnknownPath,
    /// An identifier or a hash that never occurred.
    UnknownName,
    /// A claim that a file was changed or deleted, which no event shows.
    UnshownChange,
    /// A claim that something was run, ended in some way or was committed, which no event shows.
    UnshownEnd,
    /// A claim that something works although it failed last.
    FailedSince,
    /// A state of a task that differs from the task list.
    TaskState,
    /// A plan to do again what the user withdrew.
    #[serde(rename = "taken_back")]
    Withdrawn,
    /// A missing constraint: something that the user always requires or forbids.
    MissingConstraint,
    /// A claim that the user agreed to something, which the user did not.
    UnknownApproval,
    /// Words quoted as the user's that are not.
    NotTheUsers,
}

/// Something in a summary that the session does not bear out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of mistake.
    pub kind: FindingKind,
    /// The number of the line in the summary, from 1 on; 0 where something is missing.
    pub line: u32,
    /// The piece of the summary, word for word; of what is missing, the words that are.
    pub text: String,
    /// The reason why it is wrong.
    pub why: String,
    /// The number of the message that shows it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
}

impl Finding {
    fn new(kind: FindingKind, line: &SummaryLine<'_>, text: &str, why: String, message: Option<u32>) -> Self {
        Self { kind, line: line.number, text: text.to_owned(), why, message }
    }
}

/// Checks a summary against the facts of the messages it replaces; returns the findings by line,
/// and missing constraints last.
///
/// The facts must not include the summary itself. Partial facts only yield contradictions.
///
/// ```
/// use wb_message::{Message, ToolVocabulary};
/// use wb_facts::{Facts, audit};
///
/// let session = [Message::user("Why does src/cart.rs fail?")];
/// let facts = Facts::default().with_messages(&session, &ToolVocabulary::default());
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

#[cfg(test)]
mod tests {
    use wb_message::{Message, ToolVocabulary};

    use super::*;

    #[test]
    fn facts_without_words_find_what_is_not_true_and_no_unknown_names() {
        let session = [Message::user("Why does src/cart.rs fail?")];
        let texts = |facts: Facts| {
            let facts = facts.with_messages(&session, &ToolVocabulary::default());
            let found = audit("The cause is in `src/basket.rs`. All tests pass.", &facts);
            found.into_iter().map(|finding| finding.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(Facts::default()), ["src/basket.rs", "All tests pass"]);
        assert_eq!(texts(Facts::without_words()), ["All tests pass"]);
    }
}
