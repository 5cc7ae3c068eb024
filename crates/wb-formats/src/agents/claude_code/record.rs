//! Records of our own, and copies of the host's.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use wb_message::{Block, Content, Message, markers};
use wb_record::json::{find, get, remove, set, set_in};
use wb_record::{NotExpressible, Numbers, Stamp};
use wb_session::iso_ms;

use super::assemble::HOST_TYPE;
use crate::shapes::anthropic_message::block;
use crate::shapes::content_value;

/// The fields that each of our records repeats from the last one of the session.
const ENVELOPE: [&str; 8] =
    ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId"];
/// The model of answers that no model gave.
const NO_MODEL: &str = "<synthetic>";

/// A source of ids and times, the same for the same stamp and the same length of the session.
#[derive(Debug)]
struct IdClock {
    numbers: Numbers,
    now_ms: i64,
}

impl IdClock {
    fn new(stamp: &Stamp, n_bytes: u64, last_ms: i64) -> Self {
        let seed = stamp.seed ^ Numbers::new(n_bytes).next_number();
        Self { numbers: Numbers::new(seed), now_ms: stamp.now_ms.max(last_ms + 1) }
    }

    /// Returns the next millisecond.
    fn time(&mut self) -> String {
        let now = iso_ms(self.now_ms);
        self.now_ms += 1;
        now
    }
}

/// Writes records, each below the one before.
#[derive(Debug)]
pub(crate) struct LineWriter {
    envelope: Map<String, Value>,
    is_side: bool,
    ids: IdClock,
    boundary: String,
    boundary_time: String,
    /// The record that was written last.
    last: String,
    records: Vec<Vec<u8>>,
    /// The new id of each copied answer, and of each copied line.
    message_ids: HashMap<String, String>,
    uuids: HashMap<String, String>,
}

impl LineWriter {
    /// Starts after a compaction; `like` is the last record of the session.
    pub(crate) fn new(like: &[u8], is_side: bool, stamp: &Stamp, n_bytes: u64, last_ms: i64) -> Self {
        let value =
            |key: &&str| Some(((*key).to_owned(), serde_json::from_slice::<Value>(get(like, key)?).ok()?));
        let mut ids = IdClock::new(stamp, n_bytes, last_ms);
        let boundary = ids.numbers.uuid();
        Self {
            envelope: ENVELOPE.iter().filter_map(value).collect(),
            is_side,
            boundary_time: ids.time(),
            ids,
            last: boundary.clone(),
            boundary,
            records: Vec::new(),
            message_ids: HashMap::new(),
            uuids: HashMap::new(),
        }
    }

    /// Continues after a record of the session, without a compaction.
    pub(crate) fn go_on_from(&mut self, leaf: &str) {
        leaf.clone_into(&mut self.last);
    }

    /// Adds the digest.
    pub(crate) fn digest(&mut self, text: &str) {
        let message = json!({ "role": "user", "content": text });
        self.own("user", message, &["isVisibleInTranscriptOnly", "isCompactSummary"]);
    }

    /// Adds a message that no record holds.
    pub(crate) fn message(&mut self, message: &Message) -> Result<(), NotExpressible> {
        match message {
            Message::User { content, .. } => self.own("user", user(content)?, &[]),
            Message::Custom { custom_type, content } if custom_type == HOST_TYPE => {
                self.own("user", user(content)?, &["isMeta"]);
            }
            Message::Assistant { content, .. } => {
                let answer = self.answer(content)?;
                self.own("assistant", answer, &[]);
            }
            Message::ToolResult { tool_call_id, content, is_error, .. } => {
                let result = json!({ "tool_use_id": tool_call_id, "type": "tool_result", "content": body(content)?,
                    "is_error": is_error });
                self.own("user", json!({ "role": "user", "content": [result] }), &[]);
            }
            Message::Custom { custom_type, .. } => {
                return Err(refused(format!(
                    "a message of the type {custom_type:?} that is not in the session"
                )));
            }
            Message::BashExecution { .. } => {
                return Err(refused("a shell command that is not in the session"));
            }
            Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {
                let text = digest_text(message).unwrap_or_default();
                self.own("user", json!({ "role": "user", "content": text }), &[]);
            }
        }
        Ok(())
    }

    fn answer(&mut self, content: &[Block]) -> Result<Value, NotExpressible> {
        let id = self.message_id();
        let content = content.iter().map(block).collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let usage = json!({ "input_tokens": 0, "output_tokens": 0 });
        Ok(json!({ "id": id, "type": "message", "role": "assistant", "model": NO_MODEL, "content": content,
            "stop_reason": null, "stop_sequence": null, "usage": usage }))
    }

    fn own(&mut self, kind: &str, message: Value, flags: &[&str]) {
        let mut record = Map::new();
        record.insert("parentUuid".to_owned(), Value::from(self.last.as_str()));
        record.insert("isSidechain".to_owned(), Value::from(self.is_side));
        record.insert("type".to_owned(), Value::from(kind));
        record.insert("message".to_owned(), message);
        record.extend(flags.iter().map(|flag| ((*flag).to_owned(), Value::from(true))));
        self.last = self.ids.numbers.uuid();
        record.insert("uuid".to_owned(), Value::from(self.last.as_str()));
        record.insert("timestamp".to_owned(), Value::from(self.ids.time()));
        record.extend(self.envelope.clone());
        self.records.push(Value::Object(record).to_string().into_bytes());
    }

    /// Adds a copy of a record, with new ids, without usage and with other content if there is
    /// some.
    pub(crate) fn copy(&mut self, record: &[u8], content: Option<&[u8]>) {
        let uuid = self.ids.numbers.uuid();
        if let Some(old) = wb_record::json::text(record, &["uuid"]) {
            self.uuids.insert(old, uuid.clone());
        }
        let mut copy = set(record, "parentUuid", &quoted(&self.last));
        copy = set(&copy, "uuid", &quoted(&uuid));
        copy = set(&copy, "timestamp", &quoted(&self.ids.time()));
        if let Some(content) = content {
            // The text on the screen would no longer match the body.
            copy = remove(&set_in(&copy, &["message", "content"], content), "toolUseResult");
        }
        let caller = wb_record::json::text(&copy, &["sourceToolAssistantUUID"]);
        if let Some(caller) = caller.and_then(|caller| self.uuids.get(&caller)) {
            copy = set(&copy, "sourceToolAssistantUUID", &quoted(caller));
        }
        self.last = uuid;
        let copy = self.uncounted(copy);
        self.records.push(copy);
    }

    /// Gives a copied answer an id of its own, since the host joins equal ids, and removes its
    /// usage.
    fn uncounted(&mut self, mut copy: Vec<u8>) -> Vec<u8> {
        if let Some(old) = wb_record::json::text(&copy, &["message", "id"]) {
            let known = self.message_ids.get(&old).cloned();
            let id = known.unwrap_or_else(|| self.message_id());
            copy = set_in(&copy, &["message", "id"], &quoted(&id));
            self.message_ids.insert(old, id);
        }
        if find(&copy, &["message", "usage"]).is_some() {
            let zero = json!({ "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": 0 });
            copy = set_in(&copy, &["message", "usage"], zero.to_string().as_bytes());
        }
        remove(&copy, "requestId")
    }

    fn message_id(&mut self) -> String {
        format!(
            "msg_wb_{:016x}{:04x}",
            self.ids.numbers.next_number(),
            self.ids.numbers.next_number() & 0xFFFF
        )
    }

    /// Returns the lines: the compaction, which keeps records by their ids, and then the additions.
    pub(crate) fn finish(self, leaf: Option<&str>, kept: &[&str], stamp: &Stamp) -> Vec<u8> {
        let trigger = if stamp.by_hand { "manual" } else { "auto" };
        let mut meta = json!({ "trigger": trigger, "preTokens": stamp.tokens_before });
        if let (Some(head), Some(tail)) = (kept.first(), kept.last()) {
            let anchor = &self.last;
            meta["preservedSegment"] = json!({ "headUuid": head, "anchorUuid": anchor, "tailUuid": tail });
            meta["preservedMessages"] = json!({ "anchorUuid": anchor, "uuids": kept, "allUuids": kept });
        }
        let mut boundary = json!({ "parentUuid": null, "logicalParentUuid": leaf, "isSidechain": self.is_side,
            "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false,
            "timestamp": self.boundary_time, "uuid": self.boundary, "level": "info", "compactMetadata": meta });
        if let Value::Object(fields) = &mut boundary {
            fields.extend(self.envelope);
        }
        [boundary.to_string().into_bytes(), b"\n".to_vec(), lines_of(&self.records)].concat()
    }

    /// Returns the lines of the additions alone.
    pub(crate) fn added(self) -> Vec<u8> {
        lines_of(&self.records)
    }
}

fn lines_of(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| [record.as_slice(), b"\n"]).collect::<Vec<_>>().concat()
}

/// Returns the text of a digest in a session, with its header.
pub(crate) fn digest_text(message: &Message) -> Option<String> {
    markers::digest_body(message)?;
    match message {
        Message::User { content, .. } => Some(content.texts().collect()),
        message => content_value::digest_text(message).ok(),
    }
}

fn user(content: &Content) -> Result<Value, NotExpressible> {
    Ok(json!({ "role": "user", "content": body_value(content)? }))
}

/// Returns a body in the form it has in a message.
pub(crate) fn body_value(content: &Content) -> Result<Value, NotExpressible> {
    content_value::content(content, block).map_err(refused)
}

/// Returns the body of a result.
fn body(content: &[Block]) -> Result<Value, NotExpressible> {
    match content {
        [Block::Text { text }] if !text.is_empty() => Ok(Value::from(text.as_str())),
        blocks => blocks.iter().map(block).collect::<Result<_, _>>().map_err(refused),
    }
}

pub(crate) fn quoted(text: &str) -> Vec<u8> {
    Value::from(text).to_string().into_bytes()
}

pub(crate) fn refused(why: impl Into<String>) -> NotExpressible {
    NotExpressible::Refused { format: "claude-code", why: why.into() }
}
