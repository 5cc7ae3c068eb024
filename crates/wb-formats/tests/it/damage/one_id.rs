//! Sessions of every format in which many calls and results share one id: the repair is read again
//! as planned, and a second one changes nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wb_formats::{SentAs, newest};
use wb_message::Message;
use wb_record::{ChangeSet, MemoryParts, Stamp};
use wb_testkit::laws::loose_content as said;
use wb_testkit::random::Random;

use crate::damage::broken::{bytes_of, replace_text, values_of};
use crate::support::{fixtures, open};

const STAMP: Stamp =
    Stamp { now_ms: 1_800_000_000_000, seed: 7, tokens_before: 90_000, tokens_after: 9_000, by_hand: true };

/// The number of random changes to each file.
const N_CASES: u64 = 20;

/// Takes an element out, repeats it somewhere, or changes its place with another.
fn change<T: Clone>(list: &mut Vec<T>, random: &mut Random) {
    let (at, other) = (random.below(list.len()), random.below(list.len()));
    match random.below(4) {
        0 if list.len() > 1 => drop(list.remove(at)),
        1 => list.swap(at, other),
        _ => list.insert(other, list[at].clone()),
    }
}

/// Returns how many lists with objects are in a value.
fn n_lists(value: &Value) -> usize {
    match value {
        Value::Array(list) => {
            usize::from(list.iter().any(Value::is_object)) + list.iter().map(n_lists).sum::<usize>()
        }
        Value::Object(map) => map.values().map(n_lists).sum(),
        _ => 0,
    }
}

/// Changes the list with objects that has this number.
fn change_nth(value: &mut Value, n: &mut usize, random: &mut Random) {
    if let Value::Array(list) = value
        && list.iter().any(Value::is_object)
    {
        if *n == 0 {
            change(list, random);
        }
        *n = n.wrapping_sub(1);
    }
    match value {
        Value::Array(list) => list.iter_mut().for_each(|inner| change_nth(inner, n, random)),
        Value::Object(map) => map.values_mut().for_each(|inner| change_nth(inner, n, random)),
        _ => {}
    }
}

/// Changes lines and elements of lists by chance.
fn changed(values: &mut Vec<Value>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        if values.len() > 1 && random.below(2) == 0 {
            change(values, random);
            continue;
        }
        let at = random.below(values.len());
        let value = &mut values[at];
        let n_lists = n_lists(value);
        if n_lists > 0 {
            change_nth(value, &mut random.below(n_lists), random);
        }
    }
}

/// Lets each line follow the one before, where lines name one another.
fn chained(values: &mut [Value]) {
    for (id, parent) in [("uuid", "parentUuid"), ("id", "parentId")] {
        let mut before = Value::Null;
        for (value, n) in values.iter_mut().zip(0..) {
            if value.get(id).is_some() && value.get(parent).is_some() {
                value[id] = json!(format!("line{n}"));
                value[parent] = std::mem::replace(&mut before, value[id].clone());
            }
        }
    }
}

fn ids_of(messages: &[Message]) -> BTreeSet<String> {
    let ids = messages.iter().flat_map(|it| it.calls().map(|(id, ..)| id).chain(it.answered_ids()));
    ids.map(str::to_owned).collect()
}

/// Repairs a session; returns whether something was written, or the error.
fn repaired(bytes: &[u8]) -> Result<bool, String> {
    let Ok(mut document) = wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))) else {
        return Ok(false);
    };
    let Ok(name) = newest(document.as_ref()) else { return Ok(false) };
    let Ok(view) = document.view(&name) else { return Ok(false) };
    let Ok(repaired) = wb_formats::repair(document.as_ref(), &name, &view, &STAMP) else { return Ok(false) };
    let sent = SentAs::from_view(&view);
    let (before, after) = (sent.violations(&view.messages), sent.violations(&repaired.messages));
    if after.len() > before.len() {
        return Err(format!("{before:#?}, then {after:#?}"));
    }
    if repaired.changes.is_empty() {
        return Ok(false);
    }
    document.commit(&repaired.changes).map_err(|error| error.to_string())?;
    let now = document.view(&name).map_err(|error| error.to_string())?;
    if said(&now.messages) != said(&repaired.messages) {
        return Err(format!("{:#?} was read for {:#?}", now.messages, repaired.messages));
    }
    let again = wb_formats::repair(document.as_ref(), &name, &now, &STAMP).map(|it| it.changes);
    if again != Ok(ChangeSet::default()) {
        return Err(format!("a second mend changes something: {again:#?}"));
    }
    document.commit(&repaired.changes.inverse()).map_err(|error| error.to_string())?;
    assert_eq!(document.parts().whole("").unwrap(), bytes);
    Ok(true)
}

/// Returns a file in which calls and results have one id or two, and something else is changed by
/// chance.
fn doubled(bytes: &[u8], ids: &BTreeSet<String>, random: &mut Random) -> Vec<u8> {
    let mut values: Vec<Value> = values_of(bytes).into_iter().flatten().collect();
    let n_ids = 1 + random.below(2);
    for (id, nth) in ids.iter().zip(0..) {
        let one = format!("call_{}", nth % n_ids);
        for value in &mut values {
            replace_text(value, id, &one);
        }
    }
    changed(&mut values, random);
    if random.below(2) == 0 {
        chained(&mut values);
    }
    bytes_of(&values.into_iter().map(Ok).collect::<Vec<_>>())
}

#[test]
fn a_session_with_one_id_many_times_over_is_repaired_at_once() {
    let (mut wrong, mut n_written) = (Vec::new(), 0);
    for (file, bytes) in fixtures() {
        let Ok(view) = open(bytes) else { continue };
        let ids = ids_of(&view.messages);
        for seed in 1..=N_CASES {
            let bytes = doubled(bytes, &ids, &mut Random(seed << 20 | 0x9e37));
            match repaired(&bytes) {
                Ok(is_written) => n_written += usize::from(is_written),
                Err(why) => wrong.push(format!("{file} {seed}: {why}\n{}", String::from_utf8_lossy(&bytes))),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_written > 300, "only {n_written}");
}

/// Each id was once looked up again for each call of its record, which took a minute here.
#[test]
fn three_thousand_calls_of_one_record_share_an_id_and_get_their_own() {
    let parts = |part: fn(usize) -> Value| (0..3_000).map(part).collect::<Value>();
    let calls = parts(
        |n| json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": format!("make {n}") } }),
    );
    let results = parts(|_| json!({ "type": "tool_result", "tool_use_id": "t", "content": "failed" }));
    let lines = [
        json!({ "type": "user", "uuid": "a", "parentUuid": null, "message": { "role": "user", "content": "Build." } }),
        json!({ "type": "assistant", "uuid": "b", "parentUuid": "a", "message": { "id": "m", "content": calls } }),
        json!({ "type": "user", "uuid": "c", "parentUuid": "b", "message": { "role": "user", "content": results } }),
    ];
    let file = lines.map(|line| format!("{line}\n")).concat();
    let document = wb_formats::open(Box::new(MemoryParts::from_bytes(file))).unwrap();
    let view = document.view("").unwrap();
    let repaired = wb_formats::repair(document.as_ref(), "", &view, &STAMP).unwrap();
    let ids: BTreeSet<&str> = repaired.messages.iter().flat_map(Message::calls).map(|(id, ..)| id).collect();
    assert_eq!(ids.len(), 3_000);
    assert_eq!(SentAs::from_view(&view).violations(&repaired.messages), []);
}

#[test]
fn a_file_that_is_one_truncated_line_is_left_alone() {
    let whole =
        r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Build."}}"#;
    for file in [format!("{whole}{whole}-0.0"), format!("-0.0\n{whole} {}", &whole[..40])] {
        let document = wb_formats::open(Box::new(MemoryParts::from_bytes(file))).unwrap();
        let view = document.view("").unwrap();
        let refused = wb_formats::repair(document.as_ref(), "", &view, &STAMP).unwrap_err();
        assert!(refused.to_string().contains("no session would be left"), "{refused}");
    }
}
