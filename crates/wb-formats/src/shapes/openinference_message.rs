//! Messages of `OpenInference`: members with dotted names, flat or nested.

use serde_json::{Map, Value, json};
use wb_message::{Block, Message};
use wb_record::Stamp;
use wb_record::json::{elements, find, members};

use super::chat_message::ChatShape;
use crate::kit::message_list::{Fate, Record, Shape};

/// The form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenInferenceShape {
    /// Members of an object: `"llm.input_messages.0.message.role": "user", …`.
    Flat,
    /// Attributes of OTLP: `{"key": "llm.input_messages.0.message.role", "value": …}, …`.
    Otlp,
    /// One of these two, in another order than the messages.
    Unordered,
    /// `{"message": {"role": "user", …}}`.
    Nested,
    /// `{"message.role": "user", …}`.
    Dotted,
}

/// The attributes of a message before its number.
const PREFIX: &str = "llm.input_messages.";
/// The most names that dots part in a name; more are one.
const MOST_NAMES: usize = 16;
/// The members that hold what is said.
const BODY: [&str; 3] = ["message.content", "message.contents", "message.tool_calls"];

impl Shape for OpenInferenceShape {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        let pairs = pairs(record)?;
        let message = tree(pairs.iter().map(|(key, value)| (key.as_str(), value)));
        let chat = chat(message.get("message").unwrap_or(&Value::Null)).to_string();
        ChatShape::PLAIN.read(&chat, into)?;
        if into.messages.is_empty() {
            return Err(serde::de::Error::custom("a message without a known role"));
        }
        Ok(())
    }

    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String> {
        Ok(self.joined(&written(message, stamp)?))
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let ([before], [Fate::Body(body)]) = (messages, fates) else {
            return Err("a part of a message".to_owned());
        };
        let after = before.with_body(body.to_vec());
        let text = str::from_utf8(record).map_err(|error| error.to_string())?;
        let mut all = pairs(text).map_err(|error| error.to_string())?;
        let is_body =
            |key: &str| BODY.iter().any(|body| key == *body || key.starts_with(&format!("{body}.")));
        all.retain(|(key, _)| !is_body(key));
        all.extend(written(&after, &Stamp::default())?.into_iter().filter(|(key, _)| is_body(key)));
        Ok(self.joined(&all))
    }
}

impl OpenInferenceShape {
    /// Writes members as a record of number 0.
    fn joined(self, pairs: &[(String, Value)]) -> Vec<u8> {
        let flat = || pairs.iter().map(|(key, value)| (format!("{PREFIX}0.{key}"), value));
        let text = |key: &str| Value::from(key).to_string();
        let all: Vec<String> = match self {
            Self::Flat | Self::Unordered => {
                flat().map(|(key, value)| format!("{}:{value}", text(&key))).collect()
            }
            Self::Otlp => flat()
                .map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }).to_string())
                .collect(),
            Self::Nested => vec![tree(pairs.iter().map(|(key, value)| (key.as_str(), value))).to_string()],
            Self::Dotted => vec![dotted(pairs).to_string()],
        };
        all.join(",").into_bytes()
    }
}

/// Returns the flat members of a message, without the attribute before its number.
fn pairs(record: &str) -> Result<Vec<(String, Value)>, serde_json::Error> {
    let after_number = |key: &str| {
        key.split_once("_messages.").and_then(|(_, rest)| Some(rest.split_once('.')?.1.to_owned()))
    };
    if record.starts_with('"') {
        let all: Map<String, Value> = serde_json::from_str(&["{", record, "}"].concat())?;
        return Ok(all.into_iter().filter_map(|(key, value)| Some((after_number(&key)?, value))).collect());
    }
    let all: Vec<Value> = serde_json::from_str(&["[", record, "]"].concat())?;
    let mut pairs = Vec::new();
    for value in all {
        match (value.get("key").and_then(Value::as_str), value.get("value")) {
            (Some(key), Some(typed)) => {
                let value = typed.as_object().and_then(|typed| typed.values().next()).cloned();
                pairs.extend(after_number(key).zip(value));
            }
            _ => flatten("", &value, &mut pairs),
        }
    }
    Ok(pairs)
}

/// Adds the leaves of a value under their dotted names.
fn flatten(path: &str, value: &Value, pairs: &mut Vec<(String, Value)>) {
    let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| flatten(&inner(key), value, pairs)),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(nth, value)| flatten(&inner(&nth.to_string()), value, pairs));
        }
        Value::Null => {}
        leaf => pairs.push((path.to_owned(), leaf.clone())),
    }
}

/// Builds a value of dotted names; where all names are numbers it is a list.
fn tree<'a>(pairs: impl Iterator<Item = (&'a str, &'a Value)>) -> Value {
    let mut root = Map::new();
    for (key, value) in pairs {
        let (mut members, mut names) = (&mut root, key.splitn(MOST_NAMES, '.').peekable());
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                members.insert(name.to_owned(), value.clone());
                break;
            }
            let inner = members.entry(name).or_insert_with(|| json!({}));
            if !inner.is_object() {
                *inner = json!({});
            }
            let Some(next) = inner.as_object_mut() else { break };
            members = next;
        }
    }
    with_lists(root)
}

/// Converts objects whose names are all numbers into lists.
fn with_lists(members: Map<String, Value>) -> Value {
    let convert = |value| match value {
        Value::Object(members) => with_lists(members),
        leaf => leaf,
    };
    let is_list = !members.is_empty()
        && members.iter().all(|(name, inner)| name.parse::<usize>().is_ok() && inner.is_object());
    if !is_list {
        return members.into_iter().map(|(name, value)| (name, convert(value))).collect();
    }
    let mut all: Vec<_> = members.into_iter().collect();
    all.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or_default());
    all.into_iter().map(|(_, value)| convert(value)).collect()
}

/// Returns the members of a message with lists of members for what it lists.
fn dotted(pairs: &[(String, Value)]) -> Value {
    let whole = tree(pairs.iter().map(|(key, value)| (key.as_str(), value)));
    let mut out = Map::new();
    for (key, value) in whole["message"].as_object().into_iter().flatten() {
        let value = match value {
            Value::Array(all) => all
                .iter()
                .map(|item| {
                    let mut leaves = Vec::new();
                    flatten("", item, &mut leaves);
                    Value::Object(leaves.into_iter().collect())
                })
                .collect(),
            value => value.clone(),
        };
        out.insert(format!("message.{key}"), value);
    }
    Value::Object(out)
}

/// Returns a message in the form of Chat Completions.
fn chat(message: &Value) -> Value {
    let role = match message["role"].as_str().unwrap_or_default() {
        "model" | "ai" => "assistant",
        "human" => "user",
        role => role,
    };
    let mut chat = json!({ "role": role, "content": message["content"].clone() });
    if let Some(contents) = message["contents"].as_array() {
        chat["content"] = contents.iter().filter_map(part).collect();
    }
    let call = |call: &Value| {
        let call = &call["tool_call"];
        json!({ "id": call["id"], "type": "function", "function": call["function"] })
    };
    if let Some(calls) = message["tool_calls"].as_array() {
        chat["tool_calls"] = calls.iter().map(call).collect();
    }
    for key in ["tool_call_id", "name"] {
        if message[key].is_string() {
            chat[key] = message[key].clone();
        }
    }
    chat
}

fn part(content: &Value) -> Option<Value> {
    let content = &content["message_content"];
    if let Some(text) = content["text"].as_str() {
        return Some(json!({ "type": "text", "text": text }));
    }
    let url = content.pointer("/image/image/url").and_then(Value::as_str)?;
    Some(json!({ "type": "image_url", "image_url": { "url": url } }))
}

/// Returns the members of a new message.
fn written(message: &Message, stamp: &Stamp) -> Result<Vec<(String, Value)>, String> {
    let is_said = |block: &&Block| !matches!(block, Block::Thinking { .. });
    let chat = match message {
        Message::Assistant { content, .. } => {
            let said = message.with_body(content.iter().filter(is_said).cloned().collect());
            ChatShape::PLAIN.write(&said, stamp)?
        }
        message => ChatShape::PLAIN.write(message, stamp)?,
    };
    let mut chat: Value = serde_json::from_slice(&chat).map_err(|error| error.to_string())?;
    if let Some(parts) = chat["content"].as_array() {
        let content = |part: &Value| match part["text"].as_str() {
            Some(text) => json!({ "message_content": { "type": "text", "text": text } }),
            None => {
                json!({ "message_content": { "type": "image", "image": { "image": part["image_url"] } } })
            }
        };
        chat["contents"] = parts.iter().map(content).collect();
        chat["content"] = Value::Null;
    }
    if let Some(calls) = chat["tool_calls"].as_array() {
        let call = |call: &Value| json!({ "tool_call": { "id": call["id"], "function": call["function"] } });
        chat["tool_calls"] = calls.iter().map(call).collect();
    }
    let mut pairs = Vec::new();
    flatten("message", &chat, &mut pairs);
    Ok(pairs)
}

/// Returns flat attributes with another number.
pub(crate) fn numbered(record: &[u8], nth: usize) -> Option<Vec<u8>> {
    let is_flat = record.starts_with(b"\"");
    let (open, close): (&[u8], &[u8]) = if is_flat { (b"{", b"}") } else { (b"[", b"]") };
    let whole = [open, record, close].concat();
    let keys: Vec<usize> = if is_flat {
        members(&whole)?.into_iter().map(|member| member.start).collect()
    } else {
        let key = |place: std::ops::Range<usize>| Some(place.start + find(&whole[place], &["key"])?.start);
        elements(&whole)?.into_iter().filter_map(key).collect()
    };
    let (mut out, mut done) = (Vec::with_capacity(whole.len()), 0);
    for key in keys {
        let number_at = key + 1 + PREFIX.len();
        if !whole[key + 1..].starts_with(PREFIX.as_bytes()) {
            continue;
        }
        out.extend_from_slice(&whole[done..number_at]);
        out.extend_from_slice(nth.to_string().as_bytes());
        done = number_at + whole[number_at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    out.extend_from_slice(&whole[done..]);
    Some(out[1..out.len() - 1].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_many_parts_and_messages_with_many_contents_are_read() {
        let deep = format!("message.{}", vec!["a"; 100_000].join("."));
        let mut pairs = vec![("message.role".to_owned(), json!("user")), (deep, json!("x"))];
        pairs.extend(
            (0..20_000).rev().map(|nth| (format!("message.contents.{nth}.message_content.text"), json!(nth))),
        );
        pairs.push(("message.role.of".to_owned(), json!("y")));
        let whole = tree(pairs.iter().map(|(key, value)| (key.as_str(), value)));
        assert_eq!(whole["message"]["contents"][19_999]["message_content"]["text"], 19_999);
        assert_eq!(whole["message"]["role"]["of"], "y");
    }
}
