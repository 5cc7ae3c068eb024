//! The records of a conversation that shall be, from the items of its view: those that stay, those with another body,
//! and new ones.

use wb_message::{Block, Message};
use wb_record::splice::{Joint, Piece, splices};
use wb_record::{Change, ChangeSet, Item, NotExpressible, Parts, Place, Span, View, Wanted};

/// How a format writes what stands in no record of its own yet.
pub(crate) trait Writer {
    /// Returns the name of the format.
    fn format(&self) -> &'static str;

    /// Returns a message that no record holds as a record.
    fn new_record(&mut self, message: &Message) -> Result<Vec<u8>, NotExpressible>;

    /// Returns a record with another body of the message `at` in it; `place` is the share of the record in the message.
    fn with_body(
        &mut self,
        record: &[u8],
        place: &Place,
        at: usize,
        body: &[Block],
    ) -> Result<Vec<u8>, NotExpressible>;

    /// Returns the refusal of a wish.
    fn refused(&self, why: impl Into<String>) -> NotExpressible
    where
        Self: Sized,
    {
        NotExpressible::Refused { format: self.format(), why: why.into() }
    }
}

/// A record of the conversation that shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A record of the file, byte for byte.
    Stays(Span),
    /// A record of the file that is changed.
    Changed(Span, Vec<u8>),
    /// A new record.
    New(Vec<u8>),
}

impl Record {
    fn is_of(&self, span: &Span) -> bool {
        matches!(self, Self::Stays(own) | Self::Changed(own, _) if own == span)
    }

    /// Returns the bytes of the record.
    pub(crate) fn bytes(self, parts: &dyn Parts) -> Result<Vec<u8>, NotExpressible> {
        match self {
            Self::Stays(span) => bytes_of(parts, &span),
            Self::Changed(_, bytes) | Self::New(bytes) => Ok(bytes),
        }
    }
}

/// Returns the bytes of a span.
pub(crate) fn bytes_of(parts: &dyn Parts, span: &Span) -> Result<Vec<u8>, NotExpressible> {
    parts.bytes(span).map_err(|error| NotExpressible::Unreadable(error.to_string()))
}

/// Returns the records of a conversation that shall be, in order; refused where one would be divided.
pub(crate) fn records(
    wanted: &Wanted<'_>,
    parts: &dyn Parts,
    writer: &mut impl Writer,
) -> Result<Vec<Record>, NotExpressible> {
    whole(wanted.view, wanted.items, writer.format())?;
    let mut records: Vec<Record> = Vec::new();
    for item in wanted.items {
        match item {
            Item::New(message) => records.push(Record::New(writer.new_record(message)?)),
            Item::Old(span) => records.push(Record::Stays(span.clone())),
            Item::Same(at) => stay(&mut records, wanted.view, *at),
            Item::Body(at, body) => {
                stay(&mut records, wanted.view, *at);
                edit(&mut records, wanted.view, *at, body, parts, writer)?;
            }
        }
    }
    Ok(records)
}

/// Refuses items that keep a part of a record alone.
fn whole(view: &View, items: &[Item<'_>], format: &'static str) -> Result<(), NotExpressible> {
    let kept = |item: Option<&Item<'_>>| match item {
        Some(Item::Same(at) | Item::Body(at, _)) => Some(*at),
        _ => None,
    };
    for (nth, item) in items.iter().enumerate() {
        let Some(at) = kept(Some(item)) else { continue };
        let before = nth.checked_sub(1).and_then(|nth| kept(items.get(nth)));
        let after = kept(items.get(nth + 1));
        let is_cut_off = !view.provenance.is_seam(at) && before.map(|before| before + 1) != Some(at);
        let is_open = !view.provenance.is_seam(at + 1) && after != Some(at + 1);
        if is_cut_off || is_open {
            return Err(NotExpressible::SplitsRecord { format, at });
        }
    }
    Ok(())
}

fn stay(records: &mut Vec<Record>, view: &View, at: usize) {
    for place in view.provenance.of(at) {
        if !records.last().is_some_and(|last| last.is_of(&place.record)) {
            records.push(Record::Stays(place.record.clone()));
        }
    }
}

/// Gives the records of a message another body.
fn edit(
    records: &mut [Record],
    view: &View,
    at: usize,
    body: &[Block],
    parts: &dyn Parts,
    writer: &mut impl Writer,
) -> Result<(), NotExpressible> {
    for place in view.provenance.of(at) {
        let Some(record) = records.iter_mut().rev().find(|record| record.is_of(&place.record)) else {
            continue;
        };
        let before = match &*record {
            Record::Changed(_, bytes) => bytes.clone(),
            _ => bytes_of(parts, &place.record)?,
        };
        let after = writer.with_body(&before, place, at, body)?;
        if after != before {
            *record = Record::Changed(place.record.clone(), after);
        }
    }
    Ok(())
}

/// Returns the changes that make the records of a view in a text into others, where they stand.
///
/// `all` are the records of the text in their order. Those that the view does not hold stay where they are.
pub(crate) fn in_place(
    view: &View,
    text: &[u8],
    all: &[std::ops::Range<usize>],
    records: Vec<Record>,
    joint: Joint,
) -> Result<ChangeSet, NotExpressible> {
    let number = |span: &Span| {
        let start = usize::try_from(span.at).unwrap_or(usize::MAX);
        let found = all.binary_search_by_key(&start, |range| range.start);
        found.map_err(|_| NotExpressible::Refused {
            format: view.format,
            why: "what was folded is not in the file any more".to_owned(),
        })
    };
    let piece = |record: Record| match record {
        Record::Stays(span) => number(&span).map(Piece::Stays),
        Record::Changed(_, bytes) | Record::New(bytes) => Ok(Piece::New(bytes)),
    };
    let pieces = records.into_iter().map(piece).collect::<Result<Vec<_>, _>>()?;
    let mut own = vec![false; all.len()];
    for at in 0..view.messages.len() {
        for place in view.provenance.of(at) {
            if let Some(own) = number(&place.record).ok().and_then(|nth| own.get_mut(nth)) {
                *own = true;
            }
        }
    }
    let changes: Vec<Change> = splices(text, all, &pieces, joint, |at| !own[at]);
    Ok(ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() })
}
