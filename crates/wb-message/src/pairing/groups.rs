//! Groups of messages that stay or go together, and runs of indices.

use std::ops::Range;

use crate::pairing::Pairing;

/// Messages joined into groups, each identified by its first message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// An earlier message of the group, or the message itself if it is the first.
    links: Vec<u32>,
}

impl Groups {
    /// Creates one group per message.
    pub(crate) fn new(n_messages: usize) -> Self {
        Self { links: (0..).take(n_messages).collect() }
    }

    /// Joins the groups of two messages.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.links[one.max(other) as usize] = one.min(other);
    }

    /// Follows the links to the first message of a group, and halves the path for the next time.
    fn find(&mut self, mut at: u32) -> u32 {
        while self.links[at as usize] != at {
            let next = self.links[at as usize];
            self.links[at as usize] = self.links[next as usize];
            at = self.links[at as usize];
        }
        at
    }

    /// Returns for each message the first of its group.
    pub(crate) fn into_roots(mut self) -> Vec<u32> {
        // A link leads to an earlier message, whose link is final by then.
        for at in 0..self.links.len() {
            self.links[at] = self.links[self.links[at] as usize];
        }
        self.links
    }
}

impl Pairing {
    /// Returns for each message the first one of its group: calls and results connect messages,
    /// and joined ones.
    pub fn groups(&self) -> Vec<u32> {
        let mut groups = Groups::new(self.len());
        for pair in self.pairs() {
            groups.join(pair.call.message, pair.result);
        }
        self.joined().iter().for_each(|at| groups.join(at - 1, *at));
        groups.into_roots()
    }
}

/// Joins ascending indices into ranges, for folds.
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
    fn a_group_is_identified_by_its_first_message() {
        let mut groups = Groups::new(4);
        groups.join(0, 3);
        groups.join(3, 2);
        assert_eq!(groups.into_roots(), [0, 1, 0, 0]);
    }
}
