//! A reply while it streams: collected up to its end, a cancel or a size, and judged by why it stopped.

use std::future::poll_fn;
use std::task::Poll;

use futures::StreamExt;
use futures::future::{Either, select};
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use wb_budget::Usage;

use crate::invoker::{Emission, StopReason, reply_text};

/// What is known of a reply so far; the one way in which replies are listened to and judged.
#[derive(Debug, Default)]
pub struct ReplyCollector {
    streamed: String,
    complete: String,
    stop: Option<StopReason>,
    failure: Option<String>,
    was_left: bool,
    /// What the provider counted.
    pub usage: Usage,
}

/// Why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The request failed.
    Failed(String),
    /// The request was cancelled.
    Cancelled,
    /// The model refused.
    Refused,
    /// The reply holds no text.
    Blank,
}

/// The text of a reply that neither failed nor was refused; it is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyText {
    /// What the model wrote.
    pub text: String,
    /// Whether it reached a limit, so that its last line may be unfinished.
    pub cut_off: bool,
    /// Whether the model stopped to have tools run.
    pub called_tools: bool,
}

/// After so many emissions in a row others get their turn, a time limit among them.
const TURN_EMISSIONS: usize = 256;

impl ReplyCollector {
    /// Reads a reply up to its first terminal emission, until it is cancelled, or until it has more bytes of text than
    /// that.
    pub async fn listen(
        &mut self,
        mut stream: BoxStream<'static, Emission>,
        cancel: &CancellationToken,
        max_bytes: usize,
    ) -> Result<(), ReplyError> {
        let mut cancelled = Box::pin(cancel.cancelled());
        for n_emissions in 1_usize.. {
            let Either::Right((emission, _)) = select(cancelled.as_mut(), stream.next()).await else {
                return Err(ReplyError::Cancelled);
            };
            if !emission.is_some_and(|emission| self.goes_on(emission, max_bytes)) {
                break;
            }
            if n_emissions.is_multiple_of(TURN_EMISSIONS) {
                yield_once().await;
            }
        }
        Ok(())
    }

    /// Takes an emission in; tells whether to go on listening, which ends with the reply or at so many bytes of text.
    fn goes_on(&mut self, emission: Emission, max_bytes: usize) -> bool {
        let is_last = emission.is_terminal();
        self.note(emission);
        self.was_left = !is_last && self.streamed.len() > max_bytes;
        !is_last && !self.was_left
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

    /// Takes the text of a reply that has ended; streamed text counts where the reply itself has none.
    pub fn take_text(&mut self) -> Result<ReplyText, ReplyError> {
        if let Some(why) = self.failure.take() {
            return Err(ReplyError::Failed(why));
        }
        match self.stop {
            Some(StopReason::Refusal) => return Err(ReplyError::Refused),
            Some(StopReason::Aborted) => return Err(ReplyError::Cancelled),
            Some(StopReason::Error) => {
                return Err(ReplyError::Failed("the reply ended in an error".to_owned()));
            }
            Some(StopReason::Complete | StopReason::ToolCalls | StopReason::MaxOutput) | None => {}
        }
        let [streamed, complete] = [&mut self.streamed, &mut self.complete].map(std::mem::take);
        let text = if complete.trim().is_empty() { streamed } else { complete };
        let cut_off = self.was_left || self.stop == Some(StopReason::MaxOutput);
        let called_tools = self.stop == Some(StopReason::ToolCalls);
        if text.trim().is_empty() {
            return Err(ReplyError::Blank);
        }
        Ok(ReplyText { text, cut_off, called_tools })
    }
}

impl ReplyText {
    /// Returns the text without white space at its ends; of one that was cut off without its last line, unless a line
    /// end follows that.
    pub fn whole_lines(&self) -> &str {
        let end = if self.cut_off { self.text.rfind('\n').unwrap_or(0) } else { self.text.len() };
        self.text[..end].trim()
    }

    /// As [`whole_lines`](Self::whole_lines), for prose: of an unfinished last line its whole sentences stay.
    pub fn whole_sentences(&self) -> &str {
        let last_line = self.text.rfind('\n').map_or(0, |end| end + 1);
        match sentence_end(&self.text[last_line..]) {
            Some(end) if self.cut_off => self.text[..last_line + end].trim(),
            _ => self.whole_lines(),
        }
    }
}

/// Returns where the last whole sentence of a line ends, which is a mark after a letter and before a blank.
fn sentence_end(line: &str) -> Option<usize> {
    let ends = |(at, mark): &(usize, &str)| {
        let (before, after) = (&line[..*at], &line[at + mark.len()..]);
        before.ends_with(char::is_alphabetic) && after.starts_with(' ')
    };
    line.rmatch_indices(['.', '!', '?']).find(ends).map(|(at, mark)| at + mark.len())
}

/// Gives the executor a turn: pending once, and woken at once.
async fn yield_once() {
    let mut was_polled = false;
    poll_fn(|context| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
