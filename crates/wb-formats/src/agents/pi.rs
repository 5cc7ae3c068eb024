//! Session files of pi: JSON lines that form a tree, read and written by [`wb_session`].

use std::io::Read as _;
use std::ops::Range;

use serde_json::Value;
use wb_message::inferred_role::Side;
use wb_message::{Content, Message, ToolVocabulary, markers};
use wb_record::json::find;
use wb_record::{
    Abilities, Ability, ChangeSet, Confidence, Document, Format, FormatError, Item, Lines, MissingRole,
    NotExpressible, Note, PartReader, Parts, Place, Probe, ProbedValue, Segment, Segments, Span, Stamp,
    UsageAt, View, Wanted,
};
use wb_session::store::memory::MemoryStore;
use wb_session::{
    Compaction, Context, ContextEdit, EntryId, EntryKind, EntryTag, IdSource, LogNote, Node, Session,
    SessionError, StoreError, Unpaired, compaction_entries,
};

use crate::kit::appended::message_of;
use crate::kit::missing_roles::{lost_role_of_pi, note_of, side_of_message};
use crate::logs::sts::is_trace;

/// Session files of the pi coding agent and of agents that write like it.
///
/// The conversation is the path to the last entry; see [`Session::context`] for what of it the
/// model sees. Usage is given for the requests that were made with this very context, which are
/// those after the last compaction. pi itself answers calls without a result when it resumes.
///
/// A compaction is an entry of pi's own, and so is each answer to a call at the end. Another body
/// for a result is an edit, which pi obeys since its version 0.87; older ones send the whole
/// result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pi;

impl Format for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            fold_head: Ability::Yes,
            fold_inside: Ability::No("a pi compaction replaces only the oldest messages"),
            clear: Ability::Yes,
            body: Ability::Yes,
            insert: Ability::No("pi allows nothing between its summary and the kept messages"),
            call_ids: Ability::Yes,
        }
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        // Other logs have sessions too, with neither.
        let is_header =
            |first: &ProbedValue| first.r#type == "session" && (first.has("version") || first.has("cwd"));
        let is_session = probe.first().is_some_and(is_header) && !is_trace(probe);
        if is_session { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let log = PiLog::read(parts.as_ref())?;
        Ok(Box::new(PiDocument { parts, log }))
    }
}

/// A session file of pi.
#[derive(Debug)]
struct PiDocument {
    parts: Box<dyn Parts>,
    log: PiLog,
}

/// The content of a file.
#[derive(Debug)]
struct PiLog {
    /// The positions of the entries in the file; their contents are read on demand.
    session: Session,
    lines: Vec<LinePlace>,
    /// The last line, if it was cut off while it was written.
    truncated: Option<usize>,
    n_bytes: u64,
    /// Set if the lines end with a line feed.
    is_ended: bool,
}

/// The position of a line that is not blank.
#[derive(Clone, Copy, Debug)]
struct LinePlace {
    number: usize,
    at: u64,
    len: usize,
}

impl PiLog {
    fn read(parts: &dyn Parts) -> Result<Self, FormatError> {
        let n_bytes = parts.len("")?.unwrap_or(0);
        let mut lines = Lines::new(PartReader::new(parts, "", 0)?.take(n_bytes));
        let (mut places, mut truncated, mut is_ended) = (Vec::new(), None, true);
        while let Some(line) = lines.next_line()? {
            places.push(LinePlace { number: line.number, at: line.at, len: line.bytes.len() });
            truncated = line.is_truncated().then_some(line.number);
            is_ended = line.is_ended;
        }
        // Nothing is written through it, so it needs no ids.
        let session = opened(parts, 0).map_err(of_log)?;
        Ok(Self { session, lines: places, truncated, n_bytes, is_ended })
    }
}

/// Opens the session of a file, whose lines stay where they are.
fn opened(parts: &dyn Parts, seed: u64) -> Result<Session, SessionError> {
    let again = parts.reopen().and_then(MemoryStore::over);
    let store = again.map_err(|source| StoreError::Lines { source })?;
    Session::open(Box::new(store), IdSource::new(seed))
}

impl Document for PiDocument {
    fn format(&self) -> &'static dyn Format {
        &Pi
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let session = &self.log.session;
        let mut view = View::new(Pi.name(), ToolVocabulary::BASIC);
        let (context, unread) = session.context_and_notes(session.leaf(), Unpaired::Sent).map_err(of_log)?;
        view.notes = self.notes(&unread, &self.lost(&context, &unread));
        if let Some(Message::CompactionSummary { tokens_before, .. }) = context.messages.first() {
            view.notes.push(Note::compaction(*tokens_before));
        }
        view.model = context.model.clone().or_else(|| session.header().model_id.clone());
        for (at, (entry, message)) in context.entries.iter().zip(&context.messages).enumerate() {
            view.provenance.push(self.place(entry, message));
            if !ContextEdit::applies_to(message) {
                view.provenance.fix(at);
            }
        }
        let Segment { messages, usage, .. } = segment(context);
        (view.messages, view.usage) = (messages, usage);
        Ok(view)
    }

    fn lost_roles(&self, _: &str) -> Result<Vec<MissingRole>, FormatError> {
        let session = &self.log.session;
        let (context, unread) = session.context_and_notes(session.leaf(), Unpaired::Sent).map_err(of_log)?;
        Ok(self.lost(&context, &unread))
    }

    /// Returns the messages sent before each compaction on the path to the leaf, and finally those
    /// sent now.
    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let session = &self.log.session;
        let ends = session.segment_ends(session.leaf()).map_err(of_log)?;
        let n = ends.len();
        let read = move |at: usize| session.context_and_notes(ends[at].as_ref(), Unpaired::Sent);
        Ok(Segments::new(n, move |at| read(at).map(|(context, _)| segment(context)).map_err(of_log)))
    }

    /// Appends a compaction, then edits; to undo them, the branch without them.
    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let Wanted { view, items, stamp, .. } = *wanted;
        let mut session = opened(self.parts.as_ref(), stamp.seed).map_err(refused)?;
        let n_entries = session.tree().nodes().len();
        if items.iter().any(|item| matches!(item, Item::Old(_))) {
            let (first, last) = self.written_between(items)?;
            session.undo_entries(&first, &last, stamp.now_ms).map_err(refused)?;
        } else {
            for kind in self.entries(view, items, stamp)? {
                session.append(&kind, stamp.now_ms).map_err(refused)?;
            }
        }
        let mut new = if self.log.is_ended { Vec::new() } else { b"\n".to_vec() };
        session.write_entries(n_entries, &mut new).map_err(refused)?;
        Ok(ChangeSet::append("", self.log.n_bytes, new))
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.log = PiLog::read(self.parts.as_ref())?;
        Ok(())
    }
}

impl PiDocument {
    fn place(&self, entry: &EntryId, message: &Message) -> Option<Place> {
        let record = self.record(self.log.session.tree().node(entry)?.line)?;
        Some(Place::whole(record, message))
    }

    /// Returns the position of a line.
    fn record(&self, line: usize) -> Option<Span> {
        let at = self.log.lines.binary_search_by_key(&line, |place| place.number).ok()?;
        let LinePlace { at, len, .. } = self.log.lines[at];
        Some(Span { at, len: len as u64, ..Span::default() })
    }

    fn context(&self) -> Result<Context, NotExpressible> {
        let session = &self.log.session;
        let context = session.context_and_notes(session.leaf(), Unpaired::Sent);
        context.map(|(context, _)| context).map_err(refused)
    }

    /// Returns notes on what was skipped: lines that are not entries, entries that the model would
    /// see, and those that no provider accepts.
    fn notes(&self, unread: &[LogNote], lost: &[MissingRole]) -> Vec<Note> {
        let bad = self.log.session.notes().iter().chain(unread).filter_map(bad_line);
        let is_reported =
            |line: &usize| Some(*line) == self.log.truncated || lost.iter().any(|it| it.line == *line);
        let bad: Vec<usize> = bad.filter(|line| !is_reported(line)).collect();
        let unreadable = bad.iter().min().map(|line| Note::UnreadableRecords { n: bad.len(), line: *line });
        let truncated = self.log.truncated.map(|line| Note::TruncatedLastLine { line });
        let newer = self.log.session.notes().iter().find_map(|note| match note {
            LogNote::NewerVersion { version } => Some(Note::NewerVersion { version: *version }),
            _ => None,
        });
        let left_out = unread.iter().filter_map(|note| match *note {
            LogNote::OrphanResults { n } => Some(Note::OrphanResults { n }),
            LogNote::RepeatedResults { n } => Some(Note::RepeatedResults { n }),
            LogNote::UnansweredCalls { n } => Some(Note::UnansweredCalls { n }),
            LogNote::LostParent { line } => Some(Note::LostParent { line }),
            _ => None,
        });
        let lost = note_of(lost);
        unreadable.into_iter().chain(lost).chain(newer).chain(truncated).chain(left_out).collect()
    }

    /// Returns the messages that lost their role, of lines that are not read.
    fn lost(&self, context: &Context, unread: &[LogNote]) -> Vec<MissingRole> {
        let said = |line: usize| -> Option<(Span, Value)> {
            let entry = self.record(line)?;
            let bytes = self.parts.bytes(&entry).ok()?;
            let place = find(&bytes, &["message"])?;
            let said = serde_json::from_slice(&bytes[place.clone()]).ok()?;
            lost_role_of_pi(&said, None, None)?;
            Some((
                Span { at: entry.at + place.start as u64, len: place.len() as u64, ..Span::default() },
                said,
            ))
        };
        let bad = unread.iter().filter_map(bad_line);
        let lost: Vec<_> = bad.filter_map(|line| Some((line, said(line)?))).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let line = |entry: &EntryId| Some(self.log.session.tree().node(entry)?.line);
        let read = context.entries.iter().zip(&context.messages);
        let mut sides: Vec<(usize, Side)> =
            read.filter_map(|(entry, message)| Some((line(entry)?, side_of_message(message)?))).collect();
        sides.extend(lost.iter().map(|(line, _)| (*line, Side::Lost)));
        sides.sort_by_key(|(line, _)| *line);
        let role = |line: usize, said: &Value| {
            let at = sides.partition_point(|(other, _)| *other < line);
            let side = |at: Option<usize>| Some(sides.get(at?)?.1);
            lost_role_of_pi(said, side(at.checked_sub(1)), side(Some(at + 1)))?.0
        };
        let missing = |(line, (record, said))| MissingRole { role: role(line, &said), record, line };
        lost.into_iter().map(missing).collect()
    }

    /// Returns the first and the last entry that one step wrote after the old records of the items
    /// and before the messages that came since: a compaction and the edits and answers next to
    /// it, or these alone, all of one time.
    fn written_between(&self, items: &[Item<'_>]) -> Result<(EntryId, EntryId), NotExpressible> {
        let context = self.context()?;
        let path = self.log.session.path().map_err(refused)?;
        let is_old = |entry: &Node| {
            let span = self.record(entry.line);
            items.iter().any(|item| matches!(item, Item::Old(old) if Some(old) == span.as_ref()))
        };
        let since = items.iter().find_map(|item| match item {
            Item::Same(at) => context.entries.get(*at),
            _ => None,
        });
        let start = path.iter().rposition(is_old).map_or(0, |at| at + 1);
        let end = since.and_then(|id| path.iter().rposition(|entry| entry.id == *id)).unwrap_or(path.len());
        let is_edit = |entry: &Node| entry.tag == EntryTag::ContextEdit;
        let is_answer = |entry: &Node| entry.tag == EntryTag::Message;
        let written = path.get(start..end).unwrap_or_default();
        let compaction = written.iter().rposition(|entry| entry.tag == EntryTag::Compaction);
        let at = compaction.or_else(|| written.iter().rposition(is_edit));
        let at = at.or_else(|| written.iter().position(is_answer));
        let at = at.ok_or_else(|| refused(SessionError::NothingToUndo))?;
        let is_of_step =
            |entry: &&Node| (is_edit(entry) || is_answer(entry)) && entry.timestamp == written[at].timestamp;
        let n_after = written[at + 1..].iter().take_while(is_of_step).count();
        let is_alone = compaction.is_none();
        let n_before = written[..at].iter().rev().take_while(|entry| is_alone && is_of_step(entry)).count();
        Ok((written[at - n_before].id.clone(), written[at + n_after].id.clone()))
    }

    /// Returns the entries that make the view into the items: a compaction, edits, and answers to
    /// calls at the end.
    fn entries(
        &self,
        view: &View,
        items: &[Item<'_>],
        stamp: &Stamp,
    ) -> Result<Vec<EntryKind>, NotExpressible> {
        let context = self.context()?;
        let (items, answers) = without_answers(items);
        let (digest, kept) = match items {
            [Item::New(digest), kept @ ..] => (Some(*digest), kept),
            kept => (None, kept),
        };
        let first = kept.iter().find_map(message_of);
        let n_messages = view.messages.len();
        let mut next = if digest.is_some() { first.unwrap_or(n_messages) } else { 0 };
        let mut places = Vec::with_capacity(kept.len());
        for item in kept {
            let (at, body) = match item {
                Item::Same(at) => (*at, None),
                Item::Body(at, body) => (*at, Some(Content::Blocks(body.to_vec()))),
                Item::New(_) => {
                    return Err(no("a new message but a digest in front and answers to calls at the end"));
                }
                Item::Old(_) => return Err(no("records of before among others")),
            };
            check_gap(view, next..at)?;
            next = at + 1;
            if body.is_some() && view.provenance.fixed().contains(&at) {
                return Err(no("another body for what is no list of blocks"));
            }
            places.push((at, body));
        }
        check_gap(view, next..n_messages)?;
        let digest = digest.map(|digest| compaction(digest, stamp)).transpose()?;
        let mut entries = compaction_entries(&context.entries, &places, digest);
        entries.extend(answers.map(|answer| EntryKind::from(answer.clone())));
        Ok(entries)
    }
}

/// Returns the line that a note calls no entry.
fn bad_line(note: &LogNote) -> Option<usize> {
    match note {
        LogNote::BadLine { line, .. } => Some(*line),
        _ => None,
    }
}

/// Refuses a gap in which more is hidden than results, such as those without a call.
fn check_gap(view: &View, gone: Range<usize>) -> Result<(), NotExpressible> {
    if gone.start > gone.end || !view.messages[gone].iter().all(is_result) {
        return Err(no("a gap between the messages that stay"));
    }
    Ok(())
}

fn is_result(message: &Message) -> bool {
    matches!(message, Message::ToolResult { .. })
}

/// Returns the items before the new tool results at their end, and these results.
fn without_answers<'a>(items: &'a [Item<'_>]) -> (&'a [Item<'a>], impl Iterator<Item = &'a Message>) {
    let answer = |item: &'a Item<'_>| match item {
        Item::New(message @ Message::ToolResult { .. }) => Some(*message),
        _ => None,
    };
    let n = items.iter().rev().map_while(answer).count();
    let (rest, answers) = items.split_at(items.len() - n);
    (rest, answers.iter().filter_map(answer))
}

fn compaction(digest: &Message, stamp: &Stamp) -> Result<Compaction, NotExpressible> {
    let summary = markers::digest_body(digest).ok_or_else(|| no("a new message that is no digest"))?;
    let (summary, tokens_before) = (summary.into_owned(), stamp.tokens_before);
    Ok(Compaction { summary, tokens_before, ..Compaction::default() })
}

fn no(what: &str) -> NotExpressible {
    NotExpressible::Refused { format: Pi.name(), why: what.to_owned() }
}

fn refused(error: SessionError) -> NotExpressible {
    match error {
        SessionError::OtherLayout { version } => NotExpressible::Layout { format: Pi.name(), version },
        error => NotExpressible::Refused { format: Pi.name(), why: error.to_string() },
    }
}

fn segment(context: Context) -> Segment {
    let current = context.requests.into_iter().filter(|request| request.is_current);
    let usage = current.map(|it| UsageAt { at: it.at, usage: it.usage, model: it.model }).collect();
    Segment::new(context.messages, usage)
}

/// Converts the error of a log to that of a format.
fn of_log(error: SessionError) -> FormatError {
    match error {
        SessionError::Io { source, .. } => FormatError::Io(source),
        SessionError::Empty => FormatError::Empty,
        error => {
            FormatError::Log { line: error.line(), what: error.to_string(), hint: error.hint().to_owned() }
        }
    }
}
