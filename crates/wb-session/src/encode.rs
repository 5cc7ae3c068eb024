//! Writing entries, in the form of pi's version 3.
//!
//! Members stand in pi's order, and what pi's screens count on is there: a display flag, the whole usage with its
//! costs. What is not known is written as zero or an empty text.

use serde::Serialize;
use serde_json::{Map, Value, json};
use wb_budget::Usage;
use wb_message::{Block, Content, Message};

use crate::entry::{
    BranchSummary, Compaction, CustomMessage, EntryKind, Logged, Replacement, Request, StopReason,
};
use crate::error::{SessionError, WRITTEN_VERSION};
use crate::id::EntryId;
use crate::timestamp::iso_ms;

/// The beginning of a new session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// The session's name, by which hosts tell sessions apart.
    pub id: String,
    /// When it begins, in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// The working directory.
    pub cwd: String,
    /// The file of the session that it was forked from.
    pub parent_session: Option<String>,
}

impl NewSession {
    /// Returns the first line, without its line feed.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        put("type", "session".into());
        put("version", WRITTEN_VERSION.into());
        put("id", self.id.as_str().into());
        put("timestamp", iso_ms(self.timestamp).into());
        put("cwd", self.cwd.as_str().into());
        if let Some(parent) = &self.parent_session {
            put("parentSession", parent.as_str().into());
        }
        Value::Object(fields).to_string().into_bytes()
    }
}

/// The place of a new entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) id: &'a EntryId,
    pub(crate) parent_id: Option<&'a EntryId>,
    /// In milliseconds since the Unix epoch.
    pub(crate) timestamp: i64,
}

/// Returns the line of an entry, without its line feed.
pub(crate) fn line(place: Place<'_>, kind: &EntryKind) -> Result<Vec<u8>, SessionError> {
    let (r#type, said) = said(place, kind)?;
    let mut fields = Map::new();
    fields.insert("type".to_owned(), r#type.into());
    fields.insert("id".to_owned(), place.id.as_str().into());
    fields.insert("parentId".to_owned(), place.parent_id.map(EntryId::as_str).into());
    fields.insert("timestamp".to_owned(), iso_ms(place.timestamp).into());
    for (key, value) in said {
        // An entry that was taken from another log brings its own place, which is not that of the new one.
        fields.entry(key).or_insert(value);
    }
    Ok(Value::Object(fields).to_string().into_bytes())
}

fn said(place: Place<'_>, kind: &EntryKind) -> Result<(String, Map<String, Value>), SessionError> {
    let (r#type, value) = match kind {
        EntryKind::Message(logged) => ("message", json!({ "message": message(logged, place.timestamp)? })),
        EntryKind::ModelChange(it) => ("model_change", plain(it)?),
        EntryKind::ThinkingLevelChange(it) => ("thinking_level_change", plain(it)?),
        EntryKind::Compaction(it) => ("compaction", compaction(it, place.id)),
        EntryKind::BranchSummary(it) => ("branch_summary", branch_summary(it)),
        EntryKind::CustomMessage(it) => ("custom_message", custom_message(it)),
        EntryKind::ContextEdit(it) => {
            let new = |it: &Replacement| json!({ "content": content(&it.content) });
            let replacement = it.replacement.as_ref().map(new);
            ("context_edit", json!({ "targetId": it.target_id.as_str(), "replacement": replacement }))
        }
        EntryKind::Custom(it) => ("custom", plain(it)?),
        EntryKind::Label(it) => ("label", plain(it)?),
        EntryKind::SessionInfo(it) => ("session_info", plain(it)?),
        EntryKind::Other(fields) => return other(fields),
    };
    match value {
        Value::Object(fields) => Ok((r#type.to_owned(), fields)),
        _ => Err(not_writable(r#type)),
    }
}

fn plain(value: &impl Serialize) -> Result<Value, SessionError> {
    serde_json::to_value(value).map_err(|error| not_writable(&error.to_string()))
}

fn not_writable(what: &str) -> SessionError {
    SessionError::NotWritable { what: what.to_owned() }
}

/// Entries of a kind that is not known need a type, and not that of the header.
fn other(fields: &Map<String, Value>) -> Result<(String, Map<String, Value>), SessionError> {
    match fields.get("type").and_then(Value::as_str) {
        Some("session") => Err(not_writable("a second header")),
        Some(r#type) => Ok((r#type.to_owned(), fields.clone())),
        None => Err(not_writable("an entry without a type")),
    }
}

/// A compaction that keeps nothing names itself, which pi reads as that.
fn compaction(it: &Compaction, own: &EntryId) -> Value {
    let first_kept = it.first_kept_entry_id.as_ref().unwrap_or(own);
    let mut value = json!({
        "summary": it.summary, "firstKeptEntryId": first_kept.as_str(), "tokensBefore": it.tokens_before,
    });
    add_notes(&mut value, it.details.as_ref(), it.from_hook);
    value
}

fn branch_summary(it: &BranchSummary) -> Value {
    let mut value = json!({ "fromId": it.from_id, "summary": it.summary });
    add_notes(&mut value, it.details.as_ref(), it.from_hook);
    value
}

fn add_notes(value: &mut Value, details: Option<&Value>, from_hook: bool) {
    if let Some(details) = details {
        value["details"] = details.clone();
    }
    if from_hook {
        value["fromHook"] = true.into();
    }
}

fn custom_message(it: &CustomMessage) -> Value {
    let mut value = json!({
        "customType": it.custom_type, "content": content(&it.content), "display": it.display,
    });
    add_notes(&mut value, it.details.as_ref(), false);
    value
}

fn message(logged: &Logged, entry_timestamp: i64) -> Result<Value, SessionError> {
    let Logged { message, request, is_excluded } = logged;
    let mut value = match message {
        Message::User { content: body, .. } => json!({ "role": "user", "content": content(body) }),
        Message::Assistant { content, .. } => answer(content, request.as_ref()),
        Message::ToolResult { tool_call_id, tool_name, content, is_error } => json!({
            "role": "toolResult", "toolCallId": tool_call_id, "toolName": tool_name,
            "content": parts(content), "isError": is_error,
        }),
        Message::BashExecution { command, output, exit_code } => {
            shell(command, output, *exit_code, *is_excluded)
        }
        Message::Custom { custom_type, content: body } => json!({
            "role": "custom", "customType": custom_type, "content": content(body), "display": true,
        }),
        Message::BranchSummary { .. } => return Err(not_writable("a branch summary as a message")),
        Message::CompactionSummary { .. } => return Err(not_writable("a compaction as a message")),
    };
    let own = message.timestamp().filter(|timestamp| *timestamp != 0);
    value["timestamp"] = own.unwrap_or(entry_timestamp).into();
    if let Message::Assistant { error_message: Some(error), .. } = message {
        value["errorMessage"] = error.as_str().into();
    }
    Ok(value)
}

fn answer(content: &[Block], request: Option<&Request>) -> Value {
    let text = |get: fn(&Request) -> Option<&String>| request.and_then(get).map_or("", String::as_str);
    let stop_reason = match request.map_or(StopReason::Other, |request| request.stop_reason) {
        StopReason::Other if content.iter().any(|block| matches!(block, Block::ToolCall { .. })) => {
            StopReason::ToolUse
        }
        StopReason::Other => StopReason::Stop,
        known => known,
    };
    json!({
        "role": "assistant", "content": parts(content), "api": text(|it| it.api.as_ref()),
        "provider": text(|it| it.provider.as_ref()), "model": text(|it| it.model.as_ref()),
        "usage": usage(request.and_then(|it| it.usage.as_ref()).unwrap_or(&Usage::EMPTY)),
        "stopReason": stop_reason,
    })
}

fn usage(usage: &Usage) -> Value {
    let (read, written) = (usage.cache_read_tokens.unwrap_or(0), usage.cache_write_tokens.unwrap_or(0));
    json!({
        "input": usage.input_tokens, "output": usage.output_tokens, "cacheRead": read, "cacheWrite": written,
        "totalTokens": usage.context_tokens(),
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
    })
}

fn shell(command: &str, output: &str, exit_code: Option<i32>, is_excluded: bool) -> Value {
    let mut value = json!({ "role": "bashExecution", "command": command, "output": output });
    if let Some(code) = exit_code {
        value["exitCode"] = code.into();
    }
    value["cancelled"] = false.into();
    value["truncated"] = false.into();
    if is_excluded {
        value["excludeFromContext"] = true.into();
    }
    value
}

fn content(content: &Content) -> Value {
    match content {
        Content::Text(text) => text.as_str().into(),
        Content::Blocks(blocks) => parts(blocks),
    }
}

fn parts(blocks: &[Block]) -> Value {
    blocks.iter().map(part).collect()
}

/// Results and commands inside of a message are no parts in files of pi: their JSON is written as text.
fn part(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Thinking { text, signature: None } => json!({ "type": "thinking", "thinking": text }),
        Block::Thinking { text, signature: Some(signature) } => {
            json!({ "type": "thinking", "thinking": text, "thinkingSignature": signature })
        }
        Block::ToolCall { id, name, input } => {
            json!({ "type": "toolCall", "id": id, "name": name, "arguments": input })
        }
        Block::Image { media_type, data_base64 } => {
            json!({ "type": "image", "data": data_base64, "mimeType": media_type })
        }
        Block::ToolResult { .. } | Block::Command { .. } => {
            let text = serde_json::to_string(block).unwrap_or_default();
            json!({ "type": "text", "text": text })
        }
    }
}
