//! Good sessions, broken in reported ways: everything that a provider would refuse is found and
//! repaired, or reading has already corrected it.

use std::collections::{BTreeMap, BTreeSet};

use wb_dialect::{Dialect, RULES, Violation};
use wb_formats::{SentAs, View, newest, repair};
use wb_message::{Message, Pairing, content_fingerprints};
use wb_record::{MemoryParts, Note, Stamp};

use crate::damage::broken::{Way, broken};
use crate::support::{fixtures, of_parts, open};

/// The outcome of broken sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Fates {
    found: usize,
    put_right: usize,
    /// No provider of the format refuses it.
    taken: usize,
    missed: usize,
    /// Something was repaired, and written so that it is read again.
    written: usize,
}

/// A session of pi whose calls are on the branch that continues.
const PI: &[u8] = br#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"start"}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}
{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"r2","parentId":"r1","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[{"type":"text","text":"a.rs"}],"isError":false}}
{"type":"message","id":"a2","parentId":"r2","message":{"role":"assistant","content":[{"type":"text","text":"read"}],"stopReason":"stop"}}
{"type":"message","id":"u2","parentId":"a2","message":{"role":"user","content":"go on"}}
"#;

/// The rules about calls, results and who speaks first.
const PAIRS: [&str; 8] = [
    "tool-name",
    "result-nameless",
    "result-misplaced",
    "call-unanswered",
    "result-repeated",
    "result-orphan",
    "call-repeated",
    "user-first",
];

/// The rule about a second result.
const REPEATED: &str = "result-repeated";

/// The files that cannot hold every repair, or none of one kind, with the reason.
const NOT_WRITTEN: [(&str, Option<Way>, &str); 12] = [
    ("claude-code/unlinked.json", None, "a web export is read only"),
    ("droid/session.jsonl", None, "sessions of Droid are read only"),
    ("codex/bare.jsonl", None, "lines without an envelope can hold nothing new"),
    (
        "opencode/compacted.json",
        Some(Way::ResultTwice),
        "a part that stands twice is two calls in one record",
    ),
    ("opencode/reverted.json", Some(Way::ModelFirst), "the next prompt removes what was written since"),
    (
        "gemini-contents/body.json",
        Some(Way::RoleLost),
        "a content without a role is the user's, who cannot call",
    ),
    (
        "gemini-contents/saved.json",
        Some(Way::RoleLost),
        "a content without a role is the user's, who cannot call",
    ),
    (
        "openai-chat/array.json",
        Some(Way::RoleLost),
        "a result of the oldest kind of call looks like a text of the user's",
    ),
    (
        "swe-agent/run.traj",
        Some(Way::RoleLost),
        "a trajectory is told from others by the roles of its history",
    ),
    ("opencode/session.json", None, "opencode itself answers the call at the end when it goes on"),
    ("opencode/failures.json", None, "opencode itself answers the call at the end when it goes on"),
    (
        "openhands-llm-completions/step.json",
        None,
        "the last answer, with a call in flight, is no message of the list",
    ),
];

/// The formats that cannot be broken in these ways, so that a reader has nothing to put right and
/// to note, and why.
const NOT_BROKEN: [(&str, &[Way], &str); 3] = [
    ("atif", &[Way::CallGone], "a result in a step without calls that names none is an observation"),
    (
        "opencode",
        &[Way::ResultGone, Way::ParallelUnanswered, Way::OrphanResult],
        "a call and its result are one part: both go, or both are there under another id",
    ),
    (
        "gemini-cli",
        &[Way::ResultGone, Way::ParallelUnanswered, Way::CallGone, Way::OrphanResult, Way::ResultTwice],
        "a result stands in its call, and a host that goes on writes it a second time beside it",
    ),
];

fn violations(view: &View) -> Vec<Violation> {
    SentAs::from_view(view).violations(&view.messages)
}

/// Returns how many findings of calls and results there are.
fn n_of_pairs(found: &[Violation]) -> usize {
    found.iter().filter(|it| PAIRS.contains(&it.rule.as_ref())).count()
}

/// Returns whether calls or results are unpaired, by the messages alone and not by a provider's
/// rules.
fn is_loose(messages: &[Message]) -> bool {
    let pairing = Pairing::new(messages);
    !pairing.orphans().is_empty() || !pairing.dangling().is_empty()
}

/// Returns whether calls wait, all of which the agent answers itself.
fn is_answered_by_agent(view: &View) -> bool {
    let n = Pairing::new(&view.messages).dangling().len();
    n > 0 && SentAs::from_view(view).n_answered(&view.messages) == n
}

/// Returns whether a call is answered more than once.
fn is_repeated(messages: &[Message]) -> bool {
    let mut results = BTreeMap::<_, usize>::new();
    Pairing::new(messages).pairs().iter().for_each(|pair| *results.entry(pair.call).or_default() += 1);
    results.values().any(|n| *n > 1)
}

/// Repairs a session as `wb repair` does and reads it again; the repair can be undone, and a second
/// one changes nothing. Returns the view, and whether something was written.
pub(crate) fn written(bytes: &[u8]) -> Result<(View, bool), String> {
    let mut document = of_parts(MemoryParts::from_bytes(bytes));
    let name = newest(document.as_ref()).map_err(|error| error.to_string())?;
    let view = document.view(&name).map_err(|error| error.to_string())?;
    let stamp = Stamp { now_ms: 1_800_000_000_000, seed: 7, ..Stamp::default() };
    let repaired = repair(document.as_ref(), &name, &view, &stamp);
    let repaired = repaired.map_err(|error| format!("not written: {error}"))?;
    document.commit(&repaired.changes).map_err(|error| error.to_string())?;
    let now = document.view(&name).map_err(|error| format!("cannot be read: {error}"))?;
    if content_fingerprints(&now.messages) != content_fingerprints(&repaired.messages) {
        return Err(format!("{:#?} was read for {:#?}", now.messages, repaired.messages));
    }
    let left = SentAs::from_view(&now).violations_in(document.as_ref(), &now);
    let kinds =
        |found: &[Violation]| found.iter().map(|it| format!("{:?}", it.kind())).collect::<BTreeSet<_>>();
    if kinds(&left) != kinds(&repaired.left) {
        return Err(format!("the reports do not agree: {left:#?}, and {:#?}", repaired.left));
    }
    let again = repair(document.as_ref(), &name, &now, &stamp).map_err(|error| error.to_string())?;
    if !again.changes.is_empty() {
        return Err(format!("a second mend changes something: {:?}", again.changes));
    }
    if let Some(why) = repaired.not_held {
        return Err(format!("not written: {why}"));
    }
    document.commit(&repaired.changes.inverse()).map_err(|error| error.to_string())?;
    let is_back = document.parts().whole("").is_ok_and(|back| back == bytes);
    if is_back {
        Ok((now, !repaired.changes.is_empty()))
    } else {
        Err("not as it was after an undo".to_owned())
    }
}

/// Returns the outcome of a broken session, or the error.
fn fate(file: &str, way: Way, bytes: &[u8], whole: &View, fates: &mut Fates) -> Result<(), String> {
    let view = match open(bytes) {
        Ok(view) => view,
        // A file that is refused is refused with the line, or is of no format that is known.
        Err(error) if way == Way::RoleLost && !error.hint().is_empty() => {
            fates.found += 1;
            return Ok(());
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let is_of = |known: Option<Way>| known.is_none_or(|known| known == way);
    let is_known = NOT_WRITTEN.iter().any(|(known, of, _)| *known == file && is_of(*of));
    if view.format != whole.format {
        return if is_known { Ok(()) } else { Err(format!("read as {}", view.format)) };
    }
    if way == Way::RoleLost && view.messages != whole.messages && !names_line(&view) && !is_known {
        return Err(format!("no line is named: {:?}", view.notes));
    }
    let (before, found) = (violations(whole), violations(&view));
    let n_before = n_of_pairs(&before);
    // A result that had no call can be the one next to a call that lost its own.
    let is_of_rule = |it: &Violation| it.rule == "result-nameless";
    let is_found =
        n_of_pairs(&found) > n_before || found.iter().any(is_of_rule) && !before.iter().any(is_of_rule);
    match () {
        () if is_found => fates.found += 1,
        () if is_repeated(&view.messages) && !refuses_repeated(&view) => fates.taken += 1,
        () if is_answered_by_agent(&view) => fates.taken += 1,
        () if is_loose(&view.messages) && !is_loose(&whole.messages) || is_repeated(&view.messages) => {
            fates.missed += 1;
            return Err(format!("not found; {found:?}"));
        }
        () => {
            fates.put_right += 1;
            let is_pair = !matches!(way, Way::IdTwice | Way::ModelFirst | Way::BlankText | Way::NameRefused);
            let is_quiet = view.messages != whole.messages && view.notes == whole.notes;
            if is_pair && is_quiet && !is_whole(view.format, way) {
                return Err("put right without a note".to_owned());
            }
        }
    }
    let has_lost = view.notes.iter().any(|note| matches!(note, Note::MissingRoles { .. }));
    if found.is_empty() && !has_lost {
        return Ok(());
    }
    match written(bytes) {
        Ok((now, _)) if has_lost && !is_known && violations(whole).is_empty() => {
            let is_whole = content_fingerprints(&now.messages) == content_fingerprints(&whole.messages);
            if is_whole { Ok(()) } else { Err(format!("another role: {:#?}", now.messages)) }
        }
        Err(_) if is_known => Ok(()),
        Err(why) => Err(why),
        Ok((now, is_written)) => {
            fates.written += usize::from(is_written);
            let left = none_left(&now).map_err(|left| format!("written: {left}"));
            if is_known { Ok(()) } else { left }
        }
    }
}

/// Returns whether a note says in which line something is that is not read.
fn names_line(view: &View) -> bool {
    view.notes.iter().any(|note| matches!(note, Note::MissingRoles { .. } | Note::UnreadableRecords { .. }))
}

/// Returns whether a format cannot be broken in a way.
fn is_whole(format: &str, way: Way) -> bool {
    NOT_BROKEN.iter().any(|(known, ways, _)| *known == format && ways.contains(&way))
}

/// Checks that no call or result of messages is refused.
fn none_left(view: &View) -> Result<(), String> {
    let left = violations(view);
    let is_bad = |it: &&Violation| PAIRS.contains(&it.rule.as_ref());
    match left.iter().find(is_bad) {
        Some(left) => Err(format!("left after the repair: {left:?}")),
        None => Ok(()),
    }
}

/// Returns whether a provider of the format refuses a second result.
fn refuses_repeated(view: &View) -> bool {
    let rule = RULES.iter().find(|rule| rule.id == REPEATED);
    rule.is_some_and(|rule| {
        SentAs::from_view(view).dialects.iter().any(|dialect| rule.source(*dialect).is_some())
    })
}

/// Returns whether a request contains an empty text.
fn is_sent_blank(view: &View) -> bool {
    let found = violations(view);
    found.iter().any(|it| matches!(it.rule.as_ref(), "text-blank" | "message-empty"))
}

/// Returns the error about an empty text in a file: it is reported and repaired if the agent sends
/// it, and only then.
fn blank(file: &str, bytes: &[u8]) -> Option<String> {
    let view = open(bytes).ok()?;
    let sent = SentAs::from_view(&view);
    // In chat, only an answer without content is refused.
    let is_sent = sent.verbatim.empty_texts && sent.dialects == [Dialect::Anthropic];
    let is_reported = is_sent_blank(&view);
    let stays = is_reported && written(bytes).is_ok_and(|(now, _)| is_sent_blank(&now));
    let what = format!("{file}: an empty text is sent: {is_sent}, told: {is_reported}, stays: {stays}");
    (is_sent != is_reported || stays).then_some(what)
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts are what it is run for")]
fn what_was_broken_is_found_or_corrected_and_repaired() {
    let mut all: BTreeMap<(&str, Way), Fates> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, bytes) in fixtures().iter().chain([&("pi", PI)]) {
        let Ok(whole) = open(bytes) else { continue };
        for (way, id, bytes) in broken(bytes, &whole) {
            let fates = all.entry((whole.format, way)).or_default();
            if let Err(what) = fate(file, way, &bytes, &whole, fates) {
                wrong.push(format!("{file} {way:?} {id}: {what}"));
            }
            if way == Way::BlankText {
                wrong.extend(blank(file, &bytes));
            }
        }
    }
    for ((format, way), fates) in &all {
        println!("{format} {way:?}: {fates:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let n_found: usize = all.values().map(|it| it.found).sum();
    assert!(n_found > 250, "only {n_found}");
}
