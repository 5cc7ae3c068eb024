//! The weight of messages.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::call::{Call, CallError};
use crate::input::Input;
use crate::operations::notes;
use crate::session::Session;

/// The weight of the messages.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weighed {
    /// The format.
    pub format: &'static str,
    /// The model, if the input or the options name one.
    pub model: Option<String>,
    /// The number of messages.
    pub messages: usize,
    /// The tokens of the context.
    pub tokens: u64,
    /// The context window in tokens.
    pub window: u64,
    window_from: &'static str,
    /// The size in tokens above which the messages are over budget.
    pub limit: u64,
    /// Indicates that they are.
    pub over_budget: bool,
    anchored: bool,
    /// The tokens by kind of message.
    pub by_kind: BTreeMap<&'static str, u64>,
    overhead: u64,
    notes: Vec<String>,
}

pub(crate) fn weigh(call: &Call<'_>) -> Result<Weighed, CallError> {
    Session::open(Input::from_call(call)?, &call.options).map(|session| Weighed::new(&session))
}

impl Weighed {
    pub(crate) fn new(session: &Session) -> Self {
        Self {
            format: session.view.format,
            model: session.view.model.clone(),
            messages: session.view.messages.len(),
            tokens: session.measure.context_tokens,
            window: session.window.tokens,
            window_from: session.window.from.word(),
            limit: session.limit,
            over_budget: session.is_over(),
            anchored: session.measure.anchored,
            by_kind: session.measure.by_kind(&session.view.messages),
            overhead: session.measure.overhead_tokens,
            notes: notes(session),
        }
    }
}
