//! A model that plays back scripted replies, for tests and examples.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use wb_budget::{ModelCard, Usage};
use wb_message::{Block, Conversation, Turn};

use crate::invoker::{Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions};

/// Plays back its replies one per request, the last one again and again, and remembers what it was asked.
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
    /// These emissions, then the stream ends.
    Emit(Vec<Emission>),
    /// Nothing ever comes.
    Hang,
    /// The prompt comes back as the answer.
    Echo,
}

impl Script {
    /// Builds a complete reply of one text.
    pub fn says(text: impl Into<String>) -> Self {
        Self::stops(text, StopReason::Complete)
    }

    /// Builds a reply of one text that stopped for a reason.
    pub fn stops(text: impl Into<String>, stop: StopReason) -> Self {
        let blocks = vec![Block::text(text)];
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::EMPTY };
        Self::Emit(vec![Emission::Done {
            reply: Reply { model: "scripted".to_owned(), blocks, usage, stop },
        }])
    }

    /// Builds a failure.
    pub fn fails(message: impl Into<String>) -> Self {
        Self::Emit(vec![Emission::Error { error: InvokeError::new(message) }])
    }

    fn stream(self, conversation: &Conversation) -> BoxStream<'static, Emission> {
        match self {
            Self::Emit(emissions) => stream::iter(emissions).boxed(),
            Self::Hang => stream::pending().boxed(),
            Self::Echo => Self::says(prompt_of(conversation)).stream(conversation),
        }
    }
}

fn prompt_of(conversation: &Conversation) -> String {
    conversation.turns.iter().flat_map(Turn::blocks).filter_map(Block::as_text).collect()
}

impl ScriptedInvoker {
    /// Builds a model that gives these replies in turn.
    pub fn new(replies: impl IntoIterator<Item = Script>) -> Self {
        let state = State { replies: replies.into_iter().collect(), requests: Vec::new() };
        Self { card: None, state: Mutex::new(state) }
    }

    /// Gives the model a card.
    #[must_use]
    pub fn with_card(mut self, card: ModelCard) -> Self {
        self.card = Some(card);
        self
    }

    /// Returns the prompts that were sent so far.
    pub fn prompts(&self) -> Vec<String> {
        self.locked().requests.iter().map(|(conversation, _)| prompt_of(conversation)).collect()
    }

    /// Returns what was sent so far.
    pub fn requests(&self) -> Vec<(Conversation, StreamOptions)> {
        self.locked().requests.clone()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelInvoker for ScriptedInvoker {
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission> {
        let mut state = self.locked();
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
