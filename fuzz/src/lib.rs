//! Properties of arbitrary bytes, one fuzz target each: [`read`], [`compact`], [`validate`] and
//! [`repair`]; of calls in JSON: [`call`]; and of inputs that bytes compose: [`compose`] and
//! [`damage`]. A panic is a finding.
//!
//! `cargo xtask fuzz [TARGET]` runs them, starting from the repository's fixtures. Inputs are
//! mutated by libFuzzer and, half of the time, as JSON ([`mutate`]).

mod mutate;
mod prepare;

use std::collections::BTreeSet;

use serde_json::Value;
use wb_dialect::{Dialect, EncodedRequest, Violation};
use wb_formats::{Document, SentAs, View, detect, format_of, newest};
use wb_message::{Block, Message};
use wb_record::{ChangeSet, Item, MemoryParts, Note, Probe, Stamp, items};
use wb_testkit::compose::bodies::Body;
use wb_testkit::compose::{Choices, bodies, damages};
use wb_testkit::laws::loose_content as said;

pub use mutate::mutate;

use prepare::plan_compaction;

const STAMP: Stamp =
    Stamp { now_ms: 1_800_000_000_000, seed: 7, tokens_before: 90_000, tokens_after: 9_000, by_hand: true };

/// Opens arbitrary bytes and reads everything; without a change they stay byte for byte.
pub fn read(bytes: &[u8]) {
    let Some(document) = open(bytes) else { return };
    for name in document.conversations().unwrap_or_default() {
        let _ = document.segments(&name).map(Iterator::count);
        let Ok(view) = document.view(&name) else { continue };
        assert_eq!(view.provenance.len(), view.messages.len());
        for usage in &view.usage {
            assert!(matches!(view.messages[usage.at], Message::Assistant { .. }), "usage of no answer");
        }
        let same: Vec<Item<'_>> = (0..view.messages.len()).map(Item::Same).collect();
        assert_eq!(document.render(&name, &view, &same, &STAMP), Ok(ChangeSet::default()));
    }
    assert_eq!(document.parts().whole("").expect("memory"), bytes);
}

/// Carries out bytes as a call, and as the messages of one, which then are also searched. Every
/// call has one answer in JSON.
pub fn call(bytes: &[u8]) {
    const OPERATIONS: [&str; 4] = ["compact", "facts", "recall", "convert"];
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let answer = |call: &str| {
        let answer = wb_bind::call(call);
        let read: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        assert_eq!(wb_bind::is_error(&answer), read.get("error").is_some());
        assert_eq!(wb_bind::call(call), answer, "the same call has the same answer");
    };
    answer(text);
    let Ok(input) = serde_json::from_slice::<Value>(bytes) else { return };
    let operation = OPERATIONS[bytes.len() % OPERATIONS.len()];
    let words: String = text.chars().filter(|c| c.is_alphanumeric() || *c == ' ').take(40).collect();
    let key = if input.is_array() { "messages" } else { "body" };
    let call = serde_json::json!({
        "operation": operation, key: input, "to": "gemini", "question": { "query": format!("{words} a") },
        "options": { "window": 4_000, "force": true },
    });
    answer(&call.to_string());
}

/// Compacts a session for a window that is too small. A valid session stays valid, the written file
/// reads as planned, and an undo restores the bytes.
pub fn compact(bytes: &[u8]) {
    let Some((mut document, name, view)) = newest_of(bytes) else { return };
    let Some((patch, planned)) = plan_compaction(document.as_ref(), &view, bytes.len()) else { return };
    let sent = SentAs::from_view(&view);
    let is_valid = sent.violations(&view.messages).is_empty();
    let after = sent.violations(&planned);
    assert!(after.is_empty() || !is_valid, "it was valid: {after:?}");
    let wanted = items(&patch, view.messages.len());
    let Ok(set) = document.render(&name, &view, &wanted, &STAMP) else { return };
    if document.commit(&set).is_err() {
        assert!(planned.is_empty(), "what was rendered cannot be read");
        return;
    }
    let now = document.view(&name).expect("what was written can be read");
    // A reader reorders some results that are apart from their calls, but not all.
    if is_valid {
        assert_eq!(said(&now.messages), said(&planned), "reads differently than planned");
    }
    let copy = document.parts().whole("").expect("memory");
    let anew = newest_of(&copy).map(|(.., anew)| anew);
    // A bare list of messages may have lost the blocks that identified its format.
    if let Some(anew) = anew.filter(|anew| anew.format == view.format) {
        assert_eq!((said(&anew.messages), anew.provenance), (said(&now.messages), now.provenance));
    }
    document.commit(&set.inverse()).expect("what was written can be undone");
    assert_eq!(document.parts().whole("").expect("memory"), bytes);
}

/// Validates arbitrary JSON as a request, and a session by its next request.
pub fn validate(bytes: &[u8]) {
    if let Ok(body) = serde_json::from_slice::<Value>(bytes) {
        for dialect in Dialect::ALL {
            let found = wb_dialect::validate(&body, dialect);
            assert_eq!(wb_dialect::validate(&body, dialect), found);
            found.iter().for_each(|violation| drop(violation.to_string()));
        }
    }
    let Some((.., view)) = newest_of(bytes) else { return };
    for dialect in Dialect::ALL {
        for violation in EncodedRequest::next_request(&view.messages, dialect).validate() {
            assert!(violation.message.is_none_or(|at| at < view.messages.len()), "{violation}");
        }
    }
}

/// Repairs arbitrary JSON as a request, and sessions: violations decrease, and a second repair
/// changes nothing.
pub fn repair(bytes: &[u8]) {
    if let Ok(body) = serde_json::from_slice::<Value>(bytes) {
        Dialect::ALL.into_iter().for_each(|dialect| repair_request(&body, dialect));
    }
    if let Some((document, name, view)) = newest_of(bytes) {
        repair_session(document, &name, &view, bytes);
    }
}

/// Composes a request body of any blocks: what only one provider has identifies its requests, and a
/// repair by the rules of that provider leaves nothing.
pub fn compose(bytes: &[u8]) {
    let Body { format, value, is_own } = bodies::compose(&mut Choices(bytes));
    let text = value.to_string();
    let detected = Probe::new(&MemoryParts::from_bytes(text.as_bytes())).ok().and_then(|it| detect(&it));
    assert!(!is_own || detected.is_some_and(|it| it.name() == format), "not detected: {text}");
    for dialect in Dialect::ALL {
        repair_request(&value, dialect);
        let mut repaired = value.clone();
        wb_dialect::repair(&mut repaired, dialect);
        let left = wb_dialect::validate(&repaired, dialect);
        assert!(left.is_empty() || format_of(dialect).name() != format, "{left:?} is left of {text}");
    }
    all(text.as_bytes());
}

/// Damages a composed log of an agent.
pub fn damage(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let log = LOGS[choices.below(LOGS.len())];
    all(&damages::damage(log, &mut choices));
}

/// Checks all properties of a file.
fn all(bytes: &[u8]) {
    read(bytes);
    compact(bytes);
    if let Some((document, name, view)) = newest_of(bytes) {
        repair_session(document, &name, &view, bytes);
    }
}

macro_rules! logs {
    ($($path:literal)*) => {
        [$(include_bytes!(concat!("../../crates/wb-formats/tests/fixtures/", $path))),*]
    };
}

/// Logs of the agents that are repaired.
const LOGS: [&[u8]; 16] = logs!(
    "claude-code/compact.jsonl"
    "claude-code/kept.jsonl"
    "claude-code/microcompact.jsonl"
    "claude-code/rewound.jsonl"
    "claude-code/split.jsonl"
    "cline/session.messages.json"
    "codex/compacted.jsonl"
    "codex/current.jsonl"
    "codex/items.jsonl"
    "copilot-cli/events.jsonl"
    "gemini-cli/session.jsonl"
    "goose/session.jsonl"
    "kimi-code/wire.jsonl"
    "opencode/session.json"
    "pi/compactions.jsonl"
    "qwen-code/session.jsonl"
);

fn repair_request(body: &Value, dialect: Dialect) {
    let n_before = wb_dialect::validate(body, dialect).len();
    let mut repaired = body.clone();
    let done = wb_dialect::repair(&mut repaired, dialect);
    assert!(!done.is_empty() || repaired == *body, "changed without a reason");
    let left = wb_dialect::validate(&repaired, dialect);
    assert!(left.len() <= n_before, "{n_before} before, then {left:?}");
    let once = repaired.clone();
    let again = wb_dialect::repair(&mut repaired, dialect);
    assert!(again.is_empty() && repaired == once, "a second repair: {again:?}");
}

/// Repairs a session as `wb repair` does: the written file reads as planned, and an undo restores
/// the bytes.
fn repair_session(mut document: Box<dyn Document>, name: &str, view: &View, bytes: &[u8]) {
    let Ok(repaired) = wb_formats::repair(document.as_ref(), name, view, &STAMP) else { return };
    let sent = SentAs::from_view(view);
    let (before, after) = (refused(&view.messages, &sent), refused(&repaired.messages, &sent));
    assert!(after.len() <= before.len(), "{before:?}, then {after:?}");
    if repaired.changes.is_empty() {
        assert_eq!(repaired.messages, view.messages, "changed, and nothing to write");
        return;
    }
    if document.commit(&repaired.changes).is_err() {
        assert!(repaired.messages.is_empty(), "what was repaired cannot be read");
        return;
    }
    let now = document.view(name).expect("what was repaired can be read");
    assert_eq!(said(&now.messages), said(&repaired.messages), "reads differently than planned");
    // What the repair reports as left is what the other commands find.
    let kinds = |found: &[Violation]| found.iter().map(|it| format!("{:?}", it.kind())).collect::<BTreeSet<_>>();
    assert_eq!(kinds(&repaired.left), kinds(&SentAs::from_view(&now).violations_in(document.as_ref(), &now)), "reports differ");
    check_content(after_summarized(view), &now.messages);
    // The rest may be inexpressible in the format, which is then an error.
    let again = wb_formats::repair(document.as_ref(), name, &now, &STAMP).map(|it| it.changes);
    assert_eq!(again.unwrap_or_default(), ChangeSet::default(), "a second repair changes something");
    document.commit(&repaired.changes.inverse()).expect("what was repaired can be undone");
    assert_eq!(document.parts().whole("").expect("memory"), bytes);
}

/// Returns the messages without those that a compaction summarizes once a line follows what it
/// should.
fn after_summarized(view: &View) -> &[Message] {
    let n_summarized = view.notes.iter().find_map(|note| match note {
        Note::CopiedParent { n_summarized, .. } => Some(*n_summarized),
        _ => None,
    });
    &view.messages[n_summarized.unwrap_or(0)..]
}

/// Checks that all content of the two sides is kept in order, apart from empty texts, pictures,
/// call ids and call names.
fn check_content(before: &[Message], after: &[Message]) {
    let all = |messages: &[Message]| {
        let is_result = |(role, _): &(String, Vec<Block>)| role.starts_with("result ");
        let others = said(messages).into_iter().filter(|it| !is_result(it));
        let each = |(role, blocks): (String, Vec<Block>)| {
            blocks.into_iter().map(move |it| (role.clone(), without_id_and_name(it)))
        };
        // Refused pictures become texts.
        let is_kept = |it: &Block| it.as_text() != Some("") && !matches!(it, Block::Image { .. });
        others.flat_map(each).filter(|(_, it)| is_kept(it)).collect::<Vec<_>>()
    };
    let (before, after) = (all(before), all(after));
    let mut rest = after.iter();
    let lost = before.iter().find(|said| !rest.any(|it| it == *said));
    assert!(lost.is_none(), "{lost:?} was lost");
}

fn without_id_and_name(block: Block) -> Block {
    match block {
        Block::ToolCall { input, .. } => Block::call("", "", input),
        block => block,
    }
}

/// The rule on signatures concerns the open turn only, which a newly answered call may extend.
const OPEN_TURN_RULE: &str = "thought-signature";

fn refused(messages: &[Message], sent: &SentAs<'_>) -> Vec<Violation> {
    let all = sent.violations(messages).into_iter();
    all.filter(|it| it.rule != OPEN_TURN_RULE).collect()
}

fn open(bytes: &[u8]) -> Option<Box<dyn Document>> {
    wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))).ok()
}

fn newest_of(bytes: &[u8]) -> Option<(Box<dyn Document>, String, View)> {
    let document = open(bytes)?;
    let name = newest(document.as_ref()).ok()?;
    let view = document.view(&name).ok()?;
    Some((document, name, view))
}
