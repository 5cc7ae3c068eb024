//! Records as they were at a time, known again by their fingerprints.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::FormatError;
use crate::format::Document;
use crate::span::Span;
use crate::view::View;

/// A record as it was, known again by its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// Where it stands.
    pub span: Span,
    /// The fingerprint of its bytes.
    pub hash: u64,
}

/// Returns the records of a view in its order, each once.
pub(crate) fn kept(document: &dyn Document, view: &View) -> Result<Vec<Kept>, FormatError> {
    kept_of(document, view, 0..view.messages.len())
}

pub(crate) fn kept_of(
    document: &dyn Document,
    view: &View,
    messages: Range<usize>,
) -> Result<Vec<Kept>, FormatError> {
    let mut seen = HashSet::new();
    let places = messages.flat_map(|at| view.provenance.of(at));
    let spans = places.map(|place| &place.record).filter(|span| seen.insert(*span));
    let kept = |span: &Span| Ok(Kept { span: span.clone(), hash: document.parts().fingerprint(span)? });
    spans.map(kept).collect()
}
