//! The lines of a session, or its one object, reduced to the remaining messages.

use std::collections::HashSet;
use std::ops::Range;

use serde::de::IgnoredAny;
use wb_message::pairing::id_key;
use wb_record::json::{elements, find};
use wb_record::{FormatError, Line, Parts, Span};

use super::entry::{MessageEntry, known_again};
use crate::kit::fields::Fields;
use crate::kit::log::{LogEnd, span_in, span_of};
use crate::kit::skips::Skips;

/// A session, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) live: Vec<MessageEntry>,
    /// The keys of all ids that a message had.
    ids: HashSet<u64>,
    /// The list before each time that another replaced it.
    pub(crate) before: Vec<Vec<MessageEntry>>,
    pub(crate) model: Option<String>,
    pub(crate) end: LogEnd,
    /// The messages of a session that is one object; lines have none.
    pub(crate) elements: Option<Vec<Range<usize>>>,
}

impl Log {
    pub(crate) fn read(parts: &dyn Parts) -> Result<Self, FormatError> {
        let mut log = Self::default();
        if !log.read_object(parts)? {
            log.end = LogEnd::of_lines(parts, "$set", |passed, fields, line| {
                log.record(parts, passed, fields, line);
            })?;
        }
        Ok(log)
    }

    /// Reads a session that is one object, as older versions wrote it; returns whether it is one.
    /// One that is cut off is refused, since its messages would be read as none.
    fn read_object(&mut self, parts: &dyn Parts) -> Result<bool, FormatError> {
        let mut head = Vec::new();
        parts.read("", 0..4096, &mut head)?;
        // An invalid line among the first ones does not hide the others.
        let mut lines = without_mark(&head).trim_ascii().split_inclusive(|byte| *byte == b'\n').take(2);
        let is_line = |line: &[u8]| {
            line.starts_with(b"{")
                && line.ends_with(b"\n")
                && serde_json::from_slice::<IgnoredAny>(line).is_ok()
        };
        if lines.any(is_line) {
            return Ok(false);
        }
        let text = parts.whole("")?;
        let start = text.len() - without_mark(&text).len();
        FormatError::utf8_of(&text)?;
        let Some(list) = find(&text[start..], &["messages"]) else {
            let whole = serde_json::from_slice::<IgnoredAny>(&text[start..]);
            return whole.map(|_| false).map_err(|error| FormatError::from_json(1, &error));
        };
        let list = start + list.start..start + list.end;
        let places = elements(&text[list.clone()]).unwrap_or_default();
        let places: Vec<_> =
            places.into_iter().map(|it| list.start + it.start..list.start + it.end).collect();
        let mut passed = Skips::default();
        for place in &places {
            let line = 1 + memchr::memchr_iter(b'\n', &text[..place.start]).count();
            match Fields::parse(&text[place.clone()]) {
                Some(fields) => self.message(&mut passed, &fields, span_in(0, place), line),
                None => passed.unreadable(line),
            }
        }
        (self.elements, self.end.passed) = (Some(places), passed);
        Ok(true)
    }

    fn record(&mut self, parts: &dyn Parts, passed: &mut Skips, fields: &Fields<'_>, line: Line<'_>) {
        if let Some(set) = fields.place("$set") {
            let Some(inner) = fields.inner_at(set.clone()) else { return };
            if let Some(places) = inner.elements("messages") {
                let places = places.into_iter().map(|it| set.start + it.start..set.start + it.end);
                let list = entries(line, places.collect());
                // The host records the time with a list; our lists have it after the messages.
                self.replace(&list, inner.place("lastUpdated").map(|_| parts));
            }
        } else if let Some(id) = fields.text("$rewindTo") {
            if let Some(at) = self.live.iter().position(|entry| entry.id == id) {
                passed.n_abandoned += self.live.len() - at;
                self.live.truncate(at);
            }
        } else if fields.place("sessionId").is_none() {
            self.message(passed, fields, span_of(line), line.number);
        }
    }

    /// Adds a message; one with a known id replaces the earlier one.
    fn message(&mut self, passed: &mut Skips, fields: &Fields<'_>, record: Span, line: usize) {
        let text = |key: &str| fields.string(key);
        let (Some(id), Some(kind)) = (text("id"), text("type")) else {
            // Content without a speaker is still a message.
            match fields.place("content") {
                Some(_) => passed.unreadable(line),
                None => passed.ignored(line),
            }
            return;
        };
        if let Some(model) = fields.text("model").filter(|it| self.model.as_deref() != Some(it)) {
            self.model = Some(model.into_owned());
        }
        // Nearly every message has an id that none before it had.
        let is_new = self.ids.insert(id_key(&id));
        let is_it = |it: &&mut MessageEntry| it.id == id && it.kind == kind;
        let known = if is_new { None } else { self.live.iter_mut().rev().find(is_it) };
        match known {
            Some(entry) => (entry.record, entry.reworded, entry.line) = (record, None, line),
            None => self.live.push(MessageEntry { id, kind, record, reworded: None, line, is_counted: true }),
        }
    }

    /// Replaces the list of messages by that of a line; the host may have reworded the old ones.
    /// Usage stays valid as long as both lists have the same messages.
    fn replace(&mut self, list: &[MessageEntry], of_host: Option<&dyn Parts>) {
        let old = self.take();
        let list = of_host.map_or_else(|| list.to_vec(), |parts| known_again(&old, list, parts));
        let mut is_same = true;
        for (nth, mut entry) in list.into_iter().enumerate() {
            self.ids.insert(id_key(&entry.id));
            let before = old.get(nth).filter(|it| is_same && it.is(&entry));
            is_same = before.is_some();
            entry.is_counted = before.is_some_and(|it| it.is_counted);
            self.live.push(entry);
        }
        let goes_on = is_same && self.live.len() >= old.len();
        if !old.is_empty() && !goes_on {
            self.before.push(old);
        }
    }

    /// Takes the list of messages. A host that resumes a session may start a new list before it
    /// writes all of it.
    fn take(&mut self) -> Vec<MessageEntry> {
        let live = std::mem::take(&mut self.live);
        let begins = |it: &mut Vec<MessageEntry>| {
            live.len() < it.len() && live.iter().zip(it).all(|(a, b)| a.is_of(b))
        };
        self.before.pop_if(begins).unwrap_or(live)
    }
}

/// Returns the messages of a list in a line.
fn entries(line: Line<'_>, places: Vec<Range<usize>>) -> Vec<MessageEntry> {
    let entry = |place: Range<usize>| {
        let fields = Fields::parse(&line.bytes[place.clone()])?;
        let text = |key: &str| fields.string(key).unwrap_or_default();
        let (id, kind, record) = (text("id"), text("type"), span_in(line.at, &place));
        Some(MessageEntry { id, kind, record, reworded: None, line: line.number, is_counted: false })
    };
    places.into_iter().filter_map(entry).collect()
}

/// Returns a text without the mark of its encoding.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}
