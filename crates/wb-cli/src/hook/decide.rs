//! From what a host asks to what it is answered.

use wb_formats::{FormatError, newest, open, open_path};
use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER, RESTORED_FILE_PREFIX, digest_body};
use wb_message::{Message, Pairing, runs};
use wb_record::{Abilities, Ability, Access, Document, MemoryParts, View, json};
use wb_summarize::{FindingKind, audit};

use super::protocol::{Action, Answer, Place, Report, Request, Source, VERSION};
use crate::args::Policy;
use crate::outcome::Outcome;
use crate::session::Session;
use crate::strategy::Strategy;

/// What an answer can hold: one digest with files below it, and messages that stay as they are.
const ABILITIES: Abilities = Abilities {
    fold_head: Ability::Yes,
    insert: Ability::Yes,
    ..Abilities::none("an answer holds a digest and what stays")
};

/// Answers a host.
pub(crate) fn decide(request: &Request<'_>) -> Answer {
    if request.version != VERSION {
        return Answer::pass(format!("version {} is not known, {VERSION} is", request.version));
    }
    match read(&request.session) {
        Ok(read) => compacted(request, read),
        Err(error) => Answer::pass(format!("the session cannot be read: {error}")),
    }
}

/// A session that was read: the document, the name of its conversation, and what the model sees of it.
type Opened = (Box<dyn Document>, String, View);

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

fn compacted(request: &Request<'_>, opened: Opened) -> Answer {
    let cut = match &request.keep_from {
        None => None,
        Some(place) => match index_of(place, opened.0.as_ref(), &opened.2) {
            Some(at) => Some(at),
            None => return Answer::pass("the message that stays first is not there"),
        },
    };
    let file = request.host.clone().unwrap_or_default();
    let policy = Policy { window: request.window, force: true, ..Policy::default() };
    let mut session = Session::of(file, opened, policy, Strategy::default());
    session.opened.model = request.model.clone().or(session.opened.model.take());
    // What is compacted has become too much, whatever window is assumed here.
    let filled = session.measure.context_tokens + session.policy.reserve_tokens;
    session.window = session.window.min(filled);
    let steps = session.strategy.within(&ABILITIES).cut_at(cut);
    let loose_before = loose(&session.opened.messages);
    let outcome = Outcome::of_steps(&mut session, steps);
    answer(request, &outcome, cut, loose_before)
}

/// Returns the index of a message that a host names by a number or by the id of its record.
fn index_of(place: &Place, document: &dyn Document, view: &View) -> Option<usize> {
    match place {
        Place::Index(at) => Some((*at).min(view.messages.len())),
        Place::Id(id) => (0..view.messages.len()).find(|at| {
            let records = view.provenance.of(*at).iter().map(|place| &place.record);
            let mut bytes = records.filter_map(|record| document.parts().bytes(record).ok());
            bytes.any(|bytes| ID_KEYS.iter().any(|key| json::text(&bytes, key).as_deref() == Some(id)))
        }),
    }
}

/// Where hosts keep the id of a record.
const ID_KEYS: [&[&str]; 3] = [&["id"], &["uuid"], &["info", "id"]];

fn answer(request: &Request<'_>, outcome: &Outcome, cut: Option<usize>, loose_before: [usize; 2]) -> Answer {
    let report = Report {
        messages_before: outcome.report.messages_before,
        messages_after: outcome.report.messages_after,
        tokens_before: outcome.tokens_before,
        tokens_after: outcome.tokens_after,
        digest_tokens: outcome.report.digest_tokens,
        ms: 0,
    };
    let pass = |reason: String| Answer { report: Some(report), ..Answer::pass(reason) };
    let keep = runs(outcome.origins.iter().filter_map(|origin| origin.kept()));
    let is_hosts_cut = |at| keep.last().map_or(at == report.messages_before, |last| last.start == at);
    let Some(digest) = outcome.new_text() else {
        return pass(outcome.reason().unwrap_or_else(|| "there is nothing to fold".to_owned()));
    };
    if !cut.is_none_or(is_hosts_cut) {
        return pass("the host's cut would part a call from its result".to_owned());
    }
    if outcome.tokens_after >= outcome.tokens_before {
        return pass("the result would not be smaller".to_owned());
    }
    if loose(&outcome.messages).iter().zip(loose_before).any(|(after, before)| *after > before) {
        return pass("the result would not be valid".to_owned());
    }
    let stays = |at: u32| keep.iter().any(|range| range.contains(&(at as usize)));
    let mut audit = audit(&digest, &outcome.facts);
    audit.retain(|it| it.kind != FindingKind::MissingConstraint || !it.message.is_some_and(stays));
    let digest = match request.instructions.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => asked_for(&digest, words),
        None => digest,
    };
    Answer { report: Some(report), audit, ..Answer::of(Action::Replace { digest, keep }) }
}

/// Puts what the user asked of the compaction below the header of the digest.
fn asked_for(digest: &str, words: &str) -> String {
    let (header, rest) = digest.split_once('\n').unwrap_or((digest, ""));
    format!("{header}\n\nThe user asked of this compaction: {words}\n{rest}")
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
