//! The settings of a session's digests, from the files of indusagi or else of pi.

use std::io;
use std::path::{Path, PathBuf};

use wb_session::SessionSettings;
use wb_session::read_settings;

use super::session_log::OpenLog;
use crate::terminal::escape::escaped;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The settings folders of the agents; the first with a file in a place has precedence there.
const FOLDERS: [&str; 2] = [".indusagi", ".pi"];

/// The summary settings and the files that they are from.
#[derive(Debug)]
pub(crate) struct SummarySettings {
    pub(crate) values: SessionSettings,
    /// The user's file and the project's, as far as they are there.
    pub(crate) files: Vec<String>,
}

impl SummarySettings {
    /// Reads the settings for a session; reports problems with the files on stderr.
    pub(crate) fn read(shell: &Shell, log: &OpenLog) -> Result<Self, UserError> {
        let folders = FOLDERS.map(Path::new);
        let home = shell.environment.home.as_deref();
        let global = home.and_then(|home| first(folders.map(|it| home.join(it).join("agent/settings.json"))));
        // Another directory than the session's is meant by a path that depends on where this runs.
        let project = log.session.header().cwd.as_deref().map(Path::new).filter(|cwd| cwd.is_absolute());
        let project = project.and_then(|cwd| first(folders.map(|it| cwd.join(it).join("settings.json"))));
        let read = read_settings(global.as_deref(), project.as_deref());
        let read = read.map_err(|error| UserError::of_file("settings", error.to_string(), error.hint()))?;
        for note in &read.notes {
            shell.say(|page| page.prose("note: ", 6, &escaped(&note.to_string())));
        }
        let files = [global, project].into_iter().flatten().map(|path| path.display().to_string()).collect();
        Ok(Self { values: read.settings, files })
    }

    /// Writes the sources of the settings, dimmed.
    pub(crate) fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let files = match self.files.as_slice() {
            [] => "the defaults, for there is no settings.json".to_owned(),
            files => files.join(", then "),
        };
        page.prose("  ", 4, &format!("{DIM}settings: {}{DIM:#}", escaped(&files)))
    }
}

fn first(paths: [PathBuf; 2]) -> Option<PathBuf> {
    paths.into_iter().find(|path| path.try_exists().unwrap_or(true))
}
