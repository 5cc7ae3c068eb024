//! A session with what its checks look at: remedies, and its compactions.

use std::path::Path;

use wb_facts::Finding;
use wb_formats::FormatError;
use wb_record::{Access, History, Span};
use wb_replay::Segment;

use super::checks::compaction_loop::{Compactions, LOOP};
use super::line_starts::LineStarts;
use super::remedies::Remedies;
use crate::commands::audit::newest_summary;
use crate::session::Session;

/// A session under examination.
pub(crate) struct Examination<'a> {
    pub(crate) session: &'a Session,
    pub(crate) path: &'a Path,
    pub(crate) remedies: Remedies,
    pub(crate) past: Past,
}

impl<'a> Examination<'a> {
    /// Reads the history of a session and plans remedies.
    pub(crate) fn new(session: &'a mut Session, path: &'a Path) -> Self {
        let past = Past::read(session, path).unwrap_or_default();
        let remedies = Remedies::plan(session, past.n_looped >= LOOP);
        Self { session, path, remedies, past }
    }
}

/// The compaction history in the session's own record.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The last compactions that are so close to each other that the agent does nothing else.
    pub(crate) n_looped: usize,
    /// The claims of the newest summary that the session does not support.
    pub(crate) summary: Vec<Finding>,
}

impl Past {
    fn read(session: &Session, path: &Path) -> Result<Self, FormatError> {
        let mut compactions = Compactions::default();
        let Session { document, conversation, opened, .. } = session;
        let see = |segment: &Segment| compactions.see(segment);
        let (_, summary) = newest_summary(document.as_ref(), conversation, opened.vocabulary, see)?;
        let n_by_hand = History::open_for(path, Access::Read)
            .and_then(|history| history.n_compactions_in_force(document.as_ref(), conversation));
        (0..n_by_hand.unwrap_or(0)).for_each(|_| compactions.forget_last(0));
        Ok(Self { n_looped: compactions.n_close(), summary: summary.unwrap_or_default() })
    }
}

/// Finds the line at which a message begins in a single-file session, or the first of its lines
/// that contains a text.
pub(crate) fn lines_of(session: &Session) -> impl Fn(usize, &str) -> Option<usize> {
    let parts = session.document.parts();
    let lines = LineStarts::of(parts);
    move |at, text| {
        let places = session.opened.provenance.places(at);
        let holds = |record: &Span| {
            let record = parts.bytes(record).unwrap_or_default();
            String::from_utf8_lossy(&record).contains(text)
        };
        let named = places.iter().find(|place| places.len() == 1 || holds(&place.record));
        let record = &named.or(places.first())?.record;
        Some(lines.as_ref().filter(|_| record.part.is_empty())?.line_of(record.at))
    }
}
