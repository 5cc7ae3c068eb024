//! The bare condenser: gate, slice and summary in one boxed function.

use futures::FutureExt;
use futures::future::BoxFuture;
use wb_message::Message;
use wb_summarize::{CondenseScope, SummarizeDeps, Summary, summarize};

use crate::compact::compact_in_place;
use crate::compactor::{Compactor, CondenseOpts, CondenserDeps};
use crate::pipeline::Pipeline;

/// An async function from a transcript to a condensed one.
pub type Condenser = Box<dyn Fn(Vec<Message>) -> BoxFuture<'static, Vec<Message>> + Send + Sync>;

/// Builds a condenser: where the transcript is over the card's budget, its head becomes one digest.
///
/// Without a card, or with one that knows no window, it returns its input. It neither clears tool results nor restores files; the runner does.
pub fn create_condenser(deps: CondenserDeps) -> Condenser {
    let settings = Compactor::from(deps).pipeline(Pipeline::bare());
    Box::new(move |mut messages| {
        let settings = settings.clone();
        async move {
            if settings.card.is_some() {
                compact_in_place(&mut messages, &settings, &CondenseOpts::default()).await;
            }
            messages
        }
        .boxed()
    })
}

/// Condenses messages into one digest of the running session; the scope is always [`CondenseScope::Session`].
pub async fn condense(messages: &[Message], mut deps: SummarizeDeps) -> Summary {
    deps.scope = CondenseScope::Session;
    summarize(messages, deps).await
}
