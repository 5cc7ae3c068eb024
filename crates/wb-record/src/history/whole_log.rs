//! A session with what its compactions replaced: some formats have one list of messages, which a
//! compaction rewrites.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::format::{Abilities, Document, Format, NotExpressible, Wanted};
use crate::history::History;
use crate::history::error::HistoryError;
use crate::history::operation::{Operation, OperationKind};
use crate::history::undo::{changed, has_splices};
use crate::json::reformatted::reformatted;
use crate::parts::change::ChangeSet;
use crate::parts::error::FormatError;
use crate::parts::part::{Access, Parts};
use crate::view::missing_role::MissingRole;
use crate::view::{Segments, View};

/// A session whose segments include messages that compactions replaced in its file, from the list
/// of operations next to it.
#[derive(Debug)]
pub struct WholeLog {
    document: Box<dyn Document>,
    path: PathBuf,
    /// The session without these compactions, read when first needed.
    before: OnceLock<Option<Box<dyn Document>>>,
}

impl WholeLog {
    /// Adds the replaced messages of the session at a path to its document.
    pub fn new(document: Box<dyn Document>, path: &Path) -> Self {
        Self { document, path: path.to_owned(), before: OnceLock::new() }
    }

    /// A list that cannot be read has nothing to add: `doctor` reports it.
    fn before(&self, conversation: &str) -> Option<&dyn Document> {
        let read = || {
            let path = self.path.canonicalize().ok()?;
            let mut history = History::open_for(&path, Access::Read).ok()?;
            history.detect_finished(self.document.as_ref()).ok()?;
            history.before_compactions(self.document.as_ref(), conversation).ok()?
        };
        self.before.get_or_init(read).as_deref()
    }
}

impl Document for WholeLog {
    fn format(&self) -> &'static dyn Format {
        self.document.format()
    }

    fn abilities(&self) -> Abilities {
        self.document.abilities()
    }

    fn conversations(&self) -> Result<Vec<String>, FormatError> {
        self.document.conversations()
    }

    fn view(&self, conversation: &str) -> Result<View, FormatError> {
        self.document.view(conversation)
    }

    fn segments(&self, conversation: &str) -> Result<Segments<'_>, FormatError> {
        let now = self.document.segments(conversation)?;
        let Some(before) = self.before(conversation) else { return Ok(now) };
        // What came since is in both.
        Ok(before.segments(conversation)?.and_last_of(now))
    }

    fn lost_roles(&self, conversation: &str) -> Result<Vec<MissingRole>, FormatError> {
        self.document.lost_roles(conversation)
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        self.document.render_changed(wanted)
    }

    fn parts(&self) -> &dyn Parts {
        self.document.parts()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.document.parts_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.before = OnceLock::new();
        self.document.refresh()
    }
}

impl History {
    /// Returns a session without the compactions that replaced records of it, as far as each can be
    /// undone in place; none if there is no such compaction.
    fn before_compactions(
        &self,
        document: &dyn Document,
        conversation: &str,
    ) -> Result<Option<Box<dyn Document>>, HistoryError> {
        let is_in_force = |it: &&Operation| {
            it.what == OperationKind::Compact && it.conversation == *conversation && !self.is_undone(it.id)
        };
        let mut before: Option<Box<dyn Document>> = None;
        for operation in self.operations().rev().filter(is_in_force) {
            let run = self.last_run(operation.id)?;
            if !has_splices(&run.changes) {
                continue;
            }
            let now = before.as_deref().unwrap_or(document);
            let back = run.changes.inverse();
            let is_fit = self.is_revertible(now, run)?;
            let back = if is_fit {
                Some(back)
            } else {
                reformatted(now.parts(), &back).map_err(FormatError::from)?
            };
            let copy = back.map(|back| changed(now, &back)).transpose()?.flatten();
            let Some(copy) = copy else { break };
            before = Some(copy);
        }
        Ok(before)
    }
}
