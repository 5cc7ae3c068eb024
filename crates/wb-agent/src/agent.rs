//! The agent: a transcript, a log, a model, tools, and an [`AgentContext`] that keeps it all within the window.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wb_budget::{Family, FittedCounter, ModelCard, TokenEstimate};
use wb_conductor::{
    AgentContext, CompactionReport, Compactor, CondenseOpts, Pipeline, ReplyDraft, message_to_turn,
};
use wb_message::markers::is_synthetic;
use wb_message::{Conversation, Message, ToolDescriptor, ToolVocabulary};
use wb_passes::Repair;
use wb_providers::is_overflow_error;
use wb_session::{EntryId, Request};
use wb_summarize::{Facts, Reply};

use crate::answer::{Answer, Call, ask, message_of, request_of};
use crate::clock::now_ms;
use crate::error::AgentError;
use crate::journal::{Journal, StepNote};
use crate::model::Model;
use crate::step::Folded;
use crate::tools::{STOPPED, ToolBox, ToolOutput};
use crate::validity;

/// What the model is told first.
const SYSTEM: &str = "You are a coding agent in a terminal. You work in one folder, and paths are relative to it. \
Read before you write, change as little as is needed, and run what shows that a change works. \
Older messages are folded into a digest when the window fills; what you need again can be read again.";

/// What happens while the agent works.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The model said more.
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
    /// A request is sent.
    Sent(&'a Conversation),
}

/// Takes what happens.
pub type Show<'a> = &'a mut (dyn FnMut(Event<'_>) + Send);

/// How a prompt ended.
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
    compactor: Compactor,
    context: AgentContext,
    journal: Journal,
    messages: Vec<Message>,
    /// The entry of each message.
    entries: Vec<EntryId>,
    last_step: Option<StepNote>,
    /// When the model has answered last.
    answered_ms: i64,
}

impl Agent {
    /// Begins a session, or goes on with one: calls that were under way when it was left are answered first.
    pub fn new(model: Model, tools: ToolBox, journal: Journal) -> Result<Self, AgentError> {
        let descriptors = tools.descriptors();
        let compactor = compactor(&model);
        let opened = journal.load(&ToolVocabulary::UNIVERSAL)?;
        let context = follow(&compactor, &descriptors).resume(&opened.messages, opened.facts);
        let (messages, entries) = (opened.messages, opened.entries);
        let mut agent = Self {
            model,
            tools,
            descriptors,
            compactor,
            context,
            journal,
            messages,
            entries,
            last_step: opened.last_step,
            answered_ms: 0,
        };
        agent.answer_open_calls()?;
        Ok(agent)
    }

    /// Answers calls that nobody is running any more.
    fn answer_open_calls(&mut self) -> Result<(), AgentError> {
        let mut repaired = self.messages.clone();
        let _ = Repair { in_flight: true, ..Repair::default() }.repair(&mut repaired);
        for answer in repaired.drain(self.messages.len().min(repaired.len())..) {
            self.append(answer, None)?;
        }
        Ok(())
    }

    /// Returns the transcript.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns what the session shows so far.
    pub fn facts(&self) -> &Facts {
        self.context.facts()
    }

    /// Returns the log.
    pub fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// Returns what was noted of the last compaction.
    pub fn last_step(&self) -> Option<&StepNote> {
        self.last_step.as_ref()
    }

    /// Tells how full the window is.
    pub fn estimate(&mut self) -> TokenEstimate {
        self.context.estimate(&self.messages)
    }

    /// Returns the tokens above which the transcript is compacted.
    pub fn limit_tokens(&self) -> Option<u64> {
        self.compactor.budget().ok().and_then(|budget| budget.window.map(|_| budget.limit))
    }

    /// Takes what the user says, and works until the model has nothing more to do or the user stops it. After an error the
    /// transcript is whole, and the next prompt goes on from there.
    pub async fn prompt(
        &mut self,
        text: &str,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<Ended, AgentError> {
        self.append(Message::User { content: text.into(), timestamp: now_ms() }, None)?;
        let mut has_recovered = false;
        loop {
            self.make_room(show)?;
            let conversation = self.request()?;
            show(Event::Sent(&conversation));
            let said = &mut |delta: &str| show(Event::Text(delta));
            match ask(self.model.invoker.as_ref(), conversation, cancel, said).await {
                Answer::Whole(draft, reply) => {
                    has_recovered = false;
                    if let Some(ended) = self.take(&draft, reply, cancel, show).await? {
                        return Ok(ended);
                    }
                }
                Answer::Stopped(text) => return self.stopped(&text),
                // The provider knows its window better than any count.
                Answer::Failed(error) if !has_recovered && is_overflow_error(&error.message, None) => {
                    has_recovered = true;
                    let report = self.context.compact_locally(&mut self.messages, &forced(cancel));
                    self.record(&report, show)?;
                }
                Answer::Failed(error) => return Err(error.into()),
            }
        }
    }

    /// Keeps what was said until the user stopped it.
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
            self.context.cache_is_cold();
        }
    }

    /// Brings the transcript within the window: a digest that has come is put in, a full window is compacted, and above
    /// the threshold a digest is asked for meanwhile.
    fn make_room(&mut self, show: Show<'_>) -> Result<(), AgentError> {
        self.note_idle_time();
        if let Some(report) = self.context.finish(&mut self.messages) {
            self.record(&report, show)?;
        }
        let reports = if self.context.is_over(&self.messages) {
            vec![self.context.compact_locally(&mut self.messages, &CondenseOpts::default())]
        } else {
            self.context.before_request(&mut self.messages)
        };
        reports.iter().try_for_each(|report| self.record(report, show))
    }

    /// Builds the next request, and looks at it a last time.
    fn request(&mut self) -> Result<Conversation, AgentError> {
        let TokenEstimate { context_tokens, context_window, .. } = self.estimate();
        if context_window > 0 && context_tokens > context_window {
            return Err(AgentError::TooLarge { tokens: context_tokens, window: context_window });
        }
        let turns = self.messages.iter().cloned().map(message_to_turn).collect();
        let conversation = Conversation { turns, ..head(&self.descriptors) };
        validity::check(&conversation, &self.model.dialects)?;
        Ok(conversation)
    }

    /// Takes an answer in and runs its calls; nothing where the model is to be asked again.
    async fn take(
        &mut self,
        draft: &ReplyDraft,
        reply: Reply,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<Option<Ended>, AgentError> {
        if let Some(more) = self.context.continued(draft) {
            more.into_iter().try_for_each(|message| self.append(message, None))?;
            return Ok(None);
        }
        self.answered_ms = now_ms();
        let (request, usage) = (request_of(&reply), reply.usage);
        let is_taken =
            |id: &str| self.messages.iter().flat_map(Message::calls).any(|(known, ..)| known == id);
        let (message, calls) =
            message_of(reply.blocks, &format!("call_{}", self.journal.n_entries()), is_taken);
        self.append(message, Some(request))?;
        self.context.after_response(&self.messages, &usage);
        self.context.whole_answer("");
        if calls.is_empty() {
            return Ok(Some(Ended::Done));
        }
        for call in calls {
            self.run(call, cancel, show).await?;
        }
        Ok(cancel.is_cancelled().then_some(Ended::Stopped))
    }

    /// Runs one call and takes its result in; one that the user has stopped is answered too.
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
                // A digest that is asked for meanwhile gets its time here, since most tools never wait.
                tokio::task::yield_now().await;
                self.tools.run(&call.name, input, cancel).await
            }
        };
        show(Event::Result(&output));
        let result = if output.is_error { Message::tool_error } else { Message::tool_result };
        self.append(result(call.id, call.name, output.text), None)
    }

    /// Writes a message into the log, then into the transcript.
    fn append(&mut self, message: Message, request: Option<Request>) -> Result<(), AgentError> {
        let entry = self.journal.append(&message, request)?;
        self.messages.push(message);
        self.entries.push(entry);
        Ok(())
    }

    /// Writes a compaction into the log and shows it.
    fn record(&mut self, report: &CompactionReport, show: Show<'_>) -> Result<(), AgentError> {
        if let Some(Folded { step, entries, is_touched }) =
            Folded::of(report, &mut self.messages, &self.entries)
        {
            let note = StepNote::of(report);
            let digest = self.journal.append_step(step, &note)?;
            self.entries = digest.into_iter().chain(entries).collect();
            self.last_step = Some(note);
            if is_touched {
                self.follow_anew();
            }
        }
        show(Event::Compacted(report));
        Ok(())
    }

    /// Follows a transcript that was changed elsewhere; what the session has shown stays known.
    fn follow_anew(&mut self) {
        self.context.cancel();
        let facts = self.context.facts().clone();
        let context = std::mem::replace(&mut self.context, AgentContext::new(ModelCard::default()));
        self.context = context.resume(&self.messages, facts);
    }

    /// Compacts now, in the model's words where there is one that can write; instructions say what the digest is to hold
    /// besides. Without a model they cannot be followed.
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
        cancel: &CancellationToken,
        show: Show<'_>,
    ) -> Result<CompactionReport, AgentError> {
        self.context.cancel();
        self.note_idle_time();
        let opts = CondenseOpts { instructions: instructions.map(str::to_owned), ..forced(cancel) };
        let report = Box::pin(self.context.compact(&mut self.messages, &opts)).await;
        self.record(&report, show)?;
        Ok(report)
    }

    /// Takes the last compaction back; false where there is none. What is over the limit then is compacted again before the
    /// next request.
    pub fn undo(&mut self) -> Result<bool, AgentError> {
        self.context.cancel();
        if !self.journal.take_back()? {
            return Ok(false);
        }
        (self.messages, self.entries) = self.journal.context()?;
        self.last_step = None;
        self.follow_anew();
        Ok(true)
    }

    /// Returns how many messages stand for others.
    pub fn n_digests(&self) -> usize {
        self.messages.iter().filter(|message| is_synthetic(message)).count()
    }

    /// Tells whether the model writes digests.
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

/// Files are not given back after a compaction: a log has no place for them between the digest and the tail, and the
/// model can read them again.
fn compactor(model: &Model) -> Compactor {
    let pipeline = Pipeline::default().max_restored(0);
    let counter = FittedCounter::of_model(&model.card.id).unwrap_or(FittedCounter::new(Family::Other));
    let compactor = Compactor::new().card(model.card.clone()).counter(Arc::new(counter)).pipeline(pipeline);
    if model.writes_digests { compactor.invoke(Arc::clone(&model.invoker)) } else { compactor }
}

/// Follows a transcript; a digest is asked for in the background from three quarters of the limit on.
fn follow(compactor: &Compactor, descriptors: &[ToolDescriptor]) -> AgentContext {
    let limit = compactor.budget().ok().map(|budget| budget.limit);
    let context = AgentContext::with(compactor.clone()).same_model(head(descriptors), None);
    context.start_above(limit.map(|limit| limit / 4 * 3))
}

fn forced(cancel: &CancellationToken) -> CondenseOpts {
    CondenseOpts { force: true, cancel: Some(cancel.clone()), ..CondenseOpts::default() }
}
