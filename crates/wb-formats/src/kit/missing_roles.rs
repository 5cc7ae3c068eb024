//! Records of a list that are messages without a role, and the role that each had.

use serde_json::Value;
use wb_message::Message;
use wb_message::inferred_role::{Side, infer_role};
use wb_record::{Change, MissingRole, Note, Span};

use super::fields::Fields;
use super::message_list::{Record, Shape};

/// The keys of a message other than its role; every message has one of them.
const BODIES: [&str; 5] = ["content", "tool_calls", "function_call", "tool_call_id", "tool_call_ids"];

/// Returns whether an unread record is a message that lacks only its role.
pub(crate) fn has_lost_role(shape: &dyn Shape, record: &[u8]) -> bool {
    if record.starts_with(b"{\"role\"") {
        return false;
    }
    let Some(fields) = Fields::parse(record) else { return false };
    let says = BODIES.iter().any(|key| fields.place(key).is_some());
    let is_read = |role| {
        let (record, mut read) = (with_role(record, role), Record::default());
        let text = std::str::from_utf8(&record).unwrap_or_default();
        shape.read(text, &mut read).is_ok() && !read.messages.is_empty()
    };
    says && fields.place("role").is_none() && ["user", "assistant"].into_iter().any(is_read)
}

/// Returns a record with a role, as [`MissingRole::change`] writes it.
fn with_role(record: &[u8], role: &'static str) -> Vec<u8> {
    let lost = MissingRole { record: Span::default(), line: 0, role: Some(role) };
    match lost.change() {
        Some(Change::Splice { new, .. }) => [&record[..1], &new.0, &record[1..]].concat(),
        _ => record.to_vec(),
    }
}

/// Returns the side that speaks in a record; `None` for one without messages and for a system text.
pub(crate) fn side_of(record: &Record) -> Option<Side> {
    record.messages.iter().find_map(side_of_message)
}

/// Returns which of the two sides a message is of.
pub(crate) fn side_of_message(message: &Message) -> Option<Side> {
    match message {
        Message::Assistant { .. } if message.calls().next().is_some() => Some(Side::Calls),
        Message::Assistant { .. } => Some(Side::Model),
        Message::User { .. } | Message::ToolResult { .. } => Some(Side::User),
        _ => None,
    }
}

/// The role that a message lost, if it can be inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostRole(pub(crate) Option<&'static str>);

/// Returns the note of messages that lost their role.
pub(crate) fn note_of(lost: &[MissingRole]) -> Option<Note> {
    let line = lost.iter().map(|lost| lost.line).min()?;
    Some(Note::MissingRoles { n: lost.len(), line })
}

/// Returns the lost role of a message in a log of Codex, if its texts identify it: texts of the
/// model have a type of their own, and host messages in the user's place begin with a tag or a
/// heading. Returns `None` if the role is there, or it is not a message.
pub(crate) fn lost_role_of_item(item: &[u8]) -> Option<LostRole> {
    let fields = Fields::parse(item)?;
    let is_lost = fields.text("type").as_deref() == Some("message") && fields.place("role").is_none();
    let content = fields.value("content").filter(|_| is_lost)?;
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let is_users = |block: &Value| block["text"].as_str().is_some_and(|text| !text.starts_with(['<', '#']));
    let role = match blocks {
        [] => None,
        blocks if blocks.iter().all(|it| it["type"] == "output_text") => Some("assistant"),
        blocks if blocks.iter().all(|it| it["type"] == "input_text" && is_users(it)) => Some("user"),
        _ => None,
    };
    Some(LostRole(role))
}

/// Returns the lost role of a message in a log of pi, given the speakers before and after it;
/// `None` if a role is there, or it is not a message.
pub(crate) fn lost_role_of_pi(
    message: &Value,
    before: Option<Side>,
    behind: Option<Side>,
) -> Option<LostRole> {
    let has = |key: &str| message.get(key).is_some();
    if has("role") || !has("content") {
        return None;
    }
    let is_call = |block: &Value| matches!(block["type"].as_str(), Some("toolCall" | "thinking"));
    let calls = message["content"].as_array().is_some_and(|blocks| blocks.iter().any(is_call));
    Some(LostRole(match () {
        () if has("toolCallId") => Some("toolResult"),
        () if calls || ["usage", "stopReason", "model"].into_iter().any(has) => Some("assistant"),
        () => infer_role(message, before, behind),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lost(role: &'static str) -> LostRole {
        LostRole(Some(role))
    }

    #[test]
    fn texts_identify_the_role_of_an_item() {
        for (item, expected) in [
            (
                json!({"type": "message", "content": [{"type": "output_text", "text": "a"}]}),
                Some(lost("assistant")),
            ),
            (
                json!({"type": "message", "content": [{"type": "input_text", "text": "a"}]}),
                Some(lost("user")),
            ),
            (
                json!({"type": "message", "content": [{"type": "input_text", "text": "<permissions>"}]}),
                Some(LostRole(None)),
            ),
            (
                json!({"type": "message", "content": [{"type": "input_text", "text": "# AGENTS.md"}]}),
                Some(LostRole(None)),
            ),
            (json!({"type": "message", "content": []}), Some(LostRole(None))),
            (json!({"type": "message", "role": "user", "content": []}), None),
            (json!({"type": "reasoning", "content": []}), None),
        ] {
            assert_eq!(lost_role_of_item(item.to_string().as_bytes()), expected, "{item}");
        }
    }

    #[test]
    fn its_shape_or_its_neighbours_identify_the_role_of_a_message_of_pi() {
        let (model, user) = (Some(Side::Model), Some(Side::User));
        for (message, before, expected) in [
            (json!({"content": [], "toolCallId": "c"}), model, Some(lost("toolResult"))),
            (json!({"content": [], "usage": {}}), user, Some(lost("assistant"))),
            (json!({"content": [{"type": "toolCall", "id": "c"}]}), user, Some(lost("assistant"))),
            (json!({"content": [{"type": "text", "text": "a"}]}), model, Some(lost("user"))),
            (json!({"content": [{"type": "text", "text": "a"}]}), None, Some(LostRole(None))),
            (json!({"command": "ls", "output": ""}), model, None),
            (json!({"role": "user", "content": "a"}), model, None),
        ] {
            assert_eq!(lost_role_of_pi(&message, before, None), expected, "{message}");
        }
    }
}
