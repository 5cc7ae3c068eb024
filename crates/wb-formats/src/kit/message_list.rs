//! Documents that hold lists of messages: one JSON value with a list at a known place, or lines.
//!
//! A format of this kind gives the positions of its [`List`]s, and has a [`Shape`]: what one record
//! of a list is in a conversation, and what a message is as a record.
//! [`open`](super::list_document::open) makes a document of both. Records are replaced where they
//! are; everything that is not a message of a view stays unchanged.

use std::borrow::Cow;
use std::fmt::Debug;
use std::io;
use std::ops::Range;

use serde_json::value::RawValue;
use wb_budget::Usage;
use wb_message::{Block, Message, ToolVocabulary};
use wb_record::json::{find, place_in};
use wb_record::splice::Joint;
use wb_record::{Format, FormatError, Lines, ONLY_CONVERSATION, PartReader, Parts, Stamp, View};

use super::json_text::body_of;
use super::log::line_ranges;

/// The layout of a format's files.
pub(crate) trait Layout: Format {
    /// Returns whether the session is made of lines, which are read one by one. Any other is held
    /// whole.
    fn is_lines(&self, _parts: &dyn Parts) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns the positions of the lists, the last written one at the end: by default one, of all
    /// lines, or of the messages of a body.
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let list = if self.is_lines(parts)? {
            List::of_lines(parts, |line| Some(0..line.len()))
        } else {
            List::of_body(held(parts))
        };
        Ok(vec![list?])
    }

    /// Returns the conversion between records and messages.
    fn shape(&self) -> &dyn Shape;

    /// Returns the agent's names for its tools.
    fn vocabulary(&self) -> ToolVocabulary {
        ToolVocabulary::UNIVERSAL
    }

    /// Adds to a view what the document says outside the list, such as the model.
    fn complete(&self, _parts: &dyn Parts, _list: &List, _view: &mut View) {}

    /// Returns whether JSON that is not a known message shows that the whole file is something
    /// else.
    fn is_strict(&self) -> bool {
        false
    }

    /// Returns the function that makes a line of all records of a new list, if that is appended and
    /// nothing is replaced.
    fn snapshot(&self) -> Option<Snapshot> {
        None
    }

    /// Returns one record for two adjacent ones, if a provider refuses two of one side in a row.
    fn joined(&self, _one: &[u8], _next: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Returns a record as its position among the records of a changed list requires, if that
    /// differs from it; or the reason why it cannot be there.
    fn number(&self, _record: &[u8], _nth: usize) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    /// Returns the reason why lists of this layout cannot be written, if there is one.
    fn why_not_written(&self) -> Option<&'static str> {
        None
    }

    /// Returns a line that is added after all others with every change.
    fn last_line(&self, _stamp: &Stamp) -> Option<String> {
        None
    }
}

/// A function that returns the line with these records, given the current session.
pub(crate) type Snapshot = fn(&dyn Parts, &[Cow<'_, [u8]>], &Stamp) -> io::Result<String>;

/// Returns the text of a session that is held whole.
pub(crate) fn held(parts: &dyn Parts) -> &[u8] {
    parts.held("").unwrap_or_default()
}

/// The conversion between records of a list and messages.
pub(crate) trait Shape: Send + Sync + Debug {
    /// Reads a record into an empty one; one without messages is invisible to models and stays in
    /// place.
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error>;

    /// Returns a new record for a message, or the reason why there is none.
    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String>;

    /// Returns a changed record, given its messages and the change to each; or the reason why it
    /// cannot be.
    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String>;
}

/// The content of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    /// The messages in it, in order.
    pub(crate) messages: Vec<Message>,
    /// The usage of the request that it answers.
    pub(crate) usage: Option<Usage>,
    /// The model that answered.
    pub(crate) model: Option<String>,
    /// The tokens of everything before it, if the record is a count of them.
    pub(crate) counted: Option<u64>,
    /// Set if a model sees nothing of what comes before.
    pub(crate) hides_all_before: bool,
    /// Set if the speaker of the message is unknown.
    pub(crate) is_of_nobody: bool,
}

impl Record {
    /// Clears the content, but keeps the capacity for its messages.
    pub(crate) fn clear(&mut self) {
        let mut messages = std::mem::take(&mut self.messages);
        messages.clear();
        *self = Self { messages, ..Self::default() };
    }
}

/// The change to one message of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate<'a> {
    /// Left unchanged.
    Stays,
    /// Given another body.
    Body(&'a [Block]),
    /// Removed.
    Goes,
}

/// The positions of the messages of one conversation.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// The name of the conversation.
    pub(crate) name: String,
    /// Its records: lines without their ends, or elements of an array.
    pub(crate) records: Vec<Range<usize>>,
    /// The separator between them.
    pub(crate) joint: Joint,
    /// A record outside of the list that precedes its first one, such as a system text; it is never
    /// changed.
    pub(crate) ahead: Option<Range<usize>>,
    /// A record outside of the list that follows its last one, such as the answer to a request; it
    /// is never changed.
    pub(crate) behind: Option<Range<usize>>,
    /// The layout of the records, if it is not that of the document.
    pub(crate) layout: Option<&'static dyn Layout>,
    /// Set if the list is the text of a string, so that its records are escaped.
    pub(crate) is_escaped: bool,
}

impl List {
    /// Returns the list of the only conversation.
    pub(crate) fn new(records: Vec<Range<usize>>, joint: Joint) -> Self {
        Self {
            name: ONLY_CONVERSATION.to_owned(),
            records,
            joint,
            ahead: None,
            behind: None,
            layout: None,
            is_escaped: false,
        }
    }

    /// Returns the list at the end of a path of keys, or the text itself without keys; an empty
    /// list if there is none.
    pub(crate) fn at_path(text: &[u8], path: &[&str]) -> Result<Self, FormatError> {
        let (_, json) = body_of(text);
        if path.is_empty() {
            return Self::of_array(text, json);
        }
        serde_json::from_slice::<serde::de::IgnoredAny>(json)
            .map_err(|error| FormatError::from_json(1, &error))?;
        Self::of_array(text, find(json, path).map_or(b"[]", |place| &json[place]))
    }

    /// Returns the list of a body with `messages`, or of the list alone.
    pub(crate) fn of_body(text: &[u8]) -> Result<Self, FormatError> {
        let (_, json) = body_of(text);
        Self::at_path(text, if json.starts_with(b"[") { &[] } else { &["messages"] })
    }

    /// Returns the list of the elements of an array in a text.
    pub(crate) fn of_array(text: &[u8], array: &[u8]) -> Result<Self, FormatError> {
        let values: Vec<&RawValue> =
            serde_json::from_slice(array).map_err(|error| FormatError::from_json(1, &error))?;
        let place = |value: &&RawValue| place_in(text, value.get());
        let records = values.iter().filter_map(place).collect();
        Ok(Self::new(records, Joint::Comma))
    }

    /// Returns the list of the records in all lines that are not blank, given the position of a
    /// record in its line.
    pub(crate) fn of_lines(
        parts: &dyn Parts,
        mut record_in: impl FnMut(&[u8]) -> Option<Range<usize>>,
    ) -> Result<Self, FormatError> {
        let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
        let mut records = Vec::new();
        while let Some(line) = lines.next_line()? {
            let start = usize::try_from(line.at).unwrap_or(usize::MAX);
            let record = record_in(line.bytes);
            records.extend(record.map(|record| start + record.start..start + record.end));
        }
        Ok(Self::new(records, Joint::Line))
    }

    /// Returns the ranges to replace the records: lines with their line feed.
    pub(crate) fn ranges(&self, parts: &dyn Parts) -> io::Result<Vec<Range<usize>>> {
        if self.joint == Joint::Comma {
            return Ok(self.records.clone());
        }
        let is_record =
            |line: &Range<usize>| self.records.binary_search_by_key(&line.start, |it| it.start).is_ok();
        Ok(line_ranges(parts)?.into_iter().filter(is_record).collect())
    }
}
