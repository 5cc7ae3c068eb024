//! Summarizes an abandoned branch, and appends the summary where the session continues.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use wb_budget::{TokenHeuristic, Usage};
use wb_invoke::ModelInvoker;
use wb_summarize::ASSUMED_WINDOW_TOKENS;

use crate::document2::compaction_result::{CompactError, SummarySource};
use crate::document2::prompt::{Focus, SummaryTask};
use crate::document2::summarize::{Piece, SummaryRun};
use crate::{
    BranchPreparation, BranchSummary, BranchSummarySettings, Entry, EntryId, Session, SessionError,
    prepare_branch_entries,
};

/// The most tokens of the summary of a branch.
pub(crate) const BRANCH_SUMMARY_TOKENS: u64 = 2048;

/// Options for [`generate_branch_summary`]; all are optional.
#[derive(Clone, Debug, Default)]
pub struct BranchSummaryOpts {
    /// The user's focus for the summary, cut to 8,000 bytes.
    pub custom_instructions: Option<String>,
    /// Replaces the default instructions; the form of the summary stays.
    pub replace_instructions: bool,
    /// The part of the window to keep free.
    pub settings: BranchSummarySettings,
    /// The most tokens of the reply; 2,048 by default, and never more than the
    /// model's card allows or half of its window.
    pub max_output_tokens: Option<u64>,
    /// The time limit for the model; [`DEFAULT_TIMEOUT`](wb_invoke::timer::DEFAULT_TIMEOUT) by
    /// default.
    pub timeout: Option<Duration>,
    /// Stops the run when cancelled.
    pub cancel: Option<CancellationToken>,
}

/// The summary of a branch that is ready to be appended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BranchSummaryOutcome {
    /// The summary with its lists of files.
    pub summary: String,
    /// The data noted next to the summary: the lists of files, or any JSON from a hook.
    pub details: Option<Value>,
    /// The usage that the provider counted for all requests.
    pub usage: Usage,
    /// The number of requests made.
    pub n_requests: usize,
    /// The writer of the summary.
    pub source: SummarySource,
}

/// The entries that a move leaves behind, with their content.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LeftBranch {
    /// The entries below the common ancestor, oldest first.
    pub entries: Vec<Entry>,
    /// The deepest entry that the leaf and the target share.
    pub common_ancestor_id: Option<EntryId>,
}

/// Reads the entries that a move from a session's leaf to another entry leaves behind: none on the
/// way to a descendant.
pub fn read_left_branch(session: &Session, target: &EntryId) -> Result<LeftBranch, SessionError> {
    let Some(leaf) = session.leaf() else { return Ok(LeftBranch::default()) };
    let tree = session.tree();
    let common_ancestor_id = tree.common_ancestor(leaf, target)?.map(|node| node.id);
    let n_shared = tree.path(common_ancestor_id.as_ref())?.len();
    let left = tree.path(Some(leaf))?.into_iter().skip(n_shared);
    let entries = left.map(|node| session.entry(&node.id)).collect::<Result<_, _>>()?;
    Ok(LeftBranch { entries, common_ancestor_id })
}

/// Summarizes the entries of a branch, as many of the newest as the window has room for, but at
/// least one.
///
/// The room is the window of the invoker's card, or [`ASSUMED_WINDOW_TOKENS`], less the settings'
/// reserve; if that leaves none, half of the window. Replies are judged as those of
/// [`compact`](crate::compact()) are, and the local digest replaces one that is of no use. A branch
/// without messages and a cancelled run are errors.
pub async fn generate_branch_summary(
    entries: &[&Entry],
    invoker: Option<&dyn ModelInvoker>,
    opts: BranchSummaryOpts,
) -> Result<BranchSummaryOutcome, CompactError> {
    let budget = room(invoker, opts.settings);
    let BranchPreparation { mut messages, file_ops, .. } =
        prepare_branch_entries(entries, Some(budget), &TokenHeuristic::DEFAULT);
    if messages.is_empty() {
        // The newest is larger than the room; its start and its end are summarized.
        messages.extend(prepare_branch_entries(entries, None, &TokenHeuristic::DEFAULT).messages.pop());
    }
    let focus = Focus { instructions: opts.custom_instructions, replaces: opts.replace_instructions };
    let mut run = SummaryRun::new(invoker, focus, opts.timeout, opts.cancel);
    if messages.is_empty() {
        return Err(CompactError::Nothing);
    }
    if run.is_cancelled() {
        return Err(run.cancelled());
    }
    let max_output_tokens = opts.max_output_tokens.unwrap_or(BRANCH_SUMMARY_TOKENS);
    let task = SummaryTask::Branch;
    let piece = Piece { task, messages: &messages, previous: None, max_output_tokens };
    let mut summary = run.summarize(piece).await?;
    summary.push_str(&file_ops.tags());
    Ok(BranchSummaryOutcome {
        summary,
        details: serde_json::to_value(file_ops.lists()).ok(),
        usage: run.cost.usage,
        n_requests: run.cost.n_requests,
        source: run.source(),
    })
}

fn room(invoker: Option<&dyn ModelInvoker>, settings: BranchSummarySettings) -> u64 {
    let window = invoker.and_then(ModelInvoker::card).map(|card| card.context_window);
    let window = window.filter(|window| *window > 0).unwrap_or(ASSUMED_WINDOW_TOKENS);
    match window.saturating_sub(settings.reserve_tokens) {
        0 => window / 2,
        room => room,
    }
}

/// Moves a session's leaf to an entry, or before the first one, and appends the summary of the
/// abandoned branch there.
///
/// `timestamp_ms` counts from the Unix epoch. On an error the leaf stays.
pub fn append_branch_summary(
    session: &mut Session,
    target: Option<&EntryId>,
    outcome: BranchSummaryOutcome,
    timestamp_ms: i64,
) -> Result<EntryId, SessionError> {
    let BranchSummaryOutcome { summary, details, source, .. } = outcome;
    let from_hook = source == SummarySource::Hook;
    let entry = BranchSummary { from_id: String::new(), summary, details, from_hook };
    session.branch_with_summary(target, entry, timestamp_ms)
}
