//! Hooks for extensions: before and after a compaction, and before and after going to another
//! branch.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, ready, select};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use wb_message::text::one_line;

use crate::{CompactionPreparation, Entry, EntryId};

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompactionReason {
    /// The user asked for it.
    #[default]
    Manual,
    /// The context is larger than the window less its reserve.
    Threshold,
    /// The provider reported that the context does not fit.
    Overflow,
}

/// The event that hooks get before a compaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionBeforeCompactEvent {
    /// The messages to summarize and those to keep.
    pub preparation: CompactionPreparation,
    /// The entries of the current branch from the first one in the context on, oldest first, the
    /// last compaction among them. Earlier entries are in its summary.
    pub branch_entries: Vec<Entry>,
    /// The user's focus for the summary.
    pub custom_instructions: Option<String>,
    /// Is cancelled when the compaction is.
    pub signal: CancellationToken,
    /// The reason for the compaction.
    pub reason: CompactionReason,
    /// Announces that a failed request is repeated afterwards.
    pub will_retry: bool,
}

/// The event that hooks get after a compaction was appended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionCompactEvent {
    /// The entry as it was appended.
    pub compaction_entry: Entry,
    /// Marks a summary that a hook made.
    pub from_extension: bool,
    /// The reason for the compaction.
    pub reason: CompactionReason,
    /// Announces that a failed request is repeated now.
    pub will_retry: bool,
}

/// The event that hooks get after a compaction came to nothing; nothing was appended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionCompactFailedEvent {
    /// The reason for the intended compaction.
    pub reason: CompactionReason,
    /// The error.
    pub error_message: String,
    /// Marks a compaction that the user or a hook cancelled.
    pub aborted: bool,
    /// Marks a compaction after which a failed request would have been repeated.
    pub will_retry: bool,
    /// Marks a summary that a hook had made.
    pub from_extension: bool,
}

/// The destination of a session's move.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TreePreparation {
    /// The entry that the user goes to.
    pub target_id: EntryId,
    /// The leaf that is left.
    pub old_leaf_id: Option<EntryId>,
    /// The deepest entry that both share.
    pub common_ancestor_id: Option<EntryId>,
    /// The entries left behind, oldest first.
    pub entries_to_summarize: Vec<Entry>,
    /// Asks for a summary of them.
    pub user_wants_summary: bool,
    /// The user's focus for the summary.
    pub custom_instructions: Option<String>,
    /// Replaces the default instructions.
    pub replace_instructions: bool,
    /// The label that the summary gets, or the target if there is no summary.
    pub label: Option<String>,
}

/// The event that hooks get before a session goes to another branch, whether or not a summary is
/// wanted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionBeforeTreeEvent {
    /// The destination.
    pub preparation: TreePreparation,
    /// Is cancelled when the way there is.
    pub signal: CancellationToken,
}

/// The event that hooks get after a session went to another branch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionTreeEvent {
    /// The leaf from now on; none before the first entry.
    pub new_leaf_id: Option<EntryId>,
    /// The leaf before.
    pub old_leaf_id: Option<EntryId>,
    /// The summary that was appended.
    pub summary_entry: Option<Entry>,
    /// Marks a summary that a hook made.
    pub from_extension: bool,
}

/// The answer of a hook before a compaction.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum BeforeCompact {
    /// Leaves the compaction as is.
    #[default]
    Proceed,
    /// Cancels the compaction.
    Cancel,
    /// Replaces the compaction.
    Replace(HookCompaction),
}

/// A compaction that a hook made.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCompaction {
    /// The summary.
    pub summary: String,
    /// The first kept entry: one on the path at which it can be cut.
    pub first_kept_entry_id: EntryId,
    /// The tokens of the context before the compaction.
    pub tokens_before: u64,
    /// The hook's private notes.
    pub details: Option<Value>,
}

/// The answer of a hook before a session goes to another branch.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum BeforeTree {
    /// Leaves the move as is.
    #[default]
    Proceed,
    /// The session shall stay where it is.
    Cancel,
    /// Replaces the summary, if the user wants one.
    Replace(HookSummary),
    /// Changes options of the move.
    Adjust(TreeOverrides),
}

/// The changes that a hook wants; a field that is none keeps the user's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOverrides {
    /// The focus for the summary.
    pub custom_instructions: Option<String>,
    /// Replaces the default instructions.
    pub replace_instructions: Option<bool>,
    /// The label that the summary gets, or the target if there is no summary.
    pub label: Option<String>,
}

/// The summary of a branch that a hook made.
#[derive(Clone, Debug, PartialEq)]
pub struct HookSummary {
    /// The summary.
    pub summary: String,
    /// The hook's private notes.
    pub details: Option<Value>,
}

/// The reason why a hook failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// The pending answer of a hook.
pub type HookFuture<'a, T> = BoxFuture<'a, Result<T, HookError>>;

/// An extension's hooks; the default of each does nothing.
///
/// A hook that fails or panics is reported and skipped, like one that answers `Proceed`. The first
/// answer other than `Proceed` counts.
pub trait SessionHooks: Send + Sync {
    /// Is asked before a compaction.
    fn session_before_compact<'a>(
        &'a self,
        _event: &'a SessionBeforeCompactEvent,
    ) -> HookFuture<'a, BeforeCompact> {
        ready(Ok(BeforeCompact::Proceed)).boxed()
    }

    /// Hears of a compaction after it was appended.
    fn session_compact<'a>(&'a self, _event: &'a SessionCompactEvent) -> HookFuture<'a, ()> {
        ready(Ok(())).boxed()
    }

    /// Hears that a compaction came to nothing after it had begun.
    fn session_compact_failed<'a>(&'a self, _event: &'a SessionCompactFailedEvent) -> HookFuture<'a, ()> {
        ready(Ok(())).boxed()
    }

    /// Is asked before the session goes to another branch.
    fn session_before_tree<'a>(&'a self, _event: &'a SessionBeforeTreeEvent) -> HookFuture<'a, BeforeTree> {
        ready(Ok(BeforeTree::Proceed)).boxed()
    }

    /// Hears that the session went to another branch.
    fn session_tree<'a>(&'a self, _event: &'a SessionTreeEvent) -> HookFuture<'a, ()> {
        ready(Ok(())).boxed()
    }
}

const _: fn(&dyn SessionHooks) = |_| ();

/// Hooks that have nothing to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl SessionHooks for NoHooks {}

/// A hook that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookFault {
    /// The place of the hook among those of its list, counted from 0.
    pub hook: usize,
    /// The name of the event.
    pub event: &'static str,
    /// The error, on one line of at most 200 characters.
    pub what: String,
}

/// The most characters of a fault.
const MAX_FAULT_CHARS: usize = 200;

/// The hooks of a host in their order, and what went wrong with them.
#[derive(Clone, Default)]
pub struct HookList {
    hooks: Vec<Arc<dyn SessionHooks>>,
    faults: Vec<HookFault>,
}

impl fmt::Debug for HookList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HookList");
        shown.field("n_hooks", &self.hooks.len()).field("faults", &self.faults).finish()
    }
}

/// The signal came before an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancelled;

impl HookList {
    /// Adds hooks after those that are there.
    pub fn push(&mut self, hooks: Arc<dyn SessionHooks>) {
        self.hooks.push(hooks);
    }

    /// Returns whether there are no hooks.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Returns what went wrong since it was asked last.
    pub fn take_faults(&mut self) -> Vec<HookFault> {
        std::mem::take(&mut self.faults)
    }

    /// Asks one hook after the other until one gives an answer that `judge` finds real; a reason
    /// from it is a fault.
    pub(crate) async fn first<E, T, A>(
        &mut self,
        (event, payload): (&'static str, &E),
        signal: &CancellationToken,
        ask: impl for<'a> Fn(&'a dyn SessionHooks, &'a E) -> HookFuture<'a, T>,
        judge: impl Fn(T) -> Result<Option<A>, String>,
    ) -> Result<Option<A>, Cancelled> {
        for at in 0..self.hooks.len() {
            let answer = {
                let answer = Box::pin(caught(&*self.hooks[at], payload, &ask));
                match select(Box::pin(signal.cancelled()), answer).await {
                    Either::Left(_) => return Err(Cancelled),
                    Either::Right((answer, _)) => answer,
                }
            };
            match answer.and_then(&judge) {
                Ok(None) => {}
                Ok(Some(answer)) => return Ok(Some(answer)),
                Err(what) => {
                    self.faults.push(HookFault { hook: at, event, what: one_line(&what, MAX_FAULT_CHARS) });
                }
            }
        }
        Ok(None)
    }

    /// Reports an event to every hook.
    pub(crate) async fn notify<E>(
        &mut self,
        event: (&'static str, &E),
        ask: impl for<'a> Fn(&'a dyn SessionHooks, &'a E) -> HookFuture<'a, ()>,
    ) {
        // Nobody can cancel this one, and no answer ends it.
        let _ = self.first(event, &CancellationToken::new(), ask, |()| Ok(None::<()>)).await;
    }
}

/// Waits for a hook's answer; an error or a panic becomes its text.
async fn caught<E, T>(
    hooks: &dyn SessionHooks,
    payload: &E,
    ask: &impl for<'a> Fn(&'a dyn SessionHooks, &'a E) -> HookFuture<'a, T>,
) -> Result<T, String> {
    let answer = AssertUnwindSafe(async { ask(hooks, payload).await }).catch_unwind().await;
    match answer {
        Ok(answer) => answer.map_err(|error| error.0),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(["panicked: ", &text.unwrap_or_default()].concat())
        }
    }
}
