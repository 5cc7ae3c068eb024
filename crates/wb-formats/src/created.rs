//! A new session in the format of an agent, from messages alone.
//!
//! The messages that the model saw become those that it would see if that agent continued: prompts,
//! answers, calls and results in the shape that its provider accepts. The system text is the
//! agent's own and is left out. This is not tested with the agents themselves.

use serde_json::{Value, json};
use wb_dialect::{Dialect, EncodedRequest};
use wb_message::markers::is_pinned;
use wb_message::{Content, Message, Pairing};
use wb_record::{Bytes, Change, ChangeSet, Format, NotExpressible, Numbers, Stamp};
use wb_session::store::memory::MemoryStore;
use wb_session::{CustomMessage, EntryKind, IdSource, Logged, NewSession, Session, SessionError, iso_ms};

use crate::agents::claude_code::ClaudeCode;
use crate::agents::codex::Codex;
use crate::agents::pi::Pi;
use crate::shapes::content_value::in_users_place;

/// An agent for which a session can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code: JSON lines that name the one before.
    ClaudeCode,
    /// Codex: a rollout.
    Codex,
    /// pi: a session of its present version.
    Pi,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Pi];

    /// Returns the format that is written.
    pub fn format(self) -> &'static dyn Format {
        match self {
            Self::ClaudeCode => &ClaudeCode,
            Self::Codex => &Codex,
            Self::Pi => &Pi,
        }
    }

    /// Returns the dialect whose shape messages have; `None` if they are written unchanged.
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            Self::ClaudeCode => Some(Dialect::Anthropic),
            Self::Codex => Some(Dialect::OpenaiResponses),
            Self::Pi => None,
        }
    }

    /// Returns the one change that begins a session with these messages, given the agent's working
    /// directory.
    pub fn create(
        self,
        messages: &[Message],
        folder: &str,
        stamp: &Stamp,
    ) -> Result<ChangeSet, NotExpressible> {
        let messages = answers_of_calls(messages);
        let bytes = match self {
            Self::ClaudeCode => claude_code(&messages, folder, stamp),
            Self::Codex => codex(&messages, folder, stamp),
            Self::Pi => pi(&messages, folder, stamp)?,
        };
        Ok(ChangeSet { changes: vec![(String::new(), Change::Create { new: Bytes(bytes) })] })
    }
}

/// Leaves out results that answer no call, which no agent sends.
fn answers_of_calls(messages: &[Message]) -> Vec<Message> {
    let pairing = Pairing::new(messages);
    let is_orphan = |at: usize| pairing.orphans().iter().any(|orphan| *orphan as usize == at);
    let goes = |at: usize| matches!(messages[at], Message::ToolResult { .. }) && is_orphan(at);
    (0..messages.len()).filter(|at| !goes(*at)).map(|at| messages[at].clone()).collect()
}

/// Returns the turns of a request, without the system text.
fn turns(messages: &[Message], dialect: Dialect) -> Vec<Value> {
    match EncodedRequest::from_messages(messages, dialect).body[dialect.messages_key()].take() {
        Value::Array(turns) => turns,
        _ => Vec::new(),
    }
}

fn lines(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect()
}

fn claude_code(messages: &[Message], folder: &str, stamp: &Stamp) -> Vec<u8> {
    let mut ids = Numbers::new(stamp.seed);
    let session = ids.uuid();
    let (mut written, mut parent) = (Vec::new(), Value::Null);
    for turn in turns(messages, Dialect::Anthropic).into_iter().flat_map(one_result_each) {
        let uuid = ids.uuid();
        let is_answer = turn["role"] == "assistant";
        let message = if is_answer { answer(&turn, &mut ids) } else { turn };
        written.push(json!({
            "parentUuid": parent,
            "isSidechain": false,
            "userType": "external",
            "cwd": folder,
            "sessionId": session,
            "type": message["role"],
            "message": message,
            "uuid": uuid,
            "timestamp": iso_ms(stamp.now_ms),
        }));
        parent = uuid.into();
    }
    lines(&written)
}

/// Splits a turn of the user: each result has a line of its own.
fn one_result_each(turn: Value) -> Vec<Value> {
    let (results, said): (Vec<Value>, Vec<Value>) = match turn["content"].as_array() {
        Some(parts) => parts.iter().cloned().partition(|part| part["type"] == "tool_result"),
        None => return vec![turn],
    };
    let role = turn["role"].clone();
    let of = |content: Vec<Value>| json!({ "role": role, "content": content });
    let said = (!said.is_empty()).then(|| of(said));
    results.into_iter().map(|result| of(vec![result])).chain(said).collect()
}

/// Returns an answer with the fields that the provider adds.
fn answer(turn: &Value, ids: &mut Numbers) -> Value {
    json!({
        "id": format!("msg_{:016x}", ids.next_number()),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": match &turn["content"] {
            Value::String(text) => json!([{ "type": "text", "text": text }]),
            content => content.clone(),
        },
        "stop_reason": null,
        "stop_sequence": null,
        "usage": { "input_tokens": 0, "output_tokens": 0 },
    })
}

fn codex(messages: &[Message], folder: &str, stamp: &Stamp) -> Vec<u8> {
    let (id, time) = (Numbers::new(stamp.seed).uuid(), iso_ms(stamp.now_ms));
    let line = |kind: &str, payload: Value| json!({ "timestamp": time, "type": kind, "payload": payload });
    let head =
        json!({ "id": id, "timestamp": time, "cwd": folder, "originator": "wb", "cli_version": "0.0.0" });
    let items = turns(messages, Dialect::OpenaiResponses);
    let items = items.into_iter().map(|item| line("response_item", whole_item(item)));
    lines(&[line("session_meta", head)].into_iter().chain(items).collect::<Vec<_>>())
}

/// Returns an item with the type and the list of parts that a request may leave out.
fn whole_item(mut item: Value) -> Value {
    if item["role"].is_string() {
        item["type"] = "message".into();
        if let Some(text) = item["content"].as_str() {
            let kind = if item["role"] == "assistant" { "output_text" } else { "input_text" };
            item["content"] = json!([{ "type": kind, "text": text }]);
        }
    }
    item
}

fn pi(messages: &[Message], folder: &str, stamp: &Stamp) -> Result<Vec<u8>, NotExpressible> {
    let begin = NewSession {
        id: Numbers::new(stamp.seed).uuid(),
        timestamp: stamp.now_ms,
        cwd: folder.to_owned(),
        parent_session: None,
    };
    let store = Box::new(MemoryStore::default());
    let mut session =
        Session::create(store, &begin, IdSource::new(stamp.seed)).map_err(|error| refused(&error))?;
    for kind in messages.iter().skip_while(|message| is_system_text(message)).map(entry) {
        session.append(&kind, stamp.now_ms).map_err(|error| refused(&error))?;
    }
    let mut bytes = Vec::new();
    session.write_to(&mut bytes).map_err(|error| refused(&error))?;
    Ok(bytes)
}

/// Returns whether a message is a text of the agent itself, which a request has in a member of its
/// own.
fn is_system_text(message: &Message) -> bool {
    let is_named = |name: &str| matches!(name, "system" | "developer");
    matches!(message, Message::Custom { custom_type, .. } if is_named(custom_type)) && is_pinned(message)
}

/// Returns the entry of a message; digests are prompts, since the messages that they replace are
/// not in the session.
fn entry(message: &Message) -> EntryKind {
    let message = match message {
        Message::Custom { custom_type, content } => {
            return EntryKind::CustomMessage(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: true,
                details: None,
            });
        }
        Message::CompactionSummary { .. } | Message::BranchSummary { .. } => {
            Message::user(in_users_place(message).unwrap_or_else(Content::Text))
        }
        message => message.clone(),
    };
    EntryKind::Message(Logged { message, request: None, is_excluded: false })
}

fn refused(error: &SessionError) -> NotExpressible {
    NotExpressible::Refused { format: Pi.name(), why: error.to_string() }
}
