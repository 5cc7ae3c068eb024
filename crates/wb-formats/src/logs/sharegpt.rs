//! Conversations in the form of `ShareGPT`, as datasets for training hold them.

use std::collections::VecDeque;
use std::io;

use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::{Block, Content, Message};
use wb_record::json::{elements, find, get, set, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp, View};

use crate::kit::json_or_lines::{is_lines, whole};
use crate::kit::json_text::{arguments, body_of};
use crate::kit::list_document::open;
use crate::kit::log::LogEnd;
use crate::kit::loose::Text;
use crate::kit::message_list::{Fate, Layout, List, Record, Shape};
use crate::kit::skips::Skips;
use crate::requests::gemini_contents::number_calls;
use crate::shapes::content_value::in_users_place;

/// The keys of a row with its messages.
const KEYS: [&str; 2] = ["conversations", "conversation"];
/// The start and the end of a call in the text of an answer.
const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");

/// Rows of `ShareGPT`, with lists of who (`from`) said what (`value`), as a JSON value
/// or as JSON lines, or a list alone; each row is a conversation.
///
/// A call is a record of its own (`function_call`), or in an answer between `<tool_call>` tags;
/// calls have no ids, and results answer them in their order. System texts are pinned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharegpt;

impl Format for Sharegpt {
    fn name(&self) -> &'static str {
        "sharegpt"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_said = |it: &ProbedValue| it.has("from") && it.has("value") && !it.has("role");
        let has_words = || {
            [b"\"from\"".as_slice(), b"\"value\""]
                .iter()
                .all(|word| memmem::find(&probe.head, word).is_some())
        };
        let is_row = |it: &ProbedValue| KEYS.iter().any(|key| it.has(key)) && !it.has("messages");
        let Some(first) = probe.first() else { return Confidence::No };
        let is_bare = first.is_list && probe.values.len() == 1 && first.elements().all(is_said);
        let row = if first.is_list { first.inner.as_deref() } else { Some(first) };
        let is_it = (is_bare && first.inner.is_some()) || (row.is_some_and(is_row) && has_words());
        if is_it { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for Sharegpt {
    fn is_lines(&self, parts: &dyn Parts) -> io::Result<bool> {
        is_lines(parts)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let document = whole(parts)?;
        let mut rows: Vec<&[u8]> = Vec::new();
        if is_lines(parts)? {
            LogEnd::of_lines(parts, "", |_, _, line| {
                let start = usize::try_from(line.at).unwrap_or(usize::MAX);
                rows.extend(document.get(start..start + line.bytes.len()));
            })?;
        } else {
            let (_, json) = body_of(&document);
            if json.starts_with(b"[") {
                let all = List::at_path(&document, &[])?;
                rows.extend(all.records.iter().map(|row| &document[row.clone()]));
                if rows.first().is_some_and(|row| get(row, "from").is_some()) {
                    return Ok(vec![all]);
                }
            } else {
                List::at_path(&document, &KEYS[..1])?;
                rows.push(json);
            }
        }
        let read = rows.iter().zip(1..).filter_map(|(row, nth)| list(&document, row, nth).transpose());
        let mut lists: Vec<List> = read.collect::<Result<_, _>>()?;
        if let [only] = lists.as_mut_slice() {
            only.name = String::new();
        }
        if lists.is_empty() {
            lists.push(List::at_path(b"[]", &[])?);
        }
        Ok(lists)
    }

    fn shape(&self) -> &dyn Shape {
        self
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        if is_lines(parts).unwrap_or_default() {
            let end = LogEnd::of_lines(parts, "", |_, _, _| {});
            view.notes.extend(end.map(|end| end.notes(Skips::default())).unwrap_or_default());
        }
        name_results(&mut view.messages);
        number_calls(view);
    }
}

/// Returns the list of a row; `None` if it has none.
fn list(document: &[u8], row: &[u8], nth: usize) -> Result<Option<List>, FormatError> {
    let Some(said) = KEYS.iter().find_map(|key| get(row, key)).filter(|said| elements(said).is_some()) else {
        return Ok(None);
    };
    let list = List::of_array(document, said)?;
    let system = find(row, &["system"]).filter(|place| row[place.clone()].starts_with(b"\""));
    let row_at = wb_record::json::place_in(document, str::from_utf8(row).unwrap_or_default());
    let ahead = row_at.and_then(|at| system.map(|place| at.start + place.start..at.start + place.end));
    let name = text(row, &["id"]).unwrap_or_else(|| nth.to_string());
    Ok(Some(List { name, ahead: ahead.filter(|place| place.len() > 2), ..list }))
}

/// Names results after the calls that they answer, in their order.
fn name_results(messages: &mut [Message]) {
    let mut open = VecDeque::new();
    for message in messages {
        open.extend(message.calls().map(|(_, name, _)| name.to_owned()));
        if let Message::ToolResult { tool_name, .. } = message {
            *tool_name = open.pop_front().unwrap_or_default();
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SharegptRecord<'a> {
    #[serde(borrow)]
    from: Text<'a>,
    value: Text<'a>,
}

// One record per message; a text alone is a system text.
impl Shape for Sharegpt {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        if record.starts_with('"') {
            let system: String = serde_json::from_str(record)?;
            into.messages.push(Message::custom("system", Content::Text(system)));
            return Ok(());
        }
        let SharegptRecord { from, value } = serde_json::from_str(record)?;
        let said = value.into_string();
        match from.as_str() {
            Some("human" | "user") => into.messages.push(Message::user(said)),
            Some("gpt" | "chatgpt" | "assistant" | "model") => {
                into.messages.push(Message::assistant_blocks(answer(&said)));
            }
            Some("function_call" | "tool_call") => {
                let called = calls(&said).unwrap_or_else(|| vec![Block::text(said)]);
                into.messages.push(Message::assistant_blocks(called));
            }
            Some("observation" | "tool" | "function_response" | "function" | "tool_response") => {
                into.messages.push(Message::ToolResult {
                    tool_call_id: String::new(),
                    tool_name: String::new(),
                    content: texts(&said),
                    is_error: false,
                    is_refusal: false,
                });
            }
            Some("system") => into.messages.push(Message::custom("system", Content::Text(said))),
            _ => into.is_of_nobody = true,
        }
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        let (from, value) = match message {
            Message::Assistant { content, .. } if message.calls().next().is_some() => {
                ("function_call", called(content).ok_or("a new answer with a text and calls")?)
            }
            Message::Assistant { content, .. } => ("gpt", plain(content)?),
            Message::ToolResult { content, .. } => ("observation", plain(content)?),
            Message::Custom { custom_type, content } if custom_type.as_str() == "system" => {
                ("system", plain(&blocks(content))?)
            }
            message => ("human", plain(&blocks(&in_users_place(message)?))?),
        };
        Ok(json!({ "from": from, "value": value }).to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let (_, [Fate::Body(body)]) = (messages, fates) else { return Err("a part of a message".to_owned()) };
        let is_call = text(record, &["from"])
            .is_some_and(|from| matches!(from.as_str(), "function_call" | "tool_call"));
        let value = if is_call { called(body).ok_or("a call that becomes a text")? } else { tagged(body)? };
        Ok(set(record, "value", Value::from(value).to_string().as_bytes()))
    }
}

fn texts(said: &str) -> Vec<Block> {
    if said.is_empty() { Vec::new() } else { vec![Block::text(said)] }
}

/// Reads an answer: texts, and calls between tags; what is no call stays text.
fn answer(said: &str) -> Vec<Block> {
    let (mut blocks, mut rest) = (Vec::new(), said);
    while let Some((before, call, after)) = next_call(rest) {
        blocks.extend(texts(before.trim_end_matches('\n')));
        blocks.extend(call);
        rest = after.trim_start_matches('\n');
    }
    if blocks.is_empty() { texts(said) } else { [blocks, texts(rest)].concat() }
}

/// Returns the text before the next call, the call, and the text after it.
fn next_call(said: &str) -> Option<(&str, Vec<Block>, &str)> {
    let (before, rest) = said.split_once(CALL.0)?;
    let (inner, after) = rest.split_once(CALL.1)?;
    Some((before, calls(inner)?, after))
}

/// Reads one call, or a list of them.
fn calls(json: &str) -> Option<Vec<Block>> {
    let call = |value: &Value| {
        let name = value.get("name").and_then(Value::as_str)?.to_owned();
        let input = value.get("arguments").or_else(|| value.get("parameters"));
        let input = input.map_or_else(
            || json!({}),
            |input| match input {
                Value::String(text) => arguments(&Value::from(text.as_str()).to_string()),
                input => input.clone(),
            },
        );
        Some(Block::ToolCall { id: String::new(), name, input })
    };
    match serde_json::from_str(json).ok()? {
        Value::Array(all) if !all.is_empty() => all.iter().map(call).collect(),
        one => Some(vec![call(&one)?]),
    }
}

fn call_value(block: &Block) -> Option<Value> {
    let Block::ToolCall { name, input, .. } = block else { return None };
    Some(json!({ "name": name, "arguments": input }))
}

/// Returns the text of calls alone; `None` if there is more.
fn called(blocks: &[Block]) -> Option<String> {
    let all: Vec<Value> = blocks.iter().map(call_value).collect::<Option<_>>()?;
    match all.as_slice() {
        [] => None,
        [one] => Some(one.to_string()),
        all => Some(json!(all).to_string()),
    }
}

/// Returns a text with its calls between tags.
fn tagged(blocks: &[Block]) -> Result<String, String> {
    let piece = |block: &Block| match block {
        Block::ToolCall { .. } => {
            Ok(format!("{}\n{}\n{}", CALL.0, call_value(block).unwrap_or_default(), CALL.1))
        }
        Block::Text { text } => Ok(text.clone()),
        _ => Err("more than texts".to_owned()),
    };
    let pieces: Vec<String> = blocks.iter().map(piece).collect::<Result<_, String>>()?;
    Ok(pieces.join("\n"))
}

/// Returns the text of blocks that are texts.
fn plain(blocks: &[Block]) -> Result<String, String> {
    if blocks.iter().any(|block| block.as_text().is_none()) {
        return Err("a new message with more than texts".to_owned());
    }
    Ok(joined_text(blocks).into_owned())
}

fn blocks(content: &Content) -> Vec<Block> {
    match content {
        Content::Text(text) => texts(text),
        Content::Blocks(blocks) => blocks.clone(),
    }
}
