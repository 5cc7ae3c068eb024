//! The remaining messages, and how they are recognized when a host that resumes a session rewrites
//! them.

use std::collections::HashMap;

use wb_message::Message;
use wb_record::{Parts, Span};

use super::record::{add, is_of_results};
use crate::kit::draft::Draft;

/// A remaining message.
#[derive(Clone, Debug)]
pub(crate) struct MessageEntry {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) record: Span,
    /// The position of its later rewording, if there is one.
    pub(crate) reworded: Option<Span>,
    pub(crate) line: usize,
    /// Set if the messages that the host sent before it are still the ones before it.
    pub(crate) is_counted: bool,
}

impl MessageEntry {
    /// Returns whether both are the same message, as long as nothing in it was changed.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.is_of(other) && self.record.len == other.record.len
    }

    /// Returns whether both are versions of the same message.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.id == other.id && self.kind == other.kind
    }

    /// Returns the position of the wording in force.
    pub(crate) fn words(&self) -> &Span {
        self.reworded.as_ref().unwrap_or(&self.record)
    }

    fn key(&self) -> (&str, &str) {
        (&self.id, &self.kind)
    }
}

/// Returns a list that the host has written with the old records of messages that say the same.
///
/// A host that resumes a session writes all of it again: with another time, and with results in
/// separate records that were in their calls. Messages with equal content count as the same;
/// otherwise our compaction would not be recognized. The same holds for the host's text about the
/// place where it runs, even if that has changed.
pub(crate) fn known_again<'a>(
    old: &'a [MessageEntry],
    new: &'a [MessageEntry],
    parts: &dyn Parts,
) -> Vec<MessageEntry> {
    let keyed = |group: &'a [MessageEntry]| Some((group.first()?.key(), group));
    let mut known: HashMap<_, _> = groups(old, parts).into_iter().filter_map(keyed).collect();
    let known_again = |group: &'a [MessageEntry]| {
        // One record is not two messages, though a list may hold one twice.
        let before = group.first().and_then(|it| known.remove(&it.key()));
        before.and_then(|before| same(before, group, parts)).unwrap_or_else(|| group.to_vec())
    };
    groups(new, parts).into_iter().flat_map(known_again).collect()
}

/// Returns the old entries of a group that says the same as they do.
fn same(before: &[MessageEntry], group: &[MessageEntry], parts: &dyn Parts) -> Option<Vec<MessageEntry>> {
    let (old, new) = (messages(before, parts)?, messages(group, parts)?);
    if old == new {
        return Some(before.to_vec());
    }
    let are_of_place = matches!((&old[..], &new[..]), ([Message::Custom { .. }], [Message::Custom { .. }]));
    let (now, mut before) = (group.first()?, before.to_vec());
    before.first_mut()?.reworded = Some(now.record.clone());
    are_of_place.then_some(before)
}

/// Splits a list into messages, each with the results that follow it and with notices for the
/// screen, which the host does not rewrite.
fn groups<'a>(list: &'a [MessageEntry], parts: &dyn Parts) -> Vec<&'a [MessageEntry]> {
    let follows = |entry: &MessageEntry| match entry.kind.as_str() {
        "gemini" => false,
        "user" => parts.bytes(entry.words()).is_ok_and(|bytes| is_of_results(&bytes)),
        _ => true,
    };
    list.chunk_by(|_, next| follows(next)).collect()
}

/// Returns the messages of a group.
fn messages(group: &[MessageEntry], parts: &dyn Parts) -> Option<Vec<Message>> {
    let mut draft = Draft::default();
    for entry in group {
        add(&mut draft, &parts.bytes(entry.words()).ok()?, entry.record.clone(), false);
    }
    Some(draft.messages().iter().cloned().map(bare).collect())
}

/// Returns a message without the fields that the host does not rewrite: its time, and the
/// flags of a result.
fn bare(mut message: Message) -> Message {
    match &mut message {
        Message::User { timestamp, .. } => *timestamp = 0,
        Message::ToolResult { is_error, is_refusal, .. } => (*is_error, *is_refusal) = (false, false),
        _ => {}
    }
    message
}
