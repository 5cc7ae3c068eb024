//! The lines of a file as a forest: the position and kind of each, without its content.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::Arc;

use serde::de::IgnoredAny;
use wb_record::json::{place_in, remove};
use wb_record::{FormatError, Lines, Note, PartReader, Parts, Span};

use super::head::{Boundary, Head, Kind, Refusal};
use super::prompt_queue::{PromptQueue, QueuedPrompt};
use crate::kit::skips::Skips;
use crate::shapes::anthropic_block::user_body;

/// A line with its place in the file and in the tree.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) uuid: Option<Arc<str>>,
    /// The nearest line before this one that has the parent's id, so that a walk always ends.
    pub(crate) parent: Option<usize>,
    /// Set if it names a parent that is not in the file, although lines precede it.
    pub(crate) is_lost: bool,
    pub(crate) kind: Kind,
    pub(crate) is_side: bool,
    /// The refusal of the call whose result it has.
    pub(crate) refusal: Refusal,
    /// The time of a user message; 0 for other lines.
    pub(crate) timestamp: i64,
    /// The bytes of the file.
    pub(crate) record: Range<u64>,
    /// The bytes of the line that hold the content of its message.
    pub(crate) content: Range<usize>,
}

/// The places of a line that is in the file more than once.
#[derive(Debug)]
pub(crate) struct Copies {
    /// The first of these lines.
    first: usize,
    /// The number of lines before each of the others.
    others: Vec<usize>,
}

/// The lines of a file, without those that say nothing.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) all: Vec<Row>,
    /// The last line of each id.
    by_uuid: HashMap<Arc<str>, usize>,
    copies: HashMap<Arc<str>, Copies>,
    has_main: bool,
    pub(crate) has_links: bool,
    /// The compactions, those of subagents too.
    pub(crate) boundaries: Vec<usize>,
    queue: PromptQueue,
    /// The last unreadable line, which replaces parents that are not found.
    gap: Option<usize>,
    n_side: usize,
    n_repeated: usize,
    skips: Skips,
    truncated: Option<usize>,
    /// The number of lines and bytes read.
    n_lines: usize,
    end: u64,
    /// The fingerprint of the last bytes, if more may follow them.
    seal: Option<(Span, u64)>,
}

impl Rows {
    /// Reads a file of lines from its start.
    pub(crate) fn of_lines(parts: &dyn Parts) -> Result<Self, FormatError> {
        let mut rows = Self::default();
        rows.read_on(parts)?;
        Ok(rows)
    }

    /// Reads the lines of an export, which are the elements of a list.
    pub(crate) fn of_export(parts: &dyn Parts) -> Result<Self, FormatError> {
        #[derive(serde::Deserialize)]
        struct WebExport<'a> {
            #[serde(borrow)]
            loglines: Vec<&'a serde_json::value::RawValue>,
        }
        let whole = parts.whole("")?;
        FormatError::utf8_of(&whole)?;
        let text = whole.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&whole);
        let export: WebExport<'_> =
            serde_json::from_slice(text).map_err(|error| FormatError::from_json(1, &error))?;
        let mut rows = Self { end: whole.len() as u64, ..Self::default() };
        for line in export.loglines {
            let start = place_in(&whole, line.get()).unwrap_or_default().start;
            rows.add(parts, start as u64, line.get().as_bytes(), true)?;
        }
        Ok(rows)
    }

    /// Returns whether the file still begins with the bytes read, so that reading can continue
    /// after them.
    pub(crate) fn is_beginning_of(&self, parts: &dyn Parts) -> io::Result<bool> {
        let Some((span, seal)) = &self.seal else { return Ok(false) };
        Ok(parts.len("")?.is_some_and(|len| len >= self.end) && parts.fingerprint(span)? == *seal)
    }

    /// Reads the rest, up to the current end of the file. After a failure, the next refresh reads
    /// the whole file.
    pub(crate) fn read_on(&mut self, parts: &dyn Parts) -> io::Result<()> {
        self.seal = None;
        let (start, n_lines) = (self.end, self.n_lines);
        self.end = parts.len("")?.unwrap_or(0);
        let new = PartReader::new(parts, "", start)?.take(self.end.saturating_sub(start));
        let mut lines = Lines::new(new);
        while let Some(line) = lines.next_line()? {
            self.n_lines = n_lines + line.number;
            self.add(parts, start + line.at, line.bytes, line.is_ended)?;
        }
        self.n_lines = n_lines + lines.number();
        self.seal(parts)
    }

    /// Remembers the end of the file, unless its last line may still grow.
    fn seal(&mut self, parts: &dyn Parts) -> io::Result<()> {
        let at = self.end.saturating_sub(256);
        let span = Span { at, len: self.end - at, ..Span::default() };
        let is_ended = self.end > 0 && parts.bytes(&span)?.ends_with(b"\n");
        self.seal = if is_ended { Some((span.clone(), parts.fingerprint(&span)?)) } else { None };
        Ok(())
    }

    /// Makes the next refresh read the whole file.
    pub(crate) fn unseal(&mut self) {
        self.seal = None;
    }

    /// Adds a line.
    fn add(&mut self, parts: &dyn Parts, at: u64, line: &[u8], is_ended: bool) -> io::Result<()> {
        let text = std::str::from_utf8(line).unwrap_or_default();
        match serde_json::from_str::<Head<'_>>(text) {
            Ok(head) => return self.push(parts, at, text, &head),
            Err(error) if error.is_data() => match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => return self.push_odd(parts, at, text),
                Err(_) if !is_ended => self.truncated = Some(self.n_lines),
                Err(_) => self.push_unreadable(at, line.len()),
            },
            Err(_) if !is_ended => self.truncated = Some(self.n_lines),
            Err(_) => self.push_unreadable(at, line.len()),
        }
        Ok(())
    }

    /// Adds a line that is JSON but malformed: without its body it keeps its place in the tree.
    fn push_odd(&mut self, parts: &dyn Parts, at: u64, line: &str) -> io::Result<()> {
        let bare = remove(&remove(line.as_bytes(), "message"), "attachment");
        match serde_json::from_slice::<Head<'_>>(&bare) {
            Ok(head) if head.kind().is_some() => self.push(parts, at, line, &head),
            _ => {
                self.skips.ignored(self.n_lines);
                Ok(())
            }
        }
    }

    /// Adds a readable line, unless the file already has it.
    fn push(&mut self, parts: &dyn Parts, at: u64, line: &str, head: &Head<'_>) -> io::Result<()> {
        let Some((kind, content)) = head.kind() else {
            self.skips.ignored(self.n_lines);
            return Ok(());
        };
        let content = content.and_then(|content| place_in(line.as_bytes(), content)).unwrap_or_default();
        let parent = head.parent().map(|parent| self.find_last(parent));
        let is_user = matches!(kind, Kind::User(_) | Kind::Queued);
        if let Some((operation, prompt)) = head.queue_operation() {
            self.queue.follow(operation, &prompt, self.n_lines, at);
        } else if is_user {
            self.queue.see(line);
        }
        let row = Row {
            uuid: head.uuid().map(Arc::from),
            parent: parent.and_then(|parent| parent.or(self.gap)),
            is_lost: parent == Some(None) && self.all.iter().any(Row::is_chat),
            kind,
            is_side: head.is_side(),
            refusal: head.refusal(),
            timestamp: if is_user { head.timestamp() } else { 0 },
            record: at..at + line.len() as u64,
            content,
        };
        self.n_side += usize::from(row.is_side && row.is_chat());
        self.has_main |= !row.is_side && row.is_chat();
        self.note_copy(&row);
        if self.is_repeated(parts, &row, &line[row.content.clone()])? {
            self.n_repeated += 1;
            return Ok(());
        }
        self.has_links |= row.is_chat() && row.parent.is_some();
        self.insert(row, head);
        Ok(())
    }

    fn insert(&mut self, mut row: Row, head: &Head<'_>) {
        if let Kind::Compaction(boundary) = &mut row.kind {
            **boundary =
                head.compact_metadata().boundary(|uuid| self.find(uuid), |head, tail| self.chain(head, tail));
        }
        if matches!(row.kind, Kind::Compaction(_)) {
            self.boundaries.push(self.all.len());
        }
        if let Some(uuid) = &row.uuid {
            self.by_uuid.insert(uuid.clone(), self.all.len());
        } else if row.kind == Kind::Link {
            return;
        }
        self.all.push(row);
    }

    /// Remembers the place of a line whose id the file already has.
    fn note_copy(&mut self, row: &Row) {
        let Some(uuid) = &row.uuid else { return };
        let Some(first) = self.find(uuid) else { return };
        let copies = self.copies.entry(uuid.clone()).or_insert_with(|| Copies { first, others: Vec::new() });
        copies.others.push(self.all.len());
    }

    fn is_copy(&self, at: usize) -> bool {
        let copies = self.all[at].uuid.as_ref().and_then(|uuid| self.copies.get(uuid));
        copies.is_some_and(|copies| copies.first != at)
    }

    /// Returns the last line before the copies of a parent that was summarized before it was
    /// copied, if its child follows a copy.
    pub(crate) fn last_before_copies(&self, child: usize, parent: usize) -> Option<usize> {
        let copies = self.copies.get(self.all[parent].uuid.as_ref()?)?;
        let copy = copies.others.iter().copied().rfind(|at| *at <= child && !self.is_copy(child))?;
        let is_between = |at: &usize| (copies.first..copy).contains(at) && self.is_main(*at);
        let boundary = self.boundaries.iter().copied().rfind(is_between)?;
        let is_own = |at: &usize| self.all[*at].uuid.is_some() && self.is_main(*at) && !self.is_copy(*at);
        let has_chat = (boundary..copy).any(|at| is_own(&at) && self.all[at].is_chat());
        (boundary + 1..copy).rev().find(is_own).filter(|_| has_chat)
    }

    /// Returns whether a line has the content of another one with its id.
    fn is_repeated(&self, parts: &dyn Parts, row: &Row, content: &str) -> io::Result<bool> {
        let twin = row.uuid.as_deref().and_then(|uuid| self.find(uuid)).map(|at| &self.all[at]);
        let Some(twin) = twin.filter(|twin| row.is_chat() && twin.kind == row.kind) else { return Ok(false) };
        let other = parts.bytes(&twin.content_span())?;
        let other = std::str::from_utf8(&other).unwrap_or_default();
        Ok(other == content || user_body(other) == user_body(content))
    }

    /// Adds an unreadable line. A line whose parent is missing becomes its child.
    fn push_unreadable(&mut self, at: u64, len: usize) {
        self.skips.unreadable(self.n_lines);
        let parent = self.all.iter().rposition(|row| self.is_main_row(row));
        self.gap = Some(self.all.len());
        self.all.push(Row {
            uuid: None,
            parent,
            is_lost: false,
            kind: Kind::Link,
            is_side: self.is_subagent(),
            refusal: Refusal::No,
            timestamp: 0,
            record: at..at + len as u64,
            content: 0..0,
        });
    }

    /// Returns the lines from one to another by their parents, in the order of the file; none if
    /// the walk does not reach the first one, as in the host.
    fn chain(&self, head: usize, tail: usize) -> Option<Vec<usize>> {
        let parents = std::iter::successors(Some(tail), |at| self.all[*at].parent);
        let mut chain: Vec<usize> = parents.take_while(|at| *at != head).collect();
        let reaches = chain.last().map_or(Some(tail), |first| self.all[*first].parent) == Some(head);
        chain.push(head);
        chain.reverse();
        reaches.then_some(chain)
    }

    /// Returns the last line of an id that is likely to be that of the last line.
    fn find_last(&self, uuid: &str) -> Option<usize> {
        let is_last = self.all.last().is_some_and(|last| last.uuid.as_deref() == Some(uuid));
        if is_last { Some(self.all.len() - 1) } else { self.find(uuid) }
    }

    /// Returns the last line of an id.
    pub(crate) fn find(&self, uuid: &str) -> Option<usize> {
        self.by_uuid.get(uuid).copied()
    }

    /// Returns the line at a place of the file.
    pub(crate) fn line_at(&self, record: &Span) -> Option<usize> {
        let at = self.all.binary_search_by_key(&record.at, |row| row.record.start).ok()?;
        (self.all[at].record == record.range()).then_some(at)
    }

    /// Returns whether a line belongs to the main conversation; in a subagent's file, that is the
    /// subagent's.
    pub(crate) fn is_main(&self, at: usize) -> bool {
        self.is_main_row(&self.all[at])
    }

    fn is_main_row(&self, row: &Row) -> bool {
        !row.is_side || !self.has_main
    }

    pub(crate) fn is_main_chat(&self, at: usize) -> bool {
        self.is_main(at) && self.all[at].is_chat()
    }

    /// Returns the compaction of a line, if it is one of the main conversation.
    pub(crate) fn boundary(&self, at: usize) -> Option<&Boundary> {
        match &self.all[at].kind {
            Kind::Compaction(boundary) if self.is_main(at) => Some(boundary),
            _ => None,
        }
    }

    /// Returns the queued prompts in a range of lines that no line has.
    pub(crate) fn unsaid(&self, lines: &Range<usize>) -> impl Iterator<Item = &QueuedPrompt> {
        let start = |at: usize| self.all.get(at).map(|row| row.record.start);
        let start_of_range = if lines.start == 0 { 0 } else { start(lines.start).unwrap_or(u64::MAX) };
        let range = start_of_range..start(lines.end).unwrap_or(u64::MAX);
        self.queue.unsaid().filter(move |prompt| range.contains(&prompt.start))
    }

    /// Returns whether the file is a subagent's own.
    pub(crate) fn is_subagent(&self) -> bool {
        !self.has_main && self.n_side > 0
    }

    /// Returns whether the last line has its line feed.
    pub(crate) fn is_ended(&self) -> bool {
        self.seal.is_some() || self.end == 0
    }

    /// Returns how many bytes were read.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.end
    }

    /// Returns notes on what was skipped, except those that depend on the conversation.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let counted = |n: usize, note: Note| (n > 0).then_some(note);
        let side = if self.has_main {
            counted(self.n_side, Note::SidechainLines { n: self.n_side })
        } else {
            counted(self.n_side, Note::SubagentTranscript)
        };
        let truncated = self.truncated.map(|line| Note::TruncatedLastLine { line });
        let skipped = self.skips.notes(Skips::default());
        let repeated = counted(self.n_repeated, Note::RepeatedLines { n: self.n_repeated });
        truncated.into_iter().chain(skipped).chain(repeated).chain(side).collect()
    }
}

impl Row {
    pub(crate) fn is_chat(&self) -> bool {
        matches!(self.kind, Kind::User(_) | Kind::Answer(_) | Kind::Queued)
    }

    pub(crate) fn span(&self) -> Span {
        Span { at: self.record.start, len: self.record.end - self.record.start, ..Span::default() }
    }

    /// Returns the position of its message's content in the file.
    pub(crate) fn content_span(&self) -> Span {
        let Range { start, end } = self.content;
        Span { at: self.record.start + start as u64, len: (end - start) as u64, ..Span::default() }
    }
}
