//! The index over the whole log of a session.

use std::path::Path;

use wb_formats::{FormatError, newest};
use wb_message::Message;
use wb_message::markers::is_from_compaction;
use wb_recall::Recall;
use wb_record::{Access, Document};
use wb_replay::segments;

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

fn indexed(document: &dyn Document) -> Result<Recall<Message>, FormatError> {
    let conversation = newest(document)?;
    let view = document.view(&conversation)?;
    let mut recall = Recall::empty(view.vocabulary);
    if !view.is_compacted() && !view.messages.iter().any(is_from_compaction) {
        // The model sees everything; the segments would be read once more.
        view.messages.into_iter().for_each(|message| recall.push(message));
        return Ok(recall);
    }
    drop(view);
    let mut n_visible = 0;
    for segment in segments(document, &conversation)? {
        let segment = segment?;
        n_visible = segment.messages.len() - segment.n_synthetic();
        segment.messages.into_iter().skip(segment.n_seen).for_each(|message| recall.push(message));
    }
    let first_visible = recall.len().saturating_sub(n_visible);
    Ok(recall.visible_from(first_visible))
}
