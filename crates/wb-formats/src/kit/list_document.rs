//! A document of [`List`]s, and its reading to a view.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use wb_budget::Usage;
use wb_message::inferred_role::{Side, infer_role};
use wb_message::pairing::id_key;
use wb_message::{Block, Message, Pairing};
use wb_record::lines::repair_surrogates;
use wb_record::splice::Joint;
use wb_record::{
    ChangeSet, Document, Format, FormatError, MemoryParts, MissingRole, NotExpressible, Note, PartReader,
    Parts, Place, Provenance, Span, UsageAt, View, Wanted, forget_stale_usage,
};

use super::appended::refused;
use super::json_in_string::plain;
use super::list_render::Render;
use super::log::{line_of, span_in};
use super::message_list::{Layout, List, Record, Shape, held};
use super::missing_roles::{has_lost_role, side_of};

/// Opens a document of lists.
pub(crate) fn open(
    layout: &'static dyn Layout,
    parts: Box<dyn Parts>,
) -> Result<Box<dyn Document>, FormatError> {
    let mut document = ListDocument { layout, parts, held: None, lists: Vec::new(), fresh: Mutex::default() };
    document.refresh()?;
    Ok(Box::new(document))
}

/// A document of lists.
#[derive(Debug)]
struct ListDocument {
    layout: &'static dyn Layout,
    parts: Box<dyn Parts>,
    /// The session as read, if it is one whole that the parts do not hold themselves.
    held: Option<MemoryParts>,
    lists: Vec<List>,
    /// The view of the list that was written last, until it is taken.
    fresh: Mutex<Option<View>>,
}

impl Document for ListDocument {
    fn format(&self) -> &'static dyn Format {
        self.layout
    }

    fn conversations(&self) -> Result<Vec<String>, FormatError> {
        Ok(self.lists.iter().map(|list| list.name.clone()).collect())
    }

    fn view(&self, conversation: &str) -> Result<View, FormatError> {
        let is_newest = self.lists.last().is_some_and(|list| list.name == conversation);
        let fresh = if is_newest { self.lock().take() } else { None };
        fresh.map_or_else(|| self.read(self.list(conversation)?), Ok)
    }

    fn lost_roles(&self, conversation: &str) -> Result<Vec<MissingRole>, FormatError> {
        let source = self.list(conversation)?;
        if source.is_escaped {
            return Ok(Vec::new());
        }
        let (parts, shape) = (self.source(), self.shape(source));
        let (mut sides, mut read) = (Vec::new(), Record::default());
        for place in &source.records {
            let record = parts.bytes(&span_in(0, place))?;
            if read_record(shape, &record, &mut read).is_err() {
                continue;
            }
            let is_lost = read.messages.is_empty() && has_lost_role(shape, &record);
            let side = if is_lost { Some(Side::Lost) } else { side_of(&read) };
            sides.extend(side.map(|side| (side, place)));
        }
        let side = |at: Option<usize>| at.and_then(|at| Some(sides.get(at)?.0));
        let lost = sides.iter().enumerate().filter(|(_, (side, _))| *side == Side::Lost);
        let lost = lost.map(|(at, (_, place))| {
            let record = span_in(0, place);
            let said = serde_json::from_slice(&parts.bytes(&record)?).unwrap_or_default();
            let role = infer_role(&said, side(at.checked_sub(1)), side(Some(at + 1)));
            Ok(MissingRole { record, line: line_of(parts, place.start as u64)?, role })
        });
        lost.collect()
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        if let Some(why) = self.abilities().fold_head.why_not() {
            return Err(refused(wanted, why));
        }
        let list = self.list(wanted.conversation);
        let list = list.map_err(NotExpressible::unreadable)?;
        if let Some(why) = list.layout.and_then(Layout::why_not_written) {
            return Err(refused(wanted, why));
        }
        let parts = self.source();
        Render { layout: self.layout, parts, list, wanted }.changes()
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        let is_lines = self.layout.is_lines(self.parts.as_ref())?;
        let is_read = self.parts.held("").is_some() || is_lines;
        self.held = if is_read { None } else { Some(MemoryParts::from_bytes(self.parts.whole("")?)) };
        if !is_lines {
            FormatError::utf8_of(held(self.source()))?;
        }
        self.lists = named_apart(self.layout.lists(self.source())?);
        let fresh = self.lists.last().map(|list| self.read(list)).transpose()?;
        *self.lock() = fresh;
        Ok(())
    }
}

/// Numbers lists that share their name with an earlier one.
fn named_apart(mut lists: Vec<List>) -> Vec<List> {
    let mut names = HashSet::new();
    for (list, nth) in lists.iter_mut().zip(1..) {
        if !names.insert(list.name.clone()) {
            list.name = format!("{}/{nth}", list.name);
        }
    }
    lists
}

impl ListDocument {
    /// Returns the source of the session.
    fn source(&self) -> &dyn Parts {
        self.held.as_ref().map_or(self.parts.as_ref(), |held| held)
    }

    fn lock(&self) -> MutexGuard<'_, Option<View>> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, conversation: &str) -> Result<&List, FormatError> {
        self.lists.iter().find(|list| list.name == conversation).ok_or(FormatError::Empty)
    }

    /// Returns the conversion of the records of a list.
    fn shape(&self, list: &List) -> &dyn Shape {
        list.layout.unwrap_or(self.layout).shape()
    }

    /// Reads the messages of a list.
    fn read(&self, list: &List) -> Result<View, FormatError> {
        let parts = self.source();
        let mut reading = Reading {
            view: View::new(self.layout.name(), self.layout.vocabulary()),
            layout: self.layout,
            n_bad: 0,
            first_bad: None,
            truncated: None,
            lost: Vec::new(),
            of_nobody: Vec::new(),
            counts: Vec::new(),
            last_calls: LastCalls::default(),
        };
        reading.view.messages.reserve(list.records.len());
        reading.view.provenance.reserve(list.records.len());
        let (mut read, shape) = (Record::default(), self.shape(list));
        for place in list.ahead.iter().chain(&list.records).chain(&list.behind) {
            let span = span_in(0, place);
            let bytes = parts.bytes(&span)?;
            let record = if list.is_escaped { plain(&bytes) } else { Cow::Borrowed(&*bytes) };
            match read_record(shape, &record, &mut read) {
                Ok(()) if read.messages.is_empty() && has_lost_role(shape, &record) => {
                    reading.lost.push(place.start);
                }
                Ok(()) if read.is_of_nobody => reading.of_nobody.push(place.start),
                Ok(()) => reading.take(&span, &mut read),
                Err(error) => reading.refuse(parts, list, place, &error)?,
            }
        }
        let first_line =
            |starts: &[usize]| starts.first().map(|first| line_of(parts, *first as u64)).transpose();
        let (n, n_passed) = (reading.lost.len(), reading.of_nobody.len());
        let (bare, passed) = (first_line(&reading.lost)?, first_line(&reading.of_nobody)?);
        let mut view = reading.finish()?;
        view.notes.extend(bare.map(|line| Note::MissingRoles { n, line }));
        let passed = passed.map(|line| Note::IgnoredLines { n: n_passed, line: NonZeroUsize::new(line) });
        view.notes.extend(passed);
        self.layout.complete(parts, list, &mut view);
        forget_stale_usage(&view.messages, &mut view.usage);
        Ok(view)
    }
}

/// Reads a record; half of a surrogate pair in it becomes U+FFFD.
fn read_record(shape: &dyn Shape, record: &[u8], into: &mut Record) -> Result<(), serde_json::Error> {
    into.clear();
    let Some(text) = wb_record::lines::utf8(record) else {
        // This reports the error.
        return serde_json::from_slice::<Value>(record).map(drop);
    };
    shape.read(text, into).or_else(|error| match repair_surrogates(record) {
        Cow::Owned(record) => shape.read(std::str::from_utf8(&record).unwrap_or_default(), into),
        Cow::Borrowed(_) => Err(error),
    })
}

/// A view that grows record by record.
struct Reading {
    view: View,
    layout: &'static dyn Layout,
    /// The number of unreadable records, and the first error.
    n_bad: usize,
    first_bad: Option<FormatError>,
    truncated: Option<Note>,
    /// The starts of messages without a role.
    lost: Vec<usize>,
    /// The starts of messages with an unknown role.
    of_nobody: Vec<usize>,
    /// Usage in records of its own, each with the number of messages before it.
    counts: Vec<(usize, u64)>,
    last_calls: LastCalls,
}

impl Reading {
    fn take(&mut self, span: &Span, record: &mut Record) {
        let view = &mut self.view;
        if record.hides_all_before {
            view.messages.clear();
            view.usage.clear();
            self.counts.clear();
            view.provenance = Provenance::default();
            self.last_calls = LastCalls::default();
            view.notes = vec![Note::CompactionApplied { tokens_before: None }];
        }
        for mut message in record.messages.drain(..) {
            self.last_calls.name_result(&mut message, &view.messages);
            if let (Message::Assistant { .. }, Some(usage)) = (&message, record.usage) {
                view.usage.push(UsageAt { at: view.messages.len(), usage, model: record.model.clone() });
            }
            view.provenance.push([Place::whole(span.clone(), &message)]);
            view.messages.push(message);
        }
        if record.model.is_some() {
            view.model = record.model.take();
        }
        self.counts.extend(record.counted.map(|tokens| (view.messages.len(), tokens)));
    }

    /// Notes a record that cannot be read; one of another kind can refuse the whole.
    fn refuse(
        &mut self,
        parts: &dyn Parts,
        list: &List,
        place: &Range<usize>,
        error: &serde_json::Error,
    ) -> Result<(), FormatError> {
        let is_strict = self.layout.is_strict() && error.is_data();
        let is_last = list.joint == Joint::Line && list.records.last() == Some(place);
        let is_cut_off = is_last && !error.is_data() && is_open_line(parts, place.end)?;
        if self.n_bad > 0 && !is_strict && !is_cut_off {
            self.n_bad += 1;
            return Ok(());
        }
        let line = line_of(parts, place.start as u64)?;
        if is_cut_off {
            self.truncated = Some(Note::TruncatedLastLine { line });
            return Ok(());
        }
        let of_json = if list.joint == Joint::Line || !error.is_data() {
            FormatError::from_json(line, error)
        } else {
            FormatError::BadMessage { line, what: wb_record::lines::fault(error) }
        };
        if is_strict {
            return Err(of_json);
        }
        (self.n_bad, self.first_bad) = (1, Some(of_json));
        Ok(())
    }

    fn finish(mut self) -> Result<View, FormatError> {
        if let Some(first) = self.first_bad {
            if self.view.messages.is_empty() {
                return Err(first);
            }
            let line = first.line().unwrap_or(0);
            self.view.notes.push(Note::UnreadableRecords { n: self.n_bad, line });
        }
        self.view.notes.extend(self.truncated);
        self.view.usage.extend(usage_of(&self.counts, &self.view.messages));
        name_results(&mut self.view.messages);
        Ok(self.view)
    }
}

/// Returns whether no line feed follows on a place.
fn is_open_line(parts: &dyn Parts, at: usize) -> io::Result<bool> {
    let mut rest = Vec::new();
    PartReader::new(parts, "", at as u64)?.read_to_end(&mut rest)?;
    Ok(!rest.contains(&b'\n'))
}

/// Returns the usage: a count right before an answer is its prompt, one right after it the prompt
/// and the answer.
fn usage_of(counts: &[(usize, u64)], messages: &[Message]) -> Vec<UsageAt> {
    let counts_at = |at: usize| {
        let first = counts.partition_point(|(before, _)| *before < at);
        counts[first..].iter().take_while(move |(before, _)| *before == at).map(|(_, tokens)| *tokens)
    };
    let usage = |(at, message): (usize, &Message)| {
        let prompt = counts_at(at).last().filter(|_| matches!(message, Message::Assistant { .. }))?;
        let answer = counts_at(at + 1).next().map_or(0, |both| both.saturating_sub(prompt));
        let usage = Usage { input_tokens: prompt, output_tokens: answer, ..Usage::EMPTY };
        Some(UsageAt { at, usage, model: None })
    };
    messages.iter().enumerate().filter_map(usage).collect()
}

/// The calls of the last message that is not a result.
#[derive(Default)]
struct LastCalls {
    /// The index of the message.
    message: usize,
    /// The block of each id, none of one that several calls have; read when a result needs it.
    by_id: Option<HashMap<u64, Option<u32>>>,
}

impl LastCalls {
    /// Gives a result that does not name its tool the name in its call, if the message has one call
    /// of that id; any other message becomes the last.
    fn name_result(&mut self, message: &mut Message, before: &[Message]) {
        let Message::ToolResult { tool_call_id, tool_name, .. } = message else {
            *self = Self { message: before.len(), by_id: None };
            return;
        };
        if !tool_name.is_empty() {
            return;
        }
        let Some(last) = before.get(self.message) else { return };
        let by_id = self.by_id.get_or_insert_with(|| blocks_by_id(last));
        let call = by_id.get(&id_key(tool_call_id)).copied().flatten();
        if let Some(Block::ToolCall { name, .. }) = call.and_then(|at| last.blocks().get(at as usize)) {
            name.clone_into(tool_name);
        }
    }
}

fn blocks_by_id(message: &Message) -> HashMap<u64, Option<u32>> {
    let mut by_id = HashMap::new();
    for (block, nth) in message.blocks().iter().zip(0..) {
        if let Block::ToolCall { id, .. } = block {
            by_id.entry(id_key(id)).and_modify(|one| *one = None).or_insert(Some(nth));
        }
    }
    by_id
}

/// Gives the other results that do not name their tool the name in their call.
fn name_results(messages: &mut [Message]) {
    let is_nameless =
        |message: &Message| matches!(message, Message::ToolResult { tool_name, .. } if tool_name.is_empty());
    if !messages.iter().any(is_nameless) {
        return;
    }
    let pairing = Pairing::new(messages);
    for pair in pairing.pairs() {
        let Some((_, name, _)) = pair.call.find(messages) else { continue };
        let name = name.to_owned();
        if let Some(Message::ToolResult { tool_name, .. }) = messages.get_mut(pair.result as usize)
            && tool_name.is_empty()
        {
            *tool_name = name;
        }
    }
}
