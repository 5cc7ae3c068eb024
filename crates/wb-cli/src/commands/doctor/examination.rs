//! A session with everything that its checks read: planned remedies and past compactions.

use std::path::Path;

use wb_facts::Finding;
use wb_formats::FormatError;
use wb_record::{Access, History, Span};
use wb_replay::Segment;

use super::checks::compaction_loop::{CompactionGaps, LOOP};
use super::checks::last_request;
use super::checks::raw_request::RawRequest;
use super::last_failure::LastFailure;
use super::line_starts::LineStarts;
use super::remedies::Remedies;
use crate::commands::audit::newest_findings;
use crate::session::Session;
use crate::session::find::database::file_of;

/// A session under examination.
pub(crate) struct Examination<'a> {
    pub(crate) session: &'a Session,
    pub(crate) path: &'a Path,
    pub(crate) remedies: Remedies,
    /// The number of last compactions with little between them.
    pub(crate) n_looped: usize,
    /// The provider's error for the last request.
    pub(crate) last_failure: Option<LastFailure>,
    /// The request that the file is, and its violations as is; none if it is a session.
    pub(crate) request: Option<RawRequest>,
    /// The claims of the newest summary that the session does not support.
    pub(crate) unsupported: Vec<Finding>,
}

impl<'a> Examination<'a> {
    /// Reads the history of a session and plans remedies.
    pub(crate) fn new(session: &'a mut Session, path: &'a Path) -> Self {
        let (n_looped, unsupported) = past(session, path).unwrap_or_default();
        let asks_for_more = n_looped >= LOOP || last_request::is_undecryptable(session);
        let remedies = Remedies::plan(session, asks_for_more);
        let (last_failure, request) = (LastFailure::find(session, path), RawRequest::read(session));
        Self { session, path, remedies, n_looped, last_failure, request, unsupported }
    }
}

/// Returns the number of looped compactions, and the unsupported claims of the newest summary.
fn past(session: &Session, path: &Path) -> Result<(usize, Vec<Finding>), FormatError> {
    let mut gaps = CompactionGaps::default();
    let Session { document, conversation, opened, .. } = session;
    let add = |segment: &Segment| gaps.add(segment);
    let findings = newest_findings(document.as_ref(), conversation, opened.vocabulary, add)?;
    let n_by_hand = History::open_for(file_of(path), Access::Read)
        .and_then(|history| history.n_compactions_in_force(document.as_ref(), conversation));
    (0..n_by_hand.unwrap_or(0)).for_each(|_| gaps.remove_last(0));
    Ok((gaps.n_short(), findings.unwrap_or_default()))
}

/// Finds the line at which a message begins in a single-file session, or the first of its lines
/// that contains a text.
pub(crate) fn lines_of(session: &Session) -> impl Fn(usize, &str) -> Option<usize> {
    let parts = session.document.parts();
    let lines = LineStarts::new(parts);
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
