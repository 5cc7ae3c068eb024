//! The whole way of a compaction and of going to another branch, with the hooks' say in both.

use wb_budget::Usage;
use wb_message::{Content, Message};
use wb_session::{
    CompactionPreparation, CompactionSettings, Entry, EntryId, EntryKind, Session, SessionError,
    cut_candidates, prepare_compaction,
};
use wb_summarize::ModelInvoker;

use crate::branch::{
    BranchSummaryOpts, BranchSummaryOutcome, append_branch_summary, generate_branch_summary, read_left_branch,
};
use crate::compaction::{CompactOpts, append_compaction, compact, read_path};
use crate::hooks::{
    BeforeCompact, BeforeTree, HookCompaction, HookList, HookSummary, SessionBeforeCompactEvent,
    SessionBeforeTreeEvent, SessionCompactEvent, SessionTreeEvent, TreePreparation,
};
use crate::outcome::{CompactError, CompactionOutcome, SummarySource};

/// Tells why a session stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A hook did not want it.
    #[error("a hook cancelled it")]
    CancelledByHook,
    /// There is no summary.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// The session could not be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl HostError {
    fn cancelled() -> Self {
        Self::Compact(CompactError::Cancelled { usage: Usage::EMPTY })
    }
}

/// A compaction that was appended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionCompaction {
    /// The entry.
    pub entry_id: EntryId,
    /// What it says and what it cost.
    pub outcome: CompactionOutcome,
}

/// Compacts a session at its leaf: prepares, asks the hooks, summarizes, appends, and tells the hooks.
///
/// A hook's compaction is appended as it is, marked as a hook's, if it says something and keeps an entry of the path
/// at which it can be cut, and not more than is in the context now; otherwise that hook is passed over. `timestamp_ms`
/// counts from the Unix epoch. On an error nothing is appended.
pub async fn compact_session(
    session: &mut Session,
    settings: &CompactionSettings,
    invoker: Option<&dyn ModelInvoker>,
    hooks: &mut HookList,
    opts: CompactOpts,
    timestamp_ms: i64,
) -> Result<SessionCompaction, HostError> {
    let branch_entries = read_path(session, session.leaf())?;
    let path: Vec<&Entry> = branch_entries.iter().collect();
    let preparation = prepare_compaction(&path, settings).ok_or(CompactError::Nothing)?;
    let signal = opts.cancel.clone().unwrap_or_default();
    let custom_instructions = opts.custom_instructions.clone();
    let event = SessionBeforeCompactEvent { preparation, branch_entries, custom_instructions, signal };
    let outcome = match compaction_of_hooks(hooks, &event).await? {
        Some(outcome) => outcome,
        None => compact(event.preparation, invoker, opts).await?,
    };
    let entry_id = append_compaction(session, outcome.clone(), timestamp_ms)?;
    let from_extension = outcome.source == SummarySource::Hook;
    let event = SessionCompactEvent { compaction_entry: session.entry(&entry_id)?, from_extension };
    hooks.tell(("session_compact", &event), |hooks, event| hooks.session_compact(event)).await;
    Ok(SessionCompaction { entry_id, outcome })
}

async fn compaction_of_hooks(
    hooks: &mut HookList,
    event: &SessionBeforeCompactEvent,
) -> Result<Option<CompactionOutcome>, HostError> {
    let judge = |answer| match answer {
        BeforeCompact::Proceed => Ok(None),
        BeforeCompact::Cancel => Ok(Some(None)),
        BeforeCompact::Replace(made) => checked(made, event).map(|outcome| Some(Some(outcome))),
    };
    let ask = ("session_before_compact", event);
    let answer =
        hooks.first(ask, &event.signal, |hooks, event| hooks.session_before_compact(event), judge).await;
    match answer {
        Err(_) => Err(HostError::cancelled()),
        Ok(Some(None)) => Err(HostError::CancelledByHook),
        Ok(answer) => Ok(answer.flatten()),
    }
}

/// Accepts a hook's compaction that can be appended.
fn checked(made: HookCompaction, event: &SessionBeforeCompactEvent) -> Result<CompactionOutcome, String> {
    let HookCompaction { summary, first_kept_entry_id, tokens_before, details } = made;
    if summary.trim().is_empty() {
        return Err("the summary is blank".to_owned());
    }
    if !can_be_kept(&first_kept_entry_id, &event.preparation, &event.branch_entries) {
        return Err(format!("the session cannot be cut at entry {first_kept_entry_id}"));
    }
    Ok(CompactionOutcome {
        summary,
        first_kept_entry_id,
        tokens_before,
        details,
        usage: Usage::EMPTY,
        n_requests: 0,
        source: SummarySource::Hook,
    })
}

/// Tells whether a path can be cut at an entry, and not before what the last compaction kept.
fn can_be_kept(id: &EntryId, preparation: &CompactionPreparation, entries: &[Entry]) -> bool {
    if *id == preparation.first_kept_entry_id {
        return true;
    }
    let path: Vec<&Entry> = entries.iter().collect();
    let place = |id: &EntryId| path.iter().rposition(|entry| entry.id == *id);
    let last = path.iter().enumerate().rev().find_map(|(at, entry)| match &entry.kind {
        EntryKind::Compaction(it) => {
            Some(it.first_kept_entry_id.as_ref().and_then(place).filter(|kept| *kept < at).unwrap_or(at))
        }
        _ => None,
    });
    let first = last.unwrap_or(0);
    place(id).is_some_and(|at| at >= first && cut_candidates(&path, first..path.len()).contains(&at))
}

/// How [`navigate_tree`] works.
#[derive(Clone, Debug, Default)]
pub struct NavigateOpts {
    /// Whether the user wants a summary of what is left.
    pub user_wants_summary: bool,
    /// How it is made; its `cancel` stops the whole way.
    pub summary: BranchSummaryOpts,
}

/// Where a session went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TreeNavigation {
    /// The leaf before.
    pub old_leaf_id: Option<EntryId>,
    /// The leaf from now on; none before the first entry.
    pub new_leaf_id: Option<EntryId>,
    /// The words of a prompt that was gone to, for the user to write anew.
    pub editor_text: Option<String>,
    /// The summary's entry.
    pub summary_entry_id: Option<EntryId>,
    /// What the summary says and what it cost.
    pub summary: Option<BranchSummaryOutcome>,
}

/// Goes to another entry of a session: asks the hooks, summarizes what is left if that is wanted, moves the leaf, and
/// tells the hooks.
///
/// Going to a prompt or to a message of an extension leads to the entry before it and gives its words back. Going to
/// the leaf changes nothing and asks nobody. A hook's summary counts only if the user wants one, and if it is not
/// blank. `timestamp_ms` counts from the Unix epoch. On an error the leaf stays.
pub async fn navigate_tree(
    session: &mut Session,
    target: &EntryId,
    invoker: Option<&dyn ModelInvoker>,
    hooks: &mut HookList,
    opts: NavigateOpts,
    timestamp_ms: i64,
) -> Result<TreeNavigation, HostError> {
    let old_leaf_id = session.leaf().cloned();
    let (goal, editor_text) = goal(session.entry(target)?);
    let mut gone = TreeNavigation {
        new_leaf_id: old_leaf_id.clone(),
        old_leaf_id,
        editor_text: None,
        summary_entry_id: None,
        summary: None,
    };
    if gone.old_leaf_id.as_ref() == Some(target) {
        return Ok(gone);
    }
    let signal = opts.summary.cancel.clone().unwrap_or_default();
    let preparation = tree_preparation(session, target, opts.user_wants_summary)?;
    let event = SessionBeforeTreeEvent { preparation, signal };
    gone.summary = summary_of_left(hooks, &event, invoker, opts.summary).await?;
    gone.editor_text = editor_text;
    gone.summary_entry_id = arrive(session, goal.as_ref(), gone.summary.clone(), timestamp_ms)?;
    gone.new_leaf_id = session.leaf().cloned();
    let summary_entry = gone.summary_entry_id.as_ref().map(|id| session.entry(id)).transpose()?;
    let from_extension = gone.summary.as_ref().is_some_and(|it| it.source == SummarySource::Hook);
    let (new_leaf_id, old_leaf_id) = (gone.new_leaf_id.clone(), gone.old_leaf_id.clone());
    let event = SessionTreeEvent { new_leaf_id, old_leaf_id, summary_entry, from_extension };
    hooks.tell(("session_tree", &event), |hooks, event| hooks.session_tree(event)).await;
    Ok(gone)
}

/// Returns where the leaf goes for a target, and the words that go back to the user.
fn goal(target: Entry) -> (Option<EntryId>, Option<String>) {
    let words = |content: &Content| Some(content.texts().collect::<String>());
    match &target.kind {
        EntryKind::Message(logged) => match &logged.message {
            Message::User { content, .. } => (target.parent_id, words(content)),
            _ => (Some(target.id), None),
        },
        EntryKind::CustomMessage(it) => (target.parent_id, words(&it.content)),
        _ => (Some(target.id), None),
    }
}

fn tree_preparation(
    session: &Session,
    target: &EntryId,
    user_wants_summary: bool,
) -> Result<TreePreparation, SessionError> {
    let left = read_left_branch(session, target)?;
    Ok(TreePreparation {
        target_id: target.clone(),
        old_leaf_id: session.leaf().cloned(),
        common_ancestor_id: left.common_ancestor_id,
        entries_to_summarize: left.entries,
        user_wants_summary,
    })
}

/// Returns the summary of a hook or else the model's; none where none is wanted or there is nothing to summarize.
async fn summary_of_left(
    hooks: &mut HookList,
    event: &SessionBeforeTreeEvent,
    invoker: Option<&dyn ModelInvoker>,
    opts: BranchSummaryOpts,
) -> Result<Option<BranchSummaryOutcome>, HostError> {
    let is_wanted = event.preparation.user_wants_summary;
    let judge = |answer| match answer {
        BeforeTree::Cancel => Ok(Some(None)),
        BeforeTree::Replace(HookSummary { summary, .. }) if is_wanted && summary.trim().is_empty() => {
            Err("the summary is blank".to_owned())
        }
        BeforeTree::Replace(made) if is_wanted => Ok(Some(Some(made))),
        _ => Ok(None),
    };
    let ask = ("session_before_tree", event);
    let answer =
        hooks.first(ask, &event.signal, |hooks, event| hooks.session_before_tree(event), judge).await;
    match answer {
        Err(_) => return Err(HostError::cancelled()),
        Ok(Some(None)) => return Err(HostError::CancelledByHook),
        Ok(Some(Some(HookSummary { summary, details }))) => {
            let source = SummarySource::Hook;
            let outcome =
                BranchSummaryOutcome { summary, details, usage: Usage::EMPTY, n_requests: 0, source };
            return Ok(Some(outcome));
        }
        Ok(None) => {}
    }
    if event.signal.is_cancelled() {
        return Err(HostError::cancelled());
    }
    if !is_wanted {
        return Ok(None);
    }
    let entries: Vec<&Entry> = event.preparation.entries_to_summarize.iter().collect();
    match generate_branch_summary(&entries, invoker, opts).await {
        Ok(outcome) => Ok(Some(outcome)),
        Err(CompactError::Nothing) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Moves the leaf, with a summary where there is one.
fn arrive(
    session: &mut Session,
    goal: Option<&EntryId>,
    summary: Option<BranchSummaryOutcome>,
    timestamp_ms: i64,
) -> Result<Option<EntryId>, SessionError> {
    match (summary, goal) {
        (Some(summary), _) => append_branch_summary(session, goal, summary, timestamp_ms).map(Some),
        (None, Some(goal)) => session.branch(goal).map(|()| None),
        (None, None) => {
            session.reset_leaf();
            Ok(None)
        }
    }
}
