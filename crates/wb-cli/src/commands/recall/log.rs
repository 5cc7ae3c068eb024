//! The whole log of a session as an index.

use std::path::Path;

use wb_formats::{FormatError, newest};
use wb_message::Message;
use wb_message::markers::is_synthetic;
use wb_recall::Recall;
use wb_record::Access;
use wb_replay::segments;

use crate::session::document;
use crate::terminal::file_error::not_read;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// Indexes all that was said in a session, across its compactions.
pub(crate) fn index(shell: &Shell, path: &Path) -> Result<Recall<Message>, UserError> {
    let said = shell.timed("reading", || read(path)).map_err(|error| match error {
        NotRead::Opening(error) => error,
        NotRead::Reading(error) => not_read(path, &error),
    })?;
    Ok(shell.timed("indexing", || {
        let mut recall = Recall::empty(said.vocabulary);
        said.messages.into_iter().for_each(|message| recall.push(message));
        recall.visible_from(said.first_visible)
    }))
}

/// All messages of a session, and the first that its model still sees.
struct WholeLog {
    messages: Vec<Message>,
    vocabulary: wb_message::ToolVocabulary,
    first_visible: usize,
}

enum NotRead {
    Opening(UserError),
    Reading(FormatError),
}

impl From<FormatError> for NotRead {
    fn from(error: FormatError) -> Self {
        Self::Reading(error)
    }
}

fn read(path: &Path) -> Result<WholeLog, NotRead> {
    let document = document(path, Access::Read).map_err(NotRead::Opening)?;
    let conversation = newest(document.as_ref())?;
    let view = document.view(&conversation)?;
    let vocabulary = view.vocabulary;
    if !view.is_compacted() && !view.messages.iter().any(is_synthetic) {
        // Without a compaction, the model sees everything.
        return Ok(WholeLog { messages: view.messages, vocabulary, first_visible: 0 });
    }
    drop(view);
    let (mut messages, mut n_visible) = (Vec::new(), 0);
    for segment in segments(document.as_ref(), &conversation)? {
        let segment = segment?;
        n_visible = segment.messages.len() - segment.n_synthetic();
        messages.extend(segment.messages.into_iter().skip(segment.n_seen));
    }
    let first_visible = messages.len().saturating_sub(n_visible);
    Ok(WholeLog { messages, vocabulary, first_visible })
}
