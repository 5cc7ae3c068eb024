//! Calls without results: answered in a request, removed from a view.

use std::collections::HashSet;

use wb_message::{Block, Message};

use super::message::{ThreadMessage, Visibility};

/// What a synthetic result says.
pub const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// Answers each call whose id no tool result anywhere has, behind the results that follow its message.
///
/// A synthetic result gets an id from `new_id`; the published crate makes a random one.
///
/// Fault: ids are looked for anywhere, so that a call whose id was used and answered in an earlier round stays dangling,
/// and a result before its call, or after a later request, counts as its answer; orphan results stay; a synthetic result
/// is not flagged as an error. Use the pass `Repair` of `wb-passes`, which pairs by id and position.
pub fn patch_dangling_tool_calls(
    messages: Vec<ThreadMessage>,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<ThreadMessage> {
    let answered: HashSet<String> =
        messages.iter().filter_map(ThreadMessage::answers).map(str::to_owned).collect();
    let mut out = Vec::with_capacity(messages.len());
    let mut owed = Vec::new();
    for message in messages {
        if !message.is_tool() {
            out.append(&mut owed);
        }
        let open = message.message.calls().filter(|(id, _, _)| !answered.contains(*id));
        owed.extend(open.map(|(id, name, _)| interrupted(id, name, new_id())));
        out.push(message);
    }
    out.append(&mut owed);
    out
}

fn interrupted(call_id: &str, name: &str, id: String) -> ThreadMessage {
    let message = Message::tool_result(call_id, name, INTERRUPTED);
    ThreadMessage { id: Some(id), visibility: Visibility::All, mark: None, message }
}

/// Removes from a view each call that no visible result answers, and each that an internal message of its tool
/// retracts, together with the results of the latter.
///
/// Fault: results that answer no call stay, and ids are looked for anywhere. Use the pass `Repair` of `wb-passes`.
pub fn strip_unpaired_tool_calls_from_view(mut messages: Vec<ThreadMessage>) -> Vec<ThreadMessage> {
    let ids = |internal: bool| -> HashSet<String> {
        let tools = messages.iter().filter(|message| message.is_internal() == internal);
        tools.filter_map(ThreadMessage::answers).map(str::to_owned).collect()
    };
    let (answered, retracted) = (ids(false), ids(true));
    messages.retain(|message| {
        message.answers().is_none_or(|id| !message.is_internal() && !retracted.contains(id))
    });
    for message in &mut messages {
        if let Message::Assistant { content, .. } = &mut message.message {
            content.retain(|block| match block {
                Block::ToolCall { id, .. } => answered.contains(id) && !retracted.contains(id),
                _ => true,
            });
        }
    }
    messages
}
