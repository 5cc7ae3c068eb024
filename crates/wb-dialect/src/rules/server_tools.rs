//! Rules on the tools that run on Anthropic's servers, and on its compactions.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::request::{Rare, RequestView, Role};
use crate::request_edit::RequestEdit;

/// A block of a tool that runs on the servers.
#[derive(Clone, Copy)]
enum ServerBlock<'a> {
    Call(&'a str),
    Result(&'a str),
}

/// Returns a call or a result of a tool that runs on the servers.
fn server_block(block: &Value) -> Option<ServerBlock<'_>> {
    let kind = block["type"].as_str()?;
    let id = |key: &str| block[key].as_str();
    match kind {
        "tool_use" | "tool_result" => None,
        _ if kind.ends_with("_tool_use") => id("id").map(ServerBlock::Call),
        _ if kind.ends_with("_tool_result") => id("tool_use_id").map(ServerBlock::Result),
        _ => None,
    }
}

/// Passes each block of the model with its pointer and the index of its message, in order.
fn blocks<'a>(view: &RequestView<'a>) -> impl Iterator<Item = (String, usize, &'a Value)> {
    let has_any = view.contents().may_have(Rare::ServerBlock);
    let messages = if has_any { view.messages.as_slice() } else { &[] };
    let answers = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Model);
    answers.flat_map(|(at, message)| {
        let list = message.value["content"].as_array().map_or(&[][..], Vec::as_slice);
        let pointer = view.message_pointer(at);
        list.iter().enumerate().map(move |(nth, block)| (format!("{pointer}/content/{nth}"), at, block))
    })
}

/// Finds results of server tools whose call is not before them.
pub(super) fn orphans(view: &RequestView<'_>) -> Vec<Finding> {
    let mut calls = HashSet::new();
    let mut found = Vec::new();
    for (at, _, block) in blocks(view) {
        match server_block(block) {
            Some(ServerBlock::Call(id)) => {
                calls.insert(id);
            }
            Some(ServerBlock::Result(id)) if !calls.contains(id) => {
                let what = format!("result `{id}` of a server tool answers no call");
                found.push(Finding::new(at, what));
            }
            _ => {}
        }
    }
    found
}

/// Finds calls of server tools without a result, before the last message of the model, which may
/// be continued.
pub(super) fn unanswered(view: &RequestView<'_>) -> Vec<Finding> {
    let last = view.messages.iter().rposition(|message| message.role == Role::Model);
    let answered: HashSet<&str> = blocks(view)
        .filter_map(|(_, _, block)| match server_block(block) {
            Some(ServerBlock::Result(id)) => Some(id),
            _ => None,
        })
        .collect();
    let found = blocks(view).filter_map(|(at, message, block)| match server_block(block) {
        Some(ServerBlock::Call(id)) if Some(message) != last && !answered.contains(id) => {
            let name = block["name"].as_str().unwrap_or_default();
            Some(Finding::new(at, format!("call `{id}` of the server tool `{name}` has no result")))
        }
        _ => None,
    });
    found.collect()
}

/// Returns whether a block is a compaction on demand, which is signed.
fn is_signed_compaction(block: &Value) -> bool {
    block["type"] == "compaction" && block["signature"].is_string()
}

/// Returns whether a request begins with a compaction, in place of the user.
pub(super) fn begins_with_compaction(view: &RequestView<'_>) -> bool {
    let first = view.messages.first().and_then(|message| message.value["content"].get(0));
    first.is_some_and(|block| block["type"] == "compaction" && block["content"].is_string())
}

/// Returns whether the last message ends within the work of the servers.
pub(super) fn is_paused(view: &RequestView<'_>) -> bool {
    let last = view.messages.last().and_then(|message| message.value["content"].as_array()?.last());
    last.is_some_and(|block| server_block(block).is_some())
}

/// Finds compactions with an empty summary.
pub(super) fn empty_compactions(view: &RequestView<'_>) -> Vec<Finding> {
    let empty = blocks(view).filter(|(.., block)| block["type"] == "compaction" && block["content"] == "");
    empty.map(|(at, ..)| Finding::new(at, "the summary of the compaction is empty")).collect()
}

/// Marks an empty compaction as failed.
pub(super) fn clear_compaction(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    edit.set(&found.at, "content", Value::Null)
}

/// Finds requests for a compaction that ask for other edits of the context too.
pub(super) fn doubled_compactions(view: &RequestView<'_>) -> Vec<Finding> {
    let is_doubled = ["compaction", "context_management"].iter().all(|key| view.body[*key].is_object());
    let what = "`compaction` and `context_management` exclude each other";
    is_doubled.then(|| Finding::new("", what)).into_iter().collect()
}

/// Removes the other edits of the context.
pub(super) fn remove_edits(edit: &mut RequestEdit<'_>, _: &Finding) -> bool {
    edit.remove_key("", "context_management")
}

/// Finds signed compactions that other content precedes.
pub(super) fn late_compactions(view: &RequestView<'_>) -> Vec<Finding> {
    let first = format!("{}/content/0", view.message_pointer(0));
    let late = blocks(view).filter(|(at, _, block)| is_signed_compaction(block) && *at != first);
    late.map(|(at, ..)| Finding::new(at, "a signed compaction does not come first")).collect()
}

/// Removes the messages that a signed compaction replaces.
pub(super) fn remove_compacted(edit: &mut RequestEdit<'_>, found: &Finding) -> bool {
    let mut place = found.at.split('/').skip(2);
    let message = place.next().and_then(|at| at.parse::<usize>().ok());
    let block = place.nth(1).and_then(|at| at.parse::<usize>().ok());
    let Some((message, block)) = message.zip(block) else { return false };
    let before = (0..message).map(|nth| format!("/messages/{nth}"));
    let blocks = (0..block).map(|nth| format!("/messages/{message}/content/{nth}"));
    before.chain(blocks).filter(|at| edit.remove(at).is_some()).count() > 0
}
