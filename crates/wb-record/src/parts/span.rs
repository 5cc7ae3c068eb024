//! Names of parts, and stretches of them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The name of a part: empty for a single file, `table/group/id` for a row of a database.
pub type PartId = String;

/// A stretch of a part, in bytes. It stays where it is while the part only grows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// The part.
    pub part: PartId,
    /// The first byte.
    pub at: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Span {
    /// Returns the bytes of the part that the span takes.
    pub fn range(&self) -> Range<u64> {
        self.at..self.at + self.len
    }

    /// Returns whether the span is a part of its own, such as a row.
    pub(crate) fn is_own_part(&self) -> bool {
        self.at == 0 && !self.part.is_empty()
    }

    /// Returns what two spans of one record have in common: the length of a part of its own may
    /// change.
    pub(crate) fn identity(&self) -> (&str, u64, Option<u64>) {
        (&self.part, self.at, (!self.is_own_part()).then_some(self.len))
    }
}
