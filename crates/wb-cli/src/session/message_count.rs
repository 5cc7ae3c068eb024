//! The messages of a session, counted with its model's tokenizer.

use serde::Serialize;
#[cfg(feature = "exact")]
use wb_budget::TokenCounter as _;

use crate::session::Session;

/// The weight of the messages, and whether it is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct MessageCount {
    /// The tokens of the messages, without system prompt and tools.
    pub(crate) message_tokens: u64,
    /// False for an estimate.
    pub(crate) exact: bool,
    /// The vocabulary of an exact count.
    pub(crate) tokenizer: Option<&'static str>,
}

impl MessageCount {
    /// Counts exactly if that is asked for and the model's tokenizer is known; else estimates.
    pub(crate) fn new(session: &Session, is_asked: bool) -> Self {
        let exact = if is_asked { Self::exact(session) } else { None };
        exact.unwrap_or_else(|| Self { message_tokens: session.measure.message_tokens(), ..Self::default() })
    }

    #[cfg(feature = "exact")]
    fn exact(session: &Session) -> Option<Self> {
        let vocabulary = wb_tokens::Vocabulary::of_model(session.opened.model.as_deref()?)?;
        let counter = vocabulary.counter().ok()?;
        let message_tokens = session.opened.messages.iter().map(|message| counter.message(message)).sum();
        Some(Self { message_tokens, exact: true, tokenizer: Some(vocabulary.name()) })
    }

    #[cfg(not(feature = "exact"))]
    fn exact(_: &Session) -> Option<Self> {
        None
    }

    /// Describes the count.
    pub(crate) fn in_words(&self, model: Option<&str>) -> String {
        let tokens = crate::terminal::number::grouped(self.message_tokens);
        if let Some(name) = self.tokenizer {
            return format!("messages: {tokens} tokens, exact by {name}");
        }
        let whose = model.map_or_else(|| "of the model".to_owned(), |model| format!("of {model}"));
        format!("messages: about {tokens} tokens, estimated: the tokenizer {whose} is not known")
    }
}
