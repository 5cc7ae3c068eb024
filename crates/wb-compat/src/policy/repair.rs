//! The repair of calls without results: answers in a request, removal from a view.

use std::collections::HashSet;

use wb_message::{Block, Message};

use super::message::{ThreadMessage, Visibility};

/// The text of a synthetic result.
pub const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// Answers each call whose id is in no tool result, after the results that follow its message.
///
/// A synthetic result gets an id from `new_id`; the published crate generates a random one.
///
/// Fault: ids match at any position, so a call whose id was answered in an earlier round stays
/// dangling, and a result before its call, or after a later request, counts as its answer; orphan
/// results stay; a synthetic result is not flagged as an error. Use the pass `Repair` of
/// `wb-passes`, which pairs by id and position.
pub fn patch_dangling_tool_calls(
    messages: Vec<ThreadMessage>,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<ThreadMessage> {
    let answered: HashSet<String> =
        messages.iter().filter_map(ThreadMessage::answers).map(str::to_owned).collect();
    let mut out = Vec::with_capacity(messages.len());
    let mut pending = Vec::new();
    for message in messages {
        if !message.is_tool() {
            out.append(&mut pending);
        }
        let open = message.message.calls().filter(|(id, _, _)| !answered.contains(*id));
        pending.extend(open.map(|(id, name, _)| synthetic_result(id, name, new_id())));
        out.push(message);
    }
    out.append(&mut pending);
    out
}

fn synthetic_result(call_id: &str, name: &str, id: String) -> ThreadMessage {
    let message = Message::tool_result(call_id, name, INTERRUPTED);
    ThreadMessage { id: Some(id), visibility: Visibility::All, mark: None, message }
}

/// Removes from a view each call without a visible result, and each call retracted by an internal
/// message of its tool, with its results.
///
/// Fault: orphan results stay, and ids match at any position. Use the pass `Repair` of `wb-passes`.
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
