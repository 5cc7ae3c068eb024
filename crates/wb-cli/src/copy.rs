//! The whole of a session with changes in it, for another file.

use std::io::{self, Read, Write};

use wb_formats::FormatError;
use wb_record::{Change, ChangeSet, Document, MemoryParts, ONLY_CONVERSATION, PartReader, Parts, View};

use crate::user_error::UserError;

/// Refuses a session of which no copy can be written.
pub(crate) fn refuse_database(file: &str, document: &dyn Document) -> Result<(), UserError> {
    let names = document.parts().list("").map_err(|error| no_copy(file, error.to_string()))?;
    if names == [ONLY_CONVERSATION] {
        return Ok(());
    }
    Err(no_copy(file, "is a database, of which no copy is written".to_owned()))
}

/// A session after changes, to be written elsewhere; the session stays as it is.
pub(crate) enum Copy<'a> {
    /// Its first bytes, which are read piece by piece, and what stands behind them.
    Longer(&'a dyn Document, u64, &'a [u8]),
    /// All of it.
    Whole(Vec<u8>),
}

impl Copy<'_> {
    /// Returns how many bytes it has.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Longer(_, len, new) => len + new.len() as u64,
            Self::Whole(bytes) => bytes.len() as u64,
        }
    }

    /// Reads it as it will be read where it is written.
    pub(crate) fn read(&self, conversation: &str) -> Result<View, FormatError> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        wb_formats::open(Box::new(MemoryParts::of(bytes)))?.view(conversation)
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Longer(document, len, new) => {
                let mut old = PartReader::new(document.parts(), ONLY_CONVERSATION, 0)?.take(*len);
                if io::copy(&mut old, out)? < *len {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                out.write_all(new)
            }
            Self::Whole(bytes) => out.write_all(bytes),
        }
    }
}

/// Returns a session after changes.
pub(crate) fn copy_with<'a>(
    file: &str,
    document: &'a dyn Document,
    set: &'a ChangeSet,
) -> Result<Copy<'a>, UserError> {
    refuse_database(file, document)?;
    let failed = |what: String| no_copy(file, what);
    let len = document.parts().len(ONLY_CONVERSATION).map_err(|error| failed(error.to_string()))?;
    let len = len.unwrap_or(0);
    match &set.changes[..] {
        [] => return Ok(Copy::Longer(document, len, &[])),
        [(_, Change::Append { at, new })] if *at == len => return Ok(Copy::Longer(document, len, &new.0)),
        _ => {}
    }
    let bytes = document.parts().whole(ONLY_CONVERSATION).map_err(|error| failed(error.to_string()))?;
    let mut copy = MemoryParts::of(bytes);
    copy.commit(set).map_err(|error| failed(error.to_string()))?;
    Ok(Copy::Whole(copy.0.remove(ONLY_CONVERSATION).unwrap_or_default()))
}

fn no_copy(file: &str, what: String) -> UserError {
    UserError::of_file(file, what, "write it with --in-place")
}
