//! Calls without an id next to a result: each gets the id of the result, or a new one.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use wb_message::pairing::CallPosition;
use wb_message::{Message, Pairing};
use wb_record::json::{get, set, text};
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible, Span, View};

use super::SessionRepair;
use super::children::{FREE, children};
use super::doubled_call_ids::{calls, ids, records_of};
use super::stage::{Current, Next};
use super::unpaired_calls::{is_own_id, near_results};

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let document = current.document();
    if !current.is_refused("result-nameless") || !document.abilities().call_ids.is_there() {
        return Ok(Next::Nothing);
    }
    let changes = with_call_ids(document, &current.view).map_err(NotExpressible::unreadable)?;
    if changes.is_empty() { Ok(Next::Nothing) } else { current.step(SessionRepair::from_changes(changes)) }
}

/// Returns the changes that give calls without an id one; calls of a record stay unchanged if more
/// or fewer of them are found.
fn with_call_ids(document: &dyn Document, view: &View) -> io::Result<ChangeSet> {
    let messages = &view.messages;
    let mut taken: HashSet<&str> = messages.iter().flat_map(Message::calls).map(|(id, ..)| id).collect();
    let known: HashSet<&str> = ids(messages).collect();
    let mut new = (1..).map(|n| format!("call_{n}")).filter(|id| !known.contains(id.as_str()));
    let mut given: HashMap<CallPosition, String> = HashMap::new();
    for (call, result) in near_results(messages, &Pairing::new(messages)) {
        if is_nameless(call, messages) {
            let own = messages[result].answered_ids().find(|id| !id.is_empty() && taken.insert(id));
            given.extend(own.map(str::to_owned).or_else(|| new.next()).map(|id| (call, id)));
        }
    }
    let mut by_record: Vec<(&Span, Vec<Option<&String>>)> = Vec::new();
    for (_, call) in calls(messages).filter(|(_, call)| is_nameless(*call, messages)) {
        let Some(record) = records_of(view, call).first().copied() else { continue };
        match by_record.last_mut() {
            Some((last, ids)) if *last == record => ids.push(given.get(&call)),
            _ => by_record.push((record, vec![given.get(&call)])),
        }
    }
    // In reverse order, so that no change moves the position of another.
    by_record.sort_by(|one, other| other.0.cmp(one.0));
    let changes: io::Result<Vec<_>> =
        by_record.iter().map(|(record, ids)| changes(document, record, ids)).collect();
    Ok(ChangeSet { changes: changes?.into_iter().flatten().collect() })
}

/// Returns whether a call has no id of its own.
fn is_nameless(call: CallPosition, messages: &[Message]) -> bool {
    call.find(messages).is_some_and(|(id, name, _)| !is_own_id(id, name))
}

/// Returns the changes of one record, from its end on.
fn changes(
    document: &dyn Document,
    record: &Span,
    ids: &[Option<&String>],
) -> io::Result<Vec<(String, Change)>> {
    let (bytes, mut places) = (document.parts().bytes(record)?, Vec::new());
    find_calls(&bytes, 0, &mut places);
    if places.len() != ids.len() {
        return Ok(Vec::new());
    }
    let change = |(place, id): (Range<usize>, Option<&String>)| {
        let (call, id) = (&bytes[place.clone()], serde_json::Value::from(id?.as_str()));
        let (at, new) = (record.at + place.start as u64, set(call, "id", id.to_string().as_bytes()));
        Some((record.part.clone(), Change::Splice { at, old: Bytes(call.to_vec()), new: Bytes(new) }))
    };
    Ok(places.into_iter().zip(ids.iter().copied()).rev().filter_map(change).collect())
}

/// Finds the calls without an id in a record, as Anthropic, chat or Inspect write them.
fn find_calls(value: &[u8], from: usize, places: &mut Vec<Range<usize>>) {
    if is_call(value) {
        if get(value, "id").is_none_or(|id| matches!(id, b"null" | b"\"\"")) {
            places.push(from..from + value.len());
        }
        return;
    }
    for (_, place) in children(value).into_iter().filter(|(key, _)| !FREE.contains(&key.as_ref())) {
        find_calls(&value[place.clone()], from + place.start, places);
    }
}

fn is_call(value: &[u8]) -> bool {
    let is_named = |path: &[&str]| text(value, path).is_some();
    text(value, &["type"]).is_some_and(|kind| kind == "tool_use")
        || is_named(&["function", "name"])
        || is_named(&["function"]) && get(value, "arguments").is_some()
}
