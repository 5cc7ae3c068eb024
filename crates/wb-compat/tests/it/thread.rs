//! The recorded messages of threads.

use serde_json::Value;
use wb_compat::policy::{CompactionMark, ContextWindowPolicy, Role, ThreadMessage, Visibility};
use wb_message::{Block, Message};
use wb_testkit::vectors::policy::{PolicyRow, TOOL, is_text, text_value};

/// The id in place of the random ids of new messages.
pub(crate) const NEW_ID: &str = "*";

pub(crate) fn new_id() -> String {
    NEW_ID.to_owned()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Reads the messages of a row.
pub(crate) fn thread(row: &PolicyRow) -> Vec<ThreadMessage> {
    items(&row.input["msgs"]).iter().map(thread_message).collect()
}

fn thread_message(value: &Value) -> ThreadMessage {
    let visibility = if value["v"] == "i" { Visibility::Internal } else { Visibility::All };
    let mark = value["mark"].as_array().map(|ends| CompactionMark {
        from_seq: ends[0].as_u64().unwrap(),
        to_seq: ends[1].as_u64().unwrap(),
    });
    ThreadMessage { id: value["id"].as_str().map(str::to_owned), visibility, mark, message: message(value) }
}

fn message(value: &Value) -> Message {
    let mut blocks = match &value["b"] {
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        _ => vec![Block::text(text_value(&value["t"]))],
    };
    blocks.extend(items(&value["tc"]).iter().map(call));
    match value["r"].as_str().unwrap() {
        "s" => Message::custom("system", blocks),
        "u" => Message::user(blocks),
        "a" => Message::assistant_blocks(blocks),
        "t" => Message::ToolResult {
            tool_call_id: value["for"].as_str().unwrap_or_default().to_owned(),
            tool_name: TOOL.to_owned(),
            content: blocks,
            is_error: false,
            is_refusal: false,
        },
        other => panic!("unknown role {other:?}"),
    }
}

fn block(value: &Value) -> Block {
    let text = text_value(&value["t"]);
    match value["k"].as_str().unwrap() {
        "text" => Block::text(text),
        "thinking" => Block::Thinking { text, signature: None },
        "image" => Block::image("image/png", text),
        // A block of fifty bytes, like any block other than text and reasoning.
        "tool_use" => Block::Command { command: text, args: None },
        other => panic!("unknown block {other:?}"),
    }
}

fn call(value: &Value) -> Block {
    if let Some(id) = value.as_str() {
        return Block::call(id, TOOL, serde_json::json!({}));
    }
    let name = value["n"].as_str().unwrap_or(TOOL);
    let input = serde_json::json!({ "x": text_value(&value["a"]) });
    Block::call(value["id"].as_str().unwrap(), name, input)
}

/// Reads the policy of a row; missing keys have the default.
pub(crate) fn policy(row: &PolicyRow) -> ContextWindowPolicy {
    let mut json = serde_json::to_value(ContextWindowPolicy::default()).unwrap();
    let given = row.input["policy"].as_object().unwrap().clone();
    json.as_object_mut().unwrap().extend(given);
    serde_json::from_value(json).unwrap()
}

/// Returns a count of a row's input.
pub(crate) fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Returns the ids of messages; a star and the kind for synthetic ones.
pub(crate) fn ids(messages: &[ThreadMessage]) -> Vec<String> {
    let id = |message: &ThreadMessage| match (message.id.as_deref(), &message.message) {
        (Some(NEW_ID), Message::ToolResult { tool_call_id, .. }) => format!("*t/{tool_call_id}"),
        (Some(NEW_ID), _) => "*s".to_owned(),
        (id, _) => id.unwrap_or("-").to_owned(),
    };
    messages.iter().map(id).collect()
}

/// Returns whether messages equal the recorded ones: ids, roles, visibilities, calls, answers and
/// texts.
pub(crate) fn are_recorded(messages: &[ThreadMessage], recorded: &Value) -> bool {
    let recorded = items(recorded);
    recorded.len() == messages.len()
        && messages.iter().zip(recorded).all(|(message, recorded)| is_recorded(message, recorded))
}

fn is_recorded(message: &ThreadMessage, recorded: &Value) -> bool {
    let role = match message.role() {
        Role::System => "s",
        Role::User => "u",
        Role::Assistant => "a",
        Role::Tool => "t",
    };
    let calls: Vec<&str> = message.message.calls().map(|(id, _, _)| id).collect();
    let answers: Vec<&str> = message.message.answered_ids().collect();
    let is_internal = message.visibility == Visibility::Internal;
    recorded["id"].as_str() == message.id.as_deref()
        && recorded["r"] == role
        && (recorded["v"] == "i") == is_internal
        && items(&recorded["tc"]) == calls
        && recorded["for"].as_str() == answers.first().copied()
        && is_text(&message.text(), &recorded["t"])
}
