//! What must hold of any bytes: [`read`], [`compact`], [`validate`], [`repair`], one fuzz target each. A panic is a finding.
//!
//! `cargo xtask fuzz [TARGET]` gathers the composed files of the repository as a start and runs them. Bytes are changed by
//! libFuzzer, and every other time as the JSON that they are ([`mutate`]).

mod mutate;
mod prepare;
#[expect(dead_code, reason = "the command uses more of it")]
#[path = "../../crates/wb-cli/src/args/strategy.rs"]
mod strategy;

use serde_json::Value;
use wb_dialect::{Dialect, EncodedRequest, Violation};
use wb_formats::{Document, SentAs, View, newest};
use wb_message::{Block, Message};
use wb_record::{ChangeSet, Item, MemoryParts, Stamp, items};
use wb_testkit::laws::said_loosely as said;

pub use mutate::mutate;

use prepare::compacted;

const STAMP: Stamp =
    Stamp { now_ms: 1_800_000_000_000, seed: 7, tokens_before: 90_000, tokens_after: 9_000, by_hand: true };

/// Opens any bytes and looks at all that can be seen of them; what is not changed stays byte for byte.
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

/// Compacts a session for a window that is too small for it: if its own providers would take the session, they would take
/// that too, what is written is read again as it was planned, and taken back it is the same bytes.
pub fn compact(bytes: &[u8]) {
    let Some((mut document, name, view)) = newest_of(bytes) else { return };
    let Some((patch, planned)) = compacted(document.as_ref(), &view, bytes.len()) else { return };
    let sent = SentAs::of(&view);
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
    // Where results stand apart from their calls, a reader puts some right and leaves others.
    if is_valid {
        assert_eq!(said(&now.messages), said(&planned), "read otherwise than planned");
    }
    let copy = document.parts().whole("").expect("memory");
    let anew = newest_of(&copy).map(|(.., anew)| anew);
    // A bare list of messages may have lost the blocks that told its format.
    if let Some(anew) = anew.filter(|anew| anew.format == view.format) {
        assert_eq!((said(&anew.messages), anew.provenance), (said(&now.messages), now.provenance));
    }
    document.commit(&set.inverse()).expect("what was written can be taken back");
    assert_eq!(document.parts().whole("").expect("memory"), bytes);
}

/// Checks any JSON as a request, and any session as the request that it would send.
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

/// Mends any JSON as a request, and any session: less is refused than before, and a second time changes nothing.
pub fn repair(bytes: &[u8]) {
    if let Ok(body) = serde_json::from_slice::<Value>(bytes) {
        Dialect::ALL.into_iter().for_each(|dialect| repair_request(&body, dialect));
    }
    if let Some((document, name, view)) = newest_of(bytes) {
        repair_session(document, &name, &view, bytes);
    }
}

fn repair_request(body: &Value, dialect: Dialect) {
    let n_before = wb_dialect::validate(body, dialect).len();
    let mut mended = body.clone();
    let done = wb_dialect::repair(&mut mended, dialect);
    assert!(!done.is_empty() || mended == *body, "changed without a reason");
    let left = wb_dialect::validate(&mended, dialect);
    assert!(left.len() <= n_before, "{n_before} before, then {left:?}");
    let once = mended.clone();
    let again = wb_dialect::repair(&mut mended, dialect);
    assert!(again.is_empty() && mended == once, "a second repair: {again:?}");
}

/// Mends a session as `wb repair` does: what is written is read again as it was planned, and taken back it is the same bytes.
fn repair_session(mut document: Box<dyn Document>, name: &str, view: &View, bytes: &[u8]) {
    let Ok(mended) = wb_formats::repair(document.as_ref(), name, view, &STAMP) else { return };
    let sent = SentAs::of(view);
    let (before, after) = (refused(&view.messages, &sent), refused(&mended.messages, &sent));
    assert!(after.len() <= before.len(), "{before:?}, then {after:?}");
    if mended.changes.is_empty() {
        assert_eq!(mended.messages, view.messages, "changed, and nothing to write");
        return;
    }
    if document.commit(&mended.changes).is_err() {
        assert!(mended.messages.is_empty(), "what was mended cannot be read");
        return;
    }
    let now = document.view(name).expect("what was mended can be read");
    assert_eq!(said(&now.messages), said(&mended.messages), "read otherwise than planned");
    keeps_what_is_said(&view.messages, &now.messages);
    // What is left may be what the format cannot hold, which is an error then.
    let again = wb_formats::repair(document.as_ref(), name, &now, &STAMP).map(|it| it.changes);
    assert_eq!(again.unwrap_or_default(), ChangeSet::default(), "a second repair changes something");
    document.commit(&mended.changes.inverse()).expect("what was mended can be taken back");
    assert_eq!(document.parts().whole("").expect("memory"), bytes);
}

/// Checks that all that the two sides said is there still in its order, but for empty texts and the ids and names of calls.
fn keeps_what_is_said(before: &[Message], after: &[Message]) {
    let all = |messages: &[Message]| {
        let is_result = |(role, _): &(String, Vec<Block>)| role.starts_with("result ");
        let others = said(messages).into_iter().filter(|it| !is_result(it));
        let each = |(role, blocks): (String, Vec<Block>)| {
            blocks.into_iter().map(move |it| (role.clone(), without_id_and_name(it)))
        };
        others.flat_map(each).filter(|(_, it)| it.as_text() != Some("")).collect::<Vec<_>>()
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

/// The rule about signatures looks at the turn that goes on alone, and an answered call goes on with its turn.
const OF_THE_OPEN_TURN: &str = "thought-signature";

fn refused(messages: &[Message], sent: &SentAs<'_>) -> Vec<Violation> {
    let all = sent.violations(messages).into_iter();
    all.filter(|it| it.rule != OF_THE_OPEN_TURN).collect()
}

fn open(bytes: &[u8]) -> Option<Box<dyn Document>> {
    wb_formats::open(Box::new(MemoryParts::of(bytes))).ok()
}

fn newest_of(bytes: &[u8]) -> Option<(Box<dyn Document>, String, View)> {
    let document = open(bytes)?;
    let name = newest(document.as_ref()).ok()?;
    let view = document.view(&name).ok()?;
    Some((document, name, view))
}
