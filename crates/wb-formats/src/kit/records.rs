//! The records of a new conversation, from the items of its view: those that stay, those with
//! another body, and new ones.

use std::borrow::Cow;
use std::ops::Range;

use wb_message::{Block, Message};
use wb_record::splice::{Joint, Piece, splices};
use wb_record::{ChangeSet, Item, NotExpressible, Parts, Span, View, Wanted};

use super::appended::message_of;
use super::log::span_in;

/// A format's way to write what has no record yet.
pub(crate) trait Writer {
    /// Returns the name of the format.
    fn format(&self) -> &'static str;

    /// Returns a message that no record holds as a record.
    fn new_record(&mut self, message: &Message) -> Result<Vec<u8>, NotExpressible>;

    /// Returns a record with another body of the message `at` in it.
    fn with_body(&mut self, record: &[u8], at: usize, body: &[Block]) -> Result<Vec<u8>, NotExpressible>;

    /// Returns the refusal of an edit.
    fn refused(&self, why: impl Into<String>) -> NotExpressible {
        NotExpressible::Refused { format: self.format(), why: why.into() }
    }
}

/// A record of the new conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordEdit {
    /// A record of the file, byte for byte.
    Stays(Span),
    /// A record of the file that is changed.
    Changed(Span, Vec<u8>),
    /// A new record.
    New(Vec<u8>),
}

impl RecordEdit {
    fn is_of(&self, span: &Span) -> bool {
        matches!(self, Self::Stays(own) | Self::Changed(own, _) if own == span)
    }

    /// Returns the bytes of the record.
    pub(crate) fn bytes(self, parts: &dyn Parts) -> Result<Vec<u8>, NotExpressible> {
        match self {
            Self::Stays(span) => bytes_of(parts, &span).map(Cow::into_owned),
            Self::Changed(_, bytes) | Self::New(bytes) => Ok(bytes),
        }
    }
}

/// Returns the bytes of a span.
pub(crate) fn bytes_of<'a>(parts: &'a dyn Parts, span: &Span) -> Result<Cow<'a, [u8]>, NotExpressible> {
    parts.bytes(span).map_err(NotExpressible::unreadable)
}

/// Returns the records of the new conversation, in order; refused if one would be divided.
pub(crate) fn records(
    wanted: &Wanted<'_>,
    parts: &dyn Parts,
    writer: &mut impl Writer,
) -> Result<Vec<RecordEdit>, NotExpressible> {
    whole(wanted.view, wanted.items, writer.format())?;
    let mut records: Vec<RecordEdit> = Vec::new();
    for item in wanted.items {
        match item {
            Item::New(message) => records.push(RecordEdit::New(writer.new_record(message)?)),
            Item::Old(span) => records.push(RecordEdit::Stays(span.clone())),
            Item::Same(at) => stay(&mut records, wanted.view, *at),
            Item::Body(at, body) => {
                stay(&mut records, wanted.view, *at);
                edit(&mut records, wanted.view, *at, body, parts, writer)?;
            }
        }
    }
    Ok(records)
}

/// Refuses items that keep only a part of a record.
fn whole(view: &View, items: &[Item<'_>], format: &'static str) -> Result<(), NotExpressible> {
    let kept = |item: Option<&Item<'_>>| item.and_then(message_of);
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

fn stay(records: &mut Vec<RecordEdit>, view: &View, at: usize) {
    for place in view.provenance.places(at) {
        if !records.last().is_some_and(|last| last.is_of(&place.record)) {
            records.push(RecordEdit::Stays(place.record.clone()));
        }
    }
}

/// Gives the records of a message another body, except those that only accompany it.
fn edit(
    records: &mut [RecordEdit],
    view: &View,
    at: usize,
    body: &[Block],
    parts: &dyn Parts,
    writer: &mut impl Writer,
) -> Result<(), NotExpressible> {
    if view.provenance.places(at).is_empty() {
        return Err(writer.refused(format!("another body for message {at}, which the host writes itself")));
    }
    for place in view.provenance.places(at).iter().filter(|place| !place.blocks.is_empty()) {
        let Some(record) = records.iter_mut().rev().find(|record| record.is_of(&place.record)) else {
            continue;
        };
        let before = match &*record {
            RecordEdit::Changed(_, bytes) => Cow::Borrowed(bytes.as_slice()),
            _ => bytes_of(parts, &place.record)?,
        };
        let after = writer.with_body(&before, at, body)?;
        if *after != *before {
            *record = RecordEdit::Changed(place.record.clone(), after);
        }
    }
    Ok(())
}

/// A record of the new text, and its number in the current text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedRecord {
    pub(crate) number: Option<usize>,
    pub(crate) record: RecordEdit,
}

/// Returns the changes that make the records of a view into others, in place.
///
/// `all` are the records of the part without a name in their order. Those that the view lacks stay
/// where they are.
pub(crate) fn in_place(
    view: &View,
    parts: &dyn Parts,
    all: &[Range<usize>],
    records: Vec<RecordEdit>,
    joint: Joint,
) -> Result<ChangeSet, NotExpressible> {
    spliced(parts, all, place_records(view, all, records)?, joint)
}

/// Returns all records of the new text: those of the view, and the others in place. A new record
/// goes where the first of those that it replaces was.
pub(crate) fn place_records(
    view: &View,
    all: &[Range<usize>],
    records: Vec<RecordEdit>,
) -> Result<Vec<PlacedRecord>, NotExpressible> {
    let mut placing =
        Placing { all, own: vec![false; all.len()], next: 0, new: Vec::new(), placed: Vec::new() };
    let places = (0..view.messages.len()).flat_map(|at| view.provenance.places(at));
    for number in places.filter_map(|place| number_of(all, &place.record)) {
        placing.own[number] = true;
    }
    for record in records {
        let (RecordEdit::Stays(span) | RecordEdit::Changed(span, _)) = &record else {
            placing.new.push(record);
            continue;
        };
        let refused = |why: &str| NotExpressible::Refused { format: view.format, why: why.to_owned() };
        let number =
            number_of(all, span).ok_or_else(|| refused("what was folded is not in the file any more"))?;
        if number < placing.next {
            return Err(refused("a message that stands behind a later one"));
        }
        placing.up_to(number);
        placing.placed.push(PlacedRecord { number: Some(number), record });
        placing.next = number + 1;
    }
    placing.up_to(all.len());
    Ok(placing.placed)
}

/// The records of the new text, up to a position.
struct Placing<'a> {
    all: &'a [Range<usize>],
    /// The records that the view holds.
    own: Vec<bool>,
    /// The first record that was not visited yet.
    next: usize,
    /// New records that have no place yet.
    new: Vec<RecordEdit>,
    placed: Vec<PlacedRecord>,
}

impl Placing<'_> {
    /// Advances to a record: those of the view are removed, the others stay.
    fn up_to(&mut self, number: usize) {
        let to = number.max(self.next);
        let first = (self.next..to).find(|number| self.own[*number]).unwrap_or(to);
        self.keep(self.next..first);
        self.placed.extend(self.new.drain(..).map(|record| PlacedRecord { number: None, record }));
        self.keep(first..to);
        self.next = to;
    }

    fn keep(&mut self, range: Range<usize>) {
        for number in range {
            if self.own[number] {
                continue;
            }
            let span = span_in(0, &self.all[number]);
            self.placed.push(PlacedRecord { number: Some(number), record: RecordEdit::Stays(span) });
        }
    }
}

/// Returns the changes that make the records of the part without a name into others.
pub(crate) fn spliced(
    parts: &dyn Parts,
    all: &[Range<usize>],
    placed: Vec<PlacedRecord>,
    joint: Joint,
) -> Result<ChangeSet, NotExpressible> {
    let piece = |placed: PlacedRecord| match placed {
        PlacedRecord { record: RecordEdit::Changed(_, bytes) | RecordEdit::New(bytes), .. } => {
            Piece::New(bytes)
        }
        PlacedRecord { number, record: RecordEdit::Stays(_) } => Piece::Stays(number.unwrap_or(all.len())),
    };
    let pieces: Vec<Piece> = placed.into_iter().map(piece).collect();
    let changes = splices(parts, all, &pieces, joint, |_| false).map_err(NotExpressible::unreadable)?;
    Ok(ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() })
}

fn number_of(all: &[Range<usize>], span: &Span) -> Option<usize> {
    let start = usize::try_from(span.at).ok()?;
    all.binary_search_by_key(&start, |range| range.start).ok()
}
