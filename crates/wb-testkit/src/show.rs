//! Outlines in the panics of broken laws.

use std::fmt::Write as _;

use wb_message::Message;
use wb_message::outline::line;

/// The most lines of each outline in a panic.
const SHOWN_LINES: usize = 80;

/// Returns both outlines below a sentence about the broken law.
pub(crate) fn report(what: &str, before: &[Message], after: &[Message]) -> String {
    format!("{what}\n--- before\n{}--- after\n{}", outline(before, &[]), outline(after, before))
}

/// Returns an outline; messages missing in `known` are marked with `+`, unless `known` is empty.
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

/// Returns the ids that a message calls and answers, which outlines omit.
fn ids(message: &Message) -> String {
    let calls = message.calls().map(|(id, _, _)| format!(" →{id}"));
    calls.chain(message.answered_ids().map(|id| format!(" ←{id}"))).collect()
}

/// Describes the first difference between two texts, with an excerpt of each.
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
