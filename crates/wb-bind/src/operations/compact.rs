//! A compaction.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde::Serialize;
use wb_conductor::{CompactionReport, Plan, Ready};
use wb_facts::Facts;
use wb_formats::SentAs;
use wb_message::markers::digest_body;
use wb_message::{Message, Origin, Patch};
use wb_record::{Stamp, items};

use crate::call::{Call, CallError, ErrorKind, Options};
use crate::caller_model::{ModelRequest, RepliedModel};
use crate::compaction_progress::{OnProgress, Progress};
use crate::input::{Input, Output};
use crate::operations::compaction_report::Report;
use crate::operations::{not_expressible, stamp};
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

/// A compaction, or the request without whose reply it does not go on.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) enum CompactStep {
    Done(Box<Compacted>),
    Asks { request: ModelRequest },
}

pub(crate) fn compact(call: &Call<'_>, on_progress: OnProgress<'_>) -> Result<CompactStep, CallError> {
    let step = compact_with(call, None, on_progress)?;
    on_progress(&step.progress());
    Ok(step)
}

impl CompactStep {
    /// Returns the stage that is reached with it.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Self::Done(done) => done.report.progress(),
            Self::Asks { request } => request.progress(),
        }
    }
}

/// Compacts with facts of messages that the call does not have, if there are some. The caller
/// reports the last stage.
pub(crate) fn compact_with(
    call: &Call<'_>,
    facts: Option<Arc<Facts>>,
    on_progress: OnProgress<'_>,
) -> Result<CompactStep, CallError> {
    let mut session = Session::open(Input::from_call(call)?, &call.options)?;
    let options = &call.options;
    refuse_without_digest(options)?;
    // Whoever sends a reply has seen the stages before it.
    let is_first = options.summarizer.as_ref().is_none_or(|model| model.replies.is_empty());
    if is_first {
        on_progress(&counted(&session));
    }
    let empty = if options.summarizer.is_some() { Facts::default } else { Facts::without_words };
    let facts = facts.unwrap_or_else(|| Arc::new(session.facts(empty)));
    let done = compact_session(&mut session, options, facts, |plan| {
        if is_first {
            on_progress(&Progress::Cut { cut: plan.cut(), message_tokens: plan.tokens_after() });
        }
        digest(plan, options)
    })?;
    Ok(match done {
        Ok((compacted, _)) => CompactStep::Done(Box::new(compacted)),
        Err(request) => CompactStep::Asks { request },
    })
}

/// Compacts a session that was opened, with what `digest` makes of a plan; returns the messages
/// after it too.
pub(crate) fn compact_session<E>(
    session: &mut Session,
    options: &Options,
    facts: Arc<Facts>,
    digest: impl FnOnce(Plan<'_>) -> Result<Ready, E>,
) -> Result<Result<(Compacted, Vec<Message>), E>, CallError> {
    if let Some(why) = options.strategy.why_not_held(&session.input.document.abilities()) {
        let hint = "convert the messages to another format, or take another strategy";
        return Err(CallError::new(ErrorKind::NotExpressible, why, hint));
    }
    let (messages, report) = match planned(session, options, facts, digest) {
        Ok(done) => done,
        Err(open) => return Ok(Err(open)),
    };
    let (patch, digest) = changes(&report, &messages, session.view.messages.len());
    let report = Report::new(session, options, report, digest);
    let output = if report.changed {
        refuse_new(session, &messages)?;
        written(session, &patch, options, &report)?
    } else {
        Output::default()
    };
    Ok(Ok((Compacted { output, report }, messages)))
}

/// Refuses a model for a strategy that asks none.
fn refuse_without_digest(options: &Options) -> Result<(), CallError> {
    if options.summarizer.is_none() || options.strategy.digests() {
        return Ok(());
    }
    let what =
        format!("the strategy {} writes no digest, so there is nothing to ask", options.strategy.name());
    Err(CallError::new(ErrorKind::Option, what, "leave out the summarizer, or take another strategy"))
}

/// Makes a plan ready, with the digest of the caller's model if there is one.
fn digest(plan: Plan<'_>, options: &Options) -> Result<Ready, ModelRequest> {
    let Some(settings) = &options.summarizer else { return Ok(plan.local()) };
    let model = RepliedModel::new(settings);
    let summarizer = model.summarizer().instructions(settings.instructions.as_deref());
    let asking = pin!(plan.ask(Some(&summarizer), None));
    match asking.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ready) => Ok(ready),
        Poll::Pending => Err(model.open_request()),
    }
}

fn counted(session: &Session) -> Progress {
    let (messages, tokens) = (session.view.messages.len(), session.measure.context_tokens);
    Progress::Counted { messages, tokens, limit: session.limit }
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

/// Plans and applies one compaction to a copy of the session's messages.
fn planned<E>(
    session: &mut Session,
    options: &Options,
    facts: Arc<Facts>,
    digest: impl FnOnce(Plan<'_>) -> Result<Ready, E>,
) -> Result<(Vec<Message>, CompactionReport), E> {
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
    let report = match compactor.plan(session.measure.view(&messages), &opts) {
        Ok(plan) => digest(plan.without_guard())?.apply(&mut messages),
        Err(report) => *report,
    };
    Ok((messages, report))
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
