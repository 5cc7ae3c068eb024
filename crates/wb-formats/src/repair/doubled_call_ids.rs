//! Ids that several calls share: each later call gets a new id, and so does its result.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::Range;

use wb_message::pairing::CallPosition;
use wb_message::{Block, Message, Pairing};
use wb_record::json::elements;
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible, Span, View};

use super::SessionRepair;
use super::children::{FREE, children};
use super::stage::{Current, Next, is_refused};
use super::unpaired_calls::with_whole_pairs;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    const DOUBLED: &str = "call-repeated";
    // Messages removed between two answers of the model join them into one, in which no id may
    // appear twice.
    let comes_up = || {
        let mut known = HashSet::new();
        if calls(current.messages()).all(|(id, _)| known.insert(id)) {
            return false;
        }
        let with_pairs = with_whole_pairs(current.messages(), &current.sent);
        with_pairs.is_some_and(|messages| is_refused(&current.sent.violations(&messages), DOUBLED))
    };
    if current.violations().is_empty() || !current.is_refused(DOUBLED) && !comes_up() {
        return Ok(Next::Nothing);
    }
    match with_ids(current) {
        Ok(changes) => current.step(SessionRepair::from_changes(changes)),
        Err(why) => Ok(Next::Left(why)),
    }
}

/// Returns the changes after which calls have ids of their own.
fn with_ids(current: &Current<'_>) -> Result<ChangeSet, NotExpressible> {
    if let Some(why) = current.document().abilities().call_ids.why_not() {
        return Err(current.refused(why));
    }
    let ids = with_own_ids(current.document(), &current.view).map_err(NotExpressible::unreadable)?;
    if ids.is_empty() {
        return Err(current.refused("the calls that have one id stand in one record, or the id is none"));
    }
    Ok(ids)
}

/// The position of an id: a record, and one of its places in it, or all of them.
type IdSlot<'a> = (&'a Span, Option<usize>);

/// A slot in which an id is to become another.
struct Renamed<'a> {
    slot: IdSlot<'a>,
    old: &'a str,
    new: String,
}

/// Returns the changes that give each call an id of its own where an earlier call has the same;
/// nothing but the ids changes, and a result keeps its call. Calls without an id stay as they are,
/// and so do calls of one record in which the id is at more or fewer places than there are
/// calls and results.
fn with_own_ids<'a>(document: &'a dyn Document, view: &'a View) -> io::Result<ChangeSet> {
    let mut places = IdPlaces { document, known: HashMap::new() };
    let mut renamed = renamed(&mut places, view)?;
    // In reverse order, so that no change moves the position of another.
    renamed.sort_by(|one, other| other.slot.0.cmp(one.slot.0));
    let records = renamed.chunk_by(|one, next| one.slot.0 == next.slot.0);
    let changes: io::Result<Vec<_>> = records.map(|ids| changes(&mut places, ids)).collect();
    Ok(ChangeSet { changes: changes?.into_iter().flatten().collect() })
}

fn renamed<'a>(places: &mut IdPlaces<'a>, view: &'a View) -> io::Result<Vec<Renamed<'a>>> {
    let mut taken: HashSet<String> = ids(&view.messages).map(str::to_owned).collect();
    let mut all = Vec::new();
    for (id, said) in mentions_by_id(view) {
        let mut n = 0;
        let groups = groups(places, id, said)?;
        for group in groups.into_iter().filter(|group| !group.is_empty()).skip(1) {
            if !is_written(places, id, &group)? {
                continue;
            }
            let new = own_id(id, &mut n, &mut taken);
            all.extend(group.into_iter().map(|slot| Renamed { slot, old: id, new: new.clone() }));
        }
    }
    Ok(all)
}

/// Returns whether an id is in all slots of a group; some formats use the name of a tool as the id
/// of its call.
fn is_written<'a>(places: &mut IdPlaces<'a>, id: &'a str, group: &[IdSlot<'a>]) -> io::Result<bool> {
    for (record, _) in group {
        if places.find(record, id)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A call or one of its results, with the records that contain it.
type Mention<'a> = (CallPosition, Vec<&'a Span>);

/// Returns the calls and results of each id that several calls have, in their order.
fn mentions_by_id(view: &View) -> BTreeMap<&str, Vec<Mention<'_>>> {
    let mut by_id: BTreeMap<&str, Vec<(u32, Mention<'_>)>> = BTreeMap::new();
    for (id, call) in calls(&view.messages).filter(|(id, _)| !id.is_empty()) {
        by_id.entry(id).or_default().push((call.message, (call, records_of(view, call))));
    }
    by_id.retain(|_, calls| calls.len() > 1);
    for pair in Pairing::new(&view.messages).pairs() {
        let id = pair.call.find(&view.messages).map_or("", |(id, ..)| id);
        if let Some(said) = by_id.get_mut(id) {
            let records = view.provenance.places(pair.result as usize).iter().map(|place| &place.record);
            said.push((pair.result, (pair.call, records.collect())));
        }
    }
    by_id.into_iter().map(|(id, said)| (id, in_order(said))).collect()
}

fn in_order<T>(mut said: Vec<(u32, T)>) -> Vec<T> {
    said.sort_by_key(|(at, _)| *at);
    said.into_iter().map(|(_, said)| said).collect()
}

/// Returns the slots of an id in groups: each call with its results, and calls that have a slot in
/// common as one.
fn groups<'a>(
    places: &mut IdPlaces<'a>,
    id: &'a str,
    said: Vec<Mention<'a>>,
) -> io::Result<Vec<Vec<IdSlot<'a>>>> {
    let own = |(call, records)| Ok((call, with_id(places, records, id)?));
    let said: Vec<Mention<'a>> = said.into_iter().map(own).collect::<io::Result<_>>()?;
    let mut n_said: HashMap<&Span, usize> = HashMap::new();
    said.iter().flat_map(|(_, records)| records).for_each(|record| *n_said.entry(record).or_default() += 1);
    let mut next: HashMap<&Span, usize> = HashMap::new();
    for (record, n) in n_said {
        if n > 1 && places.find(record, id)?.len() == n {
            next.insert(record, 0);
        }
    }
    let mut slots: BTreeMap<CallPosition, Vec<IdSlot<'a>>> = BTreeMap::new();
    for (call, records) in said {
        let slot = |record| {
            let nth = next.get_mut(record).map(|next| std::mem::replace(next, *next + 1));
            (record, nth)
        };
        slots.entry(call).or_default().extend(records.into_iter().map(slot));
    }
    Ok(joined(slots.into_values()))
}

/// Returns the records that contain an id, or all if none does: others only accompany a message.
fn with_id<'a>(
    places: &mut IdPlaces<'a>,
    mut records: Vec<&'a Span>,
    id: &'a str,
) -> io::Result<Vec<&'a Span>> {
    let is_there: Vec<bool> =
        records.iter().map(|record| Ok(!places.find(record, id)?.is_empty())).collect::<io::Result<_>>()?;
    if is_there.contains(&true) {
        let mut is_there = is_there.into_iter();
        records.retain(|_| is_there.next() == Some(true));
    }
    Ok(records)
}

/// Joins lists that have something in common, each to the first one.
fn joined<'a>(lists: impl Iterator<Item = Vec<IdSlot<'a>>>) -> Vec<Vec<IdSlot<'a>>> {
    let mut groups: Vec<Vec<IdSlot<'a>>> = Vec::new();
    let mut known: HashMap<IdSlot<'a>, usize> = HashMap::new();
    for list in lists {
        let held: BTreeSet<usize> = list.iter().filter_map(|slot| known.get(slot).copied()).collect();
        let into = held.first().copied().unwrap_or(groups.len());
        groups.resize_with(groups.len().max(into + 1), Vec::new);
        let moved: Vec<_> = held.iter().skip(1).flat_map(|at| std::mem::take(&mut groups[*at])).collect();
        for slot in list.into_iter().chain(moved) {
            if known.insert(slot, into) != Some(into) {
                groups[into].push(slot);
            }
        }
    }
    groups
}

/// Returns every call with its id.
pub(super) fn calls(messages: &[Message]) -> impl Iterator<Item = (&str, CallPosition)> {
    messages.iter().zip(0..).flat_map(|(said, message)| {
        said.blocks().iter().zip(0..).filter_map(move |(block, nth)| match block {
            Block::ToolCall { id, .. } => Some((id.as_str(), CallPosition { message, block: nth })),
            _ => None,
        })
    })
}

pub(super) fn ids(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().flat_map(|message| message.calls().map(|(id, ..)| id).chain(message.answered_ids()))
}

/// Returns the records that contain a call.
pub(super) fn records_of(view: &View, call: CallPosition) -> Vec<&Span> {
    let places = view.provenance.places(call.message as usize).iter();
    places.filter(|it| it.blocks.contains(&(call.block as usize))).map(|place| &place.record).collect()
}

/// Makes an id that no other call has; of one with a bar both sides, that of the call and that of
/// its item, are new.
fn own_id(id: &str, n: &mut usize, taken: &mut HashSet<String>) -> String {
    loop {
        *n += 1;
        let new: Vec<String> = id.split('|').map(|side| format!("{side}_{}", *n + 1)).collect();
        let new = new.join("|");
        if taken.insert(new.clone()) {
            return new;
        }
    }
}

/// Returns the changes of one record, from its end on.
fn changes<'a>(places: &mut IdPlaces<'a>, ids: &[Renamed<'a>]) -> io::Result<Vec<(String, Change)>> {
    let mut all = Vec::new();
    for Renamed { slot: (record, nth), old, new } in ids {
        let known = places.find(record, old)?;
        let renamed = nth.map_or(known, |nth| known.get(nth..=nth).unwrap_or_default());
        all.extend(renamed.iter().map(|place| (record, place.clone(), new)));
    }
    let document = places.document;
    all.sort_by_key(|(_, place, _)| Reverse(place.start));
    let change = |(record, place, new): (&&Span, Range<usize>, &String)| -> io::Result<(String, Change)> {
        let at = record.at + place.start as u64;
        let mut old = Vec::new();
        document.parts().read(&record.part, at..record.at + place.end as u64, &mut old)?;
        let new = Bytes(serde_json::Value::from(new.as_str()).to_string().into_bytes());
        Ok((record.part.clone(), Change::Splice { at, old: Bytes(old), new }))
    };
    all.into_iter().map(change).collect()
}

/// The places of ids in records, each looked up once: many calls may be in one record.
struct IdPlaces<'a> {
    document: &'a dyn Document,
    known: HashMap<(&'a Span, &'a str), Vec<Range<usize>>>,
}

impl<'a> IdPlaces<'a> {
    /// Returns the places of an id in a record, in order.
    fn find(&mut self, record: &'a Span, id: &'a str) -> io::Result<&[Range<usize>]> {
        match self.known.entry((record, id)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let (bytes, mut places) = (self.document.parts().bytes(record)?, Vec::new());
                find_ids(&bytes, id, 0, &mut places);
                Ok(unknown.insert(places))
            }
        }
    }
}

/// Finds the places of an id in a record: texts under a key that ends with `id` or `ids`.
fn find_ids(value: &[u8], id: &str, from: usize, places: &mut Vec<Range<usize>>) {
    for (key, place) in children(value) {
        let (start, inner) = (from + place.start, &value[place]);
        let lower = key.to_lowercase();
        if lower.ends_with("id") && is_text(inner, id) {
            places.push(start..start + inner.len());
        } else if lower.ends_with("ids") {
            let listed = elements(inner).unwrap_or_default().into_iter();
            let same = listed.filter(|it| is_text(&inner[it.clone()], id));
            places.extend(same.map(|it| start + it.start..start + it.end));
        } else if !FREE.contains(&key.as_ref()) {
            find_ids(inner, id, start, places);
        }
    }
}

fn is_text(value: &[u8], text: &str) -> bool {
    value.starts_with(b"\"") && serde_json::from_slice::<String>(value).is_ok_and(|it| it == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_id_is_new_on_both_sides_of_its_bar() {
        let mut taken = HashSet::from(["c_2".to_owned()]);
        assert_eq!(own_id("c", &mut 0, &mut taken), "c_3");
        assert_eq!(own_id("c|fc_1", &mut 0, &mut taken), "c_2|fc_1_2");
    }

    #[test]
    fn an_id_is_found_under_its_keys_and_nowhere_else() {
        let record = r#"{"id":"c1","text":"c1","input":{"id":"c1"},"of":[{"call_id": "c1"},{"call_ids":["c0","c1"]}]}"#;
        let mut places = Vec::new();
        find_ids(record.as_bytes(), "c1", 0, &mut places);
        let starts: Vec<usize> = places.iter().map(|place| place.start).collect();
        assert_eq!(starts, [6, 61, 85], "{record}");
        assert!(places.into_iter().all(|place| &record[place] == "\"c1\""));
    }
}
