//! A model that replays given replies, for tests, examples and callers that ask by themselves.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use wb_budget::{ModelCard, Usage};
use wb_message::{Block, Conversation, Turn};

use crate::invoker::{Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions};

/// A model that replays one reply per request, repeats the last one, and records its requests.
#[derive(Debug, Default)]
pub struct ScriptedInvoker {
    card: Option<ModelCard>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Script>,
    requests: Vec<(Conversation, StreamOptions)>,
}

/// One scripted reply.
#[derive(Clone, Debug)]
pub enum Script {
    /// Streams these emissions.
    Emit(Vec<Emission>),
    /// Never answers.
    Hang,
    /// Answers with the prompt.
    Echo,
}

impl Script {
    /// Returns a complete reply with a text.
    pub fn says(text: impl Into<String>) -> Self {
        Self::stops(text, StopReason::Complete)
    }

    /// Returns a reply with a text and a reason why it stopped.
    pub fn stops(text: impl Into<String>, stop: StopReason) -> Self {
        let blocks = vec![Block::text(text)];
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::EMPTY };
        Self::Emit(vec![Emission::Done {
            reply: Reply { model: "scripted".to_owned(), blocks, usage, stop },
        }])
    }

    /// Returns a failure.
    pub fn fails(message: impl Into<String>) -> Self {
        Self::Emit(vec![Emission::Error { error: InvokeError::new(message) }])
    }

    fn stream(self, conversation: &Conversation) -> BoxStream<'static, Emission> {
        match self {
            Self::Emit(emissions) => stream::iter(emissions).boxed(),
            Self::Hang => stream::pending().boxed(),
            Self::Echo => Self::says(prompt_text(conversation)).stream(conversation),
        }
    }
}

fn prompt_text(conversation: &Conversation) -> String {
    conversation.turns.iter().flat_map(Turn::blocks).filter_map(Block::as_text).collect()
}

impl ScriptedInvoker {
    /// Builds a model that replays these replies.
    pub fn new(replies: impl IntoIterator<Item = Script>) -> Self {
        let state = State { replies: replies.into_iter().collect(), requests: Vec::new() };
        Self { card: None, state: Mutex::new(state) }
    }

    /// Sets the card of the model.
    #[must_use]
    pub fn with_card(mut self, card: ModelCard) -> Self {
        self.card = Some(card);
        self
    }

    /// Returns the prompts so far.
    pub fn prompts(&self) -> Vec<String> {
        self.state().requests.iter().map(|(conversation, _)| prompt_text(conversation)).collect()
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<(Conversation, StreamOptions)> {
        self.state().requests.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelInvoker for ScriptedInvoker {
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission> {
        let mut state = self.state();
        let next = match state.replies.len() {
            0 => Script::fails("no reply is scripted"),
            1 => state.replies[0].clone(),
            _ => state.replies.pop_front().unwrap_or(Script::Hang),
        };
        let stream = next.stream(&conversation);
        state.requests.push((conversation, options));
        stream
    }

    fn card(&self) -> Option<ModelCard> {
        self.card.clone()
    }
}
