//! A session that the engine keeps within its model's window.

use std::fmt;

use tokio_util::sync::CancellationToken;
use wb_budget::{TokenEstimate, Usage};
use wb_conductor::{AgentContext, CompactionReport, CondenseOpts, Ready};
use wb_facts::Facts;
use wb_invoke::ModelInvoker;
use wb_message::{Message, ToolVocabulary};
use wb_summarize::{CondenseScope, digest_message};

use super::before_compact::{DriverError, Planned, Question, ask_hooks};
use super::hooks::{CompactionReason, HookList, SessionCompactEvent, SessionCompactFailedEvent};
use super::navigate::{NavigateOpts, TreeNavigation, navigate_tree};
use super::step::{Folded, StepNote, details, is_by_model, undo_last};
use crate::document2::compact::append_compaction;
use crate::document2::compaction_result::CompactionOutcome;
use crate::document2::files::FileOps;
use crate::document2::settings::CompactionSettings;
use crate::entry::{Compaction, CustomMessage, Entry, EntryKind, EntryTag, Logged, Request};
use crate::error::SessionError;
use crate::id::EntryId;
use crate::session::Session;

/// Keeps a session within its model's window: an [`AgentContext`] decides and compacts, and each
/// compaction becomes entries of the session, from which the same transcript is read again.
///
/// Times are milliseconds since the Unix epoch.
///
/// ```
/// use wb_budget::ModelCard;
/// use wb_conductor::AgentContext;
/// use wb_message::Message;
/// use wb_session::store::memory::MemoryStore;
/// use wb_session::{CompactionSettings, IdSource, NewSession, Session, SessionDriver};
///
/// # futures::executor::block_on(async {
/// let store = Box::new(MemoryStore::default());
/// let session = Session::create(store, &NewSession::default(), IdSource::new(7))?;
/// let context = AgentContext::new(ModelCard::with_window(12_000));
/// let mut driver = SessionDriver::new(session, context, CompactionSettings::default())?;
/// for n in 0..60 {
///     driver.append(Message::user(format!("Step {n}: {}", "x".repeat(900))), None, 1)?;
///     driver.before_request(1).await?;
///     driver.append(Message::assistant("Done."), None, 2)?;
/// }
/// let n_messages = driver.messages().len();
/// assert!(n_messages < 120 && driver.undo(3)?);
/// assert!(driver.messages().len() > n_messages);
/// # Ok::<(), wb_session::DriverError>(())
/// # })?;
/// # Ok::<(), wb_session::DriverError>(())
/// ```
#[derive(Debug)]
pub struct SessionDriver {
    session: Session,
    context: AgentContext,
    settings: CompactionSettings,
    hooks: HookList,
    messages: Vec<Message>,
    /// The entry of each message.
    entries: Vec<EntryId>,
    last_step: Option<StepNote>,
    has_recovered: bool,
}

/// The outcome of a compaction.
#[derive(Debug)]
#[non_exhaustive]
pub enum Compacted {
    /// The engine compacted the transcript, or left it with a reason.
    ByEngine(Box<CompactionReport>),
    /// A hook made the compaction, which is this entry.
    ByHook(EntryId),
    /// A hook cancelled it.
    Cancelled,
}

impl fmt::Display for Compacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByEngine(report) => report.fmt(f),
            Self::ByHook(entry) => write!(f, "compacted by a hook, in entry {entry}"),
            Self::Cancelled => f.write_str("unchanged (a hook cancelled the compaction)"),
        }
    }
}

/// The transcript of a session.
#[derive(Debug, Default)]
struct Loaded {
    messages: Vec<Message>,
    entries: Vec<EntryId>,
    facts: Facts,
    last_step: Option<StepNote>,
}

impl SessionDriver {
    /// Follows a session at its leaf. `settings` say whether it is compacted automatically; how
    /// much stays is up to the context's policy.
    pub fn new(
        session: Session,
        context: AgentContext,
        settings: CompactionSettings,
    ) -> Result<Self, SessionError> {
        let Loaded { messages, entries, facts, last_step } = Loaded::read(&session)?;
        let context = context.resume(&messages, facts);
        let hooks = HookList::default();
        Ok(Self { session, context, settings, hooks, messages, entries, last_step, has_recovered: false })
    }

    /// Adds the hooks of extensions.
    #[must_use]
    pub fn with_hooks(self, hooks: HookList) -> Self {
        Self { hooks, ..self }
    }

    /// Returns the hooks, and through them what went wrong with them.
    pub fn hooks(&mut self) -> &mut HookList {
        &mut self.hooks
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the messages as the model sees them.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the context that follows the messages.
    pub fn context(&mut self) -> &mut AgentContext {
        &mut self.context
    }

    /// Returns what the session shows so far, compacted parts included.
    pub fn facts(&self) -> &Facts {
        self.context.facts()
    }

    /// Returns the note of the last compaction.
    pub fn last_step(&self) -> Option<&StepNote> {
        self.last_step.as_ref()
    }

    /// Returns how full the window is.
    pub fn estimate(&mut self) -> TokenEstimate {
        self.context.estimate(&self.messages)
    }

    /// Waits until the session is on the disk.
    pub fn sync(&mut self) -> Result<(), SessionError> {
        self.session.sync()
    }

    /// Appends a message, with the request that it answers: first to the session, then to the
    /// transcript. A prompt without a time gets this one.
    pub fn append(
        &mut self,
        mut message: Message,
        request: Option<Request>,
        now_ms: i64,
    ) -> Result<(), SessionError> {
        if let Message::User { timestamp, .. } = &mut message {
            self.has_recovered = false;
            *timestamp = if *timestamp == 0 { now_ms } else { *timestamp };
        }
        let kind = match &message {
            Message::Custom { custom_type, content } => EntryKind::CustomMessage(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: false,
                details: None,
            }),
            message => EntryKind::Message(Logged { message: message.clone(), request, is_excluded: false }),
        };
        self.entries.push(self.session.append(&kind, now_ms)?);
        self.messages.push(message);
        Ok(())
    }

    /// Records the provider's count for the answer at the end of the transcript.
    pub fn after_response(&mut self, usage: &Usage) {
        self.has_recovered = false;
        self.context.after_response(&self.messages, usage);
    }

    /// Brings the transcript within its budget before a request: inserts a finished background
    /// digest, compacts without a model if that is not enough, and requests a digest in the
    /// background if one is due. It waits only for hooks.
    ///
    /// Nothing is compacted if the settings' `enabled` is off.
    pub async fn before_request(&mut self, now_ms: i64) -> Result<Vec<Compacted>, DriverError> {
        let mut done = Vec::new();
        if !self.settings.enabled {
            return Ok(done);
        }
        let opts = CondenseOpts::default();
        let reason = CompactionReason::Threshold;
        if let Some(ready) = self.context.take_finished() {
            done.push(self.settle(Ok(ready), reason, &opts, now_ms).await?);
        }
        if let Some(planned) = self.context.plan_request(&self.messages) {
            done.push(self.settle(planned, reason, &opts, now_ms).await?);
        }
        self.context.note_sent(&self.messages);
        Ok(done)
    }

    /// Compacts without a model because the provider refused the context; does nothing a second
    /// time until an answer or a prompt arrives, or if the settings' `enabled` is off.
    pub async fn recover(
        &mut self,
        cancel: &CancellationToken,
        now_ms: i64,
    ) -> Result<Option<Compacted>, DriverError> {
        if self.has_recovered || !self.settings.enabled {
            return Ok(None);
        }
        self.has_recovered = true;
        self.context.cancel();
        let opts = CondenseOpts { overflow: true, cancel: Some(cancel.clone()), ..CondenseOpts::default() };
        let planned = self.context.plan_locally(&self.messages, &opts);
        self.settle(planned, CompactionReason::Overflow, &opts, now_ms).await.map(Some)
    }

    /// Compacts now, regardless of the gate; with the model if there is one. The hooks are called
    /// before the model.
    pub async fn compact(&mut self, opts: &CondenseOpts, now_ms: i64) -> Result<Compacted, DriverError> {
        self.context.cancel();
        let opts = CondenseOpts { force: true, ..opts.clone() };
        let asked = self.context.ask(&self.messages, &opts);
        match asked.map(|(cut, reply)| (cut, Box::pin(reply))) {
            Ok(change) => Box::pin(self.settle_reply(change, CompactionReason::Manual, &opts, now_ms)).await,
            Err(report) => Ok(Compacted::ByEngine(report)),
        }
    }

    /// Undoes the last compaction; false if there is none. A transcript over the limit is compacted
    /// again before the next request.
    pub fn undo(&mut self, now_ms: i64) -> Result<bool, SessionError> {
        self.context.cancel();
        if !undo_last(&mut self.session, now_ms)? {
            return Ok(false);
        }
        let facts = self.facts().clone();
        self.reload(Some(facts))?;
        Ok(true)
    }

    /// Goes to another entry of the session as [`navigate_tree`] does, and marks it if no summary
    /// was appended there, so that the session resumes there when it is opened again.
    pub async fn navigate(
        &mut self,
        target: &EntryId,
        invoker: Option<&dyn ModelInvoker>,
        opts: NavigateOpts,
        now_ms: i64,
    ) -> Result<TreeNavigation, DriverError> {
        self.context.cancel();
        let gone = navigate_tree(&mut self.session, target, invoker, &mut self.hooks, opts, now_ms).await?;
        if gone.new_leaf_id != gone.old_leaf_id && gone.summary_entry_id.is_none() {
            self.session.mark_leaf(gone.new_leaf_id.as_ref(), now_ms)?;
        }
        self.reload(None)?;
        Ok(gone)
    }

    /// Asks the hooks about a planned compaction, and applies it unless one decides differently.
    async fn settle(
        &mut self,
        planned: Result<Ready, Box<CompactionReport>>,
        reason: CompactionReason,
        opts: &CondenseOpts,
        now_ms: i64,
    ) -> Result<Compacted, DriverError> {
        match planned {
            Ok(change) => {
                let change = (change.cut(), std::future::ready(change));
                Box::pin(self.settle_reply(change, reason, opts, now_ms)).await
            }
            Err(report) => Ok(Compacted::ByEngine(report)),
        }
    }

    /// Does the same for a change that may wait for a model, after the hooks.
    async fn settle_reply(
        &mut self,
        (cut, change): (Option<usize>, impl Future<Output = Ready>),
        reason: CompactionReason,
        opts: &CondenseOpts,
        now_ms: i64,
    ) -> Result<Compacted, DriverError> {
        if let Some(cut) = cut.filter(|_| !self.hooks.is_empty())
            && let Some(done) = self.ask_hooks(cut, reason, opts, now_ms).await?
        {
            return Ok(done);
        }
        let report = self.context.apply(change.await, &mut self.messages);
        self.record(report, reason, now_ms).await
    }

    /// Asks the hooks about a compaction of all before `cut`; nothing if the engine makes it.
    async fn ask_hooks(
        &mut self,
        cut: usize,
        reason: CompactionReason,
        opts: &CondenseOpts,
        now_ms: i64,
    ) -> Result<Option<Compacted>, DriverError> {
        let branch_entries = self.session.entries_in_reach(self.session.leaf())?;
        let mut file_ops = FileOps::default();
        let n_head = self.entries.get(cut).and_then(|id| branch_entries.iter().position(|it| it.id == *id));
        let is_digest = |entry: &&Entry| entry.kind.tag() == EntryTag::Compaction;
        let head = branch_entries.iter().take(n_head.unwrap_or(branch_entries.len()));
        head.chain(branch_entries.iter().rfind(is_digest)).for_each(|entry| file_ops.note_summary(entry));
        let folded = &self.messages[..cut.min(self.messages.len())];
        for message in folded {
            file_ops.note_calls(message);
        }
        let planned = Planned {
            messages: &self.messages,
            entries: &self.entries,
            cut,
            context_tokens: self.context.tracker().context_tokens(),
        };
        let Some(preparation) = planned.preparation(file_ops, self.settings) else { return Ok(None) };
        let question = Question {
            planned,
            preparation,
            branch_entries,
            custom_instructions: opts.instructions.clone(),
            signal: opts.cancel.clone().unwrap_or_default(),
            reason,
        };
        let counter = self.context.tracker().calibrated();
        let weigh = |message: &Message| counter.message(message);
        match ask_hooks(&mut self.hooks, question, &weigh).await {
            Ok(None) => Ok(None),
            Ok(Some(outcome)) => self.record_of_hook(outcome, reason, now_ms).await.map(Some),
            Err(error) => {
                let event = SessionCompactFailedEvent {
                    reason,
                    error_message: error.to_string(),
                    aborted: error.is_abort(),
                    will_retry: reason == CompactionReason::Overflow,
                    from_extension: false,
                };
                let failed = ("session_compact_failed", &event);
                self.hooks.notify(failed, |hooks, event| hooks.session_compact_failed(event)).await;
                if matches!(error, DriverError::CancelledByHook) {
                    Ok(Some(Compacted::Cancelled))
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Appends the compaction of a hook, and reads the transcript again.
    async fn record_of_hook(
        &mut self,
        outcome: CompactionOutcome,
        reason: CompactionReason,
        now_ms: i64,
    ) -> Result<Compacted, DriverError> {
        self.context.cancel();
        let note = StepNote { report: "compacted by a hook".to_owned(), ..StepNote::default() };
        note.append(&mut self.session, now_ms)?;
        let entry = append_compaction(&mut self.session, outcome, now_ms)?;
        let facts = self.facts().clone();
        self.reload(Some(facts))?;
        self.announce(Some(&entry), true, reason).await?;
        Ok(Compacted::ByHook(entry))
    }

    /// Writes a compaction of the engine into the session.
    async fn record(
        &mut self,
        report: CompactionReport,
        reason: CompactionReason,
        now_ms: i64,
    ) -> Result<Compacted, DriverError> {
        let Some(undo) = &report.undo else { return Ok(Compacted::ByEngine(Box::new(report))) };
        let mut file_ops = FileOps::default();
        let last = self.session.path()?.into_iter().rfind(|node| node.tag == EntryTag::Compaction);
        if let Some(last) = last {
            file_ops.note_summary(&self.session.entry(&last.id)?);
        }
        undo.folded().for_each(|message| file_ops.note_calls(message));
        let note = StepNote::from(&report);
        let details = details(&file_ops.lists(), note.by_model);
        let mut folded = Folded::new(undo, report.context_tokens, &mut self.messages, &self.entries, details);
        let digest = folded.append(&mut self.session, &note, now_ms)?;
        let Folded { entries, is_touched, .. } = folded;
        self.entries = entries;
        self.last_step = Some(note);
        if is_touched {
            let facts = self.facts().clone();
            self.follow(facts);
        }
        self.announce(digest.as_ref(), false, reason).await?;
        Ok(Compacted::ByEngine(Box::new(report)))
    }

    /// Reports a compaction to the hooks after it was appended.
    async fn announce(
        &mut self,
        entry: Option<&EntryId>,
        from_extension: bool,
        reason: CompactionReason,
    ) -> Result<(), SessionError> {
        let Some(entry) = entry.filter(|_| !self.hooks.is_empty()) else { return Ok(()) };
        let compaction_entry = self.session.entry(entry)?;
        let will_retry = reason == CompactionReason::Overflow;
        let event = SessionCompactEvent { compaction_entry, from_extension, reason, will_retry };
        self.hooks.notify(("session_compact", &event), |hooks, event| hooks.session_compact(event)).await;
        Ok(())
    }

    /// Reads the transcript again; the facts too unless they are known.
    fn reload(&mut self, facts: Option<Facts>) -> Result<(), SessionError> {
        let loaded = Loaded::read(&self.session)?;
        (self.messages, self.entries, self.last_step) = (loaded.messages, loaded.entries, loaded.last_step);
        self.follow(facts.unwrap_or(loaded.facts));
        Ok(())
    }

    /// Follows a transcript that was changed elsewhere.
    fn follow(&mut self, facts: Facts) {
        self.context.cancel();
        self.context.restart(&self.messages, facts);
    }
}

impl Loaded {
    /// Reads what the model sees, and the facts of the whole path to it.
    fn read(session: &Session) -> Result<Self, SessionError> {
        let context = session.context(session.leaf())?;
        let messages = context.messages.into_iter().map(as_sent).collect();
        let mut loaded = Self { messages, entries: context.entries, ..Self::default() };
        let vocabulary = &ToolVocabulary::UNIVERSAL;
        for node in session.path()? {
            if !node.tag.is_visible() && node.tag != EntryTag::Custom {
                continue;
            }
            match session.entry(&node.id)?.kind {
                EntryKind::Message(Logged { message, .. }) => loaded.facts.observe(&message, vocabulary),
                EntryKind::CustomMessage(it) => {
                    loaded.facts.observe(&Message::custom(it.custom_type, it.content), vocabulary);
                }
                EntryKind::Compaction(Compaction { summary, details, .. })
                    if is_by_model(details.as_ref()) =>
                {
                    loaded.facts.observe_judgement(&summary);
                }
                kind => loaded.last_step = StepNote::parse(&kind).or(loaded.last_step),
            }
        }
        Ok(loaded)
    }
}

/// Converts a message of the log into the form in which it is sent.
fn as_sent(message: Message) -> Message {
    match message {
        Message::CompactionSummary { summary, .. } => digest_message(CondenseScope::Session, summary, 0),
        message => message,
    }
}
