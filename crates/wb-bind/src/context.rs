//! The messages of an agent's loop, kept within their window.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use wb_facts::Facts;
use wb_formats::newest;

use crate::call::{Call, CallError, Operation, Options, VERSION};
use crate::compaction_progress::OnProgress;
use crate::input::{Input, not_read};
use crate::operations::compact::{CompactStep, compact_with};
use crate::operations::weigh::weigh;

/// The messages of a loop: what was said is remembered across compactions, and the last ones can be
/// undone. Clones share the messages.
///
/// ```
/// use wb_bind::Context;
///
/// let context = Context::new(r#"{"format": "openai-chat", "options": {"window": 16000}}"#)?;
/// context.push(r#"[{"role": "user", "content": "List the files."}]"#)?;
/// assert!(!context.is_over_budget()?);
/// # Ok::<(), wb_bind::CallError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    format: Option<String>,
    options: Options,
    state: Arc<Mutex<State>>,
}

/// The messages of a context, and their past.
#[derive(Debug, Default)]
struct State {
    messages: Vec<Box<RawValue>>,
    facts: Arc<Facts>,
    /// The messages before each compaction, and how many were left after it.
    undo: Vec<(Vec<Box<RawValue>>, usize)>,
    /// Counts compactions and undos.
    n_changes: u64,
}

/// A compaction of the messages that a context had when it began.
///
/// The work takes no lock: messages may be added meanwhile, and stay.
#[derive(Clone, Debug)]
pub struct Compaction {
    context: Context,
    list: Box<RawValue>,
    n_messages: usize,
    facts: Arc<Facts>,
    n_changes: u64,
}

/// The figures of a context.
#[derive(Debug, Serialize)]
struct Gate<T> {
    #[serde(flatten)]
    weighed: T,
    compactions: usize,
}

impl Context {
    /// Creates a context without messages from the `format` and the `options` of a call.
    pub fn new(settings: &str) -> Result<Self, CallError> {
        let wrong = |error| CallError::call(error, "send an object with format and options");
        let settings: Settings = serde_json::from_str(settings).map_err(wrong)?;
        Ok(Self { format: settings.format, options: settings.options, state: Arc::default() })
    }

    /// Adds messages: a list in the format.
    pub fn push(&self, list: &str) -> Result<(), CallError> {
        let wrong = |error| CallError::call(error, "send a list of messages");
        let list: Vec<Box<RawValue>> = serde_json::from_str(list).map_err(wrong)?;
        if list.is_empty() {
            return Ok(());
        }
        let text = joined(&list)?;
        let input = Input::from_call(&self.call(Operation::Compact, &text))?;
        let document = input.document.as_ref();
        let view =
            newest(document).and_then(|name| document.view(&name)).map_err(|error| not_read(&error))?;
        let mut state = self.state();
        let facts = Arc::make_mut(&mut state.facts);
        view.messages.iter().for_each(|message| facts.observe(message, &view.vocabulary));
        state.messages.extend(list);
        Ok(())
    }

    /// Returns the messages as a list in JSON.
    pub fn messages(&self) -> Result<String, CallError> {
        Ok(joined(&self.state().messages)?.get().to_owned())
    }

    /// Returns whether the messages are over budget.
    pub fn is_over_budget(&self) -> Result<bool, CallError> {
        let text = joined(&self.state().messages)?;
        Ok(weigh(&self.call(Operation::Weigh, &text))?.over_budget)
    }

    /// Returns the weight of the messages, as a call of `weigh` does, and the number of
    /// compactions.
    pub fn gate(&self) -> String {
        let (text, compactions) = {
            let state = self.state();
            (joined(&state.messages), state.undo.len())
        };
        let weighed = text.and_then(|text| weigh(&self.call(Operation::Weigh, &text)));
        crate::json(weighed.map(|weighed| Gate { weighed, compactions }))
    }

    /// Compacts the messages if they are over budget, and returns what a call of `compact` does.
    pub fn compact(&self) -> String {
        self.begin().map_or_else(|error| crate::json::<()>(Err(error)), |run| run.step(None, &mut |_| {}))
    }

    /// Begins a compaction in steps, which a model may write the digest of.
    pub fn begin(&self) -> Result<Compaction, CallError> {
        let state = self.state();
        Ok(Compaction {
            context: self.clone(),
            list: joined(&state.messages)?,
            n_messages: state.messages.len(),
            facts: state.facts.clone(),
            n_changes: state.n_changes,
        })
    }

    /// Takes the last compaction back; messages that were added since stay. Returns whether there
    /// was one.
    pub fn undo(&self) -> bool {
        let mut state = self.state();
        let Some((mut before, n_after)) = state.undo.pop() else { return false };
        let n_after = n_after.min(state.messages.len());
        before.extend(state.messages.drain(n_after..));
        state.messages = before;
        state.n_changes += 1;
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<'a>(&self, operation: Operation, messages: &'a RawValue) -> Call<'a> {
        let (format, options) = (self.format.clone(), self.options.clone());
        Call {
            version: VERSION,
            operation,
            format,
            messages: Some(messages),
            body: None,
            session: None,
            options,
            summary: None,
            to: None,
            dialects: Vec::new(),
            question: None,
        }
    }
}

impl Compaction {
    /// Compacts the messages if they are over budget, and returns what a call of `compact` does:
    /// with a `summarizer`, as the option has it, maybe a request to it. The step that is none
    /// changes the context.
    pub fn step(&self, summarizer: Option<&str>, on_progress: OnProgress<'_>) -> String {
        crate::json(self.stepped(summarizer, on_progress))
    }

    fn stepped(
        &self,
        summarizer: Option<&str>,
        on_progress: OnProgress<'_>,
    ) -> Result<CompactStep, CallError> {
        let wrong = |error| CallError::call(error, "send a summarizer as the option has it");
        let mut call = self.context.call(Operation::Compact, &self.list);
        if let Some(text) = summarizer {
            call.options.summarizer = Some(serde_json::from_str(text).map_err(wrong)?);
        }
        let step = compact_with(&call, Some(self.facts.clone()), on_progress)?;
        if let CompactStep::Done(done) = &step
            && let Some(list) = done.messages()
        {
            self.replace(list)?;
        }
        on_progress(&step.progress());
        Ok(step)
    }

    /// Replaces the messages of the context by those of a result.
    fn replace(&self, list: &str) -> Result<(), CallError> {
        let wrong = |error| CallError::call(error, "report this with the messages");
        let mut messages: Vec<Box<RawValue>> = serde_json::from_str(list).map_err(wrong)?;
        let mut state = self.context.state();
        if state.n_changes != self.n_changes {
            let what = "the context was compacted or undone meanwhile";
            return Err(CallError::call(what, "compact it again"));
        }
        let n_after = messages.len();
        messages.extend(state.messages.drain(self.n_messages..));
        let before = std::mem::replace(&mut state.messages, messages);
        state.undo.push((before, n_after));
        state.n_changes += 1;
        Ok(())
    }
}

/// The settings of a context.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    format: Option<String>,
    #[serde(default)]
    options: Options,
}

fn joined(messages: &[Box<RawValue>]) -> Result<Box<RawValue>, CallError> {
    let texts: Vec<&str> = messages.iter().map(|message| message.get()).collect();
    let list = ["[", &texts.join(","), "]"].concat();
    RawValue::from_string(list).map_err(|error| CallError::call(error, "send messages as JSON"))
}
