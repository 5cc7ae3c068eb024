//! What is written so that a conversation becomes another: a condensation behind the events, and other bodies.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::markers::digest_body;
use wb_message::{Block, Message};
use wb_record::json::{find, set, set_in};
use wb_record::splice::{Piece, splices};
use wb_record::{ChangeSet, Item, NotExpressible, Span, Wanted};
use wb_session::iso_ms;

use super::super::message_list::List;
use super::event::{Condensation, Event};
use super::{NAME, UNNUMBERED};

/// Renders the items of a view; nothing is written.
pub(super) fn render(
    text: &[u8],
    run: &List,
    events: &[Event<'_>],
    wanted: &Wanted<'_>,
) -> Result<ChangeSet, NotExpressible> {
    let bodies = bodies(text, wanted)?;
    let piece = |(number, place): (usize, &std::ops::Range<usize>)| match bodies.get(&(place.start as u64)) {
        Some(body) => Piece::New(body.clone()),
        None => Piece::Stays(number),
    };
    let mut pieces: Vec<Piece> = run.records.iter().enumerate().map(piece).collect();
    let condensation = condensation(events, wanted)?;
    pieces.extend(condensation.map(|event| Piece::New(event.to_string().into_bytes())));
    let changes = splices(text, &run.records, &pieces, run.joint, |_| false);
    Ok(ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() })
}

/// Returns the observations that get another body, by where they stand.
fn bodies(text: &[u8], wanted: &Wanted<'_>) -> Result<HashMap<u64, Vec<u8>>, NotExpressible> {
    let mut bodies = HashMap::new();
    for item in wanted.items {
        let Item::Body(at, body) = item else { continue };
        if !matches!(wanted.view.messages[*at], Message::ToolResult { .. }) {
            return Err(refused(format!("another body for message {at}, which is no observation")));
        }
        let place = wanted.view.provenance.of(*at).first().map(|place| &place.record);
        let record = place.and_then(|span| text.get(range(span)?).map(|record| (span.at, record)));
        let (start, record) = record.ok_or_else(|| refused("an observation that is not in the file"))?;
        bodies.insert(start, with_body(record, body)?);
    }
    Ok(bodies)
}

/// Returns an observation with another body, about which nothing is added.
fn with_body(record: &[u8], body: &[Block]) -> Result<Vec<u8>, NotExpressible> {
    if body.iter().any(|block| block.as_text().is_none()) {
        return Err(refused("a body with more than texts"));
    }
    let said = Value::from(joined_text(body)).to_string();
    let record = set(record, "content", said.as_bytes());
    let about: [&[&str]; 2] = [&["extras", "metadata"], &["extras", "command_id"]];
    let blank = |record: Vec<u8>, path: &&[&str]| match find(&record, path) {
        Some(_) => set_in(&record, path, if path.ends_with(&["metadata"]) { b"{}" } else { b"null" }),
        None => record,
    };
    Ok(about.iter().fold(record, blank))
}

/// Returns the event by which messages are forgotten and a digest stands for them; nothing if all of them stay.
fn condensation(events: &[Event<'_>], wanted: &Wanted<'_>) -> Result<Option<Value>, NotExpressible> {
    let Wanted { view, items, stamp, .. } = *wanted;
    let kept = kept(items)?;
    let is_new = |item: &Item<'_>| matches!(item, Item::New(_));
    if kept.len() == view.messages.len() && !items.iter().any(is_new) {
        return Ok(None);
    }
    let (forgotten, digest) = (forgotten(events, wanted, &kept)?, digest(wanted, &kept)?);
    // The digest stands before the first event of what follows it.
    let next = digest.as_ref().and_then(|(at, _)| items[at + 1..].iter().find_map(message_of));
    let next = next.and_then(|at| view.provenance.of(at).first()).map(|place| place.record.at);
    let before: Vec<Condensation> = events.iter().filter_map(Event::condensation).collect();
    let counts = |event: &&Event<'_>| {
        let is_forgotten =
            event.id().is_some_and(|id| forgotten.contains(&id) || before.iter().any(|it| it.forgets(id)));
        event.is_counted() && !is_forgotten && next.is_none_or(|next| event.record.at < next)
    };
    let offset = digest.as_ref().map(|_| events.iter().filter(counts).count());
    let summary = digest.map(|(_, summary)| summary);
    let id = events.iter().filter_map(Event::id).max().map_or(0, |id| id.saturating_add(1));
    Ok(Some(json!({
        "id": id,
        "timestamp": iso_ms(stamp.now_ms).trim_end_matches('Z'),
        "source": "agent",
        "message": summary.as_ref().map(|text| format!("Summary: {text}")).unwrap_or_default(),
        "action": "condensation",
        "args": { "forgotten_event_ids": forgotten, "summary": summary, "summary_offset": offset },
    })))
}

/// Returns the messages that stay, in their order.
fn kept(items: &[Item<'_>]) -> Result<Vec<usize>, NotExpressible> {
    let kept: Vec<usize> = items.iter().filter_map(message_of).collect();
    if items.iter().any(|item| matches!(item, Item::Old(_))) || !kept.is_sorted() {
        return Err(refused("events of before among others"));
    }
    Ok(kept)
}

/// Returns the numbers of the events of the messages that go.
fn forgotten(events: &[Event<'_>], wanted: &Wanted<'_>, kept: &[usize]) -> Result<Vec<u64>, NotExpressible> {
    let messages = &wanted.view.messages;
    let goes = |at: &usize| kept.binary_search(at).is_err() && !is_summary(&messages[*at]);
    let records = (0..messages.len()).filter(goes).flat_map(|at| wanted.view.provenance.of(at));
    let records: HashSet<u64> = records.map(|place| place.record.at).collect();
    let gone = events.iter().filter(|event| records.contains(&event.record.at));
    gone.map(|event| event.id().ok_or_else(|| refused(UNNUMBERED))).collect()
}

/// Returns the digest that shall be, and its place among the items: a new one, or the summary that stays.
fn digest(wanted: &Wanted<'_>, kept: &[usize]) -> Result<Option<(usize, String)>, NotExpressible> {
    let messages = &wanted.view.messages;
    let had = messages.iter().position(is_summary);
    let mut all =
        wanted.items.iter().enumerate().filter_map(|(at, item)| Some((at, summary_of(item, messages)?)));
    let (first, second) = (all.next(), all.next());
    match (first, second) {
        (_, Some(_)) => Err(refused("more than one summary")),
        (None, None) if had.is_some_and(|at| kept.binary_search(&at).is_err()) => {
            Err(refused("no digest in the place of a summary"))
        }
        (first, None) => first
            .map(|(at, message)| {
                let summary =
                    digest_body(message).ok_or_else(|| refused("a new message that is no digest"))?;
                Ok((at, summary.into_owned()))
            })
            .transpose(),
    }
}

fn summary_of<'a>(item: &Item<'a>, messages: &'a [Message]) -> Option<&'a Message> {
    match item {
        Item::New(message) => Some(message),
        item => message_of(item).map(|at| &messages[at]).filter(|message| is_summary(message)),
    }
}

fn is_summary(message: &Message) -> bool {
    matches!(message, Message::CompactionSummary { .. })
}

fn message_of(item: &Item<'_>) -> Option<usize> {
    match item {
        Item::Same(at) | Item::Body(at, _) => Some(*at),
        Item::Old(_) | Item::New(_) => None,
    }
}

fn range(span: &Span) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(span.at).ok()?;
    Some(start..start + usize::try_from(span.len).ok()?)
}

fn refused(why: impl Into<String>) -> NotExpressible {
    NotExpressible::Refused { format: NAME, why: why.into() }
}
