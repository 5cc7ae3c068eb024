//! From a message to a record, and to a record with another body.

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::{Block, Message};
use wb_record::json::{elements, get, remove, set, set_in};

use super::super::content_value::{changed, content, in_users_place, list, result};
use super::{REASONING_KEYS, SYSTEM_ROLES};
use crate::kit::picture::image_url;

/// Returns a message as a record of its own.
pub(crate) fn write(message: &Message) -> Result<Value, String> {
    Ok(match message {
        Message::Assistant { content, .. } => {
            let calls: Vec<Value> =
                message.calls().map(|(id, name, input)| call_value(id, name, input)).collect();
            let mut value = json!({ "role": "assistant", "content": answer_text(content)? });
            if !calls.is_empty() {
                value["tool_calls"] = calls.into();
            }
            value
        }
        Message::ToolResult { tool_call_id, content, .. } => {
            json!({ "role": "tool", "tool_call_id": tool_call_id, "content": result(content, part_value)? })
        }
        Message::Custom { custom_type, content: body } if SYSTEM_ROLES.contains(&custom_type.as_str()) => {
            json!({ "role": custom_type, "content": content(body, part_value)? })
        }
        message => json!({ "role": "user", "content": content(&in_users_place(message)?, part_value)? }),
    })
}

/// Returns the content of an answer without its calls.
fn answer_text(blocks: &[Block]) -> Result<Value, String> {
    if blocks.iter().any(|block| matches!(block, Block::Thinking { .. } | Block::Image { .. })) {
        return Err("a new answer with reasoning or pictures".to_owned());
    }
    let text = joined_text(blocks);
    Ok(if text.is_empty() { Value::Null } else { text.into() })
}

fn call_value(id: &str, name: &str, input: &Value) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments_text(input) } })
}

fn arguments_text(input: &Value) -> String {
    input.as_str().map_or_else(|| input.to_string(), str::to_owned)
}

fn part_value(block: &Block) -> Result<Value, String> {
    match block {
        Block::Text { text } => Ok(json!({ "type": "text", "text": text })),
        Block::Image { media_type, data_base64 } => Ok(image_url(media_type, data_base64)),
        _ => Err("a new message with more than texts and pictures".to_owned()),
    }
}

/// Returns a record with another body: only the members that contain it change.
pub(crate) fn rewrite(record: &[u8], before: &Message, after: &[Block]) -> Result<Vec<u8>, String> {
    if let Message::Assistant { content, .. } = before {
        return rewrite_answer(record, content, after);
    }
    let body = changed(get(record, "content"), before.blocks(), after, part_value)?;
    Ok(set(record, "content", &body))
}

fn rewrite_answer(record: &[u8], before: &[Block], after: &[Block]) -> Result<Vec<u8>, String> {
    let pick = |blocks: &[Block], is_so: fn(&Block) -> bool| -> Vec<Block> {
        blocks.iter().filter(|block| is_so(block)).cloned().collect()
    };
    let is_text: fn(&Block) -> bool =
        |block| !matches!(block, Block::ToolCall { .. } | Block::Thinking { .. });
    let is_thinking: fn(&Block) -> bool = |block| matches!(block, Block::Thinking { .. });
    let mut record = record.to_vec();
    let (old, new) = (pick(before, is_text), pick(after, is_text));
    if old != new {
        let body = changed(get(&record, "content"), &old, &new, part_value)?;
        record = set(&record, "content", &body);
    }
    let (old, new) = (pick(before, is_thinking), pick(after, is_thinking));
    match new.as_slice() {
        new if new == old => {}
        [] => record = REASONING_KEYS.iter().fold(record, |record, key| remove(&record, key)),
        _ => return Err("other reasoning".to_owned()),
    }
    rewrite_calls(record, before, after)
}

/// Returns a record with those of its calls that stay, with other arguments where they changed.
fn rewrite_calls(record: Vec<u8>, before: &[Block], after: &[Block]) -> Result<Vec<u8>, String> {
    let is_call: fn(&&Block) -> bool = |block| matches!(block, Block::ToolCall { .. });
    let old: Vec<&Block> = before.iter().filter(is_call).collect();
    let new: Vec<&Block> = after.iter().filter(is_call).collect();
    if old == new {
        return Ok(record);
    }
    let places = get(&record, "tool_calls").and_then(|calls| Some((calls, elements(calls)?)));
    let (calls, places) = places.ok_or("other calls")?;
    let mut kept = Vec::new();
    for block in &new {
        let Block::ToolCall { id, input, .. } = block else { continue };
        let at = old.iter().position(|it| matches!(it, Block::ToolCall { id: of, .. } if of == id));
        let place = at.and_then(|at| Some((at, places.get(at)?.clone())));
        let (at, place) = place.ok_or("a call that was not made")?;
        let call = &calls[place];
        let text = Value::from(arguments_text(input)).to_string();
        let is_same = old.get(at) == Some(block);
        kept.push(if is_same {
            call.to_vec()
        } else {
            set_in(call, &["function", "arguments"], text.as_bytes())
        });
    }
    let is_empty = kept.is_empty();
    Ok(if is_empty { remove(&record, "tool_calls") } else { set(&record, "tool_calls", &list(&kept)) })
}
