//! Records of a list that are messages in all but their role, and which role each had.

use serde_json::Value;
use wb_message::Message;
use wb_record::{Change, LostRole, Span};

use super::fields::Fields;
use super::message_list::{Record, Shape};

/// The keys of a message beside its role, one of which each has.
const BODIES: [&str; 5] = ["content", "tool_calls", "function_call", "tool_call_id", "tool_call_ids"];

/// Who speaks in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
    /// The model, which waits for results.
    Calls,
    /// It does not say.
    Lost,
}

/// Returns whether a record that was read as none is a message in all but its role.
pub(super) fn has_lost_role(shape: &dyn Shape, record: &[u8]) -> bool {
    let Some(fields) = Fields::of(record) else { return false };
    let says = BODIES.iter().any(|key| fields.place(key).is_some());
    let is_read = |role| shape.read(&with_role(record, role)).is_ok_and(|it| !it.messages.is_empty());
    says && fields.place("role").is_none() && ["user", "assistant"].into_iter().any(is_read)
}

/// Returns a record with a role, as [`LostRole::change`] writes it.
fn with_role(record: &[u8], role: &'static str) -> Vec<u8> {
    let lost = LostRole { record: Span::default(), line: 0, role: Some(role) };
    match lost.change() {
        Some(Change::Splice { new, .. }) => [&record[..1], &new.0, &record[1..]].concat(),
        _ => record.to_vec(),
    }
}

/// Returns who speaks in a record that was read; nobody in one without messages, and none of the two in a system text.
pub(super) fn side_of(record: &Record) -> Option<Side> {
    record.messages.iter().find_map(|message| match message {
        Message::Assistant { .. } if message.calls().next().is_some() => Some(Side::Calls),
        Message::Assistant { .. } => Some(Side::Model),
        Message::User { .. } | Message::ToolResult { .. } => Some(Side::User),
        _ => None,
    })
}

/// Returns the role that a record had, given who speaks before it and behind it: what is in it tells, or that the two
/// sides take turns.
pub(super) fn role_of(record: &[u8], before: Option<Side>, behind: Option<Side>) -> Option<&'static str> {
    let told = serde_json::from_slice::<Value>(record).ok().and_then(|record| told_role(&record));
    told.or(match (before, behind) {
        (Some(Side::User), Some(Side::User) | None) => Some("assistant"),
        (Some(Side::Model), Some(Side::Model | Side::Calls) | None)
        | (None, Some(Side::Model | Side::Calls)) => Some("user"),
        _ => None,
    })
}

/// Returns the role that only such a record has.
fn told_role(record: &Value) -> Option<&'static str> {
    let has = |key: &str| record.get(key).is_some_and(|it| !it.is_null());
    let blocks = record.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let has_block =
        |kinds: &[&str]| blocks.iter().any(|it| it["type"].as_str().is_some_and(|it| kinds.contains(&it)));
    match () {
        () if OF_RESULT.into_iter().any(has) || has_block(&["tool-result"]) => Some("tool"),
        () if has_block(&["tool_result", "toolResponse"]) => Some("user"),
        () if ["tool_calls", "function_call", "reasoning_content"].into_iter().any(has)
            || has_block(&OF_MODEL) =>
        {
            Some("assistant")
        }
        () => None,
    }
}

/// The keys that only a result has as a message of its own; the last is that of tau2-bench.
const OF_RESULT: [&str; 3] = ["tool_call_id", "tool_call_ids", "requestor"];

/// The blocks that only a model says.
const OF_MODEL: [&str; 7] =
    ["tool_use", "tool-call", "toolRequest", "thinking", "redacted_thinking", "reasoning", "think"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_is_told_by_what_is_said_or_by_who_speaks_before_and_behind() {
        use Side::{Calls, Lost, Model, User};
        for (record, before, behind, expected) in [
            (r#"{"tool_call_id":"c","content":"x"}"#, None, None, Some("tool")),
            (r#"{"tool_calls":[{"id":"c"}],"content":null}"#, Some(Lost), None, Some("assistant")),
            (r#"{"tool_calls":null,"content":"x"}"#, Some(Model), None, Some("user")),
            (r#"{"content":[{"type":"text"},{"type":"tool_use"}]}"#, None, None, Some("assistant")),
            (r#"{"content":[{"type":"tool_result"}]}"#, Some(User), Some(User), Some("user")),
            (r#"{"content":"x"}"#, Some(User), Some(User), Some("assistant")),
            (r#"{"content":"x"}"#, Some(User), None, Some("assistant")),
            (r#"{"content":"x"}"#, None, Some(Model), Some("user")),
            (r#"{"content":"x"}"#, Some(Model), Some(Calls), Some("user")),
            (r#"{"content":"x"}"#, Some(Calls), Some(Model), None),
            (r#"{"content":"x"}"#, Some(Model), Some(User), None),
            (r#"{"content":"x"}"#, Some(User), Some(Lost), None),
            (r#"{"content":"x"}"#, None, None, None),
        ] {
            assert_eq!(role_of(record.as_bytes(), before, behind), expected, "{record}");
        }
    }
}
