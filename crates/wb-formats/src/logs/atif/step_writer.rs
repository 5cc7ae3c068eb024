//! From a message to a step, and to a step with other bodies or results.

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::{Block, Content, Message};
use wb_record::Stamp;
use wb_record::json::{elements, get, remove, set, set_in, text};
use wb_session::iso_ms;

use super::step_reader::OBSERVATION;
use crate::kit::message_list::Fate;
use crate::shapes::content_value::{changed, in_users_place, list, result};

/// The types of pictures that a step can refer to.
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Returns a message as a step without a number. A result has no source: it joins the step of its
/// call.
pub(super) fn write(message: &Message, stamp: &Stamp) -> Result<Value, String> {
    let step = |source: &str, message: Value| json!({ "step_id": 0, "timestamp": iso_ms(stamp.now_ms), "source": source, "message": message });
    Ok(match message {
        Message::Assistant { content, .. } => answer(step("agent", message_value(content)?), content)?,
        Message::ToolResult { tool_call_id, content, .. } => {
            json!({ "observation": { "results": [{ "source_call_id": tool_call_id, "content": result(content, part)? }] } })
        }
        Message::Custom { custom_type, content } if custom_type == "system" => step("system", body(content)?),
        message => step("user", body(&in_users_place(message)?)?),
    })
}

/// Adds reasoning and calls to the step of an answer.
fn answer(mut step: Value, blocks: &[Block]) -> Result<Value, String> {
    let thinking = blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let thinking: Vec<&str> = thinking.collect();
    if !thinking.is_empty() {
        step["reasoning_content"] = thinking.join("\n").into();
    }
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall { id, name, input } => Some((id, name, input)),
        _ => None,
    });
    let call = |(id, name, input): (&String, &String, &Value)| match input {
        Value::Object(_) => Ok(json!({ "tool_call_id": id, "function_name": name, "arguments": input })),
        _ => Err("a call whose arguments are no object".to_owned()),
    };
    let calls = calls.map(call).collect::<Result<Vec<_>, _>>()?;
    if !calls.is_empty() {
        step["tool_calls"] = calls.into();
    }
    Ok(step)
}

/// Returns what an answer says next to its reasoning and calls.
fn message_value(blocks: &[Block]) -> Result<Value, String> {
    let said: Vec<Block> = blocks.iter().filter(|block| is_said(block)).cloned().collect();
    body(&Content::Blocks(said))
}

fn is_said(block: &Block) -> bool {
    !matches!(block, Block::Thinking { .. } | Block::ToolCall { .. })
}

/// Returns a body: a text unless it has pictures, which older versions do not know.
fn body(content: &Content) -> Result<Value, String> {
    match content {
        Content::Text(text) => Ok(Value::from(text.as_str())),
        Content::Blocks(blocks) if blocks.iter().all(|block| matches!(block, Block::Text { .. })) => {
            Ok(joined_text(blocks).into())
        }
        Content::Blocks(blocks) => blocks.iter().map(part).collect(),
    }
}

fn part(block: &Block) -> Result<Value, String> {
    match block {
        Block::Text { text } => Ok(json!({ "type": "text", "text": text })),
        Block::Image { media_type, data_base64 } if PICTURES.contains(&media_type.as_str()) => {
            let path = format!("data:{media_type};base64,{data_base64}");
            Ok(json!({ "type": "image", "source": { "media_type": media_type, "path": path } }))
        }
        _ => Err("a new part of this kind".to_owned()),
    }
}

/// Adds a result that has no step yet to the step of its call; `None` if the call is in another.
pub(super) fn with_result(step: &[u8], result: &[u8]) -> Option<Vec<u8>> {
    let new = get(result, "observation").filter(|_| get(result, "source").is_none())?;
    let new = get(new, "results")?;
    let [place] = &elements(new)?[..] else { return None };
    let new = &new[place.clone()];
    let id = text(new, &["source_call_id"])?;
    let calls = get(step, "tool_calls")?;
    let is_its = |call: &[u8]| text(call, &["tool_call_id"]).is_some_and(|own| own == id);
    elements(calls)?.into_iter().any(|call| is_its(&calls[call])).then_some(())?;
    let results = results(step).into_iter().map(<[u8]>::to_vec).chain([new.to_vec()]);
    Some(set_in(step, &["observation", "results"], &list(&results.collect::<Vec<_>>())))
}

/// Returns the results of a step.
fn results(step: &[u8]) -> Vec<&[u8]> {
    let results = get(step, "observation").and_then(|it| get(it, "results")).unwrap_or_default();
    elements(results).unwrap_or_default().into_iter().map(|place| &results[place]).collect()
}

/// Returns a step of which results go or messages get another body.
pub(super) fn rewrite(step: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
    let results = results(step);
    let n_said = usize::from(messages.first().is_some_and(|first| !is_result(first)));
    let mut step = match (&messages[..n_said], &fates[..n_said]) {
        ([], []) | (_, [Fate::Stays]) => step.to_vec(),
        ([before], [Fate::Body(after)]) => with_body(step, before, after)?,
        _ => return Err("a step without what it says".to_owned()),
    };
    // A call without a result of its own has an empty one behind them.
    let recorded = results.iter().copied().map(Some).chain(std::iter::repeat(None));
    let changes = recorded.zip(messages[n_said..].iter().zip(&fates[n_said..]));
    if fates[n_said..].iter().all(|fate| *fate == Fate::Stays) {
        return Ok(step);
    }
    let mut kept = Vec::new();
    for (result, (before, fate)) in changes {
        match fate {
            Fate::Goes => {}
            Fate::Stays => kept.extend(result.map(<[u8]>::to_vec)),
            Fate::Body(after) => {
                let new =
                    || before.answered_ids().next().map(|id| json!({ "source_call_id": id }).to_string());
                let result = result.map(<[u8]>::to_vec).or_else(|| Some(new()?.into_bytes()));
                let result = result.ok_or("a result of no call")?;
                let body = changed(get(&result, "content"), before.blocks(), after, part)?;
                kept.push(set(&result, "content", &body));
            }
        }
    }
    if kept.is_empty() {
        return Ok(remove(&step, "observation"));
    }
    step = set_in(&step, &["observation", "results"], &list(&kept));
    Ok(step)
}

fn is_result(message: &Message) -> bool {
    match message {
        Message::ToolResult { .. } => true,
        Message::Custom { custom_type, .. } => custom_type == OBSERVATION,
        _ => false,
    }
}

/// Returns a step whose message has another body.
fn with_body(step: &[u8], before: &Message, after: &[Block]) -> Result<Vec<u8>, String> {
    let pick = |blocks: &[Block], is_so: fn(&Block) -> bool| -> Vec<Block> {
        blocks.iter().filter(|block| is_so(block)).cloned().collect()
    };
    let mut step = step.to_vec();
    let (old, new) = (pick(before.blocks(), is_said), pick(after, is_said));
    if old != new {
        step = set(&step, "message", &changed(get(&step, "message"), &old, &new, part)?);
    }
    let is_thinking = |block: &Block| matches!(block, Block::Thinking { .. });
    let (old, new) = (pick(before.blocks(), is_thinking), pick(after, is_thinking));
    match new.as_slice() {
        new if new == old => {}
        [] => step = remove(&step, "reasoning_content"),
        _ => return Err("other reasoning".to_owned()),
    }
    let is_call = |block: &Block| matches!(block, Block::ToolCall { .. });
    with_calls(step, &pick(before.blocks(), is_call), &pick(after, is_call))
}

/// Returns a step with those of its calls that stay, with other arguments where they changed.
fn with_calls(step: Vec<u8>, before: &[Block], after: &[Block]) -> Result<Vec<u8>, String> {
    if before == after {
        return Ok(step);
    }
    let places = get(&step, "tool_calls").and_then(|calls| Some((calls, elements(calls)?)));
    let (calls, places) = places.ok_or("other calls")?;
    let mut kept = Vec::new();
    for block in after {
        let Block::ToolCall { id, input, .. } = block else { continue };
        let at = before.iter().position(|it| matches!(it, Block::ToolCall { id: own, .. } if own == id));
        let place = at.and_then(|at| Some((at, places.get(at)?.clone())));
        let (at, place) = place.ok_or("a call that was not made")?;
        let is_same = before.get(at) == Some(block);
        let call = &calls[place];
        match input {
            _ if is_same => kept.push(call.to_vec()),
            Value::Object(_) => kept.push(set(call, "arguments", input.to_string().as_bytes())),
            _ => return Err("a call whose arguments are no object".to_owned()),
        }
    }
    Ok(if kept.is_empty() { remove(&step, "tool_calls") } else { set(&step, "tool_calls", &list(&kept)) })
}
