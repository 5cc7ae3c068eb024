//! Plans the drop of messages that the user chose.

use std::collections::HashSet;

use wb_budget::WeighedTranscript;
use wb_message::markers::{cleared_body, digest_body, is_pinned, is_prompt};
use wb_message::{Edit, Message, Patch, runs};

use crate::step::DropStep;

/// Returns the messages to drop, ascending, and the patch over the transcript. Unless a digest
/// takes its place, a prompt stays first.
pub(crate) fn drop_chosen(
    view: &WeighedTranscript<'_>,
    step: &DropStep,
    has_digest: bool,
) -> (Vec<usize>, Patch) {
    let first = view.messages.iter().position(|message| !is_pinned(message)).filter(|_| !has_digest);
    let dropped = droppable(view, &step.messages, first);
    let edits = if step.clears_only {
        dropped.iter().filter(|at| is_lighter_cleared(view, **at)).map(|at| clear(*at)).collect()
    } else {
        runs(dropped.iter().copied())
            .into_iter()
            .map(|range| Edit::Fold { range, with: Vec::new() })
            .collect()
    };
    (dropped, Patch::new(edits))
}

/// Returns the chosen messages and all that are paired with them, without what must stay.
fn droppable(view: &WeighedTranscript<'_>, chosen: &[usize], first: Option<usize>) -> Vec<usize> {
    let groups = view.pairing.groups();
    let of = |at: usize| groups.get(at).copied();
    let prompt = view.messages.iter().rposition(|message| is_prompt(message));
    let must_stay = |at: &usize| is_pinned(view.messages[*at]) || digest_body(view.messages[*at]).is_some();
    let stays: HashSet<u32> = (0..view.messages.len())
        .filter(must_stay)
        .chain(prompt)
        .chain(first)
        .chain(view.pairing.in_flight())
        .filter_map(of)
        .collect();
    let chosen: HashSet<u32> = chosen.iter().filter_map(|at| of(*at)).collect();
    let is_dropped =
        |at: &usize| of(*at).is_some_and(|group| chosen.contains(&group) && !stays.contains(&group));
    let dropped: Vec<usize> = (0..view.messages.len()).filter(is_dropped).collect();
    // A transcript of nothing is none.
    if dropped.len() == view.messages.len() { Vec::new() } else { dropped }
}

/// Returns whether a message is a result that weighs less without its body.
fn is_lighter_cleared(view: &WeighedTranscript<'_>, at: usize) -> bool {
    let message = view.messages[at];
    matches!(message, Message::ToolResult { .. })
        && !view.is_fixed(at)
        && view.counter.message(&message.with_body(cleared_body())) < view.weight(at)
}

fn clear(at: usize) -> Edit {
    Edit::Body { at, content: cleared_body() }
}
