//! From what a host asks to what it is answered.

use std::borrow::Cow;

use wb_formats::{FormatError, newest, open, open_path};
use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER, RESTORED_FILE_PREFIX, digest_body};
use wb_message::{Message, Pairing, runs};
use wb_record::{Access, ByAgent, Document, MemoryParts, View, json};
use wb_summarize::{FindingKind, audit};

use super::protocol::{Action, Answer, Place, Report, Request, Source, VERSION};
use crate::args::Policy;
use crate::config::{AN_ANSWER_HOLDS, Config};
use crate::outcome::Outcome;
use crate::session::Session;

/// What a host is answered, and by what its compaction is known again.
pub(super) struct Decided {
    pub(super) answer: Answer,
    pub(super) by_agent: Option<ByAgent>,
}

impl From<Answer> for Decided {
    fn from(answer: Answer) -> Self {
        Self { answer, by_agent: None }
    }
}

/// Answers a host.
pub(super) fn decide(request: &Request<'_>, config: &Config) -> Decided {
    if request.version != VERSION {
        return Answer::pass(format!("version {} is not known, {VERSION} is", request.version)).into();
    }
    if request.host.as_deref().is_some_and(|host| !config.is_on(host)) {
        return Answer::pass("the settings leave this agent to itself").into();
    }
    match read(&request.session) {
        Ok(read) => compacted(request, config, read),
        Err(error) => Answer::pass(format!("the session cannot be read: {error}")).into(),
    }
}

/// A session that was read: the document, the name of its conversation, and what the model sees of it.
pub(super) type Opened = (Box<dyn Document>, String, View);

fn read(source: &Source<'_>) -> Result<Opened, FormatError> {
    let document = match source {
        Source::Messages(raw) | Source::Content(raw) => open(Box::new(MemoryParts::of(raw.get())))?,
        Source::Text(text) => open(Box::new(MemoryParts::of(text.as_str())))?,
        Source::Path(path) => open_path(path, Access::Read)?,
    };
    let conversation = newest(document.as_ref())?;
    let mut view = document.view(&conversation)?;
    view.messages.iter_mut().for_each(bare);
    Ok((document, conversation, view))
}

/// Leaves of an earlier digest what it says itself, without its header and the files that were given back below it:
/// these are old, and the next digest would carry their lines as its own.
fn bare(message: &mut Message) {
    let Some(digest) = digest_body(message) else { return };
    let body = digest.trim_start().trim_start_matches(DIGEST_HEADER);
    let end = body.find(&format!("\n\n{RESTORED_FILE_PREFIX} ")).unwrap_or(body.len());
    let bare = body[..end].trim_start_matches('\n').to_owned();
    match message {
        Message::CompactionSummary { summary, .. } => *summary = bare,
        Message::User { content, .. } => {
            let is_of_branch = content.texts().any(|text| text.starts_with(BRANCH_HEADER));
            let header = if is_of_branch { BRANCH_HEADER } else { DIGEST_HEADER };
            *content = format!("{header}\n\n{bare}").into();
        }
        _ => {}
    }
}

fn compacted(request: &Request<'_>, config: &Config, opened: Opened) -> Decided {
    let cut = match &request.keep_from {
        None => None,
        Some(place) => match index_of(place, opened.0.as_ref(), &opened.2) {
            Some(at) => Some(at),
            None => return Answer::pass("the message that stays first is not there").into(),
        },
    };
    let file = request.host.clone().unwrap_or_default();
    let policy = Policy { window: request.window, force: true, ..config.policy };
    let mut session = Session::of(file, opened, policy, config.strategy, &config.catalog);
    session.opened.model = request.model.clone().or(session.opened.model.take());
    // What is compacted has become too much, whatever window is assumed here.
    let filled = session.measure.context_tokens + session.policy.reserve_tokens;
    session.window = session.window.min(filled);
    let steps = session.strategy.within(&AN_ANSWER_HOLDS).cut_at(cut);
    let mut outcome = Outcome::of_steps(&mut session, steps);
    let answer = answer(request, config, &outcome, cut);
    let by_agent = match &answer.action {
        Action::Replace { digest, .. } => Some(ByAgent::of(digest, kept(&outcome))),
        Action::Pass { .. } => None,
    };
    let after = loose(&outcome.messages);
    if after == [0, 0] {
        return Decided { answer, by_agent };
    }
    outcome.take_back(&mut session);
    let is_worse = after.iter().zip(loose(&session.opened.messages)).any(|(after, before)| *after > before);
    if is_worse {
        return Answer::pass("the result would not be valid").into();
    }
    Decided { answer, by_agent }
}

/// Returns the messages that stay.
fn kept(outcome: &Outcome) -> impl Iterator<Item = &Message> {
    let all = outcome.origins.iter().zip(&outcome.messages);
    all.filter(|(origin, _)| origin.kept().is_some()).map(|(_, message)| message)
}

/// Returns the index of a message that a host names by a number or by the id of its record.
pub(super) fn index_of(place: &Place, document: &dyn Document, view: &View) -> Option<usize> {
    match place {
        Place::Index(at) => Some((*at).min(view.messages.len())),
        Place::Id(id) => (0..view.messages.len()).rev().find(|at| {
            let records = view.provenance.of(*at).iter().map(|place| &place.record);
            let mut bytes = records.filter_map(|record| document.parts().bytes(record).ok());
            bytes.any(|bytes| ID_KEYS.iter().any(|key| json::text(&bytes, key).as_deref() == Some(id)))
        }),
    }
}

/// Where hosts keep the id of a record.
const ID_KEYS: [&[&str]; 3] = [&["id"], &["uuid"], &["info", "id"]];

fn answer(request: &Request<'_>, config: &Config, outcome: &Outcome, cut: Option<usize>) -> Answer {
    let report = Report {
        messages_before: outcome.report.messages_before,
        messages_after: outcome.report.messages_after,
        tokens_before: outcome.tokens_before,
        tokens_after: outcome.tokens_after,
        digest_tokens: outcome.report.digest_tokens,
        ms: 0,
    };
    let pass = |reason: Cow<'static, str>| Answer { report: Some(report), ..Answer::pass(reason) };
    let keep = runs(outcome.origins.iter().filter_map(|origin| origin.kept()));
    let is_hosts_cut = |at| keep.last().map_or(at == report.messages_before, |last| last.start == at);
    let Some(digest) = outcome.new_text() else {
        return pass(outcome.reason().map_or("there is nothing to fold".into(), Cow::Owned));
    };
    if !cut.is_none_or(is_hosts_cut) {
        return pass("the host's cut would part a call from its result".into());
    }
    if !digest.contains("\n# Objective\n") && outcome.facts.has_first() {
        return pass("there is no room for a digest that tells what the user asked for".into());
    }
    if outcome.tokens_after >= outcome.tokens_before {
        return pass("the result would not be smaller".into());
    }
    let stays = |at: u32| keep.iter().any(|range| range.contains(&(at as usize)));
    let mut audit = audit(&digest, &outcome.facts);
    audit.retain(|it| it.kind != FindingKind::MissingConstraint || !it.message.is_some_and(stays));
    let digest = with_words(&digest, request.instructions.as_deref(), &config.pin);
    Answer { report: Some(report), audit, ..Answer::of(Action::Replace { digest, keep }) }
}

/// Puts the words of the user below the header of the digest: what was asked of this compaction, and what the settings
/// pin.
fn with_words(digest: &str, asked: Option<&str>, pin: &[String]) -> String {
    let asked = asked.map(str::trim).filter(|words| !words.is_empty());
    let asked = asked.map(|words| format!("The user asked of this compaction: {words}\n"));
    let pinned = pin.iter().map(|words| format!("The user's settings say: {words}\n"));
    let words: String = asked.into_iter().chain(pinned).collect();
    match digest.split_once('\n') {
        Some((header, rest)) if !words.is_empty() => format!("{header}\n\n{words}{rest}"),
        _ => digest.to_owned(),
    }
}

/// Counts calls without a result and results without a call.
fn loose(messages: &[Message]) -> [usize; 2] {
    let pairing = Pairing::of(messages);
    [pairing.orphans().len(), pairing.dangling().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_earlier_digest_only_what_it_says_itself_is_read() {
        let told = format!("{DIGEST_HEADER}\n\n# Plan\n- none\n\n{RESTORED_FILE_PREFIX} a.rs\nfn a() {{}}\n");
        let mut summary = Message::CompactionSummary { summary: told.clone(), tokens_before: 0 };
        let mut user = Message::user(told);
        [&mut summary, &mut user].into_iter().for_each(bare);
        assert_eq!(digest_body(&summary).as_deref(), Some("# Plan\n- none"));
        assert_eq!(digest_body(&user).as_deref(), Some("# Plan\n- none"));
        let mut prompt = Message::user(format!("What is {RESTORED_FILE_PREFIX}?"));
        let before = prompt.clone();
        bare(&mut prompt);
        assert_eq!(prompt, before);
    }
}
