//! Calls without a result and results without a call: the former are answered, the latter removed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use memchr::memmem;
use wb_message::markers::{DIGEST_HEADER, DROPPED_MARK};
use wb_message::{Block, CallPosition, Content, Edit, Message, Pairing, Patch};
use wb_passes::Repair;
use wb_record::{NotExpressible, items};

use super::SessionRepair;
use super::stage::{After, Current, Next, StageChanges, is_refused};
use super::unreadable_lines::unreadable_bytes;
use crate::dialects::SentAs;

/// Repairs by a patch, in which calls are answered by existing results, or by marks if the format
/// cannot hold those.
pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if current.violations().is_empty() {
        return Ok(Next::Nothing);
    }
    let hidden = unreadable_bytes(current);
    let marked = pairs_made_whole(current.messages(), &current.sent, &hidden).unwrap_or_default();
    let pairs = with_own_results(marked.clone(), current.messages());
    let is_same = pairs == marked;
    let by = |pairs: &Patch| patched_by(pairs, current, &hidden);
    let next = by(&pairs).or_else(|why| if is_same { Err(why) } else { by(&marked) })?;
    let is_hidden = |call: &CallPosition| is_in(*call, current.messages(), &hidden);
    Ok(match next {
        Next::Nothing if Pairing::new(current.messages()).dangling().iter().any(is_hidden) => {
            Next::Left(current.refused("the result of a call is in a line that cannot be read"))
        }
        next => next,
    })
}

/// Returns whether a call's id is in bytes that cannot be read: its result may be there.
fn is_in(call: CallPosition, messages: &[Message], hidden: &[u8]) -> bool {
    let id = call.find(messages).map_or("", |(id, ..)| id);
    !id.is_empty() && memmem::find(hidden, id.as_bytes()).is_some()
}

/// Repairs by a patch, with a user who speaks first if one is wanted and the format can hold one.
fn patched_by(pairs: &Patch, current: &Current<'_>, hidden: &[u8]) -> Result<Next, NotExpressible> {
    let messages = current.messages();
    let wants_user = || is_refused(&current.sent.violations(&after(pairs.clone(), messages)), "user-first");
    if user_speaks_first(messages) || !wants_user() {
        return rendered(pairs.clone(), current, hidden);
    }
    // A log that can store no new message but a digest stores it as one.
    let digest = format!("{DIGEST_HEADER}\n{DROPPED_MARK}");
    let with_user = |text: &str| rendered(with_user_first(pairs, messages, text), current, hidden);
    with_user(DROPPED_MARK).or_else(|why| {
        with_user(&digest).or_else(|_| match rendered(pairs.clone(), current, hidden)? {
            Next::Nothing => Ok(Next::Left(why)),
            next => Ok(next),
        })
    })
}

/// Returns whether the first message with content, next to system texts, is a text of the user,
/// which no patch of pairs removes.
fn user_speaks_first(messages: &[Message]) -> bool {
    let mut spoken = messages.iter().filter(|message| !matches!(message, Message::Custom { .. }));
    let is_text = |content: &Content| content.texts().any(|text| !text.trim().is_empty());
    spoken.next().is_some_and(|first| matches!(first, Message::User { content, .. } if is_text(content)))
}

/// Renders a patch, and reads the result if possible.
fn rendered(patch: Patch, current: &Current<'_>, hidden: &[u8]) -> Result<Next, NotExpressible> {
    let patch = current.view.with_whole_records(patch);
    let wanted = items(&patch, current.messages().len());
    let changes = current.document().render(current.conversation, &current.view, &wanted, &current.stamp)?;
    if changes.is_empty() {
        return Ok(Next::Nothing);
    }
    if !current.is_one_file()? {
        let messages = after(patch, current.messages());
        let done = SessionRepair::from_changes(changes);
        return Ok(Next::Step(Box::new(StageChanges { done, after: After::Messages(messages) })));
    }
    let after = current.read_after(&changes)?;
    let is_repaired = pairs_made_whole(after.messages(), &current.sent, hidden).is_none()
        && after.violations().len() <= current.violations().len();
    // If ids are missing, a reader can match a result to another call.
    if !is_repaired {
        return Err(current.refused("what would be written is read otherwise than it is meant"));
    }
    Ok(Next::step_to(SessionRepair::from_changes(changes), after))
}

/// Returns messages after a patch, which keeps the pairs and so is never refused.
fn after(patch: Patch, messages: &[Message]) -> Vec<Message> {
    let mut after = messages.to_vec();
    let _ = patch.apply(&mut after);
    after
}

/// Adds a user message before the model speaks.
fn with_user_first(patch: &Patch, messages: &[Message], text: &str) -> Patch {
    let is_model = |message: &Message| matches!(message, Message::Assistant { .. });
    let at = messages.iter().position(is_model).unwrap_or(0);
    let mut edits = patch.edits.clone();
    edits.push(Edit::Fold { range: at..at, with: vec![Message::user(text)] });
    Patch::new(edits)
}

/// Returns messages with their calls answered and without results that answer none; `None` if there
/// is nothing to repair.
pub(super) fn with_whole_pairs(messages: &[Message], sent: &SentAs<'_>) -> Option<Vec<Message>> {
    let marked = pairs_made_whole(messages, sent, &[])?;
    Some(after(with_own_results(marked, messages), messages))
}

/// Returns the patch that answers calls and removes results without one; `None` if there is nothing
/// to repair.
fn pairs_made_whole(messages: &[Message], sent: &SentAs, hidden: &[u8]) -> Option<Patch> {
    Repair { in_flight: true, ..Repair::default() }.patch(&without_left(messages, sent, hidden))
}

/// Returns messages without the calls that are not to be answered: open calls that share their id
/// with another call of their message, since no provider could match a result to one of them, and
/// those that the agent answers itself, and those whose id is in bytes that cannot be read.
fn without_left<'m>(messages: &'m [Message], sent: &SentAs, hidden: &[u8]) -> Cow<'m, [Message]> {
    let pairing = Pairing::new(messages);
    let (early, near) = (early_results(messages, &pairing), near_results(messages, &pairing));
    let has_own =
        |call: CallPosition, id: &str| early.contains_key(id) || near.iter().any(|(of, _)| *of == call);
    let key = |call: CallPosition| Some((call.message, call.find(messages)?.0));
    let mut known: HashSet<(u32, &str)> = pairing.pairs().iter().filter_map(|pair| key(pair.call)).collect();
    let is_answered = |at: u32| sent.answers(at as usize, messages);
    let mut without = Cow::Borrowed(messages);
    for call in pairing.dangling() {
        let is_left = key(*call).is_some_and(|key| {
            let is_answered = is_answered(call.message) || is_in(*call, messages, hidden);
            !known.insert(key) || is_answered && !has_own(*call, key.1)
        });
        if is_left && let Message::Assistant { content, .. } = &mut without.to_mut()[call.message as usize] {
            content[call.block as usize] = Block::text("");
        }
    }
    without
}

/// Returns the results that precede any call of their id.
fn early_results<'a>(messages: &'a [Message], pairing: &Pairing) -> HashMap<&'a str, &'a Message> {
    let results = pairing.orphans().iter().filter_map(|at| match &messages[*at as usize] {
        result @ Message::ToolResult { tool_call_id, .. } => Some((tool_call_id.as_str(), result)),
        _ => None,
    });
    results.collect()
}

/// Returns the calls without a result, each with an unpaired result between its answer and the next
/// one, in order, if both are equal in number there.
pub(super) fn near_results(messages: &[Message], pairing: &Pairing) -> Vec<(CallPosition, usize)> {
    let is_model = |at: usize| matches!(messages.get(at), Some(Message::Assistant { .. }));
    let mut near = Vec::new();
    let mut calls = pairing.dangling().iter().copied().peekable();
    while let Some(first) = calls.peek().map(|call| call.message as usize) {
        let end = (first..messages.len()).find(|at| !is_model(*at)).unwrap_or(messages.len());
        let next = (end..messages.len()).find(|at| is_model(*at)).unwrap_or(messages.len());
        let open: Vec<CallPosition> =
            std::iter::from_fn(|| calls.next_if(|call| (call.message as usize) < end)).collect();
        let is_result = |at: &usize| matches!(messages[*at], Message::ToolResult { .. });
        let orphans = pairing.orphans().iter().map(|at| *at as usize);
        let results: Vec<usize> = orphans.filter(|at| (end..next).contains(at) && is_result(at)).collect();
        let may_answer = |(call, result): (&CallPosition, &usize)| may_answer(*call, *result, messages);
        if open.len() == results.len() && open.iter().zip(&results).all(may_answer) {
            near.extend(open.into_iter().zip(results));
        }
    }
    near
}

/// Returns whether a result that does not name a call can belong to it: one of them has no id, and
/// their names do not differ.
fn may_answer(call: CallPosition, result: usize, messages: &[Message]) -> bool {
    let Some((id, name, _)) = call.find(messages) else { return false };
    let Message::ToolResult { tool_call_id: of, tool_name: by, .. } = &messages[result] else { return false };
    (!is_own_id(id, name) || !is_own_id(of, by)) && (name.is_empty() || by.is_empty() || name == by)
}

/// Returns whether an id exists and is specific to its call: chat uses the name of the tool for a
/// missing one.
pub(super) fn is_own_id(id: &str, name: &str) -> bool {
    !id.is_empty() && id != name
}

/// Answers calls by the result next to them that names no call, or by the one that precedes them,
/// if there is one.
fn with_own_results(mut patch: Patch, messages: &[Message]) -> Patch {
    let pairing = Pairing::new(messages);
    let early = early_results(messages, &pairing);
    let mut near: HashMap<&str, VecDeque<&Message>> = HashMap::new();
    for (call, result) in near_results(messages, &pairing) {
        let id = call.find(messages).map_or("", |(id, ..)| id);
        near.entry(id).or_default().push_back(&messages[result]);
    }
    for edit in &mut patch.edits {
        let Edit::Fold { with, .. } = edit else { continue };
        for answer in with {
            let Message::ToolResult { tool_call_id, tool_name, .. } = &*answer else { continue };
            let own = near.get_mut(tool_call_id.as_str()).and_then(VecDeque::pop_front);
            let own = own.or_else(|| early.get(tool_call_id.as_str()).copied());
            let Some(mut result) = own.cloned() else { continue };
            if let Message::ToolResult { tool_call_id: id, tool_name: name, .. } = &mut result {
                id.clone_from(tool_call_id);
                name.clone_from(tool_name);
            }
            *answer = result;
        }
    }
    patch
}
