//! Outlines for the messages of failing laws.

use std::fmt::Write as _;

use wb_message::Message;
use wb_message::outline::line;

/// Lines of each outline that a failing law prints.
const SHOWN_LINES: usize = 80;

/// Returns both outlines under a sentence that says what went wrong.
pub(crate) fn report(what: &str, before: &[Message], after: &[Message]) -> String {
    format!("{what}\n--- before\n{}--- after\n{}", outline(before, &[]), outline(after, before))
}

/// Returns an outline; messages that do not stand in `known` carry a `+`, unless `known` is empty.
fn outline(messages: &[Message], known: &[Message]) -> String {
    let mut out = String::new();
    for (at, message) in messages.iter().enumerate().take(SHOWN_LINES) {
        let sign = if known.is_empty() || known.contains(message) { ' ' } else { '+' };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{sign}{at:>4} {}{}", line(message), ids(message));
    }
    if messages.len() > SHOWN_LINES {
        let _ = writeln!(out, "      … {} more", messages.len() - SHOWN_LINES);
    }
    out
}

/// The ids that a message calls and answers, which outlines leave out.
fn ids(message: &Message) -> String {
    let calls = message.calls().map(|(id, _, _)| format!(" →{id}"));
    calls.chain(message.answered_ids().map(|id| format!(" ←{id}"))).collect()
}

/// Returns where two texts begin to differ, with some of each.
pub(crate) fn difference(left: &str, right: &str) -> String {
    let same = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    let start = left.floor_char_boundary(same.min(left.len()).saturating_sub(20));
    let shown = |text: &str| {
        let from = text.floor_char_boundary(start.min(text.len()));
        let end = text.ceil_char_boundary((from + 120).min(text.len()));
        format!("{:?}", &text[from..end])
    };
    format!("differs from byte {same}:\n  before {}\n  after  {}", shown(left), shown(right))
}
