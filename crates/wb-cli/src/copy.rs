//! The whole of a session with changes in it, for another file.

use wb_record::{ChangeSet, Document, MemoryParts, ONLY_CONVERSATION, Parts};

use crate::user_error::UserError;

/// Refuses a session of which no copy can be written.
pub(crate) fn refuse_database(file: &str, document: &dyn Document) -> Result<(), UserError> {
    let names = document.parts().list("").map_err(|error| no_copy(file, error.to_string()))?;
    if names == [ONLY_CONVERSATION] {
        return Ok(());
    }
    Err(no_copy(file, "is a database, of which no copy is written".to_owned()))
}

/// Returns the bytes of a session after changes; the session stays as it is.
pub(crate) fn copy_with(file: &str, document: &dyn Document, set: &ChangeSet) -> Result<Vec<u8>, UserError> {
    refuse_database(file, document)?;
    let bytes = document.parts().whole("").map_err(|error| no_copy(file, error.to_string()))?;
    let mut copy = MemoryParts::of(bytes);
    copy.commit(set).map_err(|error| no_copy(file, error.to_string()))?;
    copy.whole("").map_err(|error| no_copy(file, error.to_string()))
}

fn no_copy(file: &str, what: String) -> UserError {
    UserError::of_file(file, what, "write it with --in-place")
}
