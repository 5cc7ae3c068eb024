//! Ways to break sessions, by the content of their records, whatever the format: for example, an
//! object with the id of a result is a result.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wb_formats::{SentAs, View};
use wb_message::{Message, Pairing};

/// The ways in which a session is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    ResultGone,
    CallGone,
    ResultTwice,
    /// A result whose call is gone, as a resume leaves it.
    OrphanResult,
    /// One of several calls of a message without its result.
    ParallelUnanswered,
    /// A compaction between a call and its result.
    StaleCompaction,
    /// A message with calls or a result that does not say who speaks.
    RoleLost,
    /// A call with the id of an earlier one, and its result too.
    IdTwice,
    /// Removes the first user message, so that the model begins.
    ModelFirst,
    BlankText,
    /// A call of a tool that nobody offers, by a name that no provider takes.
    NameRefused,
    /// Adds a user message between a call and its result, in a format whose order is sent
    /// unchanged.
    UserBetween,
}

/// The id of a call that is gone.
const GONE: &str = "call_gone";

/// The values of a file: its lines, or the one document. Lines that are no JSON are left as they
/// are.
pub(crate) fn values_of(bytes: &[u8]) -> Vec<Result<Value, Vec<u8>>> {
    if let Ok(whole) = serde_json::from_slice(bytes) {
        return vec![Ok(whole)];
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| serde_json::from_slice(line).map_err(|_| line.to_vec())).collect()
}

pub(crate) fn bytes_of(values: &[Result<Value, Vec<u8>>]) -> Vec<u8> {
    let each = |value: &Result<Value, Vec<u8>>| match value {
        Ok(value) => format!("{value}\n").into_bytes(),
        Err(line) => line.clone(),
    };
    values.iter().flat_map(each).collect()
}

/// Returns whether a value is a result with this id.
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

/// Returns whether a value is a call with this id.
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

/// Returns whether a record matches, alone or in its wrapper.
fn is_record(value: &Value, is_it: &dyn Fn(&Value) -> bool) -> bool {
    is_it(value) || WRAPS.iter().any(|key| value.get(key).is_some_and(is_it))
}

/// An edit of an element of a list.
type Edit<'a> = &'a dyn Fn(&mut Vec<Value>, usize);

/// Edits the matching elements of all lists; returns their number.
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

/// Keeps a chain whole: what followed a record that is gone follows the one before, a copy has an
/// id of its own.
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

/// Edits the matching values of a file: its lines, or else elements of lists in them.
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

/// Returns the last record of a message.
fn record_of(bytes: &[u8], view: &View, at: usize) -> Option<Value> {
    let range = view.provenance.places(at).last()?.record.range();
    let record = bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)?;
    serde_json::from_slice(record).ok()
}

/// Removes the user message before the model speaks, if that is one record.
fn without_first(bytes: &[u8], view: &View) -> Option<Vec<u8>> {
    let at = view.messages.iter().position(|it| matches!(it, Message::Assistant { .. }))?.checked_sub(1)?;
    let is_first = matches!(view.messages[at], Message::User { .. })
        && view.messages[..at].iter().all(|it| !matches!(it, Message::User { .. }));
    let is_one = view.provenance.places(at).len() == 1;
    let record = record_of(bytes, view, at).filter(|_| is_first && is_one)?;
    edited(bytes, &|value| *value == record, &|list, at| _ = list.remove(at))
}

/// Takes the role off a message.
fn without_role(bytes: &[u8], view: &View, at: usize) -> Option<Vec<u8>> {
    let record = record_of(bytes, view, at)?;
    let has_role = |value: &Value| value.get("role").is_some();
    let inner = WRAPS.iter().find(|key| record.get(**key).is_some_and(has_role)).copied();
    if !has_role(&record) && inner.is_none() {
        return None;
    }
    edited(bytes, &|value| *value == record, &|list, at| {
        let said = if let Some(inner) = inner { &mut list[at][inner] } else { &mut list[at] };
        said.as_object_mut().unwrap().remove("role");
    })
}

/// A compaction in each agent's form, which keeps nothing from before it.
fn compaction(format: &str) -> Option<Value> {
    Some(match format {
        "pi" => {
            json!({"type": "compaction", "id": "x", "parentId": "", "summary": "Older.", "firstKeptEntryId": "x", "tokensBefore": 9})
        }
        "codex" => json!({"type": "compacted", "payload": {"message": "Older.", "replacement_history": []}}),
        "claude-code" => {
            json!({"type": "system", "subtype": "compact_boundary", "uuid": "x", "parentUuid": "",
            "logicalParentUuid": "x", "content": "Compacted", "compactMetadata": {"trigger": "auto", "preTokens": 9}})
        }
        "copilot-cli" => {
            json!({"type": "session.compaction_complete", "id": "x", "parentId": "", "timestamp": "2026-01-01T00:00:00.000Z",
            "data": {"success": true, "preCompactionTokens": 9, "summaryContent": "Older."}})
        }
        _ => return None,
    })
}

/// Puts a compaction between a call and its result.
fn with_compaction(bytes: &[u8], view: &View, call: usize) -> Option<Vec<u8>> {
    let (record, compaction) = (record_of(bytes, view, call)?, compaction(view.format)?);
    let cut = edited(bytes, &|value| *value == record, &|list, at| list.insert(at + 1, compaction.clone()))?;
    let mut values = values_of(&cut);
    // The chain of Claude Code starts over.
    let boundaries = values.iter_mut().flatten().filter(|value| value["logicalParentUuid"] == "x");
    boundaries.for_each(|value| value["parentUuid"] = Value::Null);
    Some(bytes_of(&values))
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
pub(crate) fn replace_text(value: &mut Value, old: &str, new: &str) {
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

/// Calls a tool by a name that is refused, also where the result names it.
fn with_refused_name(bytes: &[u8], id: &str, name: &str) -> Option<Vec<u8>> {
    let renamed: Edit<'_> = &|list, at| replace_text(&mut list[at], name, &format!("functions.{name}!"));
    let called = edited(bytes, &|it| is_call(it, id), renamed)?;
    Some(edited(&called, &|it| is_result(it, id), renamed).unwrap_or(called))
}

/// Moves the first user message between a call and its result.
fn with_user_between(bytes: &[u8], view: &View, id: &str) -> Option<Vec<u8>> {
    let user = view.messages.iter().position(|it| matches!(it, Message::User { .. }))?;
    let said = record_of(bytes, view, user).filter(|_| SentAs::from_view(view).verbatim.order)?;
    edited(bytes, &|it| is_result(it, id), &|list, at| list.insert(at, said.clone()))
}

/// Returns a session that is broken in each way, once for each pair of a call and its result.
pub(crate) fn broken(bytes: &[u8], view: &View) -> Vec<(Way, String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut earlier: Option<(u32, &str)> = None;
    for pair in Pairing::new(&view.messages).pairs() {
        let Some((id, name, _)) = pair.call.find(&view.messages) else { continue };
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
        push(Way::NameRefused, with_refused_name(bytes, id, name));
        push(Way::UserBetween, with_user_between(bytes, view, id));
        push(Way::StaleCompaction, with_compaction(bytes, view, pair.call.message as usize));
        for message in [pair.call.message, pair.result] {
            push(Way::RoleLost, without_role(bytes, view, message as usize));
        }
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
