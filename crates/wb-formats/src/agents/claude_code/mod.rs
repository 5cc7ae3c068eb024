//! Session files of Claude Code: JSON lines, several for one answer of the model.
//!
//! The files in reading order: the `head` of a line, the `rows` as a forest, the `body` of a line,
//! the `live` lines, and `assemble`, which joins them to messages; then a `record` as we write it,
//! and `render`, which writes a view.

mod line_maps;
mod head;
mod prompt_queue;
mod rows;
mod body;
mod live;
mod assemble;
mod record;
mod render;

use std::io;

use wb_message::{Aside, ToolVocabulary};
use wb_record::{
    Abilities, ChangeSet, Confidence, Document, Format, FormatError, Item, NotExpressible, Note, Parts,
    Probe, ProbedValue, Segments, View, Wanted,
};

use self::assemble::{Assembled, assemble};
use self::body::Bodies;
use self::live::{Live, SegmentLines};
use self::prompt_queue::QueuedPrompt;
use self::record::refused;
use self::render::Renderer;
use self::rows::Rows;
use crate::kit::log::line_of;

/// Session files of Claude Code, and the web exports that hold their lines under `loglines`.
///
/// * Lines of one answer are joined by `message.id` wherever they are; its usage counts once, with
///   the largest answer. Tool results follow the answer with their call, a text next to a result
///   comes after them.
/// * The conversation is the path to its last line. Lines of subagents are left apart, unless the
///   file holds nothing else. What `toolUseResult` says is for the screen.
/// * After a compaction the model sees the digest, the lines that were preserved, and what follows.
///   Results that were cleared have the placeholder as body. Usage is given for the requests since
///   the last of both.
/// * Attachments with a text are custom messages of their type, host text in the user's place is
///   one of type `meta`, and user input while the model worked is a user message. Messages that
///   only report a failed request are left out.
/// * Prompts that were queued while the model worked, and that no line repeats, are no messages:
///   the model may have seen them, but no request repeats them. They are the segment's asides.
/// * Documents are texts: their own, or one that names their type.
/// * Changes are appended, as the host does when it compacts: the line of the compaction, the
///   digest, and the rest by reference to existing lines. Cleared and shortened results, with
///   everything before them, are copied. An export is read only.
/// * A line that is not JSON stays where it is, and a line whose parent is missing is read as its
///   child. Lines that cannot be read, and those of an unknown type, are noted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClaudeCode;

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_ours = probe.first().is_some_and(is_export) || probe.values.iter().any(is_row);
        if is_ours { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let is_export = is_export_file(parts.as_ref())?;
        let rows = if is_export { Rows::of_export(parts.as_ref()) } else { Rows::of_lines(parts.as_ref()) }?;
        Ok(Box::new(ClaudeCodeDocument { parts, rows, is_export }))
    }
}

/// The reason why an export is not written.
const READ_ONLY: &str = "a web export is read only";

/// A session file of Claude Code.
#[derive(Debug)]
struct ClaudeCodeDocument {
    parts: Box<dyn Parts>,
    rows: Rows,
    is_export: bool,
}

impl ClaudeCodeDocument {
    /// Returns the segment that the session continues with.
    fn last(&self) -> SegmentLines {
        self.rows.segment_lines().pop().unwrap_or_default()
    }

    fn live(&self, segment: &SegmentLines) -> io::Result<(Live, Bodies<'_>)> {
        let mut bodies = Bodies::new(self.parts.as_ref(), &self.rows);
        Ok((self.rows.live(segment, &mut bodies)?, bodies))
    }

    fn assembled(&self, segment: &SegmentLines) -> io::Result<Assembled> {
        let (live, bodies) = self.live(segment)?;
        let mut assembled = assemble(&self.rows, &live, &segment.lines, bodies);
        let number = |at: usize| line_of(self.parts.as_ref(), self.rows.all[at].record.start);
        if let Some(at) = live.lost {
            assembled.notes.push(Note::LostParent { line: number(at)? });
        }
        if let Some((at, behind)) = live.on_copy {
            let n_summarized = assembled.n_before(self.rows.all[at].record.start);
            let note = Note::CopiedParent { line: number(at)?, behind: number(behind)?, n_summarized };
            assembled.notes.push(note);
        }
        let unsaid: Vec<_> = self.rows.unsaid(&segment.lines).collect();
        if let Some(first) = unsaid.first() {
            assembled.notes.push(Note::QueuedPrompts { n: unsaid.len(), line: first.line });
        }
        let aside = |prompt: &QueuedPrompt| Aside {
            n_before: assembled.n_before(prompt.start),
            words: prompt.words.clone(),
        };
        assembled.segment.asides = unsaid.into_iter().map(aside).collect();
        Ok(assembled)
    }
}

impl Document for ClaudeCodeDocument {
    fn format(&self) -> &'static dyn Format {
        &ClaudeCode
    }

    fn abilities(&self) -> Abilities {
        if self.is_export { Abilities::none(READ_ONLY) } else { ClaudeCode.abilities() }
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let Assembled { segment, provenance, model, notes } = self.assembled(&self.last())?;
        let mut view = View::new(ClaudeCode.name(), ToolVocabulary::CLAUDE_CODE);
        (view.messages, view.usage, view.model) = (segment.messages, segment.usage, model);
        view.provenance = provenance;
        view.notes = self.rows.notes().into_iter().chain(notes).collect();
        Ok(view)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let all = self.rows.segment_lines();
        Ok(Segments::new(all.len(), move |at| Ok(self.assembled(&all[at])?.segment)))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        if self.is_export {
            return Err(refused(READ_ONLY));
        }
        let (live, _) = self.live(&self.last()).map_err(NotExpressible::unreadable)?;
        let mut renderer = Renderer::new(self.parts.as_ref(), &self.rows, &live.order, wanted.view)?;
        if wanted.items.iter().any(|item| matches!(item, Item::Old(_))) {
            renderer = renderer.with_cleared()?;
        }
        renderer.render(wanted.items, live.tip, wanted.stamp)
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        // A change may now be anywhere.
        self.rows.unseal();
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        if self.is_export {
            self.rows = Rows::of_export(self.parts.as_ref())?;
        } else if self.rows.is_beginning_of(self.parts.as_ref())? {
            self.rows.read_on(self.parts.as_ref())?;
        } else {
            self.rows = Rows::of_lines(self.parts.as_ref())?;
        }
        Ok(())
    }
}

/// Returns whether a file is an export. For most files, the start is enough to rule it out.
fn is_export_file(parts: &dyn Parts) -> io::Result<bool> {
    let mut head = Vec::new();
    parts.read("", 0..64 * 1024, &mut head)?;
    let may_be = memchr::memmem::find(&head, b"\"loglines\"").is_some();
    Ok(may_be && ProbedValue::all(&head).first().is_some_and(is_export))
}

fn is_export(first: &ProbedValue) -> bool {
    first.has("loglines")
}

/// Returns whether this is a line of a session, by its type and the fields that go with it; the
/// type may come after the end of the head.
fn is_row(probe: &ProbedValue) -> bool {
    let message = probe.inner.as_deref();
    let has_message = message.is_some_and(|message| message.has("content") && !message.has("parts"));
    // Output for programs has no links and spells the session key differently.
    let is_printed = probe.has("session_id") && !probe.has("sessionId");
    match probe.r#type.as_str() {
        _ if is_printed => false,
        "user" | "assistant" => has_message,
        "" => has_message && probe.has("parentUuid"),
        "summary" => probe.has("leafUuid"),
        "file-history-snapshot" => probe.has("messageId"),
        "queue-operation" | "permission-mode" | "mode" => probe.has("sessionId"),
        "system" | "progress" | "attachment" => probe.has("parentUuid") && probe.has("isSidechain"),
        _ => false,
    }
}
