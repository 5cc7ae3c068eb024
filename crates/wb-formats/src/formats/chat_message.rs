//! Messages as Chat Completions has them, and as the many agents store them that go by it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wb_budget::Usage;
use wb_message::block::joined_text;
use wb_message::{Block, Content, Message};
use wb_record::json::{elements, get, remove, set, set_in};
use wb_record::{JsonScan, Stamp};

use super::content_value::{changed, content, in_users_place, list, result};
use super::json_text::{compact, input, text};
use super::loose::{self, Count};
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
    /// Reads a record of a role that is no speaker's.
    pub(super) other: fn(&Other<'_>) -> Record,
}

impl ChatShape {
    /// Nothing beside the messages themselves.
    pub(super) const PLAIN: Self = Self { more: |_, _| {}, other: |_| Record::default() };
}

impl Shape for ChatShape {
    fn read(&self, record: &str) -> Result<Record, serde_json::Error> {
        let mut read = read(record, self.other)?;
        (self.more)(record.as_bytes(), &mut read);
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

/// What a record says whose role is no speaker's: its content, where that is a text, and the JSON of a count.
pub(super) struct Other<'a> {
    pub(super) role: &'a str,
    pub(super) text: &'a str,
    pub(super) token_count: &'a str,
}

/// The members of a message.
#[derive(Default)]
struct Fields<'a> {
    role: Text<'a>,
    body: Body<'a>,
    calls: Vec<Block>,
    function_call: Vec<Block>,
    tool_call_id: Text<'a>,
    tool_call_ids: &'a str,
    id: Text<'a>,
    name: Text<'a>,
    function: Text<'a>,
    reasoning_content: Text<'a>,
    reasoning: Text<'a>,
    thinking_blocks: &'a str,
    refusal: Text<'a>,
    error: &'a str,
    token_count: &'a str,
}

/// A string; nothing if it is none.
type Text<'a> = Option<Cow<'a, str>>;

/// A body: a text, or other JSON.
#[derive(Default)]
enum Body<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Json(&'a str),
}

/// Reads a message; one of another role is none that a model sees.
fn read(record: &str, other: fn(&Other<'_>) -> Record) -> Result<Record, serde_json::Error> {
    let mut fields = Fields::default();
    if fields.read(record).is_none() {
        // Tells what is wrong.
        return serde_json::from_str::<Map<String, Value>>(record).map(|_| Record::default());
    }
    let message = match fields.role.as_deref().unwrap_or_default() {
        "user" => Message::user(fields.body.into_content()),
        "assistant" => Message::assistant_blocks(fields.into_answer()),
        "tool" | "function" => fields.into_result(),
        role if SYSTEM_ROLES.contains(&role) => Message::custom(role.to_owned(), fields.body.into_content()),
        role => return Ok(other(&fields.other(role))),
    };
    Ok(message.into())
}

impl<'a> Fields<'a> {
    fn read(&mut self, record: &'a str) -> Option<()> {
        let mut scan = JsonScan::new(record);
        scan.object(|key, scan| {
            match &*key {
                "role" => self.role = string(scan)?,
                "content" => self.body = Body::of(scan)?,
                "tool_calls" => self.calls = calls(scan)?,
                "function_call" => add_call(scan, &mut self.function_call)?,
                "tool_call_id" => self.tool_call_id = string(scan)?,
                "tool_call_ids" => self.tool_call_ids = scan.value()?,
                "id" => self.id = string(scan)?,
                "name" => self.name = string(scan)?,
                "function" => self.function = string(scan)?,
                "reasoning_content" => self.reasoning_content = string(scan)?,
                "reasoning" => self.reasoning = string(scan)?,
                "thinking_blocks" => self.thinking_blocks = scan.value()?,
                "refusal" => self.refusal = string(scan)?,
                "error" => self.error = scan.value()?,
                "token_count" => self.token_count = scan.value()?,
                _ => _ = scan.value()?,
            }
            Some(())
        })?;
        scan.end()
    }

    fn other<'b>(&'b self, role: &'b str) -> Other<'b> {
        let text = if let Body::Text(text) = &self.body { text } else { "" };
        Other { role, text, token_count: self.token_count }
    }

    fn into_answer(self) -> Vec<Block> {
        let mut blocks = parts(self.thinking_blocks);
        if blocks.is_empty() {
            let text = self.reasoning_content.or(self.reasoning).filter(|text| !text.is_empty());
            let thinking = |text: Cow<'_, str>| Block::Thinking { text: text.into_owned(), signature: None };
            blocks.extend(text.map(thinking));
        }
        add(&mut blocks, self.body.into_blocks());
        blocks.extend(self.refusal.filter(|text| !text.is_empty()).map(Block::text));
        add(&mut blocks, self.calls);
        // The oldest way to call has one call without an id; its name answers for it.
        add(&mut blocks, self.function_call);
        blocks
    }

    fn into_result(self) -> Message {
        let first = values(self.tool_call_ids).first().and_then(|id| text(id));
        let ids = [self.tool_call_id, first.map(Cow::Owned), self.id, self.name.clone()];
        Message::ToolResult {
            tool_call_id: ids.into_iter().flatten().next().unwrap_or_default().into_owned(),
            tool_name: self.name.or(self.function).unwrap_or_default().into_owned(),
            content: self.body.into_blocks(),
            is_error: !matches!(self.error, "" | "null" | "false" | "\"\""),
        }
    }
}

impl<'a> Body<'a> {
    fn of(scan: &mut JsonScan<'a>) -> Option<Self> {
        Some(match scan.peek()? {
            b'"' => Self::Text(scan.string()?),
            _ => match scan.value()? {
                "null" => Self::None,
                json => Self::Json(json),
            },
        })
    }

    /// Returns a body as it stands.
    fn into_content(self) -> Content {
        match self {
            Self::None => Content::Text(String::new()),
            Self::Text(text) => Content::Text(text.into_owned()),
            Self::Json(_) => Content::Blocks(self.into_blocks()),
        }
    }

    /// Returns the blocks of a body: of a text one, of an empty text none.
    fn into_blocks(self) -> Vec<Block> {
        match self {
            Self::Text(text) if !text.is_empty() => vec![Block::text(text)],
            Self::Json(json) if json.starts_with('[') => parts(json),
            Self::Json(json) => vec![Block::text(compact(json))],
            Self::None | Self::Text(_) => Vec::new(),
        }
    }
}

/// Reads a value; nothing is in it if it is no string.
fn string<'a>(scan: &mut JsonScan<'a>) -> Option<Text<'a>> {
    if scan.peek()? == b'"' { scan.string().map(Some) } else { scan.value().map(|_| None) }
}

/// Adds blocks; the first ones are not copied.
fn add(blocks: &mut Vec<Block>, more: Vec<Block>) {
    if blocks.is_empty() {
        *blocks = more;
    } else {
        blocks.extend(more);
    }
}

/// Returns the elements of a list, as JSON; none of what is no list.
fn values(list: &str) -> Vec<&str> {
    let mut values = Vec::new();
    _ = JsonScan::new(list).list(|scan| {
        values.push(scan.value()?);
        Some(())
    });
    values
}

fn parts(list: &str) -> Vec<Block> {
    values(list).into_iter().map(part).collect()
}

/// Reads the calls of a list.
fn calls(scan: &mut JsonScan<'_>) -> Option<Vec<Block>> {
    let mut calls = Vec::new();
    if scan.peek()? == b'[' {
        scan.list(|scan| add_call(scan, &mut calls))?;
    } else {
        scan.value()?;
    }
    Some(calls)
}

/// Reads a call; what is no object is none.
fn add_call(scan: &mut JsonScan<'_>, calls: &mut Vec<Block>) -> Option<()> {
    if scan.peek()? != b'{' {
        return scan.value().map(drop);
    }
    let (mut call, mut function) = (Call::default(), None);
    scan.object(|key, scan| {
        if key == "function" && scan.peek()? == b'{' {
            let mut inner = Call::default();
            scan.object(|key, scan| inner.read(&key, scan))?;
            function = Some(inner);
            return Some(());
        }
        call.read(&key, scan)
    })?;
    if let Some(Call { name, arguments, .. }) = function {
        call = Call { id: call.id, name, function: None, arguments };
    }
    // Most answers have one call.
    calls.reserve_exact(usize::from(calls.is_empty()));
    calls.push(call.into_block());
    Some(())
}

/// The members of a call, or of its function.
#[derive(Default)]
struct Call<'a> {
    id: Text<'a>,
    name: Text<'a>,
    /// The name of the function, where that is no object.
    function: Text<'a>,
    arguments: Input,
}

/// Arguments; nothing if there are none.
type Input = Option<Value>;

impl<'a> Call<'a> {
    fn read(&mut self, key: &str, scan: &mut JsonScan<'a>) -> Option<()> {
        match key {
            "id" => self.id = string(scan)?,
            "name" => self.name = string(scan)?,
            "function" => self.function = string(scan)?,
            "arguments" => self.arguments = arguments(scan)?,
            _ => _ = scan.value()?,
        }
        Some(())
    }

    fn into_block(self) -> Block {
        let name = self.function.or(self.name).unwrap_or_default().into_owned();
        let id = self.id.map_or_else(|| name.clone(), Cow::into_owned);
        Block::ToolCall { id, name, input: self.arguments.unwrap_or_else(|| json!({})) }
    }
}

/// Reads arguments: an object, or one in a string; what is none stays as it stands.
fn arguments(scan: &mut JsonScan<'_>) -> Option<Input> {
    if scan.peek()? != b'"' {
        return scan.value().map(|json| (json != "null").then(|| input(json)));
    }
    let text = scan.string()?;
    Some(Some(match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(text.into_owned()),
    }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: loose::Text<'a>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
    #[serde(borrow)]
    image: loose::Text<'a>,
    #[serde(borrow)]
    think: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: loose::Text<'a>,
    #[serde(borrow)]
    encrypted: loose::Text<'a>,
}

/// Reads a part of a body; what we have no block for becomes a text with its JSON.
pub(super) fn part(json: &str) -> Block {
    let known = serde_json::from_str::<Part<'_>>(json).ok().and_then(known_part);
    known.unwrap_or_else(|| Block::text(text(json).unwrap_or_else(|| compact(json))))
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
