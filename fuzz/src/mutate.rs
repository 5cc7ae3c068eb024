//! Mutates bytes as JSON: values are removed, repeated, or replaced by others of the file or odd
//! ones.

use libfuzzer_sys::fuzzer_mutate;
use serde_json::{Value, json};
use wb_testkit::random::Random;

/// Mutates the input in place, as JSON or by libFuzzer, and returns its new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(u64::from(seed) | 1 << 40);
    if random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    match mutate_json(&data[..size], &mut random) {
        Some(new) if new.len() <= max_size && new != data[..size] => {
            data[..new.len()].copy_from_slice(&new);
            new.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
}

/// Changes one document, or one to three of its lines, if they are JSON.
fn mutate_json(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    if let Ok(mut whole) = serde_json::from_slice::<Value>(bytes) {
        change(&mut whole, random);
        return serde_json::to_vec(&whole).ok();
    }
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let n_changes = 1 + random.below(3);
    for _ in 0..n_changes {
        let (at, other) = (random.below(lines.len()), random.below(lines.len().max(1)));
        match random.below(6) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(other, lines.get(at)?.clone()),
            2 => lines.swap(at, other),
            _ => {
                let mut value: Value = serde_json::from_slice(lines.get(at)?).ok()?;
                change(&mut value, random);
                lines[at] = format!("{value}\n").into_bytes();
            }
        }
    }
    Some(lines.concat())
}

/// Changes one random value.
fn change(whole: &mut Value, random: &mut Random) {
    let n_values = count(whole);
    let (from, to) = (random.below(n_values), random.below(n_values));
    let other = if random.below(2) == 0 { nth(whole, from).clone() } else { odd(random) };
    let target = nth(whole, to);
    let kind = random.below(5);
    match target {
        Value::Array(list) if !list.is_empty() && kind < 3 => {
            let (at, from) = (random.below(list.len()), random.below(list.len()));
            match kind {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[from].clone()),
                _ => list.swap(at, from),
            }
        }
        Value::Object(map) if !map.is_empty() && kind < 2 => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            match kind {
                0 => drop(map.shift_remove(&key)),
                _ => drop(map.insert(key, other)),
            }
        }
        target => *target = other,
    }
}

fn odd(random: &mut Random) -> Value {
    let all = [
        json!(null),
        json!(""),
        json!(" "),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(true),
        json!([]),
        json!({}),
        json!("call_1"),
        json!("user"),
        json!("assistant"),
        json!("tool"),
        json!([{}]),
        json!("é😀\u{0}"),
        json!("2026-01-01T00:00:00.000Z"),
        json!("x".repeat(5000)),
        json!([[[]]]),
        json!({ "type": "text", "text": "" }),
    ];
    all[random.below(all.len())].clone()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns the nth value, counted from the root in text order.
fn nth(value: &mut Value, mut n: usize) -> &mut Value {
    if n == 0 || !(value.is_array() || value.is_object()) {
        return value;
    }
    n -= 1;
    let children: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => Vec::new(),
    };
    for child in children {
        let here = count(child);
        if n < here {
            return nth(child, n);
        }
        n -= here;
    }
    unreachable!("counted before")
}
