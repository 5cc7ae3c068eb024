//! A compaction.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use wb_conductor::{CompactionReport, Plan};
use wb_facts::Facts;
use wb_formats::SentAs;
use wb_message::markers::digest_body;
use wb_message::{Message, Origin, Patch};
use wb_record::{Stamp, items};

use crate::call::{Call, CallError, ErrorKind, Options};
use crate::input::{Input, Output};
use crate::operations::{not_expressible, notes, stamp};
use crate::session::Session;
use crate::validity::Validity;

/// The result of a compaction: the messages, or none if they stay as they are.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compacted {
    #[serde(flatten)]
    output: Output,
    /// The figures.
    pub report: Report,
}

/// The figures of a compaction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    format: &'static str,
    /// Indicates that messages changed.
    pub changed: bool,
    /// The reason why nothing changed, or the result is not as was asked for.
    pub reason: Option<String>,
    messages_before: usize,
    messages_after: usize,
    /// The tokens of the context before.
    pub tokens_before: u64,
    /// The tokens of the context after.
    pub tokens_after: u64,
    message_tokens_before: u64,
    message_tokens_after: u64,
    cut: usize,
    cleared: usize,
    shortened: usize,
    restored_paths: Vec<String>,
    /// The digest, if one was written.
    pub digest: Option<String>,
    digest_tokens: u64,
    redacted: usize,
    window: u64,
    window_from: &'static str,
    limit: u64,
    target: Option<u64>,
    irreducible: bool,
    anchored: bool,
    overhead: u64,
    strategy: &'static str,
    steps: Vec<String>,
    notes: Vec<String>,
}

pub(crate) fn compact(call: &Call<'_>) -> Result<Compacted, CallError> {
    compact_with(call, None)
}

/// Compacts with facts of messages that the call does not have, if there are some.
pub(crate) fn compact_with(call: &Call<'_>, facts: Option<Arc<Facts>>) -> Result<Compacted, CallError> {
    let mut session = Session::open(Input::from_call(call)?, &call.options)?;
    let facts = facts.unwrap_or_else(|| Arc::new(session.facts()));
    Ok(compact_session(&mut session, &call.options, facts)?.0)
}

/// Compacts a session that was opened; returns the messages after it too.
pub(crate) fn compact_session(
    session: &mut Session,
    options: &Options,
    facts: Arc<Facts>,
) -> Result<(Compacted, Vec<Message>), CallError> {
    if let Some(why) = options.strategy.why_not_held(&session.input.document.abilities()) {
        let hint = "convert the messages to another format, or take another strategy";
        return Err(CallError::new(ErrorKind::NotExpressible, why, hint));
    }
    let (messages, report) = planned(session, options, facts);
    let (patch, digest) = changes(&report, &messages, session.view.messages.len());
    let report = Report::new(session, options, report, digest);
    let output = if report.changed {
        refuse_new(session, &messages)?;
        written(session, &patch, options, &report)?
    } else {
        Output::default()
    };
    Ok((Compacted { output, report }, messages))
}

/// Writes the changes into the input.
fn written(
    session: &Session,
    patch: &Patch,
    options: &Options,
    report: &Report,
) -> Result<Output, CallError> {
    let Report { tokens_before, tokens_after, .. } = *report;
    let stamp = Stamp { tokens_before, tokens_after, ..stamp(options) };
    let items = items(patch, session.view.messages.len());
    let rendered = session.input.document.render(&session.conversation, &session.view, &items, &stamp);
    session.input.changed(&rendered.map_err(|error| not_expressible(&error))?)
}

impl Compacted {
    /// Returns the resulting list of messages, if it changed.
    pub(crate) fn messages(&self) -> Option<&str> {
        self.output.messages()
    }

    /// Returns the result in the shape of the input, if something changed.
    pub fn text(&self) -> Option<&str> {
        self.output.text()
    }
}

impl Report {
    fn new(session: &Session, options: &Options, report: CompactionReport, digest: Option<String>) -> Self {
        let measure = &session.measure;
        let changed = report.undo.is_some();
        let tokens_before = measure.context_tokens;
        let tokens_after =
            if changed { measure.context_tokens_at(report.tokens_after) } else { tokens_before };
        Self {
            format: session.view.format,
            changed,
            reason: reason(&report, options.target_tokens),
            messages_before: report.messages_before,
            messages_after: report.messages_after,
            tokens_before,
            tokens_after,
            message_tokens_before: report.tokens_before,
            message_tokens_after: report.tokens_after,
            cut: report.cut,
            cleared: report.cleared.len(),
            shortened: report.previewed.len(),
            digest,
            digest_tokens: report.digest_tokens,
            redacted: report.redacted,
            window: session.window.tokens,
            window_from: session.window.from.word(),
            limit: session.limit,
            target: report.target_tokens,
            irreducible: report.irreducible.is_some(),
            anchored: measure.anchored,
            overhead: measure.overhead_tokens,
            strategy: options.strategy.name(),
            steps: report.step_names().into_iter().map(ToOwned::to_owned).collect(),
            notes: notes(session),
            restored_paths: report.restored,
        }
    }
}

/// Plans and applies one compaction to a copy of the session's messages.
fn planned(session: &mut Session, options: &Options, facts: Arc<Facts>) -> (Vec<Message>, CompactionReport) {
    let mut messages = session.view.messages.clone();
    let opts = session.opts(options, facts);
    let compactor = session.compactor(options);
    let compactor = match options.target_tokens {
        None => compactor,
        Some(tokens) => {
            let reached =
                |_: &[Message], report: &CompactionReport| report.tokens_after as f64 / tokens as f64;
            compactor.with_target_size(tokens, &session.measure.view(&messages), &opts, reached)
        }
    };
    let plan = compactor.plan(session.measure.view(&messages), &opts).map(Plan::without_guard);
    let ready = plan.map(Plan::local);
    let report = ready.map_or_else(|report| *report, |ready| ready.apply(&mut messages));
    (messages, report)
}

/// Returns the changes of a compaction, and its digest.
fn changes(report: &CompactionReport, messages: &[Message], n_before: usize) -> (Patch, Option<String>) {
    let Some(undo) = &report.undo else { return (Patch::default(), None) };
    let origins = undo.origins(n_before);
    let new = origins.iter().zip(messages).filter(|(origin, _)| **origin == Origin::New);
    let digest = new.map(|(_, message)| message).find_map(digest_body);
    let digest = digest.filter(|_| report.digest.is_some()).map(Cow::into_owned);
    (Patch::from_undo(undo, messages), digest)
}

/// Refuses violations that the messages did not have before.
fn refuse_new(session: &Session, messages: &[Message]) -> Result<(), CallError> {
    let sent = SentAs::from_view(&session.view);
    let after = Validity::new(messages, &sent);
    if after.is_valid() {
        return Ok(());
    }
    let before = Validity::new(&session.view.messages, &sent);
    let new = after.new_since(&before);
    let Some(first) = new.first() else { return Ok(()) };
    let what = format!("the provider would reject the result: {first}");
    Err(CallError::new(ErrorKind::Refused, what, "repair the messages first"))
}

fn reason(report: &CompactionReport, asked_tokens: Option<u64>) -> Option<String> {
    let is_missed =
        |asked: &u64| *asked < report.tokens_before && asked.abs_diff(report.tokens_after) > asked / 20;
    let missed = asked_tokens.filter(is_missed);
    let missed = missed.map(|asked| format!("asked for {asked} tokens of messages, and no result is nearer"));
    let unchanged = || report.unchanged.as_ref().map(ToString::to_string);
    let irreducible = || report.irreducible.as_ref().map(ToString::to_string);
    missed.or_else(unchanged).or_else(irreducible)
}
