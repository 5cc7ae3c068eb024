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
pub(crate) struct Weighed {
    format: &'static str,
    model: Option<String>,
    messages: usize,
    tokens: u64,
    window: u64,
    window_from: &'static str,
    limit: u64,
    pub(crate) over_budget: bool,
    anchored: bool,
    by_kind: BTreeMap<&'static str, u64>,
    overhead: u64,
    notes: Vec<String>,
}

pub(crate) fn weigh(call: &Call<'_>) -> Result<Weighed, CallError> {
    let session = Session::open(Input::from_call(call)?, &call.options)?;
    Ok(Weighed {
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
        notes: notes(&session),
    })
}
