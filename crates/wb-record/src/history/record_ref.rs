//! Records as they were at some time, recognized by their fingerprints.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::format::Document;
use crate::parts::error::FormatError;
use crate::parts::span::Span;
use crate::view::View;

/// A record as it was, recognized by its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordRef {
    /// The place of the record.
    pub span: Span,
    /// The fingerprint of its bytes.
    pub hash: u64,
}

/// Returns the records of a view in its order, each once.
pub(crate) fn record_refs(document: &dyn Document, view: &View) -> Result<Vec<RecordRef>, FormatError> {
    record_refs_of(document, view, 0..view.messages.len())
}

pub(crate) fn record_refs_of(
    document: &dyn Document,
    view: &View,
    messages: Range<usize>,
) -> Result<Vec<RecordRef>, FormatError> {
    let reference =
        |span: &Span| Ok(RecordRef { span: span.clone(), hash: document.parts().fingerprint(span)? });
    spans(view, messages).map(reference).collect()
}

/// Returns the places of the records of messages, in order, each once.
fn spans(view: &View, messages: Range<usize>) -> impl Iterator<Item = &Span> {
    let mut seen = HashSet::new();
    let places = messages.flat_map(|at| view.provenance.places(at));
    places.map(|place| &place.record).filter(move |span| seen.insert(*span))
}

/// Returns the number of messages of a view that are in the records after an operation; nothing if
/// the view does not begin with these records.
pub(crate) fn n_known(after: &[RecordRef], view: &View) -> Option<usize> {
    let mut spans = spans(view, 0..view.messages.len());
    let known: HashSet<&Span> = after.iter().map(|it| &it.span).collect();
    let is_known = |at: &usize| view.provenance.places(*at).iter().any(|place| known.contains(&place.record));
    let last = (0..view.messages.len()).rfind(is_known);
    after.iter().all(|it| spans.next() == Some(&it.span)).then_some(last.map_or(0, |last| last + 1))
}
