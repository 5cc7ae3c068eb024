//! Decides the answer to a host's request.

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ops::Range;

use serde_json::value::RawValue;
use wb_budget::{TokenCounter, TokenHeuristic};
use wb_conductor::DropStep;
use wb_dialect::Dialect;
use wb_digest::{Section, Sections};
use wb_facts::{FindingKind, audit};
use wb_formats::{Format, FormatError, Native, SentAs, newest, open, open_path};
use wb_message::markers::is_pinned;
use wb_message::runs;
use wb_passes::ImagePolicy;
use wb_record::{Access, BorrowedPart, DelegatedCompaction, Document, MemoryParts, View, json};

use super::protocol::{Action, Answer, Place, Report, Request, Source, VERSION};
use crate::args::Policy;
use crate::session::Session;
use crate::session::config::{AN_ANSWER_HOLDS, Config, Pin};
use crate::session::outcome::Outcome;
use crate::session::pins::{SessionDrop, indices_of, with_words};
use crate::session::validity::Validity;
use wb_bind::Measure;

/// The most tokens of three quarters of the removable messages that the window is made to fit.
const FEW_TOKENS: u64 = 12_000;

/// The answer to a host, and the marks that identify its compaction later.
pub(crate) struct Decided {
    pub(crate) answer: Answer,
    pub(crate) by_agent: Option<DelegatedCompaction>,
}

impl From<Answer> for Decided {
    fn from(answer: Answer) -> Self {
        Self { answer, by_agent: None }
    }
}

/// Answers a host.
pub(crate) fn decide(request: &Request<'static>, config: &Config, drops: &[SessionDrop]) -> Decided {
    if request.version != VERSION {
        return Answer::pass(format!("unsupported version {} (expected {VERSION})", request.version)).into();
    }
    if request.host.as_deref().is_some_and(|host| !config.is_on(host)) {
        return Answer::pass("the settings leave this agent to itself").into();
    }
    match read(&request.session) {
        Ok(read) => compacted(request, config, drops, read),
        Err(error) => Answer::pass(format!("the session cannot be read: {error}")).into(),
    }
}

/// An opened session: the document, the name of its conversation, and the model's view of it.
pub(crate) type Opened = (Box<dyn Document>, String, View);

fn read(source: &Source<'static>) -> Result<Opened, FormatError> {
    let parts = |raw: &'static RawValue| Box::new(BorrowedPart(raw.get().as_bytes()));
    let document = match source {
        // Its form is known even if it has no messages yet.
        Source::Messages(raw) => match open(parts(raw)) {
            Err(FormatError::Unknown { .. }) => Native.open(parts(raw))?,
            opened => opened?,
        },
        Source::Content(raw) => open(parts(raw))?,
        Source::Text(text) => open(Box::new(MemoryParts::from_bytes(text.as_str())))?,
        Source::Path(path) => open_path(path, Access::Read)?,
    };
    let conversation = newest(document.as_ref())?;
    let view = document.view(&conversation)?;
    Ok((document, conversation, view))
}

fn compacted(request: &Request<'_>, config: &Config, drops: &[SessionDrop], mut opened: Opened) -> Decided {
    if let Some(at) = first_unlike(&request.session, &opened.2) {
        return Answer::pass(format!(
            "message {at} of those sent is not read as one message of our own form"
        ))
        .into();
    }
    let cut = match &request.keep_from {
        None => None,
        Some(place) => match messages_at(place, opened.0.as_ref(), &opened.2) {
            Some(at) => Some(at.start),
            None => return Answer::pass("the message that stays first is not there").into(),
        },
    };
    let file = request.host.clone().unwrap_or_default();
    let policy = Policy { window: request.window, force: true, ..config.policy };
    opened.2.model = request.model.clone().or(opened.2.model.take());
    // The program ends soon, so skip freeing memory piece by piece.
    let session = Session::new(file, opened, policy, config.strategy, &config.catalog);
    let mut session = ManuallyDrop::new(session.with_recall_tool(request.recall.clone()));
    session.window = session.window.min(window_that_is_full(&session));
    // What the host keeps is its choice.
    let is_free = |at: &usize| cut.is_none_or(|cut| *at < cut);
    let messages = indices_of(drops, &session.opened.messages).into_iter().filter(is_free).collect();
    let steps = session.strategy.within(ImagePolicy::Keep, &AN_ANSWER_HOLDS).cut_at(cut);
    let steps = steps.drop_first(DropStep { messages, clears_only: false });
    let mut outcome = ManuallyDrop::new(Outcome::with_steps(&mut session, steps));
    let answer = answer(request, config, &outcome, cut);
    let Action::Replace { digest, .. } = &answer.action else { return answer.into() };
    let by_agent = Some(DelegatedCompaction::new(digest, outcome.kept_messages()));
    let sent = sent_as(request.host.as_deref(), &session.opened);
    let after = Validity::new(&outcome.messages, &sent);
    if !after.is_valid() {
        outcome.restore(&mut session);
        let before = Validity::new(&session.opened.messages, &sent);
        if let [first, ..] = after.new_since(&before).as_slice() {
            return Answer::pass(format!("the result would not be valid: {first}")).into();
        }
    }
    Decided { answer, by_agent }
}

/// Returns the first element of the sent list that was not read as one message: from there on the
/// indices of the host and of the view differ.
fn first_unlike(source: &Source<'_>, view: &View) -> Option<usize> {
    let Source::Messages(raw) = source else { return None };
    let (text, n_read) = (raw.get(), view.messages.len());
    let mut end = 0;
    for at in 0..n_read {
        let [place] = view.provenance.places(at) else { return Some(at) };
        let start = usize::try_from(place.record.at).unwrap_or(usize::MAX);
        let joint = if at == 0 { "[" } else { "," };
        if text.get(end..start).is_none_or(|between| between.trim() != joint) {
            return Some(at);
        }
        end = start + usize::try_from(place.record.len).unwrap_or_default();
    }
    let rest: String = text.get(end..)?.split_whitespace().collect();
    (rest != if n_read == 0 { "[]" } else { "]" }).then_some(n_read)
}

/// Returns how a host sends its sessions: in its dialect if it has one, otherwise as the view is
/// sent.
fn sent_as(host: Option<&str>, view: &View) -> SentAs<'static> {
    let of_host = SentAs::from_format(host.unwrap_or_default(), None);
    if of_host.dialects.len() < Dialect::ALL.len() { of_host } else { SentAs::from_view(view) }
}

/// Returns a window that the session fills: the host compacts, so the session is too large,
/// whatever window is assumed here. If much of the session stays anyway, or it is small, the window
/// is larger, so that at least half of the rest fits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a window is not negative")]
fn window_that_is_full(session: &Session) -> u64 {
    let Measure { context_tokens, overhead_tokens, .. } = &session.measure;
    let pinned = session.opened.messages.iter().enumerate().filter(|(_, message)| is_pinned(message));
    let stays = overhead_tokens + pinned.map(|(at, _)| session.measure.weight(at)).sum::<u64>();
    let said = context_tokens.saturating_sub(stays);
    let room = stays + (said / 2).max((said / 4 * 3).min(FEW_TOKENS));
    let limit = room as f64 * 8.0 / 7.0 / session.policy.trigger_ratio;
    (*context_tokens).max(limit as u64) + session.policy.reserve_tokens
}

/// Returns the messages that a host names by a number or by the id of their record: an answer and
/// its results may be of one.
pub(crate) fn messages_at(place: &Place, document: &dyn Document, view: &View) -> Option<Range<usize>> {
    let n_messages = view.messages.len();
    let id = match place {
        Place::Index(at) => return Some((*at).min(n_messages)..(*at).saturating_add(1).min(n_messages)),
        Place::Id(id) => id,
    };
    let is_of = |at: &usize| {
        let records = view.provenance.places(*at).iter().map(|place| &place.record);
        let mut bytes = records.filter_map(|record| document.parts().bytes(record).ok());
        bytes.any(|bytes| ID_KEYS.iter().any(|key| json::text(&bytes, key).as_deref() == Some(id)))
    };
    let last = (0..n_messages).rev().find(is_of)?;
    let n_before = (0..last).rev().take_while(is_of).count();
    Some(last - n_before..last + 1)
}

/// The keys under which hosts keep the id of a record.
const ID_KEYS: [&[&str]; 3] = [&["id"], &["uuid"], &["info", "id"]];

fn answer(request: &Request<'_>, config: &Config, outcome: &Outcome, cut: Option<usize>) -> Answer {
    let report = Report {
        messages_before: outcome.report.messages_before,
        messages_after: outcome.report.messages_after,
        tokens_before: outcome.tokens_before,
        tokens_after: outcome.tokens_after,
        digest_tokens: outcome.digest_tokens,
        ms: 0,
    };
    let pass = |reason: Cow<'static, str>| Answer { report: Some(report), ..Answer::pass(reason) };
    let keep = runs(outcome.origins.iter().filter_map(|origin| origin.input_index()));
    let is_hosts_cut = |at| keep.last().map_or(at == report.messages_before, |last| last.start == at);
    let Some(digest) = outcome.new_text() else {
        return pass(outcome.reason().map_or("there is nothing to fold".into(), Cow::Owned));
    };
    if !cut.is_none_or(is_hosts_cut) {
        return pass("the host's cut would part a call from its result".into());
    }
    let no_objective = Sections::parse(&digest).entries(Section::Objective).is_empty();
    if no_objective && outcome.facts.has_first() {
        return pass("there is no room for a digest of what the user asked for".into());
    }
    // The facts may begin before the messages; they end with the same one.
    let n_before = (outcome.facts.n_messages() as usize).saturating_sub(report.messages_before);
    let stays = |at: u32| {
        let at = (at as usize).checked_sub(n_before);
        at.is_some_and(|at| keep.iter().any(|range| range.contains(&at)))
    };
    let mut audit = audit(&digest, &outcome.facts);
    audit.retain(|it| it.kind != FindingKind::MissingConstraint || !it.message.is_some_and(stays));
    if audit.iter().any(|it| it.kind == FindingKind::MissingConstraint) {
        return pass("there is no room for a digest of the user's rules".into());
    }
    let words = words(request.instructions.as_deref(), &config.pin);
    let report =
        Report { tokens_after: report.tokens_after + TokenHeuristic::DEFAULT.text(&words), ..report };
    // Less than a tenth is not worth it, unless the host chose the cut and keeps that tail anyway.
    let tenth = if cut.is_none() { report.tokens_before / 10 } else { 1 };
    if report.tokens_after.saturating_add(tenth) > report.tokens_before {
        return Answer { report: Some(report), ..Answer::pass("a digest would save too little") };
    }
    let digest = with_words(&digest, &words);
    Answer { report: Some(report), audit, ..Answer::new(Action::Replace { digest, keep }) }
}

/// Returns the user's text for a digest: the instructions of this compaction, and the pinned
/// sentences of the settings.
fn words(asked: Option<&str>, pin: &[Pin]) -> String {
    let asked = asked.map(str::trim).filter(|words| !words.is_empty());
    let asked = asked.map(|words| format!("The user asked of this compaction: {words}\n"));
    let pinned = pin.iter().map(|pin| pin.line() + "\n");
    asked.into_iter().chain(pinned).collect()
}
