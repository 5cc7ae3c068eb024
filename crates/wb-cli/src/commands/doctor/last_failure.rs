//! Finds the provider's error for the last request, if no answer followed it.

use std::fmt;

use wb_formats::Note;
use wb_message::text::one_line;
use wb_record::{Lines, PartReader, json};

use super::line_starts::LineStarts;
use crate::session::Session;

/// The most characters of the error to show.
const MAX_CHARACTERS: usize = 240;

/// The provider's error for the last request.
#[derive(Debug)]
pub(crate) struct LastFailure {
    text: String,
    pub(crate) line: usize,
}

impl LastFailure {
    /// Returns the provider's words for the last request, if no answer follows, and their position.
    pub(crate) fn find(session: &Session) -> Option<Self> {
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
        Some(Self { text, line: number })
    }

    /// Returns whether the provider refused the request for what is in it: sent again, it is
    /// refused again.
    pub(crate) fn is_refusal(&self) -> bool {
        let is_refused = ["invalid_request_error", "API Error: 400"].iter().any(|it| self.text.contains(it));
        // A compaction helps then, and another check says so.
        is_refused && !self.text.contains("prompt is too long")
    }
}

impl fmt::Display for LastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its last request failed: “{}” (line {})", one_line(&self.text, MAX_CHARACTERS), self.line)
    }
}
