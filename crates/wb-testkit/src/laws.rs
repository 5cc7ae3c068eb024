//! The laws that every pass, slicer and pipeline keeps; each panics with both outlines where one is broken.
//!
//! These need only messages. What is compared are multisets of ids and the pairing's own reading of positions, so
//! that transcripts whose ids repeat, or that were broken before, are judged by what the compaction did to them.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::mem::discriminant;

use wb_message::markers::{is_pinned, is_synthetic};
use wb_message::{Block, Edit, Message, Origin, Pairing, Patch, markers};

use crate::show::{difference, report};

/// Checks that no result lost its call and no call lost its result.
///
/// Orphans and unanswered calls of `before` may stay or go; new ones may not appear.
///
/// # Panics
/// Panics if `after` has an orphan or an unanswered call, by id and number, that `before` had not.
pub fn pairs_intact(before: &[Message], after: &[Message]) {
    let (old, new) = (Ends::of(before), Ends::of(after));
    if let Some(id) = surplus(&new.orphans, &old.orphans) {
        panic!("{}", report(&format!("the result of `{id}` lost its call"), before, after));
    }
    if let Some(id) = surplus(&new.unanswered, &old.unanswered) {
        panic!("{}", report(&format!("the call `{id}` lost its result"), before, after));
    }
}

/// The loose ends of a transcript by id.
struct Ends<'a> {
    orphans: Vec<&'a str>,
    unanswered: Vec<&'a str>,
}

impl<'a> Ends<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let mut called = HashSet::new();
        let mut orphans = Vec::new();
        for message in messages {
            called.extend(message.calls().map(|(id, _, _)| id));
            orphans.extend(message.answered_ids().filter(|id| !called.contains(id)));
        }
        let pairing = Pairing::new(messages);
        let open = pairing.dangling().iter();
        let unanswered = open.filter_map(|call| call.find(messages)).map(|(id, _, _)| id);
        Self { orphans, unanswered: unanswered.collect() }
    }
}

/// Returns an id that stands more often in `new` than in `old`.
fn surplus<'a>(new: &[&'a str], old: &[&str]) -> Option<&'a str> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for id in old {
        *left.entry(id).or_default() += 1;
    }
    new.iter().copied().find(|id| match left.get_mut(id) {
        Some(n) if *n > 0 => {
            *n -= 1;
            false
        }
        _ => true,
    })
}

/// Checks that a transcript has no orphans and no unanswered calls but those in flight.
///
/// # Panics
/// Panics at the first loose end.
pub fn no_loose_ends(messages: &[Message]) {
    let pairing = Pairing::new(messages);
    if let Some(at) = pairing.orphans().first() {
        panic!("{}", report(&format!("message {at} is an orphan"), messages, &[]));
    }
    let in_flight = pairing.in_flight();
    if let Some(call) = pairing.dangling().iter().find(|call| Some(call.message as usize) != in_flight) {
        panic!("{}", report(&format!("a call of message {} dangles", call.message), messages, &[]));
    }
}

/// What a message is known by although its body may have changed.
#[derive(PartialEq, Eq, Hash)]
enum Face<'a> {
    Calls(Vec<&'a str>),
    Result(&'a str, &'a str),
    Whole(&'a Message),
}

fn face(message: &Message) -> Face<'_> {
    match message {
        Message::ToolResult { tool_call_id, tool_name, .. } => Face::Result(tool_call_id, tool_name),
        Message::Assistant { .. } if message.calls().next().is_some() => {
            Face::Calls(message.calls().map(|(id, _, _)| id).collect())
        }
        _ => Face::Whole(message),
    }
}

/// Checks that messages which are in both stand in the same order.
///
/// Results are known by their ids, replies with calls by the ids of these, all else by equality; digests and
/// restored files are not looked at.
///
/// # Panics
/// Panics at the first message that stands too late or too often.
pub fn order_preserved(before: &[Message], after: &[Message]) {
    let mut places: HashMap<Face<'_>, Vec<usize>> = HashMap::new();
    for (at, message) in before.iter().enumerate() {
        places.entry(face(message)).or_default().push(at);
    }
    let mut next = 0;
    for (at, message) in after.iter().enumerate().filter(|(_, message)| !is_synthetic(message)) {
        let Some(places) = places.get(&face(message)) else { continue };
        match places.get(places.partition_point(|&place| place < next)) {
            Some(place) => next = place + 1,
            None => panic!("{}", report(&format!("message {at} is out of order"), before, after)),
        }
    }
}

/// Checks that the last `n_tail` messages are the same in both.
///
/// # Panics
/// Panics if `after` is shorter than that or differs.
pub fn tail_identical(before: &[Message], after: &[Message], n_tail: usize) {
    let tail = |messages: &[Message]| messages.len().checked_sub(n_tail);
    let (Some(old), Some(new)) = (tail(before), tail(after)) else {
        panic!("{}", report(&format!("there are no {n_tail} messages to keep"), before, after));
    };
    for (nth, (old, new)) in before[old..].iter().zip(&after[new..]).enumerate() {
        let what = format!("message {nth} of the {n_tail} kept ones");
        same(&what, old, new, before, after);
    }
}

/// Checks that system and developer texts are the same in both, in order, none gone and none new.
///
/// # Panics
/// Panics if one changed, went, came or moved among its likes.
pub fn pinned_untouched(before: &[Message], after: &[Message]) {
    let pinned = |messages| <[Message]>::iter(messages).filter(|message| is_pinned(message));
    for (old, new) in pinned(before).zip(pinned(after)) {
        same("a pinned message", old, new, before, after);
    }
    let (n_old, n_new) = (pinned(before).count(), pinned(after).count());
    let what = format!("{n_old} pinned messages became {n_new}");
    assert!(n_old == n_new, "{}", report(&what, before, after));
}

fn same<T: Debug + PartialEq>(what: &str, old: &T, new: &T, before: &[Message], after: &[Message]) {
    if old != new {
        let difference = difference(&format!("{old:?}"), &format!("{new:?}"));
        panic!("{}", report(&format!("{what} {difference}"), before, after));
    }
}

/// Checks everything that holds for a patch, and returns what it makes of the transcript.
///
/// Applying and taking back is the identity; the origins tell the truth; the patch does the same each time, and
/// also after a trip through JSON; kept results answer the calls that they answered; no loose end is new.
///
/// # Panics
/// Panics if the transcript refuses the patch or a law is broken.
pub fn patch_laws(messages: &[Message], patch: &Patch) -> Vec<Message> {
    let after = applied(messages, patch);
    origins_tell_the_truth(messages, patch, &after);
    same("the second application", &after, &applied(messages, patch), messages, &after);
    same("the patch from JSON", patch, &through_json(patch), messages, &after);
    let again = applied(messages, &through_json(patch));
    same("the application of the patch from JSON", &after, &again, messages, &after);
    pairs_intact(messages, &after);
    pairs_follow(messages, patch, &after);
    order_preserved(messages, &after);
    pinned_untouched(messages, &after);
    after
}

fn applied(messages: &[Message], patch: &Patch) -> Vec<Message> {
    let mut changed = messages.to_vec();
    let undo = match patch.clone().apply(&mut changed) {
        Ok(undo) => undo,
        Err(why) => panic!("{}", report(&format!("the patch was refused: {why}"), messages, &[])),
    };
    let after = changed.clone();
    undo.revert(&mut changed);
    same("the transcript taken back", &messages, &changed.as_slice(), messages, &changed);
    after
}

fn through_json(patch: &Patch) -> Patch {
    let json = serde_json::to_string(patch).unwrap_or_else(|why| panic!("the patch is not JSON: {why}"));
    serde_json::from_str(&json).unwrap_or_else(|why| panic!("the patch does not come back: {why}"))
}

fn origins_tell_the_truth(messages: &[Message], patch: &Patch, after: &[Message]) {
    let origins = patch.origins(messages.len());
    same("the number of origins", &after.len(), &origins.len(), messages, after);
    let edited = |at| patch.edits.iter().any(|edit| matches!(edit, Edit::Body { at: it, .. } if *it == at));
    for (new, origin) in after.iter().zip(origins) {
        let Origin::Kept(at) = origin else { continue };
        let old = &messages[at];
        if edited(at) {
            same("a body edit's kind", &discriminant(old), &discriminant(new), messages, after);
        } else {
            same(&format!("message {at}, said to be kept,"), old, new, messages, after);
        }
    }
}

/// Kept results answer the very calls that they answered before.
fn pairs_follow(messages: &[Message], patch: &Patch, after: &[Message]) {
    let origins = patch.origins(messages.len());
    let old: HashSet<_> = numbered_pairs(messages).collect();
    for (call, nth, result) in numbered_pairs(after) {
        let (Origin::Kept(call), Origin::Kept(result)) = (origins[call], origins[result]) else { continue };
        if !old.contains(&(call, nth, result)) {
            let what = format!("result {result} now answers another call of message {call}");
            panic!("{}", report(&what, messages, after));
        }
    }
}

/// Visits each pair as message of the call, number of the call in it and message of the result.
fn numbered_pairs(messages: &[Message]) -> impl Iterator<Item = (usize, usize, usize)> {
    let pairs = Pairing::new(messages).pairs().to_vec();
    pairs.into_iter().map(|pair| {
        let call = pair.call.message as usize;
        let before = &messages[call].blocks()[..pair.call.block as usize];
        let nth = before.iter().filter(|block| matches!(block, Block::ToolCall { .. })).count();
        (call, nth, pair.result as usize)
    })
}

/// Returns what messages say to a model; how a format marks a digest and when it was written are its own affair.
pub fn said(messages: &[Message]) -> Vec<(String, Vec<Block>)> {
    let each = |message: &Message| match markers::digest_body(message) {
        Some(body) => ("digest".to_owned(), vec![Block::text(body.trim())]),
        None => (role(message), message.blocks().to_vec()),
    };
    messages.iter().map(each).collect()
}

/// Returns what messages say where a format cannot tell all of it: whether a call failed is told by the text alone, and
/// answers between which nothing stands are one, as are texts of the user.
pub fn said_loosely(messages: &[Message]) -> Vec<(String, Vec<Block>)> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        if let Message::ToolResult { is_error, .. } = message {
            *is_error = false;
        }
    }
    let mut all: Vec<(String, Vec<Block>)> = Vec::new();
    for (role, blocks) in said(&messages) {
        match all.last_mut() {
            Some((last, before)) if *last == role && ["assistant", "user"].contains(&role.as_str()) => {
                before.extend(blocks);
            }
            _ => all.push((role, blocks)),
        }
    }
    all
}

fn role(message: &Message) -> String {
    match message {
        Message::User { .. } => "user".to_owned(),
        Message::Assistant { .. } => "assistant".to_owned(),
        Message::ToolResult { tool_call_id, tool_name, is_error, .. } => {
            format!("result {tool_call_id} {tool_name} {is_error}")
        }
        Message::BashExecution { command, .. } => format!("shell {command}"),
        Message::Custom { custom_type, .. } => format!("custom {custom_type}"),
        Message::BranchSummary { .. } | Message::CompactionSummary { .. } => "digest".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::script;

    /// Runs a law that must be broken, and returns what it says.
    fn broken(law: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let caught = std::panic::catch_unwind(law).expect_err("the law holds");
        caught.downcast_ref::<String>().expect("a formatted panic").clone()
    }

    /// Returns the messages at these places.
    fn pick(messages: &[Message], places: &[usize]) -> Vec<Message> {
        places.iter().map(|&at| messages[at].clone()).collect()
    }

    #[test]
    fn a_result_without_its_call_breaks_the_law_of_pairs() {
        let before = script("u a:read,bash t t a u");
        let after = pick(&before, &[0, 3, 4, 5]);
        let said = broken(|| pairs_intact(&before, &after));
        assert!(said.starts_with("the result of `c2` lost its call\n--- before\n"), "{said}");
        assert!(said.contains(" →c1 →c2\n"), "{said}");
    }

    #[test]
    fn a_call_without_its_result_breaks_the_law_of_pairs() {
        let before = script("u a:read,bash t t a u");
        let after = pick(&before, &[0, 1, 2, 4, 5]);
        assert!(broken(|| pairs_intact(&before, &after)).starts_with("the call `c2` lost its result"));
    }

    #[test]
    fn loose_ends_of_the_input_may_stay_or_go_but_not_multiply() {
        let before = script("t#x a:read#x t#x a:bash u t#x a");
        pairs_intact(&before, &before);
        pairs_intact(&before, &pick(&before, &[4, 6]));
        let doubled = pick(&before, &[0, 0]);
        assert!(broken(|| pairs_intact(&before, &doubled)).contains("`x` lost its call"));
    }

    #[test]
    fn repeated_ids_are_counted_not_looked_up() {
        let before = script("u [a:read#call_0 t]x3 u");
        pairs_intact(&before, &pick(&before, &[0, 3, 4, 5, 6, 7]));
        let after = pick(&before, &[0, 1, 2, 4, 5, 6, 7]);
        pairs_intact(&before, &pick(&before, &[0, 7]));
        // The second reply is gone and its result stays: it repeats the first one's answer, an orphan it is not.
        pairs_intact(&before, &after);
        let first_gone = pick(&before, &[0, 2, 3, 4, 5, 6, 7]);
        assert!(broken(|| pairs_intact(&before, &first_gone)).contains("`call_0` lost its call"));
    }

    #[test]
    fn loose_ends_are_found_and_calls_in_flight_are_none() {
        no_loose_ends(&script("u a:read t a:bash,read t"));
        assert!(broken(|| no_loose_ends(&script("u t#x"))).contains("message 1 is an orphan"));
        assert!(broken(|| no_loose_ends(&script("u a:read u a"))).contains("a call of message 1 dangles"));
    }

    #[test]
    fn a_swap_breaks_the_order_and_new_bodies_do_not() {
        let before = script("s u a:read t a u a");
        order_preserved(&before, &pick(&before, &[0, 2, 3, 5, 6]));
        let swapped = pick(&before, &[0, 4, 1, 2, 3]);
        assert!(broken(|| order_preserved(&before, &swapped)).starts_with("message 2 is out of order"));
        let doubled = pick(&before, &[0, 1, 1]);
        assert!(broken(|| order_preserved(&before, &doubled)).contains("out of order"));
        let cleared = script("s d a:read t_ a");
        order_preserved(&before, &cleared);
    }

    #[test]
    fn a_changed_or_shortened_tail_breaks_the_law_of_the_tail() {
        let before = script("u a u a");
        let mut after = script("d u a");
        after[1] = before[2].clone();
        after[2] = before[3].clone();
        tail_identical(&before, &after, 2);
        assert!(
            broken(|| tail_identical(&before, &after, 3)).contains("message 0 of the 3 kept ones differs")
        );
        assert!(broken(|| tail_identical(&before, &after, 4)).starts_with("there are no 4 messages"));
    }

    #[test]
    fn a_lost_or_changed_system_text_breaks_the_law_of_pinned_messages() {
        let before = script("s u a s u");
        pinned_untouched(&before, &pick(&before, &[0, 3, 4]));
        let lost = pick(&before, &[0, 1, 2, 4]);
        assert!(broken(|| pinned_untouched(&before, &lost)).starts_with("2 pinned messages became 1"));
        let mut changed = before.clone();
        changed[3] = Message::custom("system", "obey the tools");
        let said = broken(|| pinned_untouched(&before, &changed));
        assert!(said.starts_with("a pinned message differs from byte"), "{said}");
    }

    #[test]
    fn a_refused_patch_breaks_the_laws_of_patches() {
        let messages = script("u a:read t a u");
        let patch = Patch::new(vec![Edit::Fold { range: 0..2, with: vec![] }]);
        let said = broken(|| drop(patch_laws(&messages, &patch)));
        assert!(said.starts_with("the patch was refused: the patch separates the call"), "{said}");
    }

    #[test]
    fn false_origins_and_stolen_results_are_seen() {
        let messages = script("u a u a");
        let patch = Patch::new(vec![Edit::Fold { range: 0..2, with: script("d") }]);
        let lie = script("d u a");
        assert!(broken(|| origins_tell_the_truth(&messages, &patch, &lie)).contains("said to be kept"));

        let messages = script("a:read#x t#x a:read#x t#x u");
        let nothing = Patch::default();
        let stolen = pick(&messages, &[0, 2, 1, 3, 4]);
        assert!(broken(|| pairs_follow(&messages, &nothing, &stolen)).contains("now answers"));
    }

    #[test]
    fn a_lawful_patch_gives_its_result() {
        let messages = script("s u a:read*40 t*400 a u a:bash t u");
        let body = Edit::Body { at: 7, content: wb_message::markers::cleared_body() };
        let patch = Patch::new(vec![body, Edit::Fold { range: 1..5, with: script("d") }]);
        let after = patch_laws(&messages, &patch);
        assert_eq!(after.len(), 6);
        tail_identical(&messages, &after, 1);
    }
}
