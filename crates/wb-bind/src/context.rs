//! The messages of an agent's loop, kept within their window.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use wb_facts::Facts;
use wb_formats::newest;

use crate::call::{Call, CallError, Operation, Options, VERSION};
use crate::input::{Input, not_read};
use crate::operations::compact::{Compacted, compact_with};
use crate::operations::weigh::weigh;

/// The messages of a loop: what was said is remembered across compactions, and the last ones can be
/// undone.
///
/// ```
/// use wb_bind::Context;
///
/// let mut context = Context::new(r#"{"format": "openai-chat", "options": {"window": 16000}}"#)?;
/// context.push(r#"[{"role": "user", "content": "List the files."}]"#)?;
/// assert!(!context.is_over_budget()?);
/// # Ok::<(), wb_bind::CallError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    format: Option<String>,
    options: Options,
    messages: Vec<Box<RawValue>>,
    facts: Arc<Facts>,
    /// The messages before each compaction, and how many were left after it.
    undo: Vec<(Vec<Box<RawValue>>, usize)>,
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
        let Settings { format, options } = settings;
        Ok(Self { format, options, messages: Vec::new(), facts: Arc::default(), undo: Vec::new() })
    }

    /// Adds messages: a list in the format.
    pub fn push(&mut self, list: &str) -> Result<(), CallError> {
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
        let facts = Arc::make_mut(&mut self.facts);
        view.messages.iter().for_each(|message| facts.observe(message, &view.vocabulary));
        self.messages.extend(list);
        Ok(())
    }

    /// Returns the messages as a list in JSON.
    pub fn messages(&self) -> Result<String, CallError> {
        Ok(joined(&self.messages)?.get().to_owned())
    }

    /// Returns whether the messages are over budget.
    pub fn is_over_budget(&self) -> Result<bool, CallError> {
        let text = joined(&self.messages)?;
        Ok(weigh(&self.call(Operation::Weigh, &text))?.over_budget)
    }

    /// Returns the weight of the messages, as a call of `weigh` does, and the number of
    /// compactions.
    pub fn gate(&self) -> String {
        let weighed = joined(&self.messages).and_then(|text| weigh(&self.call(Operation::Weigh, &text)));
        crate::json(weighed.map(|weighed| Gate { weighed, compactions: self.undo.len() }))
    }

    /// Compacts the messages if they are over budget, and returns what a call of `compact` does.
    pub fn compact(&mut self) -> String {
        crate::json(self.compacted())
    }

    /// Takes the last compaction back; messages that were added since stay. Returns whether there
    /// was one.
    pub fn undo(&mut self) -> bool {
        let Some((mut before, n_after)) = self.undo.pop() else { return false };
        before.extend(self.messages.drain(n_after.min(self.messages.len())..));
        self.messages = before;
        true
    }

    fn compacted(&mut self) -> Result<Compacted, CallError> {
        let text = joined(&self.messages)?;
        let facts = Some(self.facts.clone());
        let done = compact_with(&self.call(Operation::Compact, &text), facts)?;
        if let Some(list) = done.messages() {
            let wrong = |error| CallError::call(error, "report this with the messages");
            let messages = serde_json::from_str(list).map_err(wrong)?;
            let before = std::mem::replace(&mut self.messages, messages);
            self.undo.push((before, self.messages.len()));
        }
        Ok(done)
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
