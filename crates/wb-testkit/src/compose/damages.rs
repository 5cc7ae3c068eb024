//! Logs that are damaged as crashes, other programs and hosts damage them.

use serde_json::{Value, json};

use super::Choices;
use super::blocks::{self, ANTHROPIC_ANSWER, ANTHROPIC_USER};

/// The most damages of a log.
const MOST_DAMAGES: usize = 3;

/// Damages the lines of a log, or its one document.
type Damage = fn(&mut Vec<Vec<u8>>, usize, &mut Choices<'_>);

const DAMAGES: [Damage; 17] = [
    |lines, at, _| drop(lines.remove(at)),
    |lines, at, choices| {
        let (to, line) = (choices.below(lines.len() + 1), lines[at].clone());
        lines.insert(to, line);
    },
    |lines, at, choices| {
        let other = choices.below(lines.len());
        lines.swap(at, other);
    },
    |lines, _, choices| cut_last(lines, choices),
    |lines, at, _| drop(lines[at].splice(0..0, [0; 3])),
    |lines, at, choices| in_text(&mut lines[at], b"\n", choices),
    |lines, at, choices| in_text(&mut lines[at], b"\xff", choices),
    |lines, at, choices| in_text(&mut lines[at], "\u{2028}".as_bytes(), choices),
    |lines, at, choices| in_text(&mut lines[at], b"\\ud83d", choices),
    |lines, at, _| lines[at].retain(|byte| *byte != b'\n'),
    |lines, at, choices| interleave(lines, at, choices),
    |lines, at, choices| change(&mut lines[at], choices, |object, key| drop(object.shift_remove(key))),
    |lines, at, choices| change(&mut lines[at], choices, |object, key| object[key] = Value::Null),
    |lines, at, choices| change(&mut lines[at], choices, |object, key| object[key] = json!("")),
    |lines, at, choices| change(&mut lines[at], choices, repeat),
    |lines, at, choices| insert_block(&mut lines[at], choices),
    |lines, at, choices| go_on_from_copy(lines, at, choices),
];

/// Damages a log by choices.
pub fn damage(log: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = log.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=choices.below(MOST_DAMAGES) {
        let damage = DAMAGES[choices.below(DAMAGES.len())];
        let at = choices.below(lines.len());
        if at < lines.len() {
            damage(&mut lines, at, choices);
        }
    }
    lines.concat()
}

fn cut_last(lines: &mut [Vec<u8>], choices: &mut Choices<'_>) {
    if let Some(last) = lines.last_mut() {
        last.truncate(choices.wide(last.len()));
    }
}

/// Puts bytes into a text of a line.
fn in_text(line: &mut Vec<u8>, bytes: &[u8], choices: &mut Choices<'_>) {
    let is_blank = |(at, byte): (usize, &u8)| (*byte == b' ').then_some(at);
    let blanks: Vec<usize> = line.iter().enumerate().filter_map(is_blank).collect();
    if !blanks.is_empty() {
        let at = blanks[choices.wide(blanks.len())];
        line.splice(at..at, bytes.iter().copied());
    }
}

/// Writes a line into the middle of another.
fn interleave(lines: &mut Vec<Vec<u8>>, at: usize, choices: &mut Choices<'_>) {
    let middle = choices.wide(lines[at].len());
    let inner = lines.remove(choices.below(lines.len()));
    if let Some(outer) = lines.get_mut(at) {
        let middle = middle.min(outer.len());
        outer.splice(middle..middle, inner);
    }
}

/// Changes one member of an object in a line.
fn change(line: &mut Vec<u8>, choices: &mut Choices<'_>, act: fn(&mut serde_json::Map<String, Value>, &str)) {
    edit(line, |whole| {
        let mut nth = choices.below(64) % count(whole).max(1);
        let Some(object) = nth_object(whole, &mut nth) else { return };
        if let Some(key) = object.keys().nth(choices.below(object.len())).cloned() {
            act(object, &key);
        }
    });
}

fn edit(line: &mut Vec<u8>, act: impl FnOnce(&mut Value)) {
    if let Ok(mut whole) = serde_json::from_slice::<Value>(line) {
        act(&mut whole);
        *line = format!("{whole}\n").into_bytes();
    }
}

/// Repeats the last element of a list.
fn repeat(object: &mut serde_json::Map<String, Value>, key: &str) {
    if let Some(list) = object[key].as_array_mut() {
        list.extend(list.last().cloned());
    }
}

fn children(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(object) => object.values_mut().collect(),
        _ => Vec::new(),
    }
}

/// Returns the number of objects with members.
fn count(value: &mut Value) -> usize {
    let own = usize::from(value.as_object().is_some_and(|object| !object.is_empty()));
    own + children(value).into_iter().map(count).sum::<usize>()
}

fn nth_object<'v>(value: &'v mut Value, nth: &mut usize) -> Option<&'v mut serde_json::Map<String, Value>> {
    if value.as_object().is_some_and(|object| !object.is_empty()) {
        if *nth == 0 {
            return value.as_object_mut();
        }
        *nth -= 1;
    }
    children(value).into_iter().find_map(|child| nth_object(child, nth))
}

/// Inserts a block of Anthropic into the content of a message.
fn insert_block(line: &mut Vec<u8>, choices: &mut Choices<'_>) {
    edit(line, |whole| {
        let message = if whole["message"].is_object() { &mut whole["message"] } else { whole };
        let all = if message["role"] == "assistant" { ANTHROPIC_ANSWER } else { ANTHROPIC_USER };
        let (block, _) = choices.pick(all);
        if let Some(content) = message.get_mut("content").and_then(Value::as_array_mut) {
            content.insert(choices.below(content.len() + 1), blocks::with_id(block, choices.below(3)));
        }
    });
}

/// Copies the first lines to the end, and continues after one of them.
fn go_on_from_copy(lines: &mut Vec<Vec<u8>>, at: usize, choices: &mut Choices<'_>) {
    let copies: Vec<Vec<u8>> = lines[..=choices.below(at + 1)].to_vec();
    let Some(Ok(mut last)) = lines.last().map(|line| serde_json::from_slice::<Value>(line)) else { return };
    let parent = copies.last().and_then(|line| serde_json::from_slice::<Value>(line).ok());
    for (own, of_parent) in [("uuid", "parentUuid"), ("id", "parentId")] {
        let id = parent.as_ref().and_then(|line| line.get(own)).filter(|id| id.is_string());
        if let Some((id, object)) = id.zip(last.as_object_mut()).filter(|(_, last)| last.contains_key(own)) {
            object.insert(of_parent.to_owned(), id.clone());
            object.insert(own.to_owned(), json!(format!("new-{at}")));
        }
    }
    lines.extend(copies);
    lines.push(format!("{last}\n").into_bytes());
}
