//! Records as they were at some time, recognized by their fingerprints.

use std::collections::HashSet;
use std::ops::Range;

use serde::de::IgnoredAny;
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

impl RecordRef {
    /// Returns the place of the record now; nothing if it is gone or changed.
    ///
    /// A record that is a part of its own, such as a row, may have changed: its agent keeps notes
    /// there, and its name identifies it.
    pub(crate) fn place_now(&self, document: &dyn Document) -> Option<Span> {
        let parts = document.parts();
        if parts.fingerprint(&self.span).is_ok_and(|hash| hash == self.hash) {
            return Some(self.span.clone());
        }
        let bytes = self.span.is_own_part().then(|| parts.whole(&self.span.part).ok())??;
        serde_json::from_slice::<IgnoredAny>(&bytes).ok()?;
        Some(Span { len: bytes.len() as u64, ..self.span.clone() })
    }
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
    let known: HashSet<_> = after.iter().map(|it| it.span.identity()).collect();
    let is_known =
        |at: &usize| view.provenance.places(*at).iter().any(|place| known.contains(&place.record.identity()));
    let last = (0..view.messages.len()).rfind(is_known);
    let is_next = |it: &RecordRef| spans.next().is_some_and(|next| next.identity() == it.span.identity());
    after.iter().all(is_next).then_some(last.map_or(0, |last| last + 1))
}
