//! Compactions that follow each other closely.

use wb_replay::Segment;

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;

/// A segment with fewer new messages was hardly worth the compaction before it.
const FEW_MESSAGES: usize = 8;
/// The number of such segments in a row that make a loop.
pub(crate) const LOOP: usize = 3;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "compaction-loop", find };

fn find(case: &Examination<'_>) -> Vec<Problem> {
    let n = case.n_looped;
    let problem = || {
        let what = format!(
            "it compacts in a loop: fewer than {FEW_MESSAGES} messages between each of its last {n} compactions"
        );
        Problem::new(what, case.remedies.make_room(), LOOPED)
    };
    (n >= LOOP).then(problem).into_iter().collect()
}

/// The advice when nothing is left to fold.
const LOOPED: &str = "no messages are left to compact, so something else fills the window: remove tools or files of \
     instructions that the agent always loads, or use a model with a larger window";

/// The compactions of a session that were not undone.
#[derive(Debug, Default)]
pub(crate) struct CompactionGaps {
    /// For each how many messages came after it.
    n_messages: Vec<usize>,
    /// The number of messages last shown that no compaction made; none at the start.
    n_shown: Option<usize>,
}

impl CompactionGaps {
    pub(crate) fn add(&mut self, segment: &Segment) {
        let (n, n_new) = (segment.messages.len() - segment.n_synthetic(), segment.new_messages().len());
        match self.n_shown.replace(n) {
            None => {}
            // Folded messages are visible again.
            Some(n_before) if n.saturating_sub(n_new) > n_before => self.remove_last(n_new),
            Some(_) => self.n_messages.push(n_new),
        }
    }

    /// Removes the last compaction: its messages, plus `n_more`, now follow the one before it.
    pub(crate) fn remove_last(&mut self, n_more: usize) {
        let n = self.n_messages.pop().unwrap_or(0) + n_more;
        self.n_messages.last_mut().into_iter().for_each(|last| *last += n);
    }

    /// Returns how many of the last ones have few messages after them.
    pub(crate) fn n_short(&self) -> usize {
        self.n_messages.iter().rev().take_while(|n| **n < FEW_MESSAGES).count()
    }
}

#[cfg(test)]
mod tests {
    use wb_message::Message;

    use super::*;

    /// Returns the number of close compactions, given the old and new messages in each segment.
    fn n_short(segments: &[(usize, usize)]) -> usize {
        let mut gaps = CompactionGaps::default();
        for (n_seen, n_new) in segments.iter().copied() {
            let digest = Message::CompactionSummary { summary: "Done.".to_owned(), tokens_before: 9 };
            let said = vec![Message::user("more"); n_seen + n_new];
            gaps.add(&Segment {
                messages: [vec![digest], said].concat(),
                n_seen: n_seen + 1,
                ..Segment::default()
            });
        }
        gaps.n_short()
    }

    #[test]
    fn an_undone_compaction_does_not_count() {
        assert_eq!(n_short(&[(0, 20), (2, 3), (2, 4), (2, 1)]), 3);
        // Three compactions with much between them; then what had been folded reappears step by
        // step.
        let three = [(0, 20), (2, 28), (2, 28), (2, 8)];
        assert_eq!(n_short(&three), 0);
        let undone = [three.as_slice(), &[(38, 0), (66, 0), (84, 0)]].concat();
        assert_eq!(n_short(&undone), 0);
        // The messages that came after it came after the one before it.
        assert_eq!(n_short(&[(0, 20), (2, 3), (2, 4), (9, 2)]), 0);
        assert_eq!(n_short(&[(0, 20), (2, 3), (2, 1), (6, 2)]), 1);
    }
}
