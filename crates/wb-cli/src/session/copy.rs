//! The whole of a session with changes in it, for another file.

use std::io::{self, Write};
use std::path::Path;

use wb_record::{ChangeSet, ChangedPart, Document, ONLY_CONVERSATION, PartReader, Parts};

use crate::args::format_option;
use crate::terminal::file_error::not_read;
use crate::terminal::user_error::UserError;

/// Refuses a session of which no copy can be written.
pub(crate) fn refuse_database(file: &str, document: &dyn Document) -> Result<(), UserError> {
    let names = document.parts().list("").map_err(|error| no_copy(file, &error))?;
    if names == [ONLY_CONVERSATION] {
        return Ok(());
    }
    Err(no_copy(file, &"is a database, of which no copy is written"))
}

/// Returns a changed session as it will be read back; the original stays unchanged.
pub(crate) fn copy_with(
    file: &str,
    document: &dyn Document,
    set: &ChangeSet,
) -> Result<Box<dyn Document>, UserError> {
    refuse_database(file, document)?;
    let again = document.parts().reopen().map_err(|error| no_copy(file, &error))?;
    let parts = ChangedPart::new(again, set).map_err(|error| no_copy(file, &error))?;
    format_option::open(Box::new(parts)).map_err(|error| not_read(Path::new(file), &error))
}

/// Writes the whole of a part and returns how many bytes these are.
pub(crate) fn write_part(parts: &dyn Parts, out: &mut dyn Write) -> io::Result<u64> {
    io::copy(&mut PartReader::new(parts, ONLY_CONVERSATION, 0)?, out)
}

fn no_copy(file: &str, what: &dyn ToString) -> UserError {
    UserError::of_file(file, what.to_string(), "write it with --in-place")
}
