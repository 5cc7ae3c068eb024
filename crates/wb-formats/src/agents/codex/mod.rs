//! Rollouts of Codex: JSON lines, each an item of the Responses API or a note of the host.
//!
//! The files in reading order: the `outcome` of a tool, the `rows` of a file, `assemble`, which
//! joins items to messages, and `render`, which appends a compaction.

mod outcome;
mod rows;
mod assemble;
mod render;

use std::io;
use std::path::{Path, PathBuf};

use wb_message::markers::is_opaque;
use wb_message::{Message, ToolVocabulary};
use wb_record::{
    Abilities, ChangeSet, Confidence, Document, Format, FormatError, MissingRole, NotExpressible, Note,
    Parts, Probe, ProbedValue, Segments, View, Wanted,
};

use self::assemble::{AssembledRollout, assemble};
use self::rows::RolloutRows;
use crate::kit::missing_roles::note_of;

const NAME: &str = "codex";

/// Rollouts of Codex, of all versions.
///
/// * What the model says, thinks and asks for in a row is one answer; results are messages of their
///   own and count as failed by their exit code. Calls that the provider carries out itself are
///   texts of the answer.
/// * Developer and system texts are pinned custom messages, and so are the rules of the project and
///   the environment ([`ENVIRONMENT_TYPE`](wb_message::markers::ENVIRONMENT_TYPE)): the host sends
///   them once and counts on them. What else it puts in the user's place is a custom message of
///   type `meta`. A command that the user ran is a message of its own, with its output. An
///   encrypted summary is pinned, since nothing can replace it.
/// * After a compaction the model sees its `replacement_history`; older versions kept the user's
///   messages and added a summary. What the user went back over is left out. Usage is given for the
///   requests since.
/// * Results without a call are not sent, and left out; one before its call is sent there, and
///   shown. The host itself answers calls without a result. Lines that are not JSON are noted and
///   left alone.
///
/// A compaction is appended, with a copy of every item that stays, byte for byte; nothing else in
/// the file changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Codex;

impl Format for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        if probe.values.iter().any(is_line) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let rows = RolloutRows::read(parts.as_ref())?;
        Ok(Box::new(CodexDocument { parts, rows }))
    }
}

/// Recognizes a line by its envelope, or lines of the oldest versions by fields unique to them.
fn is_line(line: &ProbedValue) -> bool {
    let is_known = matches!(
        line.r#type.as_str(),
        "session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted" | "world_state"
    );
    let is_first = line.has("id") && line.has("timestamp") && line.has("instructions");
    (is_known && line.has("timestamp") && line.has("payload")) || line.has("record_type") || is_first
}

/// Turns a compaction that nobody can read into an empty digest, which the next compaction replaces
/// by what the rollout has from before it.
fn release_opaque(message: &mut Message) {
    if is_opaque(message) {
        *message = Message::CompactionSummary { summary: String::new(), tokens_before: 0 };
    }
}

/// Returns where Codex holds a lock while it writes a session: next to the sessions, in
/// `$CODEX_HOME`. Returns `None` if the file does not identify its session.
///
/// A host may still own a session after its window was closed. Try the lock before writing.
pub fn lock_path(parts: &dyn Parts, codex_home: &Path) -> io::Result<Option<PathBuf>> {
    let rows = RolloutRows::read(parts).map_err(|error| match error {
        FormatError::Io(error) => error,
        error => io::Error::other(error),
    })?;
    let is_name = |id: &String| {
        !id.is_empty() && id.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'))
    };
    let id = rows.thread_id.filter(is_name);
    Ok(id.map(|id| codex_home.join("thread-writer-locks").join(format!("{id}.lock"))))
}

/// A rollout of Codex.
#[derive(Debug)]
struct CodexDocument {
    parts: Box<dyn Parts>,
    rows: RolloutRows,
}

impl Document for CodexDocument {
    fn format(&self) -> &'static dyn Format {
        &Codex
    }

    fn abilities(&self) -> Abilities {
        if self.rows.is_bare { Abilities::none(render::BARE) } else { Codex.abilities() }
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let rows = &self.rows;
        let last = rows.segments().pop().unwrap_or_default();
        let AssembledRollout { segment, provenance, passed, tokens_before, lost } =
            assemble(rows, self.parts.as_ref(), last);
        let mut view = View::new(NAME, ToolVocabulary::CODEX);
        (view.messages, view.usage, view.provenance) = (segment.messages, segment.usage, provenance);
        view.model.clone_from(&rows.model);
        view.context_window = rows.context_window;
        if rows.undecryptable.is_some() {
            view.messages.iter_mut().for_each(release_opaque);
        }
        let undecryptable = rows.undecryptable.map(|line| Note::UndecryptableCompaction { line });
        let truncated = rows.truncated.map(|line| Note::TruncatedLastLine { line });
        let compacted = tokens_before.map(Note::compaction);
        let passed = rows.passed.notes(passed).into_iter().chain(note_of(&lost));
        view.notes = truncated.into_iter().chain(undecryptable).chain(passed).chain(compacted).collect();
        Ok(view)
    }

    fn lost_roles(&self, _: &str) -> Result<Vec<MissingRole>, FormatError> {
        let last = self.rows.segments().pop().unwrap_or_default();
        Ok(assemble(&self.rows, self.parts.as_ref(), last).lost)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let (rows, parts) = (&self.rows, self.parts.as_ref());
        let all = rows.segments();
        Ok(Segments::new(all.len(), move |at| Ok(assemble(rows, parts, all[at].clone()).segment)))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        render::render(&self.rows, self.parts.as_ref(), wanted)
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
        self.rows.refresh(self.parts.as_ref())
    }
}
