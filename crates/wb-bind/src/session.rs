//! A document that was read and weighed.

use std::sync::Arc;

use wb_budget::Catalog;
use wb_conductor::{Compactor, CondenseOpts};
use wb_facts::Facts;
use wb_formats::{Document, View, newest};
use wb_message::Message;
use wb_message::markers::is_synthetic;
use wb_replay::collect_facts;

use crate::call::{CallError, ErrorKind, Options};
use crate::input::{Input, not_read};
use crate::known_window::KnownWindow;
use crate::measure::{Measure, Size, card_of};

/// A session as the operations see it.
pub(crate) struct Session {
    pub(crate) input: Input,
    /// Which of its conversations it is.
    pub(crate) conversation: String,
    pub(crate) view: View,
    pub(crate) window: KnownWindow,
    pub(crate) measure: Measure,
    /// The token limit.
    pub(crate) limit: u64,
}

impl Session {
    /// Reads and weighs the input of a call.
    pub(crate) fn open(input: Input, options: &Options) -> Result<Self, CallError> {
        let impossible = |error| CallError::new(ErrorKind::Option, error, "leave out the option");
        let policy = options.policy().validated().map_err(impossible)?;
        if options.window == Some(0) || options.target_tokens == Some(0) {
            return Err(CallError::new(ErrorKind::Option, "a size of 0 tokens", "leave out the option"));
        }
        let document = input.document.as_ref();
        let conversation = newest(document).map_err(|error| not_read(&error))?;
        let mut view = document.view(&conversation).map_err(|error| not_read(&error))?;
        view.model = options.model.clone().or(view.model);
        let read = (document, conversation.as_str(), &view);
        let Size { window, limit, measure } =
            Size::new(read, options.window, &policy, options.overhead_tokens, Catalog::built_in());
        Ok(Self { input, conversation, view, window, measure, limit })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.measure.context_tokens > self.limit
    }

    /// Returns the decisions of the options for this session.
    pub(crate) fn compactor(&self, options: &Options) -> Compactor {
        let abilities = self.input.document.abilities();
        let compactor = Compactor::new()
            .card(card_of(&self.view, self.window.tokens))
            .policy(options.policy())
            .pipeline(options.strategy.within(options.images, &abilities))
            .vocabulary(self.view.vocabulary)
            .counter(self.measure.counter())
            .overhead_tokens(self.measure.overhead_tokens)
            .redact(!options.no_redact);
        match &options.recall_tool {
            Some(tool) => compactor.recall_tool(tool.as_str()),
            None => compactor,
        }
    }

    /// Returns the input of one compaction.
    pub(crate) fn opts(&self, options: &Options, facts: Arc<Facts>) -> CondenseOpts {
        let is_sized = options.target_tokens.is_some();
        CondenseOpts {
            force: options.force && !is_sized,
            context_tokens: if is_sized { 0 } else { self.measure.counted_within(self.window.tokens) },
            fixed: self.view.provenance.fixed().to_vec().into(),
            joined: self.view.provenance.joined().to_vec().into(),
            facts: Some(facts),
            ..CondenseOpts::default()
        }
    }

    /// Adds those of the messages to empty facts, with what was said before a compaction.
    pub(crate) fn facts(&self, empty: fn() -> Facts) -> Facts {
        let read = (self.input.document.as_ref(), self.conversation.as_str(), &self.view);
        whole_facts(empty, read, &self.view.messages)
    }
}

/// Adds those of a session's messages to empty facts, with what was said before a compaction as far
/// as the document still has it.
pub fn whole_facts(
    empty: fn() -> Facts,
    (document, conversation, view): (&dyn Document, &str, &View),
    messages: &[Message],
) -> Facts {
    // The digest of some agents cannot be read, or is no message of its own.
    let is_later = messages.iter().any(is_synthetic) || view.is_compacted() || view.has_asides();
    let whole = || collect_facts(empty(), document, conversation, &view.vocabulary).ok();
    is_later.then(whole).flatten().unwrap_or_else(|| empty().with_messages(messages, &view.vocabulary))
}
