//! Records of a list that are messages in all but their role, and which role each had.

use wb_message::Message;
use wb_message::inferred_role::Side;
use wb_record::{Change, MissingRole, Span};

use super::fields::Fields;
use super::message_list::{Record, Shape};

/// The keys of a message beside its role, one of which each has.
const BODIES: [&str; 5] = ["content", "tool_calls", "function_call", "tool_call_id", "tool_call_ids"];

/// Returns whether a record that was read as none is a message in all but its role.
pub(super) fn has_lost_role(shape: &dyn Shape, record: &[u8]) -> bool {
    if record.starts_with(b"{\"role\"") {
        return false;
    }
    let Some(fields) = Fields::of(record) else { return false };
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

/// Returns who speaks in a record that was read; nobody in one without messages, and none of the two in a system text.
pub(super) fn side_of(record: &Record) -> Option<Side> {
    record.messages.iter().find_map(|message| match message {
        Message::Assistant { .. } if message.calls().next().is_some() => Some(Side::Calls),
        Message::Assistant { .. } => Some(Side::Model),
        Message::User { .. } | Message::ToolResult { .. } => Some(Side::User),
        _ => None,
    })
}
