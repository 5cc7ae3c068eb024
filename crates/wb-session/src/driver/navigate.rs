//! Going to another branch, with hooks before and after.

use wb_budget::Usage;
use wb_invoke::ModelInvoker;
use wb_message::{Content, Message};

use crate::document2::branch_summary::{
    BranchSummaryOpts, BranchSummaryOutcome, append_branch_summary, generate_branch_summary, read_left_branch,
};
use crate::document2::compaction_result::{CompactError, SummarySource};
use crate::driver::before_compact::DriverError;
use crate::driver::hooks::{
    BeforeTree, HookList, HookSummary, SessionBeforeTreeEvent, SessionTreeEvent, TreeOverrides,
    TreePreparation,
};
use crate::{Entry, EntryId, EntryKind, Session, SessionError};

/// Options for [`navigate_tree`].
#[derive(Clone, Debug, Default)]
pub struct NavigateOpts {
    /// Asks for a summary of the branch that is left.
    pub user_wants_summary: bool,
    /// The label that the summary gets, or the target if there is no summary.
    pub label: Option<String>,
    /// Options for the summary; its `cancel` stops the whole navigation.
    pub summary: BranchSummaryOpts,
}

/// The result of a navigation.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// The summary and its cost.
    pub summary: Option<BranchSummaryOutcome>,
}

/// Goes to another entry of a session: calls the hooks, summarizes the abandoned branch if wanted,
/// moves the leaf, and notifies the hooks.
///
/// Going to a prompt or to a message of an extension leads to the entry before it and returns its
/// text. Going to the leaf changes nothing and calls no hook. A hook's summary counts only if the
/// user wants one, and if it is not blank. `timestamp_ms` counts from the Unix epoch. On an error
/// the leaf stays, unless the label could not be written.
pub async fn navigate_tree(
    session: &mut Session,
    target: &EntryId,
    invoker: Option<&dyn ModelInvoker>,
    hooks: &mut HookList,
    opts: NavigateOpts,
    timestamp_ms: i64,
) -> Result<TreeNavigation, DriverError> {
    let old_leaf_id = session.leaf().cloned();
    let (goal, editor_text) = goal(session.entry(target)?);
    if old_leaf_id.as_ref() == Some(target) {
        let new_leaf_id = old_leaf_id.clone();
        return Ok(TreeNavigation { old_leaf_id, new_leaf_id, ..TreeNavigation::default() });
    }
    let event = before_tree(session, target, &opts)?;
    let (summary, label) = summary_and_label(invoker, hooks, &event, opts).await?;
    let summary_entry_id = arrive(session, goal.as_ref(), summary.clone(), timestamp_ms)?;
    if let Some(label) = label.filter(|label| !label.is_empty()) {
        session.set_label(summary_entry_id.as_ref().unwrap_or(target), Some(&label), timestamp_ms)?;
    }
    let new_leaf_id = session.leaf().cloned();
    let gone = TreeNavigation { old_leaf_id, new_leaf_id, editor_text, summary_entry_id, summary };
    let event = tree_event(session, &gone)?;
    hooks.notify(("session_tree", &event), |hooks, event| hooks.session_tree(event)).await;
    Ok(gone)
}

/// Calls the hooks, and summarizes the abandoned branch if wanted and no hook did; returns the
/// label to set too.
async fn summary_and_label(
    invoker: Option<&dyn ModelInvoker>,
    hooks: &mut HookList,
    event: &SessionBeforeTreeEvent,
    opts: NavigateOpts,
) -> Result<(Option<BranchSummaryOutcome>, Option<String>), DriverError> {
    let NavigateOpts { mut label, mut summary, user_wants_summary } = opts;
    match ask_hooks(hooks, event).await? {
        None => {}
        Some(Decision::Summary(HookSummary { summary, details })) => {
            let source = SummarySource::Hook;
            let made = BranchSummaryOutcome { summary, details, usage: Usage::EMPTY, n_requests: 0, source };
            return Ok((Some(made), label));
        }
        Some(Decision::Overrides(it)) => {
            summary.custom_instructions = it.custom_instructions.or(summary.custom_instructions);
            summary.replace_instructions = it.replace_instructions.unwrap_or(summary.replace_instructions);
            label = it.label.or(label);
        }
    }
    let made = if user_wants_summary { summary_of_left(event, invoker, summary).await? } else { None };
    Ok((made, label))
}

fn tree_event(session: &Session, gone: &TreeNavigation) -> Result<SessionTreeEvent, SessionError> {
    Ok(SessionTreeEvent {
        new_leaf_id: gone.new_leaf_id.clone(),
        old_leaf_id: gone.old_leaf_id.clone(),
        summary_entry: gone.summary_entry_id.as_ref().map(|id| session.entry(id)).transpose()?,
        from_extension: gone.summary.as_ref().is_some_and(|it| it.source == SummarySource::Hook),
    })
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

fn before_tree(
    session: &Session,
    target: &EntryId,
    opts: &NavigateOpts,
) -> Result<SessionBeforeTreeEvent, SessionError> {
    let left = read_left_branch(session, target)?;
    let preparation = TreePreparation {
        target_id: target.clone(),
        old_leaf_id: session.leaf().cloned(),
        common_ancestor_id: left.common_ancestor_id,
        entries_to_summarize: left.entries,
        user_wants_summary: opts.user_wants_summary,
        custom_instructions: opts.summary.custom_instructions.clone(),
        replace_instructions: opts.summary.replace_instructions,
        label: opts.label.clone(),
    };
    Ok(SessionBeforeTreeEvent { preparation, signal: opts.summary.cancel.clone().unwrap_or_default() })
}

/// The deciding answer of the hooks.
enum Decision {
    Summary(HookSummary),
    Overrides(TreeOverrides),
}

async fn ask_hooks(
    hooks: &mut HookList,
    event: &SessionBeforeTreeEvent,
) -> Result<Option<Decision>, DriverError> {
    let is_wanted = event.preparation.user_wants_summary;
    let judge = |answer| match answer {
        BeforeTree::Cancel => Ok(Some(None)),
        BeforeTree::Replace(HookSummary { summary, .. }) if is_wanted && summary.trim().is_empty() => {
            Err("the summary is blank".to_owned())
        }
        BeforeTree::Replace(made) if is_wanted => Ok(Some(Some(Decision::Summary(made)))),
        BeforeTree::Adjust(it) if it != TreeOverrides::default() => Ok(Some(Some(Decision::Overrides(it)))),
        _ => Ok(None),
    };
    let ask = ("session_before_tree", event);
    let answer =
        hooks.first(ask, &event.signal, |hooks, event| hooks.session_before_tree(event), judge).await;
    match answer {
        Err(_) => Err(DriverError::cancelled()),
        Ok(Some(None)) => Err(DriverError::CancelledByHook),
        Ok(_) if event.signal.is_cancelled() => Err(DriverError::cancelled()),
        Ok(decision) => Ok(decision.flatten()),
    }
}

/// Summarizes what is left; none if there is nothing to summarize.
async fn summary_of_left(
    event: &SessionBeforeTreeEvent,
    invoker: Option<&dyn ModelInvoker>,
    opts: BranchSummaryOpts,
) -> Result<Option<BranchSummaryOutcome>, DriverError> {
    let entries: Vec<&Entry> = event.preparation.entries_to_summarize.iter().collect();
    match generate_branch_summary(&entries, invoker, opts).await {
        Ok(outcome) => Ok(Some(outcome)),
        Err(CompactError::Nothing) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Moves the leaf, with a summary if there is one.
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
