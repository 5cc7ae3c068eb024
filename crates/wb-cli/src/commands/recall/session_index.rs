//! The index over the whole log of a session.

use std::path::Path;

use wb_bind::index_document;
use wb_dialect::Violation;
use wb_formats::{FormatError, View, newest};
use wb_message::Message;
use wb_recall::Recall;
use wb_record::{Access, Document};

use crate::session::document;
use crate::terminal::file_error::not_read;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// Indexes all that was said in a session, across its compactions.
pub(crate) fn index(shell: &Shell, path: &Path) -> Result<Recall<Message>, UserError> {
    let document = shell.timed("opening", || document(path, Access::Read))?;
    let recall = shell.timed("reading and indexing", || indexed(document.as_ref()));
    recall.map_err(|error| not_read(path, &error))
}

/// Returns the number in the whole session of each message of a context.
pub(crate) fn numbers(
    document: &dyn Document,
    context: &[Message],
) -> Result<Vec<Option<usize>>, FormatError> {
    Ok(indexed(document)?.numbers_of(context))
}

/// Numbers violations in messages of a view, or of what becomes of it, by the whole session; a
/// message that a compaction wrote has no number.
pub(crate) fn renumber(
    document: &dyn Document,
    view: &View,
    found: &mut [(&[Message], &mut [Violation])],
) -> Result<(), FormatError> {
    let is_placed = |it: &Violation| it.message.is_some();
    if !view.is_compacted() || !found.iter().any(|(_, all)| all.iter().any(is_placed)) {
        return Ok(());
    }
    let session = indexed(document)?;
    for (messages, violations) in found {
        let numbers = session.numbers_of(messages);
        for violation in violations.iter_mut() {
            violation.message = violation.message.and_then(|at| *numbers.get(at)?);
        }
    }
    Ok(())
}

fn indexed(document: &dyn Document) -> Result<Recall<Message>, FormatError> {
    let conversation = newest(document)?;
    let view = document.view(&conversation)?;
    index_document(document, &conversation, view)
}
