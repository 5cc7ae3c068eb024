//! The session that an agent is holding in a project: the one that was written to last.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wb_message::{Message, Value};
use wb_recall::Recall;

use crate::args::Policy;
use crate::commands::recall::{find_session, session_index};
use crate::session::Session;
use crate::session::config::Config;
use crate::terminal::number::{grouped, messages};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;
use wb_bind::Strategy;

/// The newest session of a project, and its index as long as the file does not change.
pub(crate) struct RunningSession {
    shell: Shell,
    project: PathBuf,
    host: Option<&'static str>,
    indexed: Option<(FileState, Recall<Message>)>,
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    n_bytes: u64,
    modified: Option<SystemTime>,
}

impl FileState {
    fn read(path: &Path) -> Self {
        let file = fs::metadata(path).ok();
        let n_bytes = file.as_ref().map_or(0, fs::Metadata::len);
        Self { path: path.to_owned(), n_bytes, modified: file.and_then(|file| file.modified().ok()) }
    }
}

impl RunningSession {
    pub(crate) fn new(shell: Shell, project: PathBuf, host: Option<&'static str>) -> Self {
        Self { shell, project, host, indexed: None }
    }

    /// Answers a question about what was said.
    pub(crate) fn recall(&mut self, arguments: &Value) -> Result<String, UserError> {
        let answer = self.index()?.1.call(arguments);
        answer.map_err(|error| UserError::new(error.to_string(), "see the tool's schema"))
    }

    /// Reports how full the context is, what was folded, and what is pinned.
    pub(crate) fn context(&mut self) -> Result<String, UserError> {
        let (path, said) = self.index()?;
        let (path, n_said, first_visible) = (path.to_owned(), said.len(), said.first_visible());
        let session = Session::open(&self.shell, &path, Policy::default(), Strategy::default())?;
        let tokens = session.measure.context_tokens;
        let limit = session.agent_trigger.as_ref().map_or(session.limit, |agent| agent.tokens);
        let is_exact = if session.measure.anchored { "" } else { "about " };
        let mut out = format!(
            "The context has {is_exact}{} of {} tokens; it is compacted above {}.\n",
            grouped(tokens),
            grouped(session.window),
            grouped(limit)
        );
        // Writing to a string cannot fail.
        let _ = match first_visible {
            0 => writeln!(out, "All {} of the session are in view.", messages(n_said)),
            first => writeln!(
                out,
                "{} of the session, of which #0 to #{} are folded; `recall` looks them up.",
                messages(n_said),
                first - 1
            ),
        };
        let pins = Config::read(&self.shell.environment, Some(&self.project)).map(|config| config.pin);
        let pins = pins.unwrap_or_default();
        if pins.is_empty() {
            out.push_str("The settings pin nothing.\n");
        }
        for pin in pins {
            let _ = writeln!(out, "{}", pin.line());
        }
        Ok(out)
    }

    /// Returns the newest session and its index, which is kept as long as the file does not change.
    fn index(&mut self) -> Result<(&Path, &Recall<Message>), UserError> {
        let path = self.path()?;
        let state = FileState::read(&path);
        let known = self.indexed.take().filter(|(known, _)| *known == state);
        let recall = match known {
            Some((_, recall)) => recall,
            None => session_index::index(&self.shell, &path)?,
        };
        let (state, recall) = self.indexed.insert((state, recall));
        Ok((&state.path, recall))
    }

    fn path(&self) -> Result<PathBuf, UserError> {
        let newest = find_session::of_project(&self.shell.environment, &self.project, self.host);
        newest.into_iter().next().ok_or_else(|| {
            let what = format!("no session of {} was found", self.project.display());
            UserError::new(what, "start wb mcp in the project's folder, or name it with --project")
        })
    }
}
