//! One change of a session, as recorded in the list of operations.

use serde::{Deserialize, Serialize};

use crate::history::delegated::DelegatedCompaction;
use crate::history::record_ref::RecordRef;
use crate::parts::change::ChangeSet;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Folds older messages.
    Compact,
    /// Fixes messages that a provider would refuse.
    Repair,
    /// Undoes an operation.
    Undo {
        /// Its number.
        of: u64,
    },
    /// Redoes an undone operation.
    Redo {
        /// Its number.
        of: u64,
    },
}

impl OperationKind {
    /// Returns whether it undoes or redoes another operation.
    pub(crate) fn is_way_back(self) -> bool {
        matches!(self, Self::Undo { .. } | Self::Redo { .. })
    }
}

/// One change of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Operation {
    /// Its number, counted from 1.
    pub id: u64,
    /// The kind of the operation.
    pub what: OperationKind,
    /// The time in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The name of the session's format; none in lists that do not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The conversation.
    pub conversation: String,
    /// The tokens of the context before.
    pub tokens_before: u64,
    /// The tokens of the context after.
    pub tokens_after: u64,
    /// The changes that were written.
    pub changes: ChangeSet,
    /// The records of the view before, in its order.
    pub before: Vec<RecordRef>,
    /// The records that the agent is to write itself, if the compaction was left to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_agent: Option<DelegatedCompaction>,
}
