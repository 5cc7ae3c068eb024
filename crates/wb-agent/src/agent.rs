//! The agent: a transcript, a log, a model, tools, and an [`AgentContext`] that keeps it all within
//! the window.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wb_budget::{Family, FittedCounter, TokenEstimate};
use wb_conductor::{CompactionReport, Compactor, CondenseOpts, ReplyDraft, message_to_turn};
use wb_facts::Facts;
use wb_invoke::{Reply, StopReason};
use wb_message::markers::is_synthetic;
use wb_message::{Conversation, Message, ToolDescriptor, ToolVocabulary};
use wb_passes::Repair;
use wb_providers::{is_overflow_error, is_overflow_reply};
use wb_recall::{Recall, TOOL_NAME, descriptor};
use wb_session::{
    Compacted, EntryId, EntryKind, HookList, NavigateOpts, Request, SessionDriver, SettingsRead, StepNote,
    TreeNavigation,
};

use crate::answer::{Answer, Call, ask, message_of, request_of};
use crate::clock::now_ms;
use crate::error::AgentError;
use crate::journal::Journal;
use crate::model::Model;
use crate::tools::{STOPPED, ToolBox, ToolOutput};
use crate::validity;

/// The system prompt.
const SYSTEM: &str = "You are a coding agent in a terminal. You work in one folder, and paths are relative to it. \
Read before you write, change as little as is needed, and run what shows that a change works. \
Older messages are folded into a digest when the window fills; `recall` looks up their exact words.";

/// An event of the agent's work.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A piece of the model's text.
    Text(&'a str),
    /// A tool is run.
    Call {
        /// The tool.
        name: &'a str,
        /// Its arguments.
        input: &'a serde_json::Value,
    },
    /// A tool has answered.
    Result(&'a ToolOutput),
    /// The transcript was compacted, or could not be.
    Compacted(&'a CompactionReport),
    /// A hook compacted the session by this entry.
    CompactedByHook(&'a EntryId),
    /// A request is sent.
    Sent(&'a Conversation),
}

/// Receives events.
pub type Show<'a> = &'a mut (dyn FnMut(Event<'_>) + Send);

/// The end of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model has nothing more to do.
    Done,
    /// The user stopped it.
    Stopped,
}

/// An agent with one session.
#[derive(Debug)]
pub struct Agent {
    model: Model,
    tools: ToolBox,
    descriptors: Vec<ToolDescriptor>,
    driver: SessionDriver,
    log: PathBuf,
    limit_tokens: Option<u64>,
    /// The time of the model's last answer.
    answered_ms: i64,
}

impl Agent {
    /// Begins or resumes a session: calls that were interrupted are answered first.
    pub fn new(model: Model, tools: ToolBox, journal: Journal) -> Result<Self, AgentError> {
        Self::with_settings(model, tools, journal, &SettingsRead::default())
    }

    /// As [`Self::new`], with settings from files: when the session is compacted, by which steps,
    /// and how much stays.
    pub fn with_settings(
        model: Model,
        tools: ToolBox,
        journal: Journal,
        settings: &SettingsRead,
    ) -> Result<Self, AgentError> {
        let descriptors: Vec<ToolDescriptor> =
            tools.descriptors().into_iter().chain([descriptor()]).collect();
        let compactor = compactor(&model, settings)?;
        let limit_tokens = compactor.budget().ok().and_then(|budget| budget.window.map(|_| budget.limit));
        let context = settings.follow(compactor, &model.card).same_model(head(&descriptors), None);
        let Journal { session, path: log } = journal;
        let driver = SessionDriver::new(session, context, settings.settings.compaction)?;
        let mut agent = Self { model, tools, descriptors, driver, log, limit_tokens, answered_ms: 0 };
        agent.answer_open_calls()?;
        Ok(agent)
    }

    /// Adds the hooks of extensions, which are asked before the session is compacted or goes to
    /// another branch.
    #[must_use]
    pub fn with_hooks(self, hooks: HookList) -> Self {
        Self { driver: self.driver.with_hooks(hooks), ..self }
    }

    /// Answers calls that are no longer running.
    fn answer_open_calls(&mut self) -> Result<(), AgentError> {
        let mut repaired = self.messages().to_vec();
        let _ = Repair { in_flight: true, ..Repair::default() }.repair(&mut repaired);
        for answer in repaired.drain(self.messages().len().min(repaired.len())..) {
            self.append(answer, None)?;
        }
        Ok(())
    }

    /// Returns the transcript.
    pub fn messages(&self) -> &[Message] {
        self.driver.messages()
    }

    /// Returns what the session shows so far.
    pub fn facts(&self) -> &Facts {
        self.driver.facts()
    }

    /// Returns the file of the log.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Waits until the log is on the disk.
    pub fn sync(&mut self) -> Result<(), AgentError> {
        Ok(self.driver.sync()?)
    }

    /// Returns the session with its hooks and branches.
    pub fn driver(&mut self) -> &mut SessionDriver {
        &mut self.driver
    }

    /// Returns the note of the last compaction.
    pub fn last_step(&self) -> Option<&StepNote> {
        self.driver.last_step()
    }

    /// Returns how full the window is.
    pub fn estimate(&mut self) -> TokenEstimate {
        self.driver.estimate()
    }

    /// Returns the tokens above which the transcript is compacted.
    pub fn limit_tokens(&self) -> Option<u64> {
        self.limit_tokens
    }

    /// Adds the user's prompt, and works until the model has nothing more to do or the user stops
    /// it. After an error the transcript is whole, and the next prompt continues from there.
    pub async fn prompt(
        &mut self,
        text: &str,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<Ended, AgentError> {
        self.append(Message::User { content: text.into(), timestamp: now_ms() }, None)?;
        loop {
            self.make_room(show).await?;
            let conversation = self.request()?;
            show(Event::Sent(&conversation));
            let said = &mut |delta: &str| show(Event::Text(delta));
            let prompt_cache = self.driver.context().has_prompt_cache();
            match ask(self.model.invoker.as_ref(), conversation, prompt_cache, cancel, said).await {
                // The provider knows its window better than any count.
                Answer::Failed(error) if is_overflow_error(&error.message, None) => {
                    if !self.recover(cancel, show).await? {
                        return Err(error.into());
                    }
                }
                Answer::Whole(_, reply)
                    if self.left_no_room(&reply) && self.recover(cancel, show).await? => {}
                Answer::Whole(draft, reply) => {
                    if let Some(ended) = self.take(&draft, reply, cancel, show).await? {
                        return Ok(ended);
                    }
                }
                Answer::Stopped(text) => return self.stopped(&text),
                Answer::Failed(error) => return Err(error.into()),
            }
        }
    }

    /// Compacts because the provider refused the context; false where that was tried already.
    async fn recover(&mut self, cancel: &CancellationToken, show: Show<'_>) -> Result<bool, AgentError> {
        let Some(done) = self.driver.recover(cancel, now_ms()).await? else { return Ok(false) };
        report(&done, show);
        Ok(true)
    }

    /// Returns whether a reply was cut off before its first word, since the context filled the
    /// window.
    fn left_no_room(&self, reply: &Reply) -> bool {
        reply.stop == StopReason::MaxOutput && is_overflow_reply(reply, self.model.card.context_window)
    }

    /// Keeps the text until the user stopped it.
    fn stopped(&mut self, text: &str) -> Result<Ended, AgentError> {
        if !text.trim().is_empty() {
            self.append(Message::assistant(text), None)?;
        }
        Ok(Ended::Stopped)
    }

    /// Notices that the provider's cache has outlived its time since the last answer.
    fn note_idle_time(&mut self) {
        let idle = u64::try_from(now_ms().saturating_sub(self.answered_ms)).unwrap_or(0);
        if self.model.cache_life.is_some_and(|life| Duration::from_millis(idle) >= life) {
            self.driver.context().mark_cache_cold();
        }
    }

    /// Brings the transcript within the window: inserts a finished digest, compacts a full window,
    /// and above the threshold requests a digest in the background.
    async fn make_room(&mut self, show: Show<'_>) -> Result<(), AgentError> {
        self.note_idle_time();
        let done = self.driver.before_request(now_ms()).await?;
        for done in &done {
            report(done, show);
        }
        Ok(())
    }

    /// Builds the next request and checks it once more.
    fn request(&mut self) -> Result<Conversation, AgentError> {
        let TokenEstimate { context_tokens, context_window, .. } = self.estimate();
        if context_window > 0 && context_tokens > context_window {
            return Err(AgentError::TooLarge { tokens: context_tokens, window: context_window });
        }
        let turns = self.messages().iter().cloned().map(message_to_turn).collect();
        let conversation = Conversation { turns, ..head(&self.descriptors) };
        validity::check(&conversation, &self.model.dialects)?;
        Ok(conversation)
    }

    /// Adds an answer and runs its calls; nothing if the model is to be called again.
    async fn take(
        &mut self,
        draft: &ReplyDraft,
        reply: Reply,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<Option<Ended>, AgentError> {
        if let Some(more) = self.driver.context().continuation(draft) {
            more.into_iter().try_for_each(|message| self.append(message, None))?;
            return Ok(None);
        }
        self.answered_ms = now_ms();
        let (request, usage) = (request_of(&reply), reply.usage);
        let is_taken =
            |id: &str| self.messages().iter().flat_map(Message::calls).any(|(known, ..)| known == id);
        let n_entries = self.driver.session().tree().nodes().len();
        let (message, calls) = message_of(reply.blocks, &format!("call_{n_entries}"), is_taken);
        self.append(message, Some(request))?;
        self.driver.after_response(&usage);
        self.driver.context().whole_answer("");
        if calls.is_empty() {
            return Ok(Some(Ended::Done));
        }
        for call in calls {
            self.run(call, cancel, show).await?;
        }
        Ok(cancel.is_cancelled().then_some(Ended::Stopped))
    }

    /// Runs one call and adds its result; one that the user has stopped is answered too.
    async fn run(
        &mut self,
        call: Call,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<(), AgentError> {
        let output = match &call.input {
            _ if cancel.is_cancelled() => ToolOutput { text: STOPPED.to_owned(), is_error: true },
            Err(why) => ToolOutput { text: (*why).to_owned(), is_error: true },
            Ok(input) => {
                show(Event::Call { name: &call.name, input });
                // A pending digest makes progress here, since most tools never wait.
                tokio::task::yield_now().await;
                match call.name.as_str() {
                    TOOL_NAME => self.look_up(input),
                    name => self.tools.run(name, input, cancel).await,
                }
            }
        };
        show(Event::Result(&output));
        let result = if output.is_error { Message::tool_error } else { Message::tool_result };
        self.append(result(call.id, call.name, output.text), None)
    }

    fn look_up(&self, input: &serde_json::Value) -> ToolOutput {
        let answer = self.recall().map_err(|error| error.to_string());
        match answer.and_then(|recall| recall.call(input).map_err(|error| error.to_string())) {
            Ok(text) => ToolOutput { text, is_error: false },
            Err(text) => ToolOutput { text, is_error: true },
        }
    }

    /// Indexes all that was said on this branch, across its compactions.
    pub fn recall(&self) -> Result<Recall, AgentError> {
        let session = self.driver.session();
        let mut recall = Recall::empty(ToolVocabulary::UNIVERSAL);
        for node in session.path()? {
            if let EntryKind::Message(logged) = session.entry(&node.id)?.kind {
                recall.push(logged.message);
            }
        }
        let n_visible = self.messages().iter().filter(|message| !is_synthetic(message)).count();
        let first_visible = if self.n_digests() > 0 { recall.len().saturating_sub(n_visible) } else { 0 };
        Ok(recall.visible_from(first_visible))
    }

    fn append(&mut self, message: Message, request: Option<Request>) -> Result<(), AgentError> {
        Ok(self.driver.append(message, request, now_ms())?)
    }

    /// Compacts now, with a digest by the model if it can write one; `instructions` name further
    /// content for the digest. They have no effect without a model.
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<Compacted, AgentError> {
        self.note_idle_time();
        let instructions = instructions.map(str::to_owned);
        let opts = CondenseOpts { instructions, cancel: Some(cancel.clone()), ..CondenseOpts::default() };
        let done = self.driver.compact(&opts, now_ms()).await?;
        report(&done, show);
        Ok(done)
    }

    /// Undoes the last compaction; false where there is none. What is over the limit then is
    /// compacted again before the next request.
    pub fn undo(&mut self) -> Result<bool, AgentError> {
        Ok(self.driver.undo(now_ms())?)
    }

    /// Goes to another entry of the session, as [`SessionDriver::navigate`] does, with a summary of
    /// the branch that is left if the user wants one.
    pub async fn navigate(
        &mut self,
        target: &EntryId,
        user_wants_summary: bool,
    ) -> Result<TreeNavigation, AgentError> {
        let invoker = self.model.writes_digests.then(|| Arc::clone(&self.model.invoker));
        let opts = NavigateOpts { user_wants_summary, ..NavigateOpts::default() };
        Ok(self.driver.navigate(target, invoker.as_deref(), opts, now_ms()).await?)
    }

    /// Returns how many messages are digests.
    pub fn n_digests(&self) -> usize {
        self.messages().iter().filter(|message| is_synthetic(message)).count()
    }

    /// Returns whether the model writes digests.
    pub fn writes_digests(&self) -> bool {
        self.model.writes_digests
    }

    /// Returns the folder that the agent works in.
    pub fn folder(&self) -> &Path {
        self.tools.sandbox().root()
    }
}

fn head(descriptors: &[ToolDescriptor]) -> Conversation {
    let (system, tools) = (Some(SYSTEM.to_owned()), Some(descriptors.to_vec()));
    Conversation { system, turns: Vec::new(), tools }
}

fn report(done: &Compacted, show: Show<'_>) {
    match done {
        Compacted::ByEngine(report) => show(Event::Compacted(report)),
        Compacted::ByHook(entry) => show(Event::CompactedByHook(entry)),
        _ => {}
    }
}

/// Files are not restored after a compaction: a log has no place for them between the digest and
/// the tail, and the model can read them again.
fn compactor(model: &Model, settings: &SettingsRead) -> Result<Compactor, AgentError> {
    let counter = FittedCounter::from_model_id(&model.card.id).unwrap_or(FittedCounter::new(Family::Other));
    let invoker = model.writes_digests.then(|| Arc::clone(&model.invoker));
    let compactor = settings.compactor(&model.card, invoker)?;
    Ok(compactor.counter(Arc::new(counter)).max_restored(0).recall_tool(TOOL_NAME))
}
