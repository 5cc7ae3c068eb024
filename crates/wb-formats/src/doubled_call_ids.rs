//! Ids that several calls have: each later call gets an id of its own, and its result too.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use wb_message::pairing::CallAt;
use wb_message::{Block, Message, Pairing};
use wb_record::json::{elements, members};
use wb_record::{Bytes, Change, ChangeSet, Document, Span, View};

/// A record in which an id is to become another.
struct Renamed<'a> {
    record: &'a Span,
    old: &'a str,
    new: String,
}

/// Returns the changes that give each call an id of its own where an earlier call has the same; nothing but the ids
/// changes. Calls of one record stay as they are, and so do calls without an id.
pub(crate) fn with_own_ids(document: &dyn Document, view: &View) -> io::Result<ChangeSet> {
    let mut renamed = renamed(view);
    // From the end on, so that no change moves the place of another.
    renamed.sort_by(|one, other| other.record.cmp(one.record));
    let records = renamed.chunk_by(|one, next| one.record == next.record);
    let changes: io::Result<Vec<_>> = records.map(|ids| changes(document, ids)).collect();
    Ok(ChangeSet { changes: changes?.into_iter().flatten().collect() })
}

/// Where an id stands, and the number of the last one that was made of it.
#[derive(Default)]
struct Seen<'a> {
    records: HashSet<&'a Span>,
    n: usize,
}

fn renamed(view: &View) -> Vec<Renamed<'_>> {
    let messages = &view.messages;
    let pairing = Pairing::of(messages);
    let mut results: HashMap<CallAt, Vec<u32>> = HashMap::new();
    pairing.pairs().iter().for_each(|pair| results.entry(pair.call).or_default().push(pair.result));
    let mut taken: HashSet<String> = ids(messages).map(str::to_owned).collect();
    let mut seen: HashMap<&str, Seen<'_>> = HashMap::new();
    let mut all = Vec::new();
    for (id, call) in calls(messages).filter(|(id, _)| !id.is_empty()) {
        let own = records_of(view, call);
        let before = seen.entry(id).or_default();
        let is_apart = !before.records.is_empty() && !own.iter().any(|it| before.records.contains(it));
        before.records.extend(&own);
        if !is_apart {
            continue;
        }
        let new = own_id(id, &mut before.n, &mut taken);
        let results = results.get(&call).into_iter().flatten();
        let results = results.flat_map(|at| view.provenance.of(*at as usize)).map(|place| &place.record);
        let mut both: Vec<&Span> = own.into_iter().chain(results).collect();
        both.sort_unstable();
        both.dedup();
        all.extend(both.into_iter().map(|record| Renamed { record, old: id, new: new.clone() }));
    }
    all
}

/// Returns every call with its id.
fn calls(messages: &[Message]) -> impl Iterator<Item = (&str, CallAt)> {
    messages.iter().zip(0..).flat_map(|(said, message)| {
        said.blocks().iter().zip(0..).filter_map(move |(block, nth)| match block {
            Block::ToolCall { id, .. } => Some((id.as_str(), CallAt { message, block: nth })),
            _ => None,
        })
    })
}

fn ids(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().flat_map(|message| message.calls().map(|(id, ..)| id).chain(message.answered_ids()))
}

/// Returns the records in which a call stands.
fn records_of(view: &View, call: CallAt) -> Vec<&Span> {
    let places = view.provenance.of(call.message as usize).iter();
    places.filter(|it| it.blocks.contains(&(call.block as usize))).map(|place| &place.record).collect()
}

/// Makes an id that no other call has.
fn own_id(id: &str, n: &mut usize, taken: &mut HashSet<String>) -> String {
    loop {
        *n += 1;
        let new = format!("{id}_{}", *n + 1);
        if taken.insert(new.clone()) {
            return new;
        }
    }
}

/// Returns the changes of one record, from its end on.
fn changes(document: &dyn Document, ids: &[Renamed<'_>]) -> io::Result<Vec<(String, Change)>> {
    let Some(Renamed { record, .. }) = ids.first() else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    document.parts().read(&record.part, record.range(), &mut bytes)?;
    let mut places = Vec::new();
    for Renamed { old, new, .. } in ids {
        let mut found = Vec::new();
        find_ids(&bytes, old, 0, &mut found);
        places.extend(found.into_iter().map(|place| (place, new)));
    }
    places.sort_by_key(|(place, _)| Reverse(place.start));
    let change = |(place, new): (Range<usize>, &String)| Change::Splice {
        at: record.at + place.start as u64,
        old: Bytes(bytes[place].to_vec()),
        new: Bytes(serde_json::Value::from(new.as_str()).to_string().into_bytes()),
    };
    Ok(places.into_iter().map(|place| (record.part.clone(), change(place))).collect())
}

/// Keys under which a tool and its user say what they like.
const FREE: [&str; 7] = ["input", "args", "arguments", "parameters", "output", "result", "response"];

/// Finds the places of an id in a record: texts under a key that ends with `id` or `ids`.
fn find_ids(value: &[u8], id: &str, from: usize, places: &mut Vec<Range<usize>>) {
    if let Some(members) = members(value) {
        for member in members {
            let (key, inner) = (member.key.to_lowercase(), &value[member.value.clone()]);
            let start = from + member.value.start;
            if key.ends_with("id") && is_text(inner, id) {
                places.push(start..start + inner.len());
            } else if key.ends_with("ids") {
                let listed = elements(inner).unwrap_or_default().into_iter();
                let same = listed.filter(|it| is_text(&inner[it.clone()], id));
                places.extend(same.map(|it| start + it.start..start + it.end));
            } else if !FREE.contains(&member.key.as_ref()) {
                find_ids(inner, id, start, places);
            }
        }
    } else if value.starts_with(b"[") {
        for place in elements(value).unwrap_or_default() {
            find_ids(&value[place.clone()], id, from + place.start, places);
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
    fn an_id_is_found_where_ids_stand_and_nowhere_else() {
        let record = r#"{"id":"c1","text":"c1","input":{"id":"c1"},"of":[{"call_id": "c1"},{"call_ids":["c0","c1"]}]}"#;
        let mut places = Vec::new();
        find_ids(record.as_bytes(), "c1", 0, &mut places);
        let starts: Vec<usize> = places.iter().map(|place| place.start).collect();
        assert_eq!(starts, [6, 61, 85], "{record}");
        assert!(places.into_iter().all(|place| &record[place] == "\"c1\""));
    }
}
