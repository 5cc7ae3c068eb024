//! The JSON output: one object per file.

use std::collections::BTreeMap;

use serde::Serialize;
use wb_formats::Note;

use crate::session::Session;
use crate::session::agent_trigger::AgentTrigger;
use crate::session::message_count::MessageCount;
use crate::session::model::Spent;
use crate::session::outcome::Outcome;

/// The answer of `wb weigh --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Weighed<'a> {
    file: &'a str,
    format: &'a str,
    messages: usize,
    tokens: u64,
    window: u64,
    window_from: &'static str,
    limit: u64,
    /// The size at which the agent compacts by itself; none if its rule is not known.
    agent_trigger: Option<&'a AgentTrigger>,
    over_budget: bool,
    anchored: bool,
    by_kind: BTreeMap<&'static str, u64>,
    overhead: u64,
    /// The system prompt and tools that `tokens` excludes, since they are too large for the window.
    overhead_left_out: u64,
    #[serde(flatten)]
    count: MessageCount,
    would_cut: usize,
    notes: Vec<String>,
}

impl<'a> Weighed<'a> {
    pub(crate) fn new(session: &'a Session, would_cut: usize, count: MessageCount) -> Self {
        Self {
            file: &session.file,
            format: session.opened.format,
            messages: session.opened.messages.len(),
            tokens: session.measure.context_tokens,
            window: session.window,
            window_from: session.window_from.word(),
            limit: session.limit,
            agent_trigger: session.agent_trigger.as_ref(),
            over_budget: session.is_over(),
            anchored: session.measure.anchored,
            by_kind: session.measure.by_kind(&session.opened.messages),
            overhead: session.measure.overhead_tokens,
            overhead_left_out: session.measure.left_out_tokens,
            count,
            would_cut,
            notes: notes_of(session),
        }
    }
}

/// The answer of `wb plan --json` and `wb compact --json`.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a flat object is what machines read")]
pub(crate) struct Compacted<'a> {
    file: &'a str,
    format: &'a str,
    messages_before: usize,
    messages_after: usize,
    tokens_before: u64,
    tokens_after: u64,
    cut: usize,
    cleared: usize,
    restored: usize,
    changed: bool,
    degraded: bool,
    reason: Option<String>,
    shortened: usize,
    restored_paths: &'a [String],
    digest_tokens: u64,
    redacted: usize,
    /// The number of texts that the digest has verbatim.
    pins: usize,
    /// The number of messages that the user dropped.
    dropped: usize,
    window: u64,
    window_from: &'static str,
    limit: u64,
    target: Option<u64>,
    irreducible: bool,
    anchored: bool,
    overhead: u64,
    overhead_left_out: u64,
    /// Without system prompt and tools, like the next one.
    message_tokens_before: u64,
    message_tokens_after: u64,
    strategy: &'a str,
    steps: Vec<&'a str>,
    left_out: Vec<LeftOut>,
    notes: Vec<String>,
    /// The text that replaces the folded messages; none if there is no digest.
    digest: Option<&'a str>,
    /// None if no model was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Spent>,
}

/// A step that the format of a session cannot hold.
#[derive(Debug, Serialize)]
struct LeftOut {
    step: String,
    why: &'static str,
}

impl<'a> Compacted<'a> {
    pub(crate) fn new(session: &'a Session, outcome: &'a Outcome) -> Self {
        let report = &outcome.report;
        Self {
            file: &session.file,
            format: session.opened.format,
            messages_before: report.messages_before,
            messages_after: report.messages_after,
            tokens_before: outcome.tokens_before,
            tokens_after: outcome.tokens_after,
            cut: report.cut,
            cleared: report.cleared.len(),
            restored: report.restored.len(),
            changed: report.is_changed(),
            degraded: report.fallback_reason().is_some(),
            reason: outcome.reason(),
            shortened: report.previewed.len(),
            restored_paths: &report.restored,
            digest_tokens: outcome.digest_tokens,
            redacted: report.redacted,
            pins: session.pins.len(),
            dropped: outcome.n_dropped(),
            window: session.window,
            window_from: session.window_from.word(),
            limit: session.limit,
            target: report.target_tokens,
            irreducible: report.irreducible.is_some(),
            anchored: session.measure.anchored,
            overhead: session.measure.overhead_tokens,
            overhead_left_out: session.measure.left_out_tokens,
            message_tokens_before: report.tokens_before,
            message_tokens_after: report.tokens_after,
            strategy: session.strategy.name(),
            steps: report.step_names(),
            left_out: session.left_out().into_iter().map(|(step, why)| LeftOut { step, why }).collect(),
            notes: notes_of(session),
            digest: outcome.digest(),
            model: outcome.model.as_ref(),
        }
    }
}

/// Returns the notes on what was skipped, and on a count that is not used.
fn notes_of(session: &Session) -> Vec<String> {
    words_of(&session.opened.notes).into_iter().chain(session.measure.refusal()).collect()
}

/// Returns the notes on what the reader skipped, as text.
pub(crate) fn words_of(notes: &[Note]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}
