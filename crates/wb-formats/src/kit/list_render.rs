//! The replacements in a document of [`List`]s that turn one view into another.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use wb_record::splice::{Piece, splices};
use wb_record::{Bytes, Change, ChangeSet, Item, NotExpressible, Parts, Stamp, Wanted};

use super::appended::message_of;
use super::json_in_string::{escaped, plain};
use super::log::span_in;
use super::message_list::{Fate, Layout, List};
use super::records::bytes_of;

/// A list that becomes another.
pub(crate) struct Render<'a> {
    pub(crate) layout: &'static dyn Layout,
    pub(crate) parts: &'a dyn Parts,
    pub(crate) list: &'a List,
    pub(crate) wanted: &'a Wanted<'a>,
}

impl Render<'_> {
    /// Returns the changes that make the new list, with the line that is added after every change.
    pub(crate) fn changes(&self) -> Result<ChangeSet, NotExpressible> {
        let spliced = self.spliced()?;
        let line = self.layout.last_line(self.wanted.stamp);
        let added = line.map(|line| inserted(self.parts, &line)).transpose()?;
        // Additions at the end come first: they move no position of a replacement.
        let changes = added.into_iter().chain(spliced);
        Ok(ChangeSet { changes: changes.map(|change| (String::new(), change)).collect() })
    }

    fn spliced(&self) -> Result<Vec<Change>, NotExpressible> {
        let pieces = self.pieces()?;
        if let Some(snapshot) = self.layout.snapshot() {
            let records = pieces.iter().map(|piece| self.bytes(piece)).collect::<Result<Vec<_>, _>>()?;
            let line = snapshot(self.parts, &records, self.wanted.stamp);
            return Ok(vec![appended(self.parts, &line.map_err(NotExpressible::unreadable)?)?]);
        }
        let seen: HashSet<usize> =
            (0..self.wanted.view.messages.len()).filter_map(|at| self.record_of(at)).collect();
        let first = self.record_of(0).filter(|first| !pieces.contains(&Piece::Stays(*first)));
        // Records that a summary hides are removed with it.
        let first = first.filter(|_| self.wanted.view.is_compacted()).unwrap_or(0);
        let is_foreign = |at: usize| !seen.contains(&at) && at >= first;
        let pieces = self.number(pieces, seen.len())?;
        let ranges = self.list.ranges(self.parts);
        let changes = ranges.and_then(|it| splices(self.parts, &it, &pieces, self.list.joint, is_foreign));
        changes.map_err(NotExpressible::unreadable)
    }

    /// Returns the layout of the records.
    fn layout(&self) -> &'static dyn Layout {
        self.list.layout.unwrap_or(self.layout)
    }

    /// Returns a record without the escapes of a list in a string.
    fn plain<'b>(&self, record: &'b [u8]) -> Cow<'b, [u8]> {
        if self.list.is_escaped { plain(record) } else { Cow::Borrowed(record) }
    }

    /// Returns a record as the list holds it.
    fn as_text(&self, record: Vec<u8>) -> Vec<u8> {
        if self.list.is_escaped { escaped(&record) } else { record }
    }

    /// Returns the bytes of a record.
    fn record(&self, number: usize) -> Result<Cow<'_, [u8]>, NotExpressible> {
        bytes_of(self.parts, &span_in(0, &self.list.records[number]))
    }

    /// Returns the content of the new list.
    fn pieces(&self) -> Result<Vec<Piece>, NotExpressible> {
        let mut rest = self.without_ahead()?;
        let (mut pieces, mut last) = (Vec::new(), None);
        while let Some((item, others)) = rest.split_first() {
            if last == Some(self.list.records.len()) {
                return Err(self.refused("a message behind the answer, which is outside of the list"));
            }
            let Some(at) = message_of(item) else {
                pieces.push(self.new_piece(item, pieces.len())?);
                rest = others;
                continue;
            };
            let record = self.record_of(at);
            if last.is_some() && record <= last {
                return Err(NotExpressible::SplitsRecord { format: self.layout.name(), at });
            }
            let is_of_record =
                |item: &&Item<'_>| message_of(item).and_then(|at| self.record_of(at)) == record;
            let n = rest.iter().take_while(is_of_record).count().max(1);
            pieces.extend(self.piece(record, at, &rest[..n])?);
            (rest, last) = (&rest[n..], record);
        }
        match &self.list.behind {
            Some(_) if last != Some(self.list.records.len()) => {
                Err(self.refused("the answer to the request is outside of the list, where it stays"))
            }
            _ => self.in_turns(pieces),
        }
    }

    /// Returns the items behind a record that precedes the list.
    fn without_ahead(&self) -> Result<&[Item<'_>], NotExpressible> {
        let is_ahead = |at: usize| {
            let place = self.wanted.view.provenance.places(at).first();
            let start = self.list.ahead.as_ref().map(|ahead| ahead.start as u64);
            start.is_some() && place.map(|place| place.record.at) == start
        };
        let n = (0..self.wanted.view.messages.len()).take_while(|at| is_ahead(*at)).count();
        let items = self.wanted.items;
        let stays = |(at, item): (usize, &Item<'_>)| matches!(item, Item::Same(same) if *same == at);
        if items.len() >= n && items[..n].iter().enumerate().all(stays) {
            return Ok(&items[n..]);
        }
        Err(self.refused("the system text is outside of the list, where it stays"))
    }

    /// Joins each new record with an adjacent one, if the format requires it.
    fn in_turns(&self, pieces: Vec<Piece>) -> Result<Vec<Piece>, NotExpressible> {
        let mut turns: Vec<Piece> = Vec::with_capacity(pieces.len());
        let mut was_there = false;
        for piece in pieces {
            // Two records that were adjacent stay apart, even if the first was joined.
            let is_there = matches!(piece, Piece::Stays(_));
            let one = match turns.last() {
                Some(last) if !(was_there && is_there) => {
                    let (one, next) = (self.bytes(last)?, self.bytes(&piece)?);
                    self.layout().joined(&self.plain(&one), &self.plain(&next)).map(|it| self.as_text(it))
                }
                _ => None,
            };
            was_there = is_there;
            if one.is_some() {
                turns.pop();
            }
            turns.push(one.map_or(piece, Piece::New));
        }
        Ok(turns)
    }

    /// Gives the records of a changed list what their positions require.
    fn number(&self, pieces: Vec<Piece>, n_before: usize) -> Result<Vec<Piece>, NotExpressible> {
        if pieces.len() == n_before && pieces.iter().all(|piece| matches!(piece, Piece::Stays(_))) {
            return Ok(pieces);
        }
        let number = |(nth, piece): (usize, Piece)| {
            let record = self.layout().number(&self.plain(&self.bytes(&piece)?), nth);
            let record = record.map_err(|why| self.refused(why))?;
            Ok(record.map_or(piece, |record| Piece::New(self.as_text(record))))
        };
        pieces.into_iter().enumerate().map(number).collect()
    }

    fn bytes<'b>(&'b self, piece: &'b Piece) -> Result<Cow<'b, [u8]>, NotExpressible> {
        match piece {
            Piece::Stays(at) => self.record(*at),
            Piece::New(bytes) => Ok(Cow::Borrowed(bytes)),
        }
    }

    fn new_piece(&self, item: &Item<'_>, nth: usize) -> Result<Piece, NotExpressible> {
        let Item::New(message) = item else {
            return Err(self.refused("what was folded is not in the file any more"));
        };
        let stamp = self.wanted.stamp;
        // Each new record has ids of its own.
        let stamp = Stamp { seed: stamp.seed.wrapping_add(nth as u64), ..stamp.clone() };
        let written = self.layout().shape().write(message, &stamp);
        written.map(|record| Piece::New(self.as_text(record))).map_err(|why| self.refused(why))
    }

    /// Returns the new form of a record that holds message `at` and keeps these items.
    fn piece(
        &self,
        record: Option<usize>,
        at: usize,
        items: &[Item<'_>],
    ) -> Result<Option<Piece>, NotExpressible> {
        let Some(number) = record else {
            return Err(NotExpressible::Unreadable(format!("message {at} has no record")));
        };
        let messages = self.messages_of(record, at);
        let fate = |at: usize| {
            let kept = items.iter().find(|item| message_of(item) == Some(at));
            kept.map_or(Fate::Goes, |item| match item {
                Item::Body(_, body) => Fate::Body(body),
                _ => Fate::Stays,
            })
        };
        let fates: Vec<Fate<'_>> = messages.clone().map(fate).collect();
        let stays = fates.iter().all(|fate| *fate == Fate::Stays);
        if number == self.list.records.len() {
            return if stays { Ok(None) } else { Err(self.refused("another body for the answer")) };
        }
        if stays {
            return Ok(Some(Piece::Stays(number)));
        }
        let before = &self.wanted.view.messages[messages];
        let rewritten = self.layout().shape().rewrite(&self.plain(&self.record(number)?), before, &fates);
        rewritten.map(|record| Some(Piece::New(self.as_text(record)))).map_err(|why| self.refused(why))
    }

    /// Returns the messages of a record, of which `at` is one.
    fn messages_of(&self, record: Option<usize>, at: usize) -> Range<usize> {
        let is_of_record = |at: &usize| self.record_of(*at) == record;
        let start = (0..at).rev().take_while(is_of_record).last().unwrap_or(at);
        let n_after = (at..self.wanted.view.messages.len()).take_while(is_of_record).count();
        start..at + n_after
    }

    /// Returns the record that contains a message.
    fn record_of(&self, message: usize) -> Option<usize> {
        let place = self.wanted.view.provenance.places(message).first()?;
        let start = usize::try_from(place.record.at).ok()?;
        if self.list.behind.as_ref().is_some_and(|behind| behind.start == start) {
            return Some(self.list.records.len());
        }
        self.list.records.binary_search_by_key(&start, |record| record.start).ok()
    }

    fn refused(&self, why: impl Into<String>) -> NotExpressible {
        NotExpressible::Refused { format: self.layout.name(), why: why.into() }
    }
}

/// Returns the change that adds a line after all others; it can be undone when more lines follow
/// it.
fn inserted(parts: &dyn Parts, line: &str) -> Result<Change, NotExpressible> {
    Ok(match appended(parts, line)? {
        Change::Append { at, new } => Change::Splice { at, old: Bytes::default(), new },
        change => change,
    })
}

/// Returns the change that adds a line after all others.
fn appended(parts: &dyn Parts, line: &str) -> Result<Change, NotExpressible> {
    let at = parts.len("").map_err(NotExpressible::unreadable)?.unwrap_or(0);
    let start = if parts.is_line_start(at).map_err(NotExpressible::unreadable)? { "" } else { "\n" };
    Ok(Change::Append { at, new: Bytes(format!("{start}{line}\n").into_bytes()) })
}
