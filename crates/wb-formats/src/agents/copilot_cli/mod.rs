//! Sessions of GitHub Copilot CLI: JSON lines of events, each of which names the one before.
//!
//! The files in reading order: one `event` and its meaning in a conversation, the `rows` of a file,
//! and `render`, which writes.

mod event;
mod rows;
mod render;

use wb_message::{ToolRole, ToolVocabulary};
use wb_record::{
    ChangeSet, Confidence, Document, Format, FormatError, NotExpressible, Note, Parts, Probe, ProbedValue,
    Segments, View, Wanted,
};

use self::rows::EventRows;

const NAME: &str = "copilot-cli";

/// The tools of Copilot CLI.
const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("view", ToolRole::Read),
        ("edit", ToolRole::Edit),
        ("create", ToolRole::Write),
        ("grep", ToolRole::Search),
        ("glob", ToolRole::Search),
        ("bash", ToolRole::Run),
        ("read_bash", ToolRole::Run),
        ("write_bash", ToolRole::Run),
        ("stop_bash", ToolRole::Run),
        ("shell", ToolRole::Run),
        ("powershell", ToolRole::Run),
        ("web_fetch", ToolRole::Fetch),
        ("web_search", ToolRole::Fetch),
        ("update_todo", ToolRole::Plan),
    ],
    path_keys: &["path"],
    part_keys: &["view_range"],
};

/// Sessions of GitHub Copilot CLI (`events.jsonl`).
///
/// * User messages are read as sent, with the host's additions. The system text is pinned, and the
///   last one counts; the host rewrites it. Its notices are custom messages of type `meta`.
/// * Results are events of their own and count as failed by their flag. What subagents said is left
///   apart.
/// * After a compaction of the host its summary precedes later events.
/// * From 1.0.95 on a record before each answer has the usage of its request, which counts cached
///   tokens as input, and the most tokens of a prompt.
///
/// A digest replaces the events that it summarizes, as a prompt of the user; after a compaction of
/// the host it is one of its compactions. Events whose parent is removed are linked to the event
/// before them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CopilotCli;

impl Format for CopilotCli {
    fn name(&self) -> &'static str {
        NAME
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let keys = ["data", "id", "timestamp", "parentId"];
        let is_event = |it: &ProbedValue| it.r#type.contains('.') && keys.iter().all(|key| it.has(key));
        if probe.values.iter().any(is_event) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let rows = EventRows::read(parts.as_ref())?;
        Ok(Box::new(CopilotCliDocument { parts, rows }))
    }
}

/// A session of Copilot CLI.
#[derive(Debug)]
struct CopilotCliDocument {
    parts: Box<dyn Parts>,
    rows: EventRows,
}

impl Document for CopilotCliDocument {
    fn format(&self) -> &'static dyn Format {
        &CopilotCli
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let rows = &self.rows;
        let last = rows.segments().pop().unwrap_or_default();
        let (draft, passed) = rows.assemble(self.parts.as_ref(), last);
        let (segment, provenance) = draft.finish();
        let mut view = View::new(NAME, VOCABULARY);
        (view.messages, view.usage, view.provenance) = (segment.messages, segment.usage, provenance);
        view.provenance.join_records();
        view.model.clone_from(&rows.model);
        view.context_window = rows.context_window;
        let sidechain = Some(rows.n_sidechain).filter(|n| *n > 0).map(|n| Note::SidechainLines { n });
        let compacted = rows.tokens_before.map(Note::compaction);
        let separated = rows.separated.map(|(n, line)| Note::LineSeparators { n, line });
        view.notes =
            rows.end.notes(passed).into_iter().chain(separated).chain(sidechain).chain(compacted).collect();
        Ok(view)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let (all, parts) = (self.rows.segments(), self.parts.as_ref());
        Ok(Segments::new(all.len(), move |at| Ok(self.rows.assemble(parts, all[at].clone()).0.finish().0)))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        render::render(self.parts.as_ref(), wanted, self.rows.tokens_before.is_some())
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.rows = EventRows::read(self.parts.as_ref())?;
        Ok(())
    }
}
