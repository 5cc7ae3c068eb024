//! A preview of a session: a part with changes applied, readable before they are carried out.

use std::io;
use std::ops::Range;

use crate::parts::change::{ChangeSet, CommitError};
use crate::parts::part::{Parts, read_old};
use crate::parts::piece_table::{PieceTable, unread};
use crate::parts::span::PartId;

/// The part without a name as it will be after changes, to be read before they are carried out.
#[derive(Debug)]
pub struct ChangedPart {
    parts: Box<dyn Parts>,
    pieces: PieceTable,
}

impl ChangedPart {
    /// Builds it over parts that stay unchanged; changes of other parts are refused.
    pub fn new(parts: Box<dyn Parts>, set: &ChangeSet) -> Result<Self, CommitError> {
        let mut pieces = PieceTable::new("", parts.len("").map_err(unread)?);
        for (part, change) in &set.changes {
            if !part.is_empty() {
                return Err(CommitError::Unsupported("a copy has one part, which has no name"));
            }
            pieces.apply(&read_old(parts.as_ref(), part), change)?;
        }
        pieces.index();
        Ok(Self { parts, pieces })
    }
}

impl Parts for ChangedPart {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        let is_there = prefix.is_empty() && self.pieces.len().is_some();
        Ok(is_there.then(PartId::new).into_iter().collect())
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        Ok(self.pieces.len().filter(|_| part.is_empty()))
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        if part.is_empty() {
            self.pieces.read(&read_old(self.parts.as_ref(), part), range, out)
        } else {
            Ok(())
        }
    }

    fn commit(&mut self, _: &ChangeSet) -> Result<(), CommitError> {
        Err(CommitError::ReadOnly)
    }

    fn reopen(&self) -> io::Result<Box<dyn Parts>> {
        Ok(Box::new(Self { parts: self.parts.reopen()?, pieces: self.pieces.clone() }))
    }
}
