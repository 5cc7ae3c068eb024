//! Requests of `generateContent` of Gemini, and lists of contents as they are saved.

use std::collections::HashMap;

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::markers::is_synthetic;
use wb_message::{Block, Content, Message};
use wb_record::json::{elements, find, get, set, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp, View};

use crate::kit::fields::take_text;
use crate::kit::list_document::open;
use crate::kit::message_list::{Fate, Layout, List, Record, Shape, held};
use crate::shapes::content_value::{content_of, in_users_place, list};
use crate::shapes::gemini_part::{GeminiPart, part_of_result, parts, parts_of, with_body};

/// Requests of `generateContent`: a body with `contents`, or a list of contents alone, such as the
/// `/chat save` of Gemini CLI, also under `history`.
///
/// Each result is a message of its own; the rest of the same content is another. A call
/// without an id is known by its name and its order, and has a number here. A signature is thinking
/// before its part, and stays with it byte for byte. The system text is no message here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GeminiContents;

impl Format for GeminiContents {
    fn name(&self) -> &'static str {
        "gemini-contents"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let [first] = probe.values.as_slice() else { return Confidence::No };
        let list = if first.is_list { Some(first) } else { first.listed.as_deref() };
        let is_body = !first.is_list && first.has("contents");
        // Other lists of parts name the kind of each message, or have other roles. A body may hold
        // contents that its provider refuses.
        let is_content = |it: &ProbedValue| {
            let is_role = matches!(it.role.as_str(), "user" | "model" | "function" | "");
            let is_good = is_role && it.has("parts");
            (is_good || is_body && (it.has("parts") || it.has("role"))) && !it.has("kind")
        };
        let mut contents =
            list.filter(|it| it.is_list).into_iter().flat_map(ProbedValue::elements).peekable();
        if contents.peek().is_some() && contents.all(is_content) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for GeminiContents {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let text = held(parts);
        let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let is_list = json.trim_ascii_start().starts_with(b"[");
        let key = if find(json, &["contents"]).is_some() { "contents" } else { "history" };
        Ok(vec![List::at_path(text, if is_list { &[] } else { std::slice::from_ref(&key) })?])
    }

    fn shape(&self) -> &dyn Shape {
        &ContentShape
    }

    fn joined(&self, one: &[u8], next: &[u8]) -> Option<Vec<u8>> {
        let side = |content| text(content, &["role"]).filter(|role| role == "user" || role == "model");
        if side(one)? != side(next)? {
            return None;
        }
        let of = |content| {
            let parts = get(content, "parts")?;
            Some(elements(parts)?.into_iter().map(|place| parts[place].to_vec()))
        };
        Some(set(next, "parts", &list(&of(one)?.chain(of(next)?).collect::<Vec<_>>())))
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        view.model = text(held(parts), &["model"]).map(|it| it.trim_start_matches("models/").to_owned());
        number_calls(view);
    }
}

/// The prefix of ids given to calls without one.
const NUMBERED: &str = "call-";

/// Gives calls without an id a number, and their results that of the call that they answer.
pub(crate) fn number_calls(view: &mut View) {
    let View { messages, provenance, .. } = view;
    let mut n_calls = 0;
    let mut open: HashMap<String, std::collections::VecDeque<String>> = HashMap::new();
    for message in messages {
        match message {
            Message::Assistant { content, .. } => {
                for block in content {
                    let Block::ToolCall { id, name, .. } = block else { continue };
                    if id.is_empty() {
                        n_calls += 1;
                        *id = format!("{NUMBERED}{n_calls}");
                        provenance.name_call(id.clone());
                        open.entry(name.clone()).or_default().push_back(id.clone());
                    }
                }
            }
            Message::ToolResult { tool_call_id, tool_name, .. } if tool_call_id.is_empty() => {
                if let Some(id) = open.get_mut(tool_name).and_then(std::collections::VecDeque::pop_front) {
                    *tool_call_id = id;
                }
            }
            _ => {}
        }
    }
}

/// Returns the id of a call to write; `None` for one that this crate assigned, since its call has
/// none.
fn written_id(id: &str) -> Option<&str> {
    let is_ours = id.strip_prefix(NUMBERED).is_some_and(|number| number.parse::<u32>().is_ok());
    (!is_ours).then_some(id)
}

/// One record per side that speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentShape;

impl Shape for ContentShape {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        let mut content: Value = serde_json::from_str(record)?;
        let role = take_text(&mut content, "role");
        let said = parts(content.get_mut("parts").map(Value::take).unwrap_or_default());
        if matches!(role.as_deref(), Some("model" | "assistant")) {
            let blocks = said.into_iter().flat_map(|part| match part {
                GeminiPart::Blocks(blocks) => blocks,
                GeminiPart::Result { content, .. } => content,
            });
            into.messages.push(Message::assistant_blocks(blocks.collect()));
        } else {
            into.messages = of_user(said);
        }
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        let more = || "a new message with more than texts and pictures".to_owned();
        let (role, parts) = match message {
            Message::Assistant { content, .. } => ("model", parts_of(content).ok_or_else(more)?),
            Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => {
                if content.iter().any(|block| block.as_text().is_none()) {
                    return Err(more());
                }
                if written_id(tool_call_id).is_none() && tool_name.is_empty() {
                    return Err("a new result of a call without an id and a name".to_owned());
                }
                let text = joined_text(content);
                ("user", vec![part_of_result(written_id(tool_call_id), tool_name, &text, *is_error)])
            }
            message => match in_users_place(message)? {
                Content::Text(text) => ("user", vec![json!({ "text": text })]),
                Content::Blocks(blocks) => ("user", parts_of(&blocks).ok_or_else(more)?),
            },
        };
        Ok(json!({ "role": role, "parts": parts }).to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let list_at = find(record, &["parts"]).ok_or("a content without parts")?;
        let parts = &record[list_at.clone()];
        let pairs = || messages.iter().zip(fates);
        let mut results = pairs().filter(|(message, _)| matches!(message, Message::ToolResult { .. }));
        let mut others = pairs().filter(|(message, _)| !matches!(message, Message::ToolResult { .. }));
        let mut said = None;
        let mut kept = Vec::new();
        for place in elements(parts).ok_or("parts that are no list")? {
            let part = &parts[place];
            let is_result = find(part, &["functionResponse"]).is_some();
            let is_ours =
                || text(part, &["text"]).is_some_and(|text| is_synthetic(&Message::user(text.as_ref())));
            let of = match is_result {
                true => results.next(),
                false if is_ours() => {
                    said = None;
                    others.next()
                }
                false => {
                    said = said.or_else(|| others.next());
                    said
                }
            };
            match of {
                Some((_, Fate::Goes)) => {}
                Some((Message::ToolResult { is_error, .. }, Fate::Body(body))) => {
                    if body.iter().any(|block| block.as_text().is_none()) {
                        return Err("a result with more than texts".to_owned());
                    }
                    kept.push(with_body(part, &joined_text(body), *is_error));
                }
                Some((_, Fate::Body(_))) => return Err("another body for what is no result".to_owned()),
                _ => kept.push(part.to_vec()),
            }
        }
        Ok(set(record, "parts", &list(&kept)))
    }
}

/// Separates results, the output of a compaction and user text: results first.
fn of_user(parts: Vec<GeminiPart>) -> Vec<Message> {
    let (mut messages, mut others, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            GeminiPart::Blocks(blocks) => match user(blocks) {
                ours if is_synthetic(&ours) => {
                    others.extend((!said.is_empty()).then(|| user(std::mem::take(&mut said))));
                    others.push(ours);
                }
                Message::User { content: Content::Text(text), .. } => said.push(Block::Text { text }),
                Message::User { content: Content::Blocks(blocks), .. } => said.extend(blocks),
                _ => {}
            },
            GeminiPart::Result { id, name: tool_name, content, is_error } => {
                let tool_call_id = id.unwrap_or_default();
                messages.push(Message::ToolResult {
                    tool_call_id,
                    tool_name,
                    content,
                    is_error,
                    is_refusal: false,
                });
            }
        }
    }
    messages.extend(others);
    if !said.is_empty() || messages.is_empty() {
        messages.push(user(said));
    }
    messages
}

/// Returns user content, as plain text if it is nothing else.
fn user(blocks: Vec<Block>) -> Message {
    Message::user(content_of(blocks))
}
