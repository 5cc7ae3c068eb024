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
}
