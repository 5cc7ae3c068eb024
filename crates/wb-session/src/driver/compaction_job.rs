//! One compaction of a session in three steps: prepared from it, run without it, appended to it.

use crate::{
    CompactionPreparation, CompactionSettings, Entry, EntryId, EntryTag, Node, Session, SessionError,
    cut_candidates, estimate_context, kept_from, prepare_compaction_within,
};
use tokio_util::sync::CancellationToken;
use wb_budget::{TokenCounter, Usage};
use wb_summarize::ModelInvoker;

use crate::document2::compact::{CompactOpts, append_compaction, compact};
use crate::document2::compaction_result::{CompactError, CompactionOutcome, SummarySource};
use crate::driver::hooks::{
    BeforeCompact, CompactionReason, HookCompaction, HookList, SessionBeforeCompactEvent,
    SessionCompactEvent, SessionCompactFailedEvent,
};

/// Why a session stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A hook did not want it.
    #[error("a hook cancelled it")]
    CancelledByHook,
    /// Meanwhile the session was compacted or went to another branch.
    #[error("the session went on elsewhere meanwhile")]
    Moved,
    /// There is no summary.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// The session could not be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl HostError {
    pub(crate) fn cancelled() -> Self {
        Self::Compact(CompactError::Cancelled { usage: Usage::EMPTY })
    }

    /// Returns whether the user or a hook did not want it.
    pub fn is_abort(&self) -> bool {
        matches!(self, Self::CancelledByHook | Self::Compact(CompactError::Cancelled { .. }))
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
/// at which it can be cut, not more than is in the context now, and makes that no heavier; otherwise that hook is passed
/// over. `timestamp_ms` counts from the Unix epoch. On an error nothing is appended.
pub async fn compact_session(
    session: &mut Session,
    settings: &CompactionSettings,
    invoker: Option<&dyn ModelInvoker>,
    hooks: &mut HookList,
    opts: CompactOpts,
    timestamp_ms: i64,
) -> Result<SessionCompaction, HostError> {
    let job = CompactionJob::prepare(session, session.leaf(), settings, CompactionReason::Manual, opts)?;
    let job = job.ok_or(CompactError::Nothing)?;
    job.run(invoker, hooks).await.append(session, hooks, timestamp_ms).await
}

/// A compaction that was prepared; it owns what it needs, so that the session is free while a model is asked.
#[derive(Debug)]
pub struct CompactionJob {
    event: SessionBeforeCompactEvent,
    opts: CompactOpts,
    pub(crate) place: Place,
}

/// A compaction that was run and is still to be appended.
#[derive(Debug)]
pub struct FinishedCompaction {
    result: Result<CompactionOutcome, HostError>,
    pub(crate) place: Place,
}

/// Where a compaction is appended, and why.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) reason: CompactionReason,
    /// The leaf when it was prepared.
    leaf: Option<EntryId>,
    /// The end of what it condenses, where that is not the leaf: the answer after it failed and is left behind.
    base: Option<EntryId>,
}

impl Place {
    pub(crate) fn new(session: &Session, end: Option<&EntryId>, reason: CompactionReason) -> Self {
        let base = end.filter(|end| Some(*end) != session.leaf()).cloned();
        Self { reason, leaf: session.leaf().cloned(), base }
    }

    pub(crate) fn will_retry(&self) -> bool {
        self.base.is_some()
    }

    /// Moves the session's leaf to where the compaction goes; what was said after an answer that failed keeps that
    /// answer on its path. Nothing of the kinds `ends` may have come since.
    pub(crate) fn enter(&self, session: &mut Session, ends: &[EntryTag]) -> Result<(), HostError> {
        match &self.base {
            Some(base) if session.leaf() == self.leaf.as_ref() => Ok(session.branch(base)?),
            _ if self.is_below(session, ends) => Ok(()),
            _ => Err(HostError::Moved),
        }
    }

    /// Returns whether the session went on from the leaf that was, without an entry that ends the place.
    fn is_below(&self, session: &Session, ends: &[EntryTag]) -> bool {
        let mut above = session.leaf().into_iter().flat_map(|leaf| session.tree().ancestors(leaf));
        let is_last = |node: &Node| Some(&node.id) == self.leaf.as_ref();
        above.find(|node| is_last(node) || ends.contains(&node.tag)).is_some_and(|node| is_last(&node))
    }
}

impl CompactionJob {
    /// Prepares the compaction of the path to `end`, which is the leaf or an entry before it; nothing if nothing
    /// would be summarized.
    ///
    /// Where `end` is not the leaf, what stands after it is an answer that failed: the compaction is appended after
    /// `end`, so that the answer stays on a branch of its own and its request can be repeated.
    pub fn prepare(
        session: &Session,
        end: Option<&EntryId>,
        settings: &CompactionSettings,
        reason: CompactionReason,
        opts: CompactOpts,
    ) -> Result<Option<Self>, SessionError> {
        Self::prepare_within(session, end, settings, u64::MAX, reason, opts)
    }

    /// Prepares a compaction whose tail has at most the given tokens by the counter of `opts`, if the session can be cut
    /// so.
    pub(crate) fn prepare_within(
        session: &Session,
        end: Option<&EntryId>,
        settings: &CompactionSettings,
        max_kept_tokens: u64,
        reason: CompactionReason,
        opts: CompactOpts,
    ) -> Result<Option<Self>, SessionError> {
        let branch_entries = session.entries_in_reach(end)?;
        let path: Vec<&Entry> = branch_entries.iter().collect();
        let preparation = prepare_compaction_within(&path, settings, max_kept_tokens, &*opts.counter);
        let Some(preparation) = preparation else { return Ok(None) };
        let place = Place::new(session, end, reason);
        let event = SessionBeforeCompactEvent {
            preparation,
            branch_entries,
            custom_instructions: opts.custom_instructions.clone(),
            signal: opts.cancel.clone().unwrap_or_default(),
            reason,
            will_retry: place.will_retry(),
        };
        Ok(Some(Self { event, opts, place }))
    }

    /// Returns what would be summarized and what kept.
    pub fn preparation(&self) -> &CompactionPreparation {
        &self.event.preparation
    }

    /// Returns why the session is compacted.
    pub fn reason(&self) -> CompactionReason {
        self.place.reason
    }

    /// Returns what cancels the compaction; nothing is appended then.
    pub fn cancel_token(&self) -> CancellationToken {
        self.event.signal.clone()
    }

    /// Asks the hooks, and summarizes unless one of them did.
    pub async fn run(
        mut self,
        invoker: Option<&dyn ModelInvoker>,
        hooks: &mut HookList,
    ) -> FinishedCompaction {
        self.opts.cancel = Some(self.event.signal.clone());
        let result = match compaction_of_hooks(hooks, &self.event, &*self.opts.counter).await {
            Ok(None) => compact(self.event.preparation, invoker, self.opts).await.map_err(HostError::from),
            Ok(Some(outcome)) => Ok(outcome),
            Err(error) => Err(error),
        };
        FinishedCompaction { result, place: self.place }
    }
}

impl FinishedCompaction {
    /// Appends the compaction and tells the hooks, of a failure too.
    ///
    /// `timestamp_ms` counts from the Unix epoch. Entries that were appended meanwhile stay in front of it; a session
    /// that was compacted meanwhile or went elsewhere is left as it is.
    pub async fn append(
        self,
        session: &mut Session,
        hooks: &mut HookList,
        timestamp_ms: i64,
    ) -> Result<SessionCompaction, HostError> {
        let (appended, news) = self.enter(session, timestamp_ms);
        news.tell(hooks).await;
        appended
    }

    /// Appends the compaction; the hooks are still to be told.
    pub(crate) fn enter(
        self,
        session: &mut Session,
        timestamp_ms: i64,
    ) -> (Result<SessionCompaction, HostError>, HookNotification) {
        let (reason, will_retry) = (self.place.reason, self.place.will_retry());
        let from_extension = self.result.as_ref().is_ok_and(|outcome| outcome.source == SummarySource::Hook);
        match self.into_entry(session, timestamp_ms) {
            Ok((done, compaction_entry)) => {
                let event = SessionCompactEvent { compaction_entry, from_extension, reason, will_retry };
                (Ok(done), HookNotification::Compacted(Box::new(event)))
            }
            Err(error) => {
                let (error_message, aborted) = (error.to_string(), error.is_abort());
                let event =
                    SessionCompactFailedEvent { reason, error_message, aborted, will_retry, from_extension };
                (Err(error), HookNotification::Failed(event))
            }
        }
    }

    fn into_entry(
        self,
        session: &mut Session,
        timestamp_ms: i64,
    ) -> Result<(SessionCompaction, Entry), HostError> {
        let outcome = self.result?;
        self.place.enter(session, &[EntryTag::Compaction])?;
        let appended = append_compaction(session, outcome.clone(), timestamp_ms);
        if let (Err(_), Some(_), Some(leaf)) = (&appended, &self.place.base, &self.place.leaf) {
            session.branch(leaf)?;
        }
        let entry_id = appended?;
        let entry = session.entry(&entry_id)?;
        Ok((SessionCompaction { entry_id, outcome }, entry))
    }
}

/// What the hooks are told after a compaction.
pub(crate) enum HookNotification {
    Compacted(Box<SessionCompactEvent>),
    Failed(SessionCompactFailedEvent),
}

impl HookNotification {
    pub(crate) async fn tell(&self, hooks: &mut HookList) {
        match self {
            Self::Compacted(event) => {
                hooks.tell(("session_compact", &**event), |hooks, event| hooks.session_compact(event)).await;
            }
            Self::Failed(event) => {
                let failed = ("session_compact_failed", event);
                hooks.tell(failed, |hooks, event| hooks.session_compact_failed(event)).await;
            }
        }
    }
}

async fn compaction_of_hooks(
    hooks: &mut HookList,
    event: &SessionBeforeCompactEvent,
    counter: &dyn TokenCounter,
) -> Result<Option<CompactionOutcome>, HostError> {
    let judge = |answer| match answer {
        BeforeCompact::Proceed => Ok(None),
        BeforeCompact::Cancel => Ok(Some(None)),
        BeforeCompact::Replace(made) => checked(made, event, counter).map(|outcome| Some(Some(outcome))),
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
fn checked(
    made: HookCompaction,
    event: &SessionBeforeCompactEvent,
    counter: &dyn TokenCounter,
) -> Result<CompactionOutcome, String> {
    let HookCompaction { summary, first_kept_entry_id, tokens_before, details } = made;
    if summary.trim().is_empty() {
        return Err("the summary is blank".to_owned());
    }
    if !can_be_kept(&first_kept_entry_id, &event.preparation, &event.branch_entries) {
        return Err(format!("the session cannot be cut at entry {first_kept_entry_id}"));
    }
    if is_heavier(&summary, &first_kept_entry_id, &event.branch_entries, counter) {
        return Err("the summary is heavier than what it stands for".to_owned());
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

/// Returns whether a summary and what is kept from an entry on weigh more than the context does now.
fn is_heavier(summary: &str, first_kept: &EntryId, entries: &[Entry], counter: &dyn TokenCounter) -> bool {
    let path: Vec<&Entry> = entries.iter().collect();
    let tail = path.iter().rposition(|entry| entry.id == *first_kept).map_or(&[][..], |at| &path[at..]);
    let tokens = |path| estimate_context(path, counter).estimated_tokens;
    counter.text(summary).saturating_add(tokens(tail)) > tokens(&path)
}

/// Returns whether a path can be cut at an entry, and not before what the last compaction kept.
fn can_be_kept(id: &EntryId, preparation: &CompactionPreparation, entries: &[Entry]) -> bool {
    if *id == preparation.first_kept_entry_id {
        return true;
    }
    let path: Vec<&Entry> = entries.iter().collect();
    cut_candidates(&path, kept_from(&path)..path.len()).into_iter().any(|at| path[at].id == *id)
}
