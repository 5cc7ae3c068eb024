//! Finds the provider's error for the last request, if no answer followed it.

use wb_formats::Note;
use wb_message::text::one_line;
use wb_record::{Lines, PartReader, json};

use super::line_starts::LineStarts;
use crate::session::Session;

/// The most characters of the error to show.
const MAX_CHARACTERS: usize = 240;

/// Returns a line with the provider's words and their position.
pub(crate) fn last_failure(session: &Session) -> Option<String> {
    let at = session.opened.notes.iter().find_map(|note| match note {
        Note::FailureMessages { last, .. } => *last,
        _ => None,
    })?;
    let parts = session.document.parts();
    let number = LineStarts::new(parts)?.line_of(at.get());
    let mut lines = Lines::new(PartReader::new(parts, "", at.get()).ok()?);
    let line = lines.next_line().ok()??.bytes.to_vec();
    let content = json::get(&line, "message").and_then(|message| json::get(message, "content"))?;
    let first = json::elements(content)?.into_iter().next()?;
    let text = json::text(&content[first], &["text"])?;
    Some(format!("its last request failed: “{}” (line {number})", one_line(&text, MAX_CHARACTERS)))
}
