//! The messages that the user dropped: they are folded first in each later compaction.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use wb_message::{Message, piece_fingerprints};

use super::{Pins, is_of};

/// A dropped message, with all that its calls connect with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionDrop {
    /// The numbers of the messages, ascending.
    pub(crate) messages: Vec<u64>,
    /// A line about the message that was named.
    pub(crate) label: String,
    /// The tokens of the messages.
    pub(crate) tokens: u64,
    /// The fingerprints by which they are recognized in what an agent sends.
    pieces: Vec<u64>,
    /// The conversation of a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
}

impl SessionDrop {
    /// Describes the drop of messages, each with its number.
    pub(crate) fn new<'a>(
        messages: impl IntoIterator<Item = (u64, &'a Message)>,
        label: String,
        tokens: u64,
    ) -> Self {
        let (messages, pieces): (Vec<u64>, Vec<Vec<u64>>) =
            messages.into_iter().map(|(number, it)| (number, piece_fingerprints(it).collect())).unzip();
        Self { messages, label, tokens, pieces: pieces.concat(), conversation: None }
    }
}

/// Returns the indices of dropped messages.
pub(crate) fn indices_of(drops: &[SessionDrop], messages: &[Message]) -> Vec<usize> {
    let pieces: HashSet<u64> = drops.iter().flat_map(|it| it.pieces.iter().copied()).collect();
    if pieces.is_empty() {
        return Vec::new();
    }
    let is_dropped = |at: &usize| piece_fingerprints(&messages[*at]).any(|piece| pieces.contains(&piece));
    (0..messages.len()).filter(is_dropped).collect()
}

impl Pins {
    /// Returns the drops of the session.
    pub(crate) fn drops_of_session(&self) -> Vec<SessionDrop> {
        let is_here = |it: &&SessionDrop| is_of(it.conversation.as_deref(), self.conversation.as_deref());
        self.drops.iter().filter(is_here).cloned().collect()
    }

    /// Adds a drop, in place of those of the same messages.
    pub(crate) fn add_drop(&mut self, drop: SessionDrop) {
        drop.messages.iter().for_each(|number| {
            self.remove_drop(*number);
        });
        self.drops.push(SessionDrop { conversation: self.conversation.clone(), ..drop });
        self.drops.sort_by_key(|it| it.messages.first().copied());
    }

    /// Removes the drop of a message, and returns it.
    pub(crate) fn remove_drop(&mut self, number: u64) -> Option<SessionDrop> {
        let here = self.conversation.as_deref();
        let is_it =
            |it: &SessionDrop| it.messages.contains(&number) && is_of(it.conversation.as_deref(), here);
        let at = self.drops.iter().position(is_it)?;
        Some(self.drops.remove(at))
    }
}
