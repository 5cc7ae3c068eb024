//! Finds the provider's error for the last request, if no answer followed it.

use std::fmt;
use std::path::Path;

use wb_formats::Note;
use wb_message::text::one_line;
use wb_record::{Access, History, Lines, OperationKind, PartReader, Span, json};
use wb_session::parse_iso_ms;

use super::line_starts::LineStarts;
use crate::session::Session;
use crate::session::find::database::file_of;

/// The most characters of the error to show.
const MAX_CHARACTERS: usize = 240;

/// The starts of the ids of calls, those of servers' tools too.
const IDS: [&str; 2] = ["toolu_", "srvtoolu_"];

/// The provider's error for the last request.
#[derive(Debug)]
pub(crate) struct LastFailure {
    text: String,
    line: usize,
    /// Set if the cause was repaired since.
    is_repaired: bool,
}

impl LastFailure {
    /// Returns the provider's words for the last request, if no answer follows, and their position.
    pub(crate) fn find(session: &Session, path: &Path) -> Option<Self> {
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
        let at_ms = json::text(&line, &["timestamp"]).and_then(|time| parse_iso_ms(&time));
        let is_repaired = names_only_what_is_gone(&text, session) || is_repaired_since(at_ms, path);
        Some(Self { text, line: number, is_repaired })
    }

    /// Returns whether the provider refused the request for what is in it: sent again, it is
    /// refused again.
    pub(crate) fn is_refusal(&self) -> bool {
        let is_refused = ["invalid_request_error", "API Error: 400"].iter().any(|it| self.text.contains(it));
        // A compaction helps then, and another check says so.
        is_refused && !self.is_repaired && !self.text.contains("prompt is too long")
    }
}

/// Returns whether a session was repaired in place after a time.
fn is_repaired_since(at_ms: Option<i64>, path: &Path) -> bool {
    let Some((at_ms, history)) = at_ms.zip(History::open_for(file_of(path), Access::Read).ok()) else {
        return false;
    };
    let mut repairs = history.operations().filter(|it| it.what == OperationKind::Repair && it.at_ms > at_ms);
    repairs.any(|it| !history.is_undone(it.id))
}

/// Returns whether a text names blocks by their ids, none of which the session sends any more.
fn names_only_what_is_gone(text: &str, session: &Session) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let words = text.split(|c: char| !is_part(c));
    let ids: Vec<&str> = words.filter(|word| IDS.iter().any(|start| word.starts_with(start))).collect();
    let provenance = &session.opened.provenance;
    let mut records = (0..provenance.len()).flat_map(|at| provenance.places(at)).map(|place| &place.record);
    let has_id = |record: &Span| {
        let bytes = session.document.parts().bytes(record).unwrap_or_default();
        let record = String::from_utf8_lossy(&bytes);
        ids.iter().any(|id| record.contains(id))
    };
    !ids.is_empty() && !records.any(has_id)
}

impl fmt::Display for LastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "its last request failed: “{}” (line {})",
            one_line(&self.text, MAX_CHARACTERS),
            self.line
        )?;
        f.write_str(if self.is_repaired { ", which was repaired since" } else { "" })
    }
}
