//! Messages in Anthropic's form, also as stored by agents that use it.

use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::block::redacted_data;
use wb_message::{Block, Content, Message};
use wb_record::Stamp;
use wb_record::json::{elements, get, set, text};

use super::anthropic_block::{UserBody, UserPart, blocks, content, user_body};
use super::content_value::{self, SpeakerRecord, changed, changed_parts, in_users_place, result};
use super::parted_record::rewrite_content;
use crate::kit::message_list::{Fate, Record, Shape};

/// One record per side that speaks: results are blocks of the user's message, each a message of its
/// own.
///
/// Signatures of reasoning stay byte for byte. A summary of the provider's own hides everything
/// before it, which goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnthropicShape;

impl Shape for AnthropicShape {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        read(record, into)
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        write(message).map(|value| value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        rewrite_content(record, messages, fates, n_blocks, rewritten, block)
    }
}

/// Reads the content of one side; a message of another role is invisible to models.
pub(crate) fn read(record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
    let fields: SpeakerRecord<'_> = serde_json::from_str(record)?;
    let json = fields.content.map_or("\"\"", RawValue::get);
    match fields.role.as_str() {
        Some("user") => into.messages = of_user(json),
        Some("assistant") => answer(json, into),
        Some("system") => {
            into.messages.push(Message::custom("system", content(json).unwrap_or_else(|| "".into())));
        }
        _ => {}
    }
    Ok(())
}

/// Separates results from user texts.
fn of_user(json: &str) -> Vec<Message> {
    let parts = match user_body(json) {
        UserBody::Text(text) => return vec![Message::user(text)],
        UserBody::Parts(parts) => parts,
    };
    let mut messages = Vec::new();
    for part in parts {
        match (part, messages.last_mut()) {
            (UserPart::Result { call_id, content, is_error }, _) => messages.push(Message::ToolResult {
                tool_call_id: call_id,
                tool_name: String::new(),
                content,
                is_error,
                is_refusal: false,
            }),
            (UserPart::Block(block), Some(Message::User { content: Content::Blocks(blocks), .. })) => {
                blocks.push(block);
            }
            (UserPart::Block(block), _) => messages.push(Message::user(vec![block])),
        }
    }
    if messages.is_empty() {
        messages.push(Message::user(Vec::new()));
    }
    messages
}

fn answer(json: &str, into: &mut Record) {
    let compaction = if json.contains("\"compaction\"") { compaction_in(json.as_bytes()) } else { None };
    let mut blocks = blocks(json);
    let Some((at, summary)) = compaction else {
        return into.messages.push(Message::assistant_blocks(blocks));
    };
    let rest = blocks.split_off((at + 1).min(blocks.len()));
    let rest = (!rest.is_empty()).then(|| Message::assistant_blocks(rest));
    into.hides_all_before = true;
    into.messages.push(Message::CompactionSummary { summary, tokens_before: 0 });
    into.messages.extend(rest);
}

/// Returns the position of the last summary among blocks, and its text.
fn compaction_in(blocks: &[u8]) -> Option<(usize, String)> {
    let places = elements(blocks)?;
    let summary = |place: &Range<usize>| summary_of(&blocks[place.clone()]);
    places.iter().enumerate().rev().find_map(|(at, place)| Some((at, summary(place)?)))
}

/// Returns the summary of a compaction; a failed one has none, and replaces nothing.
fn summary_of(block: &[u8]) -> Option<String> {
    let summary = || text(block, &["content"]).filter(|summary| !summary.is_empty());
    if is_of_type(block, "compaction") { summary() } else { None }
}

fn is_of_type(block: &[u8], kind: &str) -> bool {
    text(block, &["type"]).is_some_and(|it| it == kind)
}

/// Returns a message as a record of its own.
fn write(message: &Message) -> Result<Value, String> {
    Ok(match message {
        Message::Assistant { content, .. } => {
            json!({ "role": "assistant", "content": content.iter().map(block).collect::<Result<Vec<_>, _>>()? })
        }
        Message::ToolResult { tool_call_id: id, content, is_error, .. } => {
            let mut answer =
                json!({ "type": "tool_result", "tool_use_id": id, "content": result(content, block)? });
            if *is_error {
                answer["is_error"] = true.into();
            }
            json!({ "role": "user", "content": [answer] })
        }
        message => {
            json!({ "role": "user", "content": content_value::content(&in_users_place(message)?, block)? })
        }
    })
}

/// Returns a block as it is sent.
pub(crate) fn block(block: &Block) -> Result<Value, String> {
    Ok(match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Image { media_type, data_base64: data } => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
        }
        Block::Thinking { text, signature: Some(signature) } => match redacted_data(signature) {
            Some(data) => json!({ "type": "redacted_thinking", "data": data }),
            None => json!({ "type": "thinking", "thinking": text, "signature": signature }),
        },
        Block::ToolCall { id, name, input } => {
            let input = if input.is_object() { input.clone() } else { json!({ "input": input }) };
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Block::Thinking { .. } => return Err("new reasoning without a signature".to_owned()),
        Block::ToolResult { .. } | Block::Command { .. } => return Err("a new block of this kind".to_owned()),
    })
}

/// Returns how many of the next blocks are those of a message.
fn n_blocks(message: &Message, rest: &[&[u8]]) -> usize {
    match message {
        Message::CompactionSummary { .. } => {
            rest.iter().rposition(|block| summary_of(block).is_some()).map_or(0, |at| at + 1)
        }
        Message::ToolResult { .. } => 1,
        message => message.blocks().len(),
    }
}

fn rewritten(old: &[&[u8]], message: &Message, after: &[Block]) -> Result<Vec<Vec<u8>>, String> {
    match (message, old) {
        (Message::ToolResult { content, .. }, [answer]) => {
            let body = changed(get(answer, "content"), content, after, block)?;
            Ok(vec![set(answer, "content", &body)])
        }
        (Message::CompactionSummary { .. }, _) => {
            Err("another text for the provider's own summary".to_owned())
        }
        (message, old) => changed_parts(old, message.blocks(), after, block),
    }
}
