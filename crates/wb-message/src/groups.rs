//! Which messages stay or go together, and the runs that they make.

use std::ops::Range;

use crate::pairing::Pairing;

/// Messages joined into groups, each known by its first message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// An earlier message of the group, or the message itself where it is the first.
    links: Vec<u32>,
}

impl Groups {
    /// Starts with so many messages, each a group of its own.
    pub(crate) fn of_single(n_messages: usize) -> Self {
        Self { links: (0..).take(n_messages).collect() }
    }

    /// Makes two messages and all that they are joined with already one group.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.links[one.max(other) as usize] = one.min(other);
    }

    /// Follows a message to its group's first, and halves the way for the next time.
    fn find(&mut self, mut at: u32) -> u32 {
        while self.links[at as usize] != at {
            let next = self.links[at as usize];
            self.links[at as usize] = self.links[next as usize];
            at = self.links[at as usize];
        }
        at
    }

    /// Returns for each message the first of its group.
    pub(crate) fn settled(mut self) -> Vec<u32> {
        // A link leads to an earlier message, whose own link is final by then.
        for at in 0..self.links.len() {
            self.links[at] = self.links[self.links[at] as usize];
        }
        self.links
    }
}

impl Pairing {
    /// Returns for each message the first one that it is tied to by calls and results.
    pub fn groups(&self) -> Vec<u32> {
        let mut groups = Groups::of_single(self.len());
        for pair in self.pairs() {
            groups.join(pair.call.message, pair.result);
        }
        groups.settled()
    }
}

/// Joins ascending indices into runs, as folds take them.
///
/// ```
/// assert_eq!(wb_message::runs([0, 1, 4]), [0..2, 4..5]);
/// ```
pub fn runs(indices: impl IntoIterator<Item = usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in indices {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_known_by_its_first_message() {
        let mut groups = Groups::of_single(4);
        groups.join(0, 3);
        groups.join(3, 2);
        assert_eq!(groups.settled(), [0, 1, 0, 0]);
    }
}
