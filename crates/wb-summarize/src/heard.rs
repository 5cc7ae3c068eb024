//! What is heard of a reply while it streams, and whether it can be used.

use futures::StreamExt;
use futures::future::{Either, pending, select};
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use wb_budget::Usage;

use crate::invoker::{Emission, StopReason, reply_text};

/// What is known of a reply so far; the one way in which replies are listened to and judged.
#[derive(Debug, Default)]
pub struct Heard {
    streamed: String,
    complete: String,
    stop: Option<StopReason>,
    failure: Option<String>,
    /// What the provider counted.
    pub usage: Usage,
}

/// Why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The request failed.
    Failed(String),
    /// The request was cancelled.
    Cancelled,
    /// The model refused.
    Refused,
    /// The reply was cut off at its limit.
    Truncated,
    /// The reply holds no text.
    Blank,
}

impl Heard {
    /// Reads a reply up to its first terminal emission, until it is cancelled, or until it has more bytes of text than
    /// that.
    pub async fn listen(
        &mut self,
        mut stream: BoxStream<'static, Emission>,
        cancel: Option<&CancellationToken>,
        max_bytes: usize,
    ) -> Result<(), Unusable> {
        let cancelled = async {
            match cancel {
                Some(token) => token.cancelled().await,
                None => pending().await,
            }
        };
        let mut cancelled = Box::pin(cancelled);
        loop {
            let Either::Right((emission, _)) = select(cancelled.as_mut(), stream.next()).await else {
                return Err(Unusable::Cancelled);
            };
            if !emission.is_some_and(|emission| self.goes_on(emission, max_bytes)) {
                return Ok(());
            }
        }
    }

    /// Takes an emission in; tells whether to go on listening, which ends with the reply or at so many bytes of text.
    fn goes_on(&mut self, emission: Emission, max_bytes: usize) -> bool {
        let is_last = emission.is_terminal();
        self.note(emission);
        !is_last && self.streamed.len() <= max_bytes
    }

    fn note(&mut self, emission: Emission) {
        match emission {
            Emission::Text { delta } => self.streamed.push_str(&delta),
            Emission::Stop { stop } => self.stop = Some(stop),
            Emission::Usage { usage } => self.usage = usage,
            Emission::Error { error } => self.failure = Some(error.message),
            Emission::Done { reply } => {
                self.complete = reply_text(&reply);
                self.stop = Some(reply.stop);
                if reply.usage != Usage::EMPTY {
                    self.usage = reply.usage;
                }
            }
            _ => {}
        }
    }

    /// Tells whether the model stopped to have tools run.
    pub fn called_tools(&self) -> bool {
        self.stop == Some(StopReason::ToolCalls)
    }

    /// Takes the text of a complete reply; streamed text counts where the reply itself has none.
    pub fn take_text(&mut self) -> Result<String, Unusable> {
        if let Some(why) = self.failure.take() {
            return Err(Unusable::Failed(why));
        }
        match self.stop {
            Some(StopReason::Refusal) => return Err(Unusable::Refused),
            Some(StopReason::MaxOutput) => return Err(Unusable::Truncated),
            Some(StopReason::Aborted) => return Err(Unusable::Cancelled),
            Some(StopReason::Error) => {
                return Err(Unusable::Failed("the reply ended in an error".to_owned()));
            }
            Some(StopReason::Complete | StopReason::ToolCalls) | None => {}
        }
        let text = if self.complete.trim().is_empty() { &self.streamed } else { &self.complete };
        match text.trim() {
            "" => Err(Unusable::Blank),
            text => Ok(text.to_owned()),
        }
    }
}
