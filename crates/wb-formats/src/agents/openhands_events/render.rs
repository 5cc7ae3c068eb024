//! The edits that turn one conversation into another: a condensation after the events, and other
//! bodies.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::markers::digest_body;
use wb_message::{Block, Message};
use wb_record::json::{find, set, set_in};
use wb_record::splice::{Piece, splices};
use wb_record::{BorrowedPart, ChangeSet, Item, NotExpressible, Wanted};
use wb_session::iso_ms;

use super::UNNUMBERED;
use super::event::{Condensation, Event};
use crate::kit::appended::{changed_results, kept_messages, message_of, place_of, refused};
use crate::kit::message_list::List;

/// Renders the items of a view; nothing is written.
pub(crate) fn render(
    text: &[u8],
    run: &List,
    events: &[Event<'_>],
    wanted: &Wanted<'_>,
) -> Result<ChangeSet, NotExpressible> {
    let bodies: HashMap<_, _> = changed_results(text, wanted, with_body)?.into_iter().collect();
    let piece = |(number, place): (usize, &Range<usize>)| {
        bodies.get(place).map_or(Piece::Stays(number), |body| Piece::New(body.clone()))
    };
    let condensation = condensation(events, wanted)?;
    let first_id = next_id(events).saturating_add(u64::from(condensation.is_some()));
    let mut answers = answers(events, wanted, first_id)?;
    let new = |event: Value| Piece::New(event.to_string().into_bytes());
    let mut pieces = Vec::with_capacity(run.records.len() + 1);
    for (number, place) in run.records.iter().enumerate() {
        pieces.push(piece((number, place)));
        pieces.extend(answers.remove(&(place.start as u64)).into_iter().flatten().map(new));
    }
    pieces.extend(condensation.map(new));
    let changes = splices(&BorrowedPart(text), &run.records, &pieces, run.joint, |_| false);
    let changes = changes.map_err(NotExpressible::unreadable)?;
    Ok(ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() })
}

/// Returns an observation with another body, about which nothing is added.
fn with_body(record: &[u8], body: &[Block]) -> Vec<u8> {
    let said = Value::from(joined_text(body)).to_string();
    let record = set(record, "content", said.as_bytes());
    let about: [(&[&str], &[u8]); 2] =
        [(&["extras", "metadata"], b"{}"), (&["extras", "command_id"], b"null")];
    let blank = |record: Vec<u8>, (path, blank): &(&[&str], &[u8])| match find(&record, path) {
        Some(_) => set_in(&record, path, blank),
        None => record,
    };
    about.iter().fold(record, blank)
}

/// Returns the observations that answer calls, by where the record begins that they follow.
fn answers(
    events: &[Event<'_>],
    wanted: &Wanted<'_>,
    mut id: u64,
) -> Result<HashMap<u64, Vec<Value>>, NotExpressible> {
    let (mut answers, mut after) = (HashMap::<u64, Vec<Value>>::new(), None);
    for item in wanted.items {
        let Item::New(message @ Message::ToolResult { .. }) = item else {
            let at = message_of(item);
            let message = at.map(|at| &wanted.view.messages[at]);
            if matches!(message, Some(Message::CompactionSummary { .. })) && !answers.is_empty() {
                return Err(refused(
                    wanted,
                    "a new result before a summary, whose place is a number of messages",
                ));
            }
            after = at.and_then(|at| wanted.view.provenance.places(at).last()).or(after);
            continue;
        };
        if events.iter().any(|event| event.id().is_none()) {
            return Err(refused(wanted, UNNUMBERED));
        }
        let (Some(after), Some(answer)) = (after, answer(events, wanted, message, id)) else {
            return Err(refused(
                wanted,
                "a new result that is more than the end of a call that was interrupted",
            ));
        };
        answers.entry(after.record.at).or_default().push(answer);
        id = id.saturating_add(1);
    }
    Ok(answers)
}

/// Returns the observation that ends a call, in the agent's form for an action not carried out.
fn answer(events: &[Event<'_>], wanted: &Wanted<'_>, message: &Message, id: u64) -> Option<Value> {
    let Message::ToolResult { tool_call_id, tool_name, content, is_error: true, .. } = message else {
        return None;
    };
    let action = events.iter().find(|event| event.is_action_of(tool_call_id));
    let is_answer = |message: &Message| message.calls().any(|(id, ..)| id == tool_call_id);
    // The action of a call may be missing; the action of the answer describes the answer too.
    let answer = || {
        let at = wanted.view.messages.iter().rposition(is_answer)?;
        let record = &wanted.view.provenance.places(at).first()?.record;
        events.iter().find(|event| event.record == *record)
    };
    let mut about = action.or_else(answer)?.metadata()?;
    about["tool_call_id"] = tool_call_id.as_str().into();
    about["function_name"] = tool_name.as_str().into();
    let said = joined_text(content);
    Some(json!({
        "id": id,
        "timestamp": iso_ms(wanted.stamp.now_ms).trim_end_matches('Z'),
        "source": "agent",
        "message": said,
        "cause": action.and_then(Event::id),
        "observation": "error",
        "tool_call_metadata": about,
        "content": said,
        "extras": { "error_id": "" },
    }))
}

/// Returns the number of the next event.
fn next_id(events: &[Event<'_>]) -> u64 {
    events.iter().filter_map(Event::id).max().map_or(0, |id| id.saturating_add(1))
}

/// Returns the event that replaces forgotten messages with a digest; `None` if all of them stay.
fn condensation(events: &[Event<'_>], wanted: &Wanted<'_>) -> Result<Option<Value>, NotExpressible> {
    let Wanted { view, items, stamp, .. } = *wanted;
    let kept = kept_messages(wanted)?;
    let is_new = |item: &Item<'_>| new_words(item).is_some();
    if kept.len() == view.messages.len() && !items.iter().any(is_new) {
        return Ok(None);
    }
    let (forgotten, digest) = (forgotten(events, wanted, &kept)?, digest(wanted, &kept)?);
    // The digest goes before the first event of the next message.
    let next = digest.as_ref().and_then(|(at, _)| items[at + 1..].iter().find_map(message_of));
    let next = next.and_then(|at| place_of(wanted, at)).map(|place| place.start as u64);
    let before: Vec<Condensation> = events.iter().filter_map(Event::condensation).collect();
    let counts = |event: &&Event<'_>| {
        let is_forgotten =
            event.id().is_some_and(|id| forgotten.contains(&id) || before.iter().any(|it| it.forgets(id)));
        event.is_counted() && !is_forgotten && next.is_none_or(|next| event.record.at < next)
    };
    let offset = digest.as_ref().map(|_| events.iter().filter(counts).count());
    let summary = digest.map(|(_, summary)| summary);
    Ok(Some(json!({
        "id": next_id(events),
        "timestamp": iso_ms(stamp.now_ms).trim_end_matches('Z'),
        "source": "agent",
        "message": summary.as_ref().map(|text| format!("Summary: {text}")).unwrap_or_default(),
        "action": "condensation",
        "args": { "forgotten_event_ids": forgotten, "summary": summary, "summary_offset": offset },
    })))
}

/// Returns the numbers of the events of the messages that go.
fn forgotten(events: &[Event<'_>], wanted: &Wanted<'_>, kept: &[usize]) -> Result<Vec<u64>, NotExpressible> {
    let messages = &wanted.view.messages;
    let goes = |at: &usize| kept.binary_search(at).is_err() && !is_summary(&messages[*at]);
    let records = (0..messages.len()).filter(goes).flat_map(|at| wanted.view.provenance.places(at));
    let records: HashSet<u64> = records.map(|place| place.record.at).collect();
    let (gone, left): (Vec<_>, Vec<_>) = events.iter().partition(|event| records.contains(&event.record.at));
    let left: HashMap<u64, &Event<'_>> = left.into_iter().filter_map(|it| Some((it.id()?, it))).collect();
    // One that is written twice is forgotten twice.
    let is_other = |event: &Event<'_>, id| left.get(&id).is_some_and(|other| !event.is_same(other));
    let number = |event: &Event<'_>| match event.id() {
        Some(id) if is_other(event, id) => {
            Err(refused(wanted, "another event has the number of one that goes"))
        }
        id => id.ok_or_else(|| refused(wanted, UNNUMBERED)),
    };
    gone.into_iter().map(number).collect()
}

/// Returns the digest of the result, and its place among the items: a new one, or the summary that
/// stays.
fn digest(wanted: &Wanted<'_>, kept: &[usize]) -> Result<Option<(usize, String)>, NotExpressible> {
    let messages = &wanted.view.messages;
    let had = messages.iter().position(is_summary);
    let mut all =
        wanted.items.iter().enumerate().filter_map(|(at, item)| Some((at, summary_of(item, messages)?)));
    let (first, second) = (all.next(), all.next());
    match (first, second) {
        (_, Some(_)) => Err(refused(wanted, "more than one summary")),
        (None, None) if had.is_some_and(|at| kept.binary_search(&at).is_err()) => {
            Err(refused(wanted, "no digest in the place of a summary"))
        }
        (first, None) => first
            .map(|(at, message)| {
                let summary =
                    digest_body(message).ok_or_else(|| refused(wanted, "a new message that is no digest"))?;
                Ok((at, summary.into_owned()))
            })
            .transpose(),
    }
}

fn summary_of<'a>(item: &Item<'a>, messages: &'a [Message]) -> Option<&'a Message> {
    match item {
        Item::New(_) => new_words(item),
        item => message_of(item).map(|at| &messages[at]).filter(|message| is_summary(message)),
    }
}

/// Returns a new message that is no result of a tool.
fn new_words<'a>(item: &Item<'a>) -> Option<&'a Message> {
    match item {
        Item::New(message) if !matches!(message, Message::ToolResult { .. }) => Some(message),
        _ => None,
    }
}

fn is_summary(message: &Message) -> bool {
    matches!(message, Message::CompactionSummary { .. })
}
