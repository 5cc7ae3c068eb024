//! How well the anchored estimate would have predicted recorded requests.

use wb_message::Message;

use super::ContextTracker;
use crate::card::{ModelCard, Usage};

/// What was predicted of one request, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepError {
    /// Index of the message that answered it.
    pub at: usize,
    /// Prompt tokens as the provider counted them.
    pub real_tokens: u64,
    /// Prompt tokens as estimated just before.
    pub predicted_tokens: u64,
}

impl StepError {
    /// Returns the error as a fraction of the real prompt, positive where too much was predicted.
    pub fn relative(&self) -> f64 {
        (self.predicted_tokens as f64 - self.real_tokens as f64) / self.real_tokens as f64
    }
}

/// Replays a transcript without compactions and foretells each request from what was known before it.
///
/// `usage` names, in ascending order, the assistant messages whose usage is known, with the model's id where the
/// log has it. The first request has nothing to be predicted from and is left out. A log with compactions is
/// replayed on a [`ContextTracker`] in the same way, with [`ContextTracker::rebuild`] where the log compacts.
pub fn one_step_errors(messages: &[Message], usage: &[(usize, Usage, Option<&str>)]) -> Vec<StepError> {
    let mut tracker = ContextTracker::new();
    let mut errors = Vec::with_capacity(usage.len());
    let mut known = false;
    let mut usage = usage.iter().peekable();
    for (at, message) in messages.iter().enumerate() {
        let predicted_tokens = tracker.context_tokens();
        tracker.push(message);
        let Some((_, usage, model)) = usage.next_if(|(answer, ..)| *answer == at) else { continue };
        let card = model.map(|id| ModelCard { id: id.to_owned(), ..ModelCard::default() });
        if known && usage.prompt_tokens() > 0 {
            errors.push(StepError { at, real_tokens: usage.prompt_tokens(), predicted_tokens });
        }
        known |= tracker.anchor(at, usage, card.as_ref()).is_ok();
    }
    errors
}
