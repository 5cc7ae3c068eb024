//! One session of a database: its name on a command line, `opencode.db/ses_1`, and its document.

use std::path::{Path, PathBuf};

use wb_record::{
    ChangeSet, Document, Format, FormatError, MissingRole, NotExpressible, Parts, Segments, View, Wanted,
};

/// Returns the name of a session in a database.
pub(crate) fn path_in(database: &Path, session: &str) -> PathBuf {
    database.join(session)
}

/// Splits a name into the file and the session in it, if it names one: nothing is below a file.
pub(crate) fn split(path: &Path) -> (&Path, Option<&str>) {
    let session = path.file_name().and_then(|name| name.to_str());
    match path.parent().filter(|file| file.is_file()) {
        Some(file) if session.is_some() => (file, session),
        _ => (path, None),
    }
}

/// Returns the file that a name is in.
pub(crate) fn file_of(path: &Path) -> &Path {
    split(path).0
}

/// A document of which only one conversation counts.
#[derive(Debug)]
pub(crate) struct OneSession {
    document: Box<dyn Document>,
    name: String,
}

impl OneSession {
    /// Selects a conversation that the document has.
    pub(crate) fn new(document: Box<dyn Document>, name: &str) -> Result<Self, FormatError> {
        if document.conversations()?.iter().any(|known| known == name) {
            return Ok(Self { document, name: name.to_owned() });
        }
        let what = format!("it has no session {name:?}");
        Err(FormatError::Log { line: None, what, hint: "`wb` lists its sessions".to_owned() })
    }
}

impl Document for OneSession {
    fn format(&self) -> &'static dyn Format {
        self.document.format()
    }

    fn abilities(&self) -> wb_record::Abilities {
        self.document.abilities()
    }

    fn conversations(&self) -> Result<Vec<String>, FormatError> {
        Ok(vec![self.name.clone()])
    }

    fn view(&self, conversation: &str) -> Result<View, FormatError> {
        self.document.view(conversation)
    }

    fn segments(&self, conversation: &str) -> Result<Segments<'_>, FormatError> {
        self.document.segments(conversation)
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
        self.document.refresh()
    }
}
