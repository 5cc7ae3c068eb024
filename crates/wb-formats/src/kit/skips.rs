//! Counts of the records that were skipped while a log was read, and the notes about them.

use std::num::NonZeroUsize;

use wb_record::Note;

/// The numbers of records that were skipped, by the reason.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skips {
    pub(crate) n_ignored: usize,
    /// The line of the first that was ignored, if known.
    first_ignored: Option<NonZeroUsize>,
    pub(crate) n_abandoned: usize,
    /// Results without their call.
    pub(crate) n_orphans: usize,
    n_unreadable: usize,
    /// The line of the first that cannot be read.
    first_unreadable: usize,
}

impl Skips {
    /// Counts a line that cannot be read.
    pub(crate) fn unreadable(&mut self, line: usize) {
        if self.n_unreadable == 0 || line < self.first_unreadable {
            self.first_unreadable = line;
        }
        self.n_unreadable += 1;
    }

    /// Counts a line of an unknown kind.
    pub(crate) fn ignored(&mut self, line: usize) {
        self.n_ignored += 1;
        self.first_ignored = self.first_ignored.or(NonZeroUsize::new(line));
    }

    /// Returns notes of what either of them skipped.
    pub(crate) fn notes(mut self, other: Self) -> Vec<Note> {
        for _ in 0..other.n_unreadable {
            self.unreadable(other.first_unreadable);
        }
        let (n_ignored, n_abandoned) =
            (self.n_ignored + other.n_ignored, self.n_abandoned + other.n_abandoned);
        let line = self.first_ignored.or(other.first_ignored);
        let n_orphans = self.n_orphans + other.n_orphans;
        let notes = [
            (
                self.n_unreadable,
                Note::UnreadableRecords { n: self.n_unreadable, line: self.first_unreadable },
            ),
            (n_ignored, Note::IgnoredLines { n: n_ignored, line }),
            (n_orphans, Note::OrphanResults { n: n_orphans }),
            (n_abandoned, Note::AbandonedLines { n: n_abandoned }),
        ];
        notes.into_iter().filter(|(n, _)| *n > 0).map(|(_, note)| note).collect()
    }
}
