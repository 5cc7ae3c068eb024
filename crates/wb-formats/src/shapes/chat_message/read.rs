//! From a record to the message in it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wb_message::{Block, Content, Message};
use wb_record::JsonScan;
use wb_record::json::get;

use super::{Other, SYSTEM_ROLES};
use crate::kit::json_text::{arguments_in, compact, input, text};
use crate::kit::loose;
use crate::kit::message_list::Record;
use crate::kit::picture::picture;

/// The members of a message.
#[derive(Default)]
struct MessageMembers<'a> {
    role: MaybeText<'a>,
    body: ChatBody<'a>,
    calls: Vec<Block>,
    function_call: Vec<Block>,
    tool_call_id: MaybeText<'a>,
    tool_call_ids: &'a str,
    id: MaybeText<'a>,
    name: MaybeText<'a>,
    function: MaybeText<'a>,
    reasoning_content: MaybeText<'a>,
    reasoning: MaybeText<'a>,
    thinking_blocks: &'a str,
    refusal: MaybeText<'a>,
    error: &'a str,
    token_count: &'a str,
}

/// A string; `None` for another kind.
type MaybeText<'a> = Option<Cow<'a, str>>;

/// A body: a text, or other JSON.
#[derive(Default)]
enum ChatBody<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Json(&'a str),
}

/// Reads a message; one of an unknown role is left to `other`.
pub(crate) fn read(
    record: &str,
    other: fn(&Other<'_>, &mut Record),
    into: &mut Record,
) -> Result<(), serde_json::Error> {
    let mut fields = MessageMembers::default();
    if fields.read(record).is_none() {
        // This reports the error.
        return serde_json::from_str::<Map<String, Value>>(record).map(drop);
    }
    into.messages.push(match fields.role.as_deref().unwrap_or_default() {
        "user" => Message::user(fields.body.into_content()),
        "assistant" => Message::assistant_blocks(fields.into_answer()),
        "tool" | "function" => fields.into_result(),
        role if SYSTEM_ROLES.contains(&role) => Message::custom(role.to_owned(), fields.body.into_content()),
        role => {
            other(&fields.other(role), into);
            return Ok(());
        }
    });
    Ok(())
}

impl<'a> MessageMembers<'a> {
    fn read(&mut self, record: &'a str) -> Option<()> {
        let mut scan = JsonScan::new(record);
        scan.object(|key, scan| {
            match &*key {
                "role" => self.role = string(scan)?,
                "content" => self.body = ChatBody::parse(scan)?,
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
        let text = if let ChatBody::Text(text) = &self.body { text } else { "" };
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
        // The oldest calls have no id; a result is matched by its name.
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
            is_refusal: false,
        }
    }
}

impl<'a> ChatBody<'a> {
    fn parse(scan: &mut JsonScan<'a>) -> Option<Self> {
        Some(match scan.peek()? {
            b'"' => Self::Text(scan.string()?),
            _ => match scan.value()? {
                "null" => Self::None,
                json => Self::Json(json),
            },
        })
    }

    /// Returns a body verbatim.
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

/// Reads a value, with `None` in it if it is no string.
fn string<'a>(scan: &mut JsonScan<'a>) -> Option<MaybeText<'a>> {
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

/// Returns the elements of a list, as JSON; none if it is not a list.
fn values(list: &str) -> Vec<&str> {
    let mut values = Vec::new();
    if matches!(list, "" | "[]") {
        return values;
    }
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

/// Reads a call; a value of another kind is skipped.
fn add_call(scan: &mut JsonScan<'_>, calls: &mut Vec<Block>) -> Option<()> {
    if scan.peek()? != b'{' {
        return scan.value().map(drop);
    }
    let (mut call, mut function) = (CallMembers::default(), None);
    scan.object(|key, scan| {
        if key == "function" && scan.peek()? == b'{' {
            let mut inner = CallMembers::default();
            scan.object(|key, scan| inner.read(&key, scan))?;
            function = Some(inner);
            return Some(());
        }
        call.read(&key, scan)
    })?;
    if let Some(CallMembers { name, arguments, .. }) = function {
        call = CallMembers { id: call.id, name, function: None, arguments };
    }
    // Most answers have one call.
    calls.reserve_exact(usize::from(calls.is_empty()));
    calls.push(call.into_block());
    Some(())
}

/// The members of a call, or of its function.
#[derive(Default)]
struct CallMembers<'a> {
    id: MaybeText<'a>,
    name: MaybeText<'a>,
    /// The name of the function, if that is not an object.
    function: MaybeText<'a>,
    arguments: Input,
}

/// Arguments; `None` if there are none.
type Input = Option<Value>;

impl<'a> CallMembers<'a> {
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

/// Reads arguments: an object, or one in a string; anything else stays unchanged.
fn arguments(scan: &mut JsonScan<'_>) -> Option<Input> {
    if scan.peek()? != b'"' {
        return scan.value().map(|json| (json != "null").then(|| input(json)));
    }
    Some(Some(arguments_in(scan.string()?)))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatPart<'a> {
    #[serde(borrow)]
    r#type: loose::Text<'a>,
    text: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    image_url: Option<&'a RawValue>,
    image: loose::Text<'a>,
    think: Option<&'a RawValue>,
    thinking: Option<&'a RawValue>,
    reasoning: Option<&'a RawValue>,
    signature: loose::Text<'a>,
    encrypted: loose::Text<'a>,
}

/// Reads a part of a body; one without a matching block becomes a text with its JSON.
pub(crate) fn part(json: &str) -> Block {
    let known = serde_json::from_str::<ChatPart<'_>>(json).ok().and_then(known_part);
    known.unwrap_or_else(|| Block::text(text(json).unwrap_or_else(|| compact(json))))
}

fn known_part(part: ChatPart<'_>) -> Option<Block> {
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
