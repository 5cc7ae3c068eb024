//! What is heard of a reply while it streams, and whether it can be used.

use wb_budget::Usage;

use crate::invoker::{Emission, StopReason, reply_text};

/// What is known of a reply so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    streamed: String,
    complete: String,
    stop: Option<StopReason>,
    failure: Option<String>,
    /// What the provider counted.
    pub(crate) usage: Usage,
}

/// Why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    Failed(String),
    Cancelled,
    Refused,
    Truncated,
    Blank,
}

impl Heard {
    /// Takes an emission in; tells whether to go on listening, which ends with the reply or at so many bytes of text.
    pub(crate) fn goes_on(&mut self, emission: Emission, max_bytes: usize) -> bool {
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

    /// Takes the text of a complete reply; streamed text counts where the reply itself has none.
    pub(crate) fn take_text(&mut self) -> Result<String, Unusable> {
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
