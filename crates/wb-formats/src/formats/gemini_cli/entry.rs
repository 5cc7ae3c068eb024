//! Messages that are left, and how those are known again that the host writes anew when it goes on with a session.

use std::collections::HashMap;

use wb_message::Message;
use wb_record::{Parts, Span};

use super::super::draft::Draft;
use super::record::{add, is_of_results};

/// A message that is left.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) record: Span,
    pub(super) line: usize,
    /// Whether what the host sent before it is what stands before it.
    pub(super) is_counted: bool,
}

impl Entry {
    /// Returns whether both are the same message, as long as nothing in it was changed.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.is_of(other) && self.record.len == other.record.len
    }

    /// Returns whether both are versions of the same message.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.id == other.id && self.kind == other.kind
    }

    fn key(&self) -> (&str, &str) {
        (&self.id, &self.kind)
    }
}

/// Returns a list that the host has written with the old records of messages that say the same.
///
/// A host that goes on with a session writes all of it again: with another time, and with results in records of their own
/// that stood in their calls. What says the same is the same, or nobody would know a compaction of ours again.
pub(super) fn known_again<'a>(old: &'a [Entry], new: &'a [Entry], parts: &dyn Parts) -> Vec<Entry> {
    let keyed = |group: &'a [Entry]| Some((group.first()?.key(), group));
    let known: HashMap<_, _> = groups(old, parts).into_iter().filter_map(keyed).collect();
    let known_again = |group: &'a [Entry]| {
        let before = known.get(&group.first()?.key()).copied()?;
        (messages(before, parts)? == messages(group, parts)?).then_some(before)
    };
    groups(new, parts).into_iter().flat_map(|group| known_again(group).unwrap_or(group)).cloned().collect()
}

/// Divides a list into answers with the results that follow them, and what stands alone.
fn groups<'a>(list: &'a [Entry], parts: &dyn Parts) -> Vec<&'a [Entry]> {
    let is_of_results = |entry: &Entry| {
        entry.kind == "user" && parts.bytes(&entry.record).is_ok_and(|bytes| is_of_results(&bytes))
    };
    list.chunk_by(|_, next| is_of_results(next)).collect()
}

/// Returns what a group says, whenever it was said.
fn messages(group: &[Entry], parts: &dyn Parts) -> Option<Vec<Message>> {
    let mut draft = Draft::default();
    for entry in group {
        add(&mut draft, &parts.bytes(&entry.record).ok()?, entry.record.clone(), false);
    }
    let timeless = |message: &Message| match message {
        Message::User { content, .. } => Message::User { content: content.clone(), timestamp: 0 },
        other => other.clone(),
    };
    Some(draft.messages().iter().map(timeless).collect())
}
