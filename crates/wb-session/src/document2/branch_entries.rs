//! The entries left behind when a session goes to another branch, and the part of them to
//! summarize.

use wb_budget::TokenCounter;
use wb_message::Message;

use super::context_view::{VisiblePath, is_tool_result};
use super::files::FileOps;
use crate::entry::{Entry, EntryKind};
use crate::error::SessionError;
use crate::id::EntryId;
use crate::tree::log::SessionLog;

/// The entries of a branch that is left.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AbandonedBranch<'a> {
    /// The entries below the common ancestor, oldest first.
    pub entries: Vec<&'a Entry>,
    /// The deepest entry that the old and the new position share.
    pub common_ancestor_id: Option<EntryId>,
}

/// The input for the summarizer of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BranchPreparation {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The files of the whole branch, those of messages that did not fit among them.
    pub file_ops: FileOps,
    /// The estimated tokens of the messages.
    pub total_tokens: u64,
}

/// Collects the entries that a move from one position to another leaves behind.
///
/// The walk goes from the old leaf back to the deepest entry that both paths share, through
/// compactions too. Without an old leaf, or on the way to a descendant, no entry is left behind. An
/// entry that is not in the log is an error.
pub fn collect_entries_for_branch_summary<'a>(
    log: &'a SessionLog,
    old_leaf: Option<&EntryId>,
    target: &EntryId,
) -> Result<AbandonedBranch<'a>, SessionError> {
    let Some(old_leaf) = old_leaf else { return Ok(AbandonedBranch::default()) };
    let (old, new) = (log.path(Some(old_leaf))?, log.path(Some(target))?);
    // Both paths lead from a root, so what they share is where they begin.
    let n_shared = old.iter().zip(&new).take_while(|(a, b)| std::ptr::eq(**a, **b)).count();
    let common_ancestor_id = n_shared.checked_sub(1).map(|at| old[at].id.clone());
    Ok(AbandonedBranch { entries: old[n_shared..].to_vec(), common_ancestor_id })
}

/// Chooses the newest messages of a branch within a budget of tokens; no budget takes all.
///
/// Results of tools are left out. The walk ends with the first message that does not fit; a summary
/// at that place is included anyway while less than nine tenths of the budget are used, because it
/// replaces much. Files are collected from the whole branch, from calls and from the details of
/// summaries.
pub fn prepare_branch_entries(
    entries: &[&Entry],
    token_budget: Option<u64>,
    counter: &dyn TokenCounter,
) -> BranchPreparation {
    let visible = VisiblePath::new(entries);
    let mut preparation = BranchPreparation::default();
    for entry in entries.iter().rev().filter(|entry| !is_tool_result(entry)) {
        let Some(tokens) = visible.weigh(entry, counter) else { continue };
        let total = preparation.total_tokens.saturating_add(tokens);
        let is_over = token_budget.is_some_and(|budget| total > budget);
        if is_over && !(is_summary(entry) && is_below_nine_tenths(preparation.total_tokens, token_budget)) {
            break;
        }
        preparation.messages.extend(visible.message(entry));
        preparation.total_tokens = total;
        if is_over {
            break;
        }
    }
    preparation.messages.reverse();
    for entry in entries {
        preparation.file_ops.note_summary(entry);
        if let Some(message) = visible.visible_message(entry) {
            preparation.file_ops.note_calls(message);
        }
    }
    preparation
}

fn is_summary(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Compaction(_) | EntryKind::BranchSummary(_))
}

fn is_below_nine_tenths(tokens: u64, budget: Option<u64>) -> bool {
    budget.is_none_or(|budget| u128::from(tokens) * 10 < u128::from(budget) * 9)
}
