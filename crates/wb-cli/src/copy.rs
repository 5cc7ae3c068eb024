//! The whole of a session with changes in it, for another file.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use wb_record::{
    Bytes, Change, ChangeSet, CommitError, Document, MemoryParts, ONLY_CONVERSATION, PartId, PartReader,
    Parts,
};

use crate::file_error::not_read;
use crate::user_error::UserError;

/// Refuses a session of which no copy can be written.
pub(crate) fn refuse_database(file: &str, document: &dyn Document) -> Result<(), UserError> {
    let names = document.parts().list("").map_err(|error| no_copy(file, &error))?;
    if names == [ONLY_CONVERSATION] {
        return Ok(());
    }
    Err(no_copy(file, &"is a database, of which no copy is written"))
}

/// Returns a session after changes, as it will be read where it is written; the session stays as it is.
pub(crate) fn copy_with(
    file: &str,
    document: &dyn Document,
    set: &ChangeSet,
) -> Result<Box<dyn Document>, UserError> {
    refuse_database(file, document)?;
    let parts = parts_with(document.parts(), set).map_err(|error| no_copy(file, &error))?;
    wb_formats::open(parts).map_err(|error| not_read(Path::new(file), &error))
}

/// Writes the whole of a part and returns how many bytes these are.
pub(crate) fn write_part(parts: &dyn Parts, out: &mut dyn Write) -> io::Result<u64> {
    io::copy(&mut PartReader::new(parts, ONLY_CONVERSATION, 0)?, out)
}

fn parts_with(parts: &dyn Parts, set: &ChangeSet) -> Result<Box<dyn Parts>, CommitError> {
    let unread = |source| CommitError::Io { doing: "read the session", source };
    let len = parts.len(ONLY_CONVERSATION).map_err(unread)?.unwrap_or(0);
    let new = match &set.changes[..] {
        [] => Some(&[][..]),
        [(_, Change::Append { at, new: Bytes(new) })] if *at == len => Some(new.as_slice()),
        _ => None,
    };
    if let Some(new) = new {
        return Ok(Box::new(Longer { parts: parts.again().map_err(unread)?, len, new: new.to_vec() }));
    }
    let mut copy = MemoryParts::of(parts.whole(ONLY_CONVERSATION).map_err(unread)?);
    copy.commit(set)?;
    Ok(Box::new(copy))
}

fn no_copy(file: &str, what: &dyn ToString) -> UserError {
    UserError::of_file(file, what.to_string(), "write it with --in-place")
}

/// A part without a name whose first bytes stand in another, where they are read.
#[derive(Debug)]
struct Longer {
    parts: Box<dyn Parts>,
    /// How many of its bytes.
    len: u64,
    /// What stands behind them.
    new: Vec<u8>,
}

impl Parts for Longer {
    fn list(&self, prefix: &str) -> io::Result<Vec<PartId>> {
        self.parts.list(prefix)
    }

    fn len(&self, part: &str) -> io::Result<Option<u64>> {
        Ok(part.is_empty().then_some(self.len + self.new.len() as u64))
    }

    fn read(&self, part: &str, range: Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        let (start, old) = (out.len() as u64, range.start..range.end.min(self.len));
        if !old.is_empty() {
            self.parts.read(part, old.clone(), out)?;
            if (out.len() as u64) < start + (old.end - old.start) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let place = |at: u64| usize::try_from(at.saturating_sub(self.len)).unwrap_or(usize::MAX);
        let new = place(range.start).min(self.new.len())..place(range.end).min(self.new.len());
        out.extend_from_slice(self.new.get(new).unwrap_or_default());
        Ok(())
    }

    fn commit(&mut self, _: &ChangeSet) -> Result<(), CommitError> {
        Err(CommitError::ReadOnly)
    }

    fn again(&self) -> io::Result<Box<dyn Parts>> {
        Ok(Box::new(Self { parts: self.parts.again()?, len: self.len, new: self.new.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longer(len: u64) -> Longer {
        Longer { parts: Box::new(MemoryParts::of("one\ntwo\n")), len, new: b"three\n".to_vec() }
    }

    #[test]
    fn what_follows_the_first_bytes_of_another_part_is_read_behind_them() {
        for parts in [Box::new(longer(4)) as Box<dyn Parts>, longer(4).again().unwrap()] {
            for (range, expected) in
                [(0..10, "one\nthree\n"), (2..6, "e\nth"), (4..9, "three"), (6..99, "ree\n"), (10..12, "")]
            {
                let mut read = b"> ".to_vec();
                parts.read("", range.clone(), &mut read).unwrap();
                assert_eq!(String::from_utf8_lossy(&read), format!("> {expected}"), "{range:?}");
            }
            assert_eq!((parts.len("").unwrap(), parts.len("x").unwrap()), (Some(10), None));
        }
    }

    #[test]
    fn first_bytes_that_are_gone_are_an_error_and_not_a_gap() {
        let mut read = Vec::new();
        assert!(longer(9).read("", 0..15, &mut read).is_err());
        assert!(longer(9).read("", 8..15, &mut read).is_err());
        assert!(longer(9).read("", 9..15, &mut read).is_ok());
    }
}
