//! Turns, and the three zones of a compaction: the first turns, the middle, the recent turns.

use std::ops::Range;

use wb_message::Message;
use wb_message::markers::{digest_body, is_prompt};

/// Finds the turns of a transcript: each starts at a prompt and goes on to the next one, whatever stands between.
///
/// A digest of an earlier compaction ends a turn and is in none, and so is what stands before the first prompt.
pub fn turns<'m>(messages: impl IntoIterator<Item = &'m Message>) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for (at, message) in messages.into_iter().enumerate() {
        if is_prompt(message) {
            turns.push(at..at + 1);
            is_open = true;
        } else if digest_body(message).is_some() {
            is_open = false;
        }
        if let Some(turn) = turns.last_mut().filter(|_| is_open) {
            turn.end = at + 1;
        }
    }
    turns
}

/// Three ranges of messages that are disjoint and together are the whole transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    /// What stays as it is: the first turns and what stands before them.
    pub keep_first: Range<usize>,
    /// What is condensed.
    pub middle: Range<usize>,
    /// What stays, with long outputs cut: the newest turns.
    pub keep_recent: Range<usize>,
}

impl Zones {
    /// Divides a transcript by its turns, in ascending order.
    ///
    /// The first turns go before the recent ones if there are not enough for both. The newest turn is never in the
    /// middle: 0 recent turns are read as 1.
    pub fn of(turns: &[Range<usize>], n_messages: usize, n_first: usize, n_recent: usize) -> Self {
        if turns.len() <= n_first || turns.is_empty() {
            let end = n_messages..n_messages;
            return Self { keep_first: 0..n_messages, middle: end.clone(), keep_recent: end };
        }
        let first_end = n_first.checked_sub(1).map_or(0, |last| turns[last].end);
        let recent = turns.len().saturating_sub(n_recent.max(1)).max(n_first);
        let recent_start = turns[recent].start;
        Self {
            keep_first: 0..first_end,
            middle: first_end..recent_start,
            keep_recent: recent_start..n_messages,
        }
    }
}
