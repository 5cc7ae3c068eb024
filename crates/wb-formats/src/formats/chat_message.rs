//! Messages as Chat Completions has them, and as the many agents store them that go by it.

use std::borrow::Cow;

use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::block::joined_text;
use wb_message::{Block, Content, Message};
use wb_record::Stamp;
use wb_record::json::{elements, get, remove, set, set_in};

use super::content_value::{changed, content, in_users_place, list, raw_list, result};
use super::json_text::{arguments, compact, text};
use super::loose::{Count, Hoped, Key, Text, hoped};
use super::message_list::{Fate, Record, Shape};
use super::picture::{image_url, picture};

/// The custom types that are roles of their own.
const SYSTEM_ROLES: [&str; 2] = ["system", "developer"];

/// The keys under which vendors put reasoning beside an answer.
const REASONING_KEYS: [&str; 4] =
    ["thinking_blocks", "reasoning_content", "reasoning", "provider_specific_fields"];

/// One record per message: a role, a text or parts, calls with arguments in a string, results by the id of their call.
///
/// Arguments that are no object in a string are kept as they stand, and so are those that are an object of their own.
/// System and developer texts are pinned. Reasoning stands before what an answer says.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChatShape {
    /// Adds what an agent's own fields say.
    pub(super) more: fn(&[u8], &mut Record),
}

impl ChatShape {
    /// Nothing beside the messages themselves.
    pub(super) const PLAIN: Self = Self { more: |_, _| {} };
}

impl Shape for ChatShape {
    fn read(&self, record: &[u8]) -> Result<Record, serde_json::Error> {
        let mut read = read(record)?;
        (self.more)(record, &mut read);
        Ok(read)
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        write(message).map(|value| value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        match (messages, fates) {
            ([before], [Fate::Body(after)]) => rewrite(record, before, after),
            _ => Err("a part of a message".to_owned()),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, deserialize_with = "hoped")]
    content: Body<'a>,
    #[serde(borrow, deserialize_with = "hoped")]
    tool_calls: Calls<'a>,
    #[serde(borrow, deserialize_with = "hoped")]
    function_call: Call<'a>,
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    tool_call_ids: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    function: Text<'a>,
    #[serde(borrow)]
    reasoning_content: Text<'a>,
    #[serde(borrow)]
    reasoning: Text<'a>,
    #[serde(borrow)]
    thinking_blocks: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Text<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Reads a message; one of another role is none that a model sees.
fn read(record: &[u8]) -> Result<Record, serde_json::Error> {
    let fields: Fields<'_> = serde_json::from_slice(record)?;
    let role = fields.role.as_str().unwrap_or_default();
    let message = match role {
        "user" => Message::user(fields.content.into_content()),
        "assistant" => Message::assistant_blocks(answer(fields)),
        "tool" | "function" => answered(fields),
        role if SYSTEM_ROLES.contains(&role) => {
            Message::custom(role.to_owned(), fields.content.into_content())
        }
        _ => return Ok(Record::default()),
    };
    Ok(message.into())
}

fn answer(fields: Fields<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = raw_list(fields.thinking_blocks).into_iter().filter_map(part).collect();
    if let (true, Some(text)) = (blocks.is_empty(), fields.reasoning_content.0.or(fields.reasoning.0)) {
        let thinking = Block::Thinking { text: text.into_owned(), signature: None };
        blocks.extend(
            (thinking != Block::Thinking { text: String::new(), signature: None }).then_some(thinking),
        );
    }
    blocks.extend(fields.content.into_blocks());
    blocks.extend(fields.refusal.0.filter(|text| !text.is_empty()).map(Block::text));
    // The oldest way to call has one call without an id; its name answers for it.
    let calls = fields.tool_calls.0.into_iter().chain([fields.function_call]);
    blocks.extend(calls.filter_map(Call::into_block));
    blocks
}

fn answered(fields: Fields<'_>) -> Message {
    let first = raw_list(fields.tool_call_ids).first().and_then(|id| text(id.get()));
    let ids = [fields.tool_call_id.0, first.map(Into::into), fields.id.0, fields.name.0.clone()];
    let is_error = fields.error.is_some_and(|error| !matches!(error.get(), "false" | "\"\""));
    Message::ToolResult {
        tool_call_id: ids.into_iter().flatten().next().unwrap_or_default().into_owned(),
        tool_name: fields.name.0.or(fields.function.0).unwrap_or_default().into_owned(),
        content: fields.content.into_blocks(),
        is_error,
    }
}

/// A call, or nothing that is one.
#[derive(Default)]
struct Call<'a> {
    is_object: bool,
    id: Text<'a>,
    name: Text<'a>,
    function: Option<Box<Function<'a>>>,
    arguments: Option<&'a RawValue>,
}

/// The function that is called: an object, or its name.
#[derive(Default)]
struct Function<'a> {
    is_object: bool,
    name: Text<'a>,
    arguments: Option<&'a RawValue>,
}

#[derive(Default)]
struct Calls<'a>(Vec<Call<'a>>);

impl<'de> Hoped<'de> for Calls<'de> {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut calls = Vec::new();
        while let Some(call) = list.next_element()? {
            calls.push(call);
        }
        Ok(Self(calls))
    }
}

impl<'de> Hoped<'de> for Call<'de> {
    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut call = Self { is_object: true, ..Self::default() };
        while let Some(Key(key)) = object.next_key()? {
            match &*key {
                "id" => call.id = object.next_value()?,
                "name" => call.name = object.next_value()?,
                "function" => call.function = Some(object.next_value()?),
                "arguments" => call.arguments = object.next_value()?,
                _ => _ = object.next_value::<IgnoredAny>()?,
            }
        }
        Ok(call)
    }
}

impl<'de> Hoped<'de> for Function<'de> {
    fn of_text(text: Cow<'de, str>) -> Self {
        Self { name: Text(Some(text)), ..Self::default() }
    }

    fn of_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        let Call { name, arguments, .. } = Call::of_object(object)?;
        Ok(Self { is_object: true, name, arguments })
    }
}

impl<'de> Deserialize<'de> for Call<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        hoped(from)
    }
}

impl<'de> Deserialize<'de> for Function<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        hoped(from)
    }
}

impl Call<'_> {
    fn into_block(self) -> Option<Block> {
        let function = self.function.unwrap_or_default();
        let (name, json) = match function.name {
            name if function.is_object => (name.into_string(), function.arguments),
            name => (name.0.or(self.name.0).unwrap_or_default().into_owned(), self.arguments),
        };
        let id = self.id.0.map_or_else(|| name.clone(), Cow::into_owned);
        let input = json.map_or_else(|| json!({}), |json| arguments(json.get()));
        self.is_object.then_some(Block::ToolCall { id, name, input })
    }
}

/// A body: nothing, a text, the parts of a list, or other JSON.
#[derive(Default)]
enum Body<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Parts(Vec<&'a RawValue>),
    Other(String),
}

impl<'de> Hoped<'de> for Body<'de> {
    fn of_text(text: Cow<'de, str>) -> Self {
        Self::Text(text)
    }

    fn of_flag(flag: bool) -> Self {
        Self::Other(flag.to_string())
    }

    fn of_number(number: u64) -> Self {
        Self::Other(number.to_string())
    }

    fn of_other(value: Value) -> Self {
        Self::Other(value.to_string())
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        Ok(Self::Parts(parts))
    }

    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut members = Vec::new();
        while let Some((Key(key), value)) = object.next_entry::<_, &RawValue>()? {
            members.push(format!("{}:{}", Value::from(key), value.get()));
        }
        Ok(Self::Other(compact(&format!("{{{}}}", members.join(",")))))
    }
}

impl Body<'_> {
    /// Returns a body as it stands.
    fn into_content(self) -> Content {
        match self {
            Self::None => Content::Text(String::new()),
            Self::Text(text) => Content::Text(text.into_owned()),
            body => Content::Blocks(body.into_blocks()),
        }
    }

    /// Returns the blocks of a body: of a text one, of an empty text none.
    fn into_blocks(self) -> Vec<Block> {
        match self {
            Self::None => Vec::new(),
            Self::Text(text) if text.is_empty() => Vec::new(),
            Self::Text(text) => vec![Block::text(text)],
            Self::Parts(parts) => parts.into_iter().filter_map(part).collect(),
            Self::Other(json) => vec![Block::text(json)],
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
    #[serde(borrow)]
    image: Text<'a>,
    #[serde(borrow)]
    think: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Text<'a>,
    #[serde(borrow)]
    encrypted: Text<'a>,
}

/// Reads a part of a body; what we have no block for becomes a text with its JSON.
pub(super) fn part(json: &RawValue) -> Option<Block> {
    let known = serde_json::from_str::<Part<'_>>(json.get()).ok().and_then(known_part);
    known.or_else(|| Some(Block::text(text(json.get()).unwrap_or_else(|| compact(json.get())))))
}

fn known_part(part: Part<'_>) -> Option<Block> {
    let read = |raw: Option<&RawValue>| raw.and_then(|raw| text(raw.get()));
    match part.r#type.as_str()? {
        "text" => read(part.text).map(Block::text),
        "refusal" => read(part.refusal).map(Block::text),
        "think" | "thinking" | "reasoning" => {
            let text = read(part.think).or_else(|| read(part.thinking)).or_else(|| read(part.reasoning));
            let signature = part.signature.0.or(part.encrypted.0).map(Cow::into_owned);
            Some(Block::Thinking { text: text.unwrap_or_default(), signature })
        }
        "image_url" => {
            let url = part.image_url?;
            let inner = get(url.get().as_bytes(), "url").and_then(|url| text(std::str::from_utf8(url).ok()?));
            Some(picture(&inner.or_else(|| text(url.get()))?))
        }
        "image" => part.image.as_str().map(picture),
        _ => None,
    }
}

/// Returns a message as a record of its own.
fn write(message: &Message) -> Result<Value, String> {
    Ok(match message {
        Message::Assistant { content, .. } => {
            let calls: Vec<Value> =
                message.calls().map(|(id, name, input)| call_value(id, name, input)).collect();
            let mut value = json!({ "role": "assistant", "content": said(content)? });
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

/// Returns what an answer says beside its calls.
fn said(blocks: &[Block]) -> Result<Value, String> {
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

pub(super) fn part_value(block: &Block) -> Result<Value, String> {
    match block {
        Block::Text { text } => Ok(json!({ "type": "text", "text": text })),
        Block::Image { media_type, data_base64 } => Ok(image_url(media_type, data_base64)),
        _ => Err("a new message with more than texts and pictures".to_owned()),
    }
}

/// Returns a record with another body: only the members change in which it stands.
fn rewrite(record: &[u8], before: &Message, after: &[Block]) -> Result<Vec<u8>, String> {
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

/// Reads what was counted for a request: what came from a cache or went into one is a part of the prompt.
pub(super) fn usage(json: &[u8]) -> Option<Usage> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Counted {
        prompt_tokens: Count,
        completion_tokens: Count,
        prompt_tokens_details: Option<Details>,
        cache_creation_input_tokens: Count,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details {
        cached_tokens: Count,
    }
    let counted: Counted = serde_json::from_slice(json).ok()?;
    let prompt = counted.prompt_tokens.0.filter(|tokens| *tokens > 0)?;
    let read = counted.prompt_tokens_details.and_then(|details| details.cached_tokens.0);
    let written = counted.cache_creation_input_tokens.0;
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Some(Usage {
        input_tokens: prompt.saturating_sub(cached),
        output_tokens: counted.completion_tokens.0.unwrap_or(0),
        cache_read_tokens: read,
        cache_write_tokens: written,
    })
}
