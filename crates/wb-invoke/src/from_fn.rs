//! A model built from a closure.

use std::fmt::{self, Display};
use std::future::Future;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use wb_budget::{ModelCard, Usage};
use wb_message::{Block, Conversation};

use crate::invoker::{Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions};

/// A model built from a closure by [`from_fn`].
#[derive(Clone)]
pub struct FnInvoker<F> {
    answer: F,
    card: Option<ModelCard>,
}

/// Builds a model from a closure that answers a conversation with a text.
///
/// An error is a failed request. The closure receives no [`StreamOptions`]. A request that is
/// cancelled or takes too long is dropped. Requests may outlive the call, so clone captured values
/// into the future.
///
/// ```
/// use futures::executor::block_on;
/// use wb_invoke::{ModelInvoker, StreamOptions, collect_text, from_fn};
/// use wb_message::Conversation;
///
/// # #[derive(Clone)]
/// # struct Client;
/// # impl Client {
/// #     async fn complete(&self, _: Conversation) -> Result<String, std::io::Error> {
/// #         Ok("# Objective\n- port the lexer".to_owned())
/// #     }
/// # }
/// let client = Client; // your client of a provider
/// let model = from_fn(move |conversation| {
///     let client = client.clone();
///     async move { client.complete(conversation).await }
/// });
/// let reply = model.invoke(Conversation::default(), StreamOptions::default());
/// assert_eq!(block_on(collect_text(reply)).as_deref(), Some("# Objective\n- port the lexer"));
///
/// // A closure that captures nothing may be async itself.
/// let _ = from_fn(async |conversation: Conversation| -> Result<String, String> {
///     Err(format!("no network for {} turns", conversation.turns.len()))
/// });
/// ```
pub fn from_fn<F, Fut, E>(answer: F) -> FnInvoker<F>
where
    F: Fn(Conversation) -> Fut + Send + Sync,
    Fut: Future<Output = Result<String, E>> + Send + 'static,
    E: Display,
{
    FnInvoker { answer, card: None }
}

impl<F> FnInvoker<F> {
    /// Sets the card of the model, so that requests fit its window.
    #[must_use]
    pub fn with_card(mut self, card: ModelCard) -> Self {
        self.card = Some(card);
        self
    }
}

impl<F> fmt::Debug for FnInvoker<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnInvoker").field("card", &self.card).finish_non_exhaustive()
    }
}

impl<F, Fut, E> ModelInvoker for FnInvoker<F>
where
    F: Fn(Conversation) -> Fut + Send + Sync,
    Fut: Future<Output = Result<String, E>> + Send + 'static,
    E: Display,
{
    fn invoke(&self, conversation: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        let answer = (self.answer)(conversation);
        stream::once(async move { answer.await.map_or_else(failed, done) }).boxed()
    }

    fn card(&self) -> Option<ModelCard> {
        self.card.clone()
    }
}

fn failed(error: impl Display) -> Emission {
    Emission::Error { error: InvokeError::new(error.to_string()) }
}

fn done(text: String) -> Emission {
    let blocks = vec![Block::text(text)];
    let reply = Reply { model: String::new(), blocks, usage: Usage::EMPTY, stop: StopReason::Complete };
    Emission::Done { reply }
}
