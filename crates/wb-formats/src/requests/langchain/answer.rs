//! Answers in a LangChain message: its content, and lists of its calls.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::Block;
use wb_record::json::{elements, get, remove, set, text};

use super::part::{block, part};
use crate::kit::json_text::{arguments, text as plain_text};
use crate::kit::loose::Text;
use crate::shapes::content_value::{changed, changed_parts, list, raw_list, result};

/// The lists of calls: those with an object as arguments, and the others.
const CALL_LISTS: [&str; 2] = ["tool_calls", "invalid_tool_calls"];

/// The types of parts that repeat a call, each with the key of its arguments.
const CALL_PARTS: [(&str, &str); 4] = [
    ("tool_use", "input"),
    ("tool_call", "args"),
    ("invalid_tool_call", "args"),
    ("function_call", "arguments"),
];

/// The JSON of a list of calls.
pub(crate) type CallList<'a> = Option<&'a RawValue>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallRecord<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    name: Text<'a>,
    args: Option<&'a RawValue>,
}

/// Returns the blocks of an answer: what it says, then its calls.
pub(crate) fn answer(content: Option<&RawValue>, calls: CallList<'_>, invalid: CallList<'_>) -> Vec<Block> {
    let calls: Vec<Block> = raw_list(calls).into_iter().chain(raw_list(invalid)).map(call).collect();
    let mut blocks: Vec<Block> = match content.and_then(|content| plain_text(content.get())) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::Text { text }],
        None => {
            let parts = raw_list(content).into_iter().map(RawValue::get);
            parts.filter(|part| call_of(part.as_bytes(), &calls).is_none()).map(block).collect()
        }
    };
    blocks.extend(calls);
    blocks
}

fn call(json: &RawValue) -> Block {
    let call: CallRecord<'_> = serde_json::from_str(json.get()).unwrap_or_default();
    Block::ToolCall {
        id: call.id.into_string(),
        name: call.name.into_string(),
        input: call.args.map_or_else(|| json!({}), |args| arguments(args.get())),
    }
}

/// Returns the call that a part repeats, and the key of its arguments.
fn call_of<'a>(part: &[u8], calls: &'a [Block]) -> Option<(&'a Block, &'static str)> {
    let kind = text(part, &["type"])?;
    let (_, key) = CALL_PARTS.iter().find(|(known, _)| *known == kind)?;
    let id = text(part, &["call_id"]).or_else(|| text(part, &["id"]))?;
    Some((with_id(calls, &id)?, key))
}

fn with_id<'a>(calls: &'a [Block], id: &str) -> Option<&'a Block> {
    calls.iter().find(|block| matches!(block, Block::ToolCall { id: known, .. } if known == id))
}

/// Returns the data of a new answer.
pub(crate) fn answer_value(blocks: &[Block]) -> Result<Value, String> {
    let (calls, said) = parted(blocks);
    let mut data = json!({ "content": result(&said, part)?, "tool_calls": [], "invalid_tool_calls": [] });
    for call in &calls {
        let Block::ToolCall { id, name, input } = call else { continue };
        let (list, kind) = if input.is_object() { (0, "tool_call") } else { (1, "invalid_tool_call") };
        let mut value = json!({ "name": name, "args": input, "id": id, "type": kind });
        if list == 1 {
            value["args"] = arguments_text(input).into();
            value["error"] = Value::Null;
        }
        if let Some(list) = data[CALL_LISTS[list]].as_array_mut() {
            list.push(value);
        }
    }
    Ok(data)
}

fn arguments_text(input: &Value) -> String {
    input.as_str().map_or_else(|| input.to_string(), str::to_owned)
}

/// Returns the calls of an answer, and its other blocks.
fn parted(blocks: &[Block]) -> (Vec<Block>, Vec<Block>) {
    blocks.iter().cloned().partition(|block| matches!(block, Block::ToolCall { .. }))
}

/// Returns the data of an answer with another body: only the members that contain it change.
pub(crate) fn rewrite_answer(data: &[u8], before: &[Block], after: &[Block]) -> Result<Vec<u8>, String> {
    let ((old_calls, old), (calls, said)) = (parted(before), parted(after));
    let is_new =
        |call: &Block| matches!(call, Block::ToolCall { id, .. } if with_id(&old_calls, id).is_none());
    if calls.iter().any(is_new) {
        return Err("a call that was not made".to_owned());
    }
    let content = get(data, "content").unwrap_or_default();
    let body = match elements(content).filter(|_| content.starts_with(b"[")) {
        Some(places) => {
            let parts = places.into_iter().map(|place| &content[place]);
            let (repeats, shown): (Vec<&[u8]>, Vec<&[u8]>) =
                parts.partition(|part| call_of(part, &old_calls).is_some());
            let mut parts = changed_parts(&shown, &old, &said, part)?;
            parts.extend(repeats.into_iter().filter_map(|part| repeated(part, &old_calls, &calls)));
            Some(list(&parts))
        }
        None if old == said => None,
        None => Some(changed(Some(content), &old, &said, part)?),
    };
    let data = body.map_or_else(|| data.to_vec(), |body| set(data, "content", &body));
    Ok(if old_calls == calls { data } else { with_calls(data, &old_calls, &calls) })
}

/// Returns a part that repeats a call; `None` if the call goes.
fn repeated(part: &[u8], before: &[Block], after: &[Block]) -> Option<Vec<u8>> {
    let ((old, _), (new, key)) = (call_of(part, before)?, call_of(part, after)?);
    Some(with_arguments(part, key, old, new))
}

/// Returns a call with other arguments, as a text where they were one.
fn with_arguments(call: &[u8], key: &str, old: &Block, new: &Block) -> Vec<u8> {
    let Block::ToolCall { input, .. } = new else { return call.to_vec() };
    let is_text = get(call, key).is_some_and(|args| args.starts_with(b"\""));
    let value = if is_text { Value::from(arguments_text(input)) } else { input.clone() };
    if old == new { call.to_vec() } else { set(call, key, value.to_string().as_bytes()) }
}

/// Returns data with those of their calls that stay.
fn with_calls(mut data: Vec<u8>, before: &[Block], after: &[Block]) -> Vec<u8> {
    for key in CALL_LISTS {
        let Some(calls) = get(&data, key) else { continue };
        let Some(places) = elements(calls) else { continue };
        let kept = places.into_iter().filter_map(|place| {
            let id = text(&calls[place.clone()], &["id"]).unwrap_or_default();
            let (old, new) = (with_id(before, &id)?, with_id(after, &id)?);
            Some(with_arguments(&calls[place], "args", old, new))
        });
        data = set(&data, key, &list(&kept.collect::<Vec<_>>()));
    }
    // LangChain sends the provider's own record of the calls when its own list is empty.
    match get(&data, "additional_kwargs").filter(|kwargs| get(kwargs, "tool_calls").is_some()) {
        Some(kwargs) => set(&data, "additional_kwargs", &remove(kwargs, "tool_calls")),
        None => data,
    }
}
