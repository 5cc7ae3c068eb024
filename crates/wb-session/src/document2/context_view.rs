//! The messages that each entry of a path gives to the model, viewed without copying bodies.

use std::collections::HashMap;

use wb_budget::{HeuristicPreset, TokenCounter};
use wb_message::{Block, Content, Message};

use crate::entry::{BranchSummary, Compaction, CustomMessage, Entry, EntryKind, Logged};
use crate::id::EntryId;
use crate::tree::context::replace;

/// The preset behind the recorded answers: [`HeuristicPreset::PI`], except that an image from the
/// user costs as much as one in a result, since providers count it. A session's watcher counts with
/// [`TokenHeuristic::DEFAULT`](wb_budget::TokenHeuristic::DEFAULT).
pub const SESSION_PRESET: HeuristicPreset = HeuristicPreset::PI.with_user_images();

/// The entries of a path with the edits that apply to them.
#[derive(Debug)]
pub(crate) struct VisiblePath<'a> {
    edits: HashMap<&'a EntryId, Option<&'a Content>>,
}

impl<'a> VisiblePath<'a> {
    /// Gathers the edits of a path; of one entry's edits the last applies.
    pub(crate) fn new(path: &[&'a Entry]) -> Self {
        let edits = path.iter().filter_map(|entry| match &entry.kind {
            EntryKind::ContextEdit(edit) => {
                Some((&edit.target_id, edit.replacement.as_ref().map(|new| &new.content)))
            }
            _ => None,
        });
        Self { edits: edits.collect() }
    }

    /// Returns the tokens of an entry's message, nothing for an entry that gives none.
    pub(crate) fn weigh(&self, entry: &Entry, counter: &dyn TokenCounter) -> Option<u64> {
        match logged_message(entry).filter(|_| self.replacement(entry).is_none()) {
            Some(message) => self.is_visible(entry).then(|| counter.message(message)),
            None => self.message(entry).map(|message| counter.message(&message)),
        }
    }

    /// Returns the message of an entry as the model sees it, nothing for an entry that gives none.
    pub(crate) fn message(&self, entry: &Entry) -> Option<Message> {
        if !self.is_visible(entry) {
            return None;
        }
        let mut message = own_message(&entry.kind)?;
        if let Some(content) = self.replacement(entry) {
            replace(&mut message, content);
        }
        Some(message)
    }

    /// Returns the message that an entry holds, as it was written, if the model sees it.
    pub(crate) fn visible_message<'e>(&self, entry: &'e Entry) -> Option<&'e Message> {
        logged_message(entry).filter(|_| self.is_visible(entry))
    }

    /// Returns whether an entry gives a message.
    ///
    /// An edit may hide it, a command with `!!` is not for the model, and an empty branch summary
    /// gives no message.
    pub(crate) fn is_visible(&self, entry: &Entry) -> bool {
        let is_hidden = matches!(self.edits.get(&entry.id), Some(None));
        !is_hidden
            && match &entry.kind {
                EntryKind::Message(logged) => !logged.is_excluded,
                EntryKind::BranchSummary(it) => !it.summary.is_empty(),
                EntryKind::Compaction(_) | EntryKind::CustomMessage(_) => true,
                _ => false,
            }
    }

    fn replacement(&self, entry: &Entry) -> Option<&'a Content> {
        let is_replaceable = match &entry.kind {
            EntryKind::Message(logged) => !matches!(logged.message, Message::BashExecution { .. }),
            EntryKind::CustomMessage(_) => true,
            _ => false,
        };
        if is_replaceable { self.edits.get(&entry.id).copied().flatten() } else { None }
    }
}

/// Returns whether an entry is an answer that failed without any text, even if it has thoughts; it
/// is not sent. A call in it may have been answered.
pub(crate) fn is_mute_failure(entry: &Entry) -> bool {
    let EntryKind::Message(Logged { message, request: Some(request), .. }) = &entry.kind else {
        return false;
    };
    let is_mute = |block: &Block| match block {
        Block::Text { text } => text.trim().is_empty(),
        block => matches!(block, Block::Thinking { .. }),
    };
    request.stop_reason.is_failure() && message.blocks().iter().all(is_mute)
}

/// Returns whether an entry holds the result of a tool.
pub(crate) fn is_tool_result(entry: &Entry) -> bool {
    logged_message(entry).is_some_and(|message| matches!(message, Message::ToolResult { .. }))
}

/// Returns whether a turn starts with an entry that gives a message: anything but an answer and a
/// result.
pub(crate) fn starts_turn(entry: &Entry) -> bool {
    match logged_message(entry) {
        Some(message) => !matches!(message, Message::Assistant { .. } | Message::ToolResult { .. }),
        None => true,
    }
}

pub(crate) fn logged_message(entry: &Entry) -> Option<&Message> {
    match &entry.kind {
        EntryKind::Message(logged) => Some(&logged.message),
        _ => None,
    }
}

pub(crate) fn compaction_of(entry: &Entry) -> Option<&Compaction> {
    match &entry.kind {
        EntryKind::Compaction(compaction) => Some(compaction),
        _ => None,
    }
}

/// Returns the place of the last compaction of a path.
pub(crate) fn last_compaction(path: &[&Entry]) -> Option<usize> {
    path.iter().rposition(|entry| compaction_of(entry).is_some())
}

/// Returns the place of the first entry that the last compaction left as it was; 0 without one.
///
/// Where it kept nothing, that is the place after it.
pub(crate) fn kept_from(path: &[&Entry]) -> usize {
    let Some(at) = last_compaction(path) else { return 0 };
    let kept = compaction_of(path[at]).and_then(|it| it.first_kept_entry_id.as_ref());
    let before = kept.and_then(|id| path[..at].iter().position(|entry| entry.id == *id));
    before.unwrap_or(at + 1)
}

fn own_message(kind: &EntryKind) -> Option<Message> {
    Some(match kind {
        EntryKind::Message(logged) => logged.message.clone(),
        EntryKind::Compaction(Compaction { summary, tokens_before, .. }) => {
            Message::CompactionSummary { summary: summary.clone(), tokens_before: *tokens_before }
        }
        EntryKind::BranchSummary(BranchSummary { summary, from_id, .. }) => {
            Message::BranchSummary { summary: summary.clone(), from_id: from_id.clone() }
        }
        EntryKind::CustomMessage(CustomMessage { custom_type, content, .. }) => {
            Message::custom(custom_type.clone(), content.clone())
        }
        _ => return None,
    })
}
