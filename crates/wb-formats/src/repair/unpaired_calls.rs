//! Calls without a result and results without a call: what answers the ones and takes the others out.

use std::collections::{HashMap, HashSet};

use wb_message::{Block, CallAt, Edit, Message, Pairing, Patch};
use wb_passes::Repair;

use crate::dialects::SentAs;

/// Returns the patch that answers calls and takes results without one out; nothing where there is nothing to mend.
pub(super) fn pairs_made_whole(messages: &[Message], sent: &SentAs) -> Option<Patch> {
    let patch = Repair { in_flight: true, ..Repair::default() }.patch(&without_left(messages, sent))?;
    Some(with_early_results(patch, messages))
}

/// Returns messages without the calls that are not to be answered: those that wait although another one of their message has
/// their id, since no provider could tell which of them a result answers, and those that the agent answers itself.
fn without_left(messages: &[Message], sent: &SentAs) -> Vec<Message> {
    let pairing = Pairing::of(messages);
    let early = early_results(messages, &pairing);
    let key = |call: CallAt| Some((call.message, call.find(messages)?.0));
    let mut known: HashSet<(u32, &str)> = pairing.pairs().iter().filter_map(|pair| key(pair.call)).collect();
    let is_answered = |at: u32| sent.answers(at as usize, messages);
    let mut without = messages.to_vec();
    for call in pairing.dangling() {
        let is_left = key(*call)
            .is_some_and(|key| !known.insert(key) || is_answered(call.message) && !early.contains_key(key.1));
        if let (true, Message::Assistant { content, .. }) = (is_left, &mut without[call.message as usize]) {
            content[call.block as usize] = Block::text("");
        }
    }
    without
}

/// Returns the results that stand before any call of their id.
fn early_results<'a>(messages: &'a [Message], pairing: &Pairing) -> HashMap<&'a str, &'a Message> {
    let results = pairing.orphans().iter().filter_map(|at| match &messages[*at as usize] {
        result @ Message::ToolResult { tool_call_id, .. } => Some((tool_call_id.as_str(), result)),
        _ => None,
    });
    results.collect()
}

/// Answers calls by the result that stands before them, where there is one.
fn with_early_results(mut patch: Patch, messages: &[Message]) -> Patch {
    let early = early_results(messages, &Pairing::of(messages));
    for edit in &mut patch.edits {
        let Edit::Fold { with, .. } = edit else { continue };
        for answer in with {
            let Message::ToolResult { tool_call_id, tool_name, .. } = &*answer else { continue };
            let Some(mut result) = early.get(tool_call_id.as_str()).map(|it| (*it).clone()) else { continue };
            if let Message::ToolResult { tool_name: name, .. } = &mut result {
                name.clone_from(tool_name);
            }
            *answer = result;
        }
    }
    patch
}
