//! Good sessions that are broken as people reported it: what a provider would refuse of them is found and mended, or
//! reading has put it right already.
//!
//! Records are told by what stands in them, whatever the format: an object with the id of a result is one, and so on.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wb_dialect::{RULES, Violation};
use wb_formats::{View, dialects_of, mend, newest, violations_of};
use wb_message::{Message, Pairing, content_fingerprints};
use wb_record::{MemoryParts, Stamp};

use crate::support::{FIXTURES, of_parts, open};

/// The ways in which a session is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    ResultGone,
    CallGone,
    ResultTwice,
    /// A result whose call is gone, as a resume leaves it.
    OrphanResult,
    /// One of several calls of a message without its result.
    ParallelUnanswered,
    /// A call with the id of an earlier one, and its result too.
    IdTwice,
    /// What the user says first is gone, and the model begins.
    ModelFirst,
    BlankText,
}

/// What became of broken sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Fates {
    found: usize,
    put_right: usize,
    /// No provider of the format refuses it.
    taken: usize,
    missed: usize,
    /// Something was mended, and written so that it is read again.
    written: usize,
}

/// A session of pi whose calls are on the branch that goes on.
const PI: &[u8] = br#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"start"}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}
{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"r2","parentId":"r1","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[{"type":"text","text":"a.rs"}],"isError":false}}
{"type":"message","id":"a2","parentId":"r2","message":{"role":"assistant","content":[{"type":"text","text":"read"}],"stopReason":"stop"}}
{"type":"message","id":"u2","parentId":"a2","message":{"role":"user","content":"go on"}}
"#;

/// The id of a call that is gone.
const GONE: &str = "call_gone";

/// The rules about calls, results and who speaks first.
const PAIRS: [&str; 6] = [
    "result-misplaced",
    "call-unanswered",
    "result-repeated",
    "result-orphan",
    "call-repeated",
    "user-first",
];

/// The rule about a second result.
const REPEATED: &str = "result-repeated";

/// The files that cannot hold every mend, or one of a way alone, and why.
const NOT_WRITTEN: [(&str, Option<Way>, &str); 9] = [
    ("claude-code/unlinked.json", None, "a web export is read only"),
    ("droid/session.jsonl", None, "sessions of Droid are read only"),
    ("codex/bare.jsonl", None, "lines without an envelope can hold nothing new"),
    ("codex/items.jsonl", Some(Way::IdTwice), "the log is only added to: a compaction folds the calls"),
    (
        "opencode/compacted.json",
        Some(Way::ResultTwice),
        "a part that stands twice is two calls in one record",
    ),
    ("opencode/reverted.json", Some(Way::ModelFirst), "the next prompt removes what was written since"),
    ("opencode/session.json", None, "opencode itself answers the call at the end when it goes on"),
    ("opencode/failures.json", None, "opencode itself answers the call at the end when it goes on"),
    (
        "openhands-llm-completions/step.json",
        None,
        "the last answer, with a call in flight, is no message of the list",
    ),
];

/// The values of a file: its lines, or the one document. Lines that are no JSON are left as they are.
fn values_of(bytes: &[u8]) -> Vec<Result<Value, Vec<u8>>> {
    if let Ok(whole) = serde_json::from_slice(bytes) {
        return vec![Ok(whole)];
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| serde_json::from_slice(line).map_err(|_| line.to_vec())).collect()
}

fn bytes_of(values: &[Result<Value, Vec<u8>>]) -> Vec<u8> {
    let each = |value: &Result<Value, Vec<u8>>| match value {
        Ok(value) => format!("{value}\n").into_bytes(),
        Err(line) => line.clone(),
    };
    values.iter().flat_map(each).collect()
}

/// Tells a result with this id.
fn is_result(value: &Value, id: &str) -> bool {
    let is = |keys: &[&str]| keys.iter().any(|key| value[*key] == id);
    let of_kind = |key: &str| {
        let kind = value[key].as_str().unwrap_or_default();
        let kind = kind.to_lowercase();
        ["result", "return", "output", "complete", "response", "tool"].iter().any(|end| kind.ends_with(end))
    };
    let is_kind = ["type", "role", "part_kind", "kind"].iter().any(|key| of_kind(key));
    let is_named = is(&["tool_use_id", "tool_call_id", "call_id", "toolCallId", "callID", "id"]) && is_kind;
    let is_listed = value["tool_call_ids"].as_array().is_some_and(|ids| ids.iter().any(|it| it == id));
    let is_wrapped = value["type"] == "tool.execution_complete" && value["data"]["toolCallId"] == id;
    is_named || is_listed || is_wrapped || value["functionResponse"]["id"] == id
}

/// Tells a call with this id.
fn is_call(value: &Value, id: &str) -> bool {
    let kinds =
        ["tool_use", "function_call", "custom_tool_call", "local_shell_call", "toolCall", "tool_call"];
    let more = ["toolRequest", "tool-call", "function"];
    let kind = ["type", "part_kind", "kind"].iter().find_map(|key| value[*key].as_str()).unwrap_or_default();
    let is_kind = kinds.contains(&kind)
        || more.contains(&kind)
        || value.get("toolName").is_some()
        || value.get("function").is_some()
        || value.get("args").is_some()
        || value.get("arguments").is_some();
    let is = ["id", "call_id", "tool_call_id", "toolCallId"].iter().any(|key| value[*key] == id);
    (is && is_kind && !is_result(value, id)) || value["functionCall"]["id"] == id
}

/// The keys under which an agent wraps one thing that is said.
const WRAPS: [&str; 3] = ["payload", "message", "data"];

/// Returns whether a record is what is looked for, alone or in its wrap.
fn is_record(value: &Value, is_it: &dyn Fn(&Value) -> bool) -> bool {
    is_it(value) || WRAPS.iter().any(|key| value.get(key).is_some_and(is_it))
}

/// What is done with an element of a list.
type Edit<'a> = &'a dyn Fn(&mut Vec<Value>, usize);

/// Edits the elements of lists that are looked for, wherever they stand; returns how many there were.
fn edit_lists(value: &mut Value, is_it: &dyn Fn(&Value) -> bool, edit: Edit<'_>) -> usize {
    match value {
        Value::Array(list) => {
            let mut n = 0;
            for at in (0..list.len()).rev() {
                if is_record(&list[at], is_it) {
                    edit(list, at);
                    n += 1;
                } else {
                    n += edit_lists(&mut list[at], is_it, edit);
                }
            }
            n
        }
        Value::Object(map) => map.values_mut().map(|value| edit_lists(value, is_it, edit)).sum(),
        _ => 0,
    }
}

/// The keys of a record's id and of the one before it, where records form a chain.
const CHAINS: [(&str, &str); 2] = [("uuid", "parentUuid"), ("id", "parentId")];

/// Keeps a chain whole: what followed a record that is gone follows the one before, a copy has an id of its own.
fn linked(record: &Value, left: &mut [Value], parents: &mut BTreeMap<String, Value>) {
    for (id, parent) in CHAINS {
        let (Some(own), Some(before)) = (record[id].as_str(), record.get(parent)) else { continue };
        let before = before.as_str().and_then(|it| parents.get(it)).unwrap_or(before).clone();
        match left {
            [] => _ = parents.insert(own.to_owned(), before),
            [first, copy] => {
                first[parent] = before;
                copy[id] = format!("{own}2").into();
                copy[parent] = own.into();
                parents.insert(own.to_owned(), copy[id].clone());
            }
            _ => {}
        }
    }
}

fn relink(record: &mut Value, parents: &BTreeMap<String, Value>) {
    for (_, parent) in CHAINS {
        if let Some(new) = record[parent].as_str().and_then(|it| parents.get(it)) {
            record[parent] = new.clone();
        }
    }
}

/// Edits what is looked for in a file: its lines, else elements of lists in them.
fn edited(bytes: &[u8], is_it: &dyn Fn(&Value) -> bool, edit: Edit<'_>) -> Option<Vec<u8>> {
    let mut n = 0;
    let (mut out, mut parents) = (Vec::new(), BTreeMap::new());
    for value in values_of(bytes) {
        match value {
            Ok(value) if is_record(&value, is_it) => {
                n += 1;
                let mut list = vec![value.clone()];
                edit(&mut list, 0);
                linked(&value, &mut list, &mut parents);
                out.extend(list.into_iter().map(Ok));
            }
            Ok(mut value) => {
                relink(&mut value, &parents);
                n += edit_lists(&mut value, is_it, edit);
                out.push(Ok(value));
            }
            Err(line) => out.push(Err(line)),
        }
    }
    (n > 0).then(|| bytes_of(&out))
}

/// Takes out what the user says before the model does, where that is one record.
fn without_first(bytes: &[u8], view: &View) -> Option<Vec<u8>> {
    let at = view.messages.iter().position(|it| matches!(it, Message::Assistant { .. }))?.checked_sub(1)?;
    let is_first = matches!(view.messages[at], Message::User { .. })
        && view.messages[..at].iter().all(|it| !matches!(it, Message::User { .. }));
    let [place] = view.provenance.of(at) else { return None };
    let range = place.record.range();
    let record = bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)?;
    let record: Value = serde_json::from_slice(record).ok().filter(|_| is_first)?;
    edited(bytes, &|value| *value == record, &|list, at| _ = list.remove(at))
}

/// Puts an empty text block before what says something, where blocks are lists.
fn with_blank(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_text = |value: &Value| {
        matches!(value["type"].as_str(), Some("text" | "input_text" | "output_text"))
            && value.get("text").is_some_and(Value::is_string)
            && value.as_object().is_some_and(|map| map.len() == 2)
    };
    edited(bytes, &is_text, &|list, at| {
        let mut blank = list[at].clone();
        blank["text"] = json!("");
        list.insert(at, blank);
    })
}

/// Puts another text in the place of one, wherever it is all of a value.
fn replace_text(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::String(text) if text == old => *value = new.into(),
        Value::Array(list) => list.iter_mut().for_each(|value| replace_text(value, old, new)),
        Value::Object(map) => map.values_mut().for_each(|value| replace_text(value, old, new)),
        _ => {}
    }
}

/// Gives a call and its result the id of another call.
fn with_id_of(bytes: &[u8], own: &str, other: &str) -> Vec<u8> {
    let mut values = values_of(bytes);
    values.iter_mut().flatten().for_each(|value| replace_text(value, own, other));
    bytes_of(&values)
}

/// Returns a session that is broken in each way, once for each pair of a call and its result.
fn broken(bytes: &[u8], view: &View) -> Vec<(Way, String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut earlier: Option<(u32, &str)> = None;
    for pair in Pairing::of(&view.messages).pairs() {
        let Some((id, ..)) = pair.call.find(&view.messages) else { continue };
        let (is_result, is_call) = (|it: &Value| is_result(it, id), |it: &Value| is_call(it, id));
        let gone: Edit<'_> = &|list, at| _ = list.remove(at);
        let twice: Edit<'_> = &|list, at| list.insert(at, list[at].clone());
        let mut push = |way, bytes: Option<Vec<u8>>| {
            all.extend(bytes.map(|bytes| (way, id.to_owned(), bytes)));
        };
        let n_calls = view.messages[pair.call.message as usize].calls().count();
        let unanswered = if n_calls > 1 { Way::ParallelUnanswered } else { Way::ResultGone };
        push(unanswered, edited(bytes, &is_result, gone));
        push(Way::CallGone, edited(bytes, &is_call, gone));
        push(Way::ResultTwice, edited(bytes, &is_result, twice));
        let orphan: Edit<'_> = &|list, at| {
            let mut orphan = list[at].clone();
            replace_text(&mut orphan, id, GONE);
            list.insert(at + 1, orphan);
        };
        push(Way::OrphanResult, edited(bytes, &is_result, orphan));
        match earlier {
            Some((call, other)) if call < pair.call.message && other != id => {
                push(Way::IdTwice, Some(with_id_of(bytes, id, other)));
            }
            Some(_) => {}
            None => earlier = Some((pair.call.message, id)),
        }
    }
    all.extend(without_first(bytes, view).map(|bytes| (Way::ModelFirst, String::new(), bytes)));
    all.extend(with_blank(bytes).map(|bytes| (Way::BlankText, String::new(), bytes)));
    all
}

fn violations(messages: &[Message], format: &str) -> Vec<Violation> {
    violations_of(messages, dialects_of(format))
}

/// Returns how many findings of calls and results there are.
fn n_of_pairs(found: &[Violation]) -> usize {
    found.iter().filter(|it| PAIRS.contains(&it.rule.as_ref())).count()
}

/// Returns whether calls or results stand alone, by what the messages are and no rule of a provider.
fn is_loose(messages: &[Message]) -> bool {
    let pairing = Pairing::of(messages);
    !pairing.orphans().is_empty() || !pairing.dangling().is_empty()
}

/// Returns whether a call is answered more than once.
fn is_repeated(messages: &[Message]) -> bool {
    let mut results = BTreeMap::<_, usize>::new();
    Pairing::of(messages).pairs().iter().for_each(|pair| *results.entry(pair.call).or_default() += 1);
    results.values().any(|n| *n > 1)
}

/// Mends a session as `wb repair` does and reads what is there then; what was written can be taken back, and a second
/// mend changes nothing. Returns what is read, and whether something was written.
fn written(bytes: &[u8]) -> Result<(View, bool), String> {
    let mut document = of_parts(MemoryParts::of(bytes));
    let name = newest(document.as_ref()).map_err(|error| error.to_string())?;
    let view = document.view(&name).map_err(|error| error.to_string())?;
    let stamp = Stamp { now_ms: 1_800_000_000_000, seed: 7, ..Stamp::default() };
    let mended = mend(document.as_ref(), &name, &view, &stamp);
    let mended = mended.map_err(|error| format!("not written: {error}"))?;
    document.commit(&mended.changes).map_err(|error| error.to_string())?;
    let now = document.view(&name).map_err(|error| format!("cannot be read: {error}"))?;
    if content_fingerprints(&now.messages) != content_fingerprints(&mended.messages) {
        return Err(format!("{:#?} was read for {:#?}", now.messages, mended.messages));
    }
    let again = mend(document.as_ref(), &name, &now, &stamp).map_err(|error| error.to_string())?;
    if !again.changes.is_empty() {
        return Err(format!("a second mend changes something: {:?}", again.changes));
    }
    if let Some(why) = mended.not_held {
        return Err(format!("not written: {why}"));
    }
    document.commit(&mended.changes.inverse()).map_err(|error| error.to_string())?;
    let is_back = document.parts().whole("").is_ok_and(|back| back == bytes);
    if is_back {
        Ok((now, !mended.changes.is_empty()))
    } else {
        Err("not as it was after an undo".to_owned())
    }
}

/// Returns what became of a broken session, or what is wrong.
fn fate(file: &str, way: Way, bytes: &[u8], whole: &View, fates: &mut Fates) -> Result<(), String> {
    let view = open(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if view.format != whole.format {
        return Err(format!("read as {}", view.format));
    }
    let n_before = n_of_pairs(&violations(&whole.messages, whole.format));
    let found = violations(&view.messages, view.format);
    let is_found = n_of_pairs(&found) > n_before;
    match () {
        () if is_found => fates.found += 1,
        () if is_repeated(&view.messages) && !refuses_repeated(view.format) => fates.taken += 1,
        () if is_loose(&view.messages) && !is_loose(&whole.messages) || is_repeated(&view.messages) => {
            fates.missed += 1;
            return Err(format!("not found; {found:?}"));
        }
        () => fates.put_right += 1,
    }
    if found.is_empty() {
        return Ok(());
    }
    let is_of = |known: Option<Way>| known.is_none_or(|known| known == way);
    let is_known = NOT_WRITTEN.iter().any(|(known, of, _)| *known == file && is_of(*of));
    match written(bytes) {
        Err(_) if is_known => Ok(()),
        Err(why) => Err(why),
        Ok((now, is_written)) => {
            fates.written += usize::from(is_written);
            none_left(&now.messages, view.format).map_err(|left| format!("written: {left}"))
        }
    }
}

/// Checks that no call or result of messages is refused.
fn none_left(messages: &[Message], format: &str) -> Result<(), String> {
    let left = violations(messages, format);
    let is_bad = |it: &&Violation| PAIRS.contains(&it.rule.as_ref());
    match left.iter().find(is_bad) {
        Some(left) => Err(format!("left after the repair: {left:?}")),
        None => Ok(()),
    }
}

/// Returns whether a provider of the format refuses a second result.
fn refuses_repeated(format: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.id == REPEATED);
    rule.is_some_and(|rule| dialects_of(format).iter().any(|dialect| rule.source(*dialect).is_some()))
}

/// Returns whether an empty text is in what is sent.
fn is_sent_blank(view: &View) -> bool {
    let found = violations(&view.messages, view.format);
    found.iter().any(|it| matches!(it.rule.as_ref(), "text-blank" | "message-empty"))
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts are what it is run for")]
fn what_was_broken_is_found_or_put_right_and_mended() {
    let mut all: BTreeMap<(&str, Way), Fates> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, bytes) in FIXTURES.iter().chain([&("pi", PI)]) {
        let Ok(whole) = open(bytes) else { continue };
        for (way, id, bytes) in broken(bytes, &whole) {
            let fates = all.entry((whole.format, way)).or_default();
            if let Err(what) = fate(file, way, &bytes, &whole, fates) {
                wrong.push(format!("{file} {way:?} {id}: {what}"));
            }
            if way == Way::BlankText && open(&bytes).is_ok_and(|view| is_sent_blank(&view)) {
                wrong.push(format!("{file}: an empty text is sent"));
            }
        }
    }
    for ((format, way), fates) in &all {
        println!("{format} {way:?}: {fates:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let n_found: usize = all.values().map(|it| it.found).sum();
    assert!(n_found > 50, "only {n_found}");
}
