//! The shortest words that name sessions in a command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::find_session::ChosenSession;
use super::known_sessions::KnownSessions;
use crate::platform::environment::Environment;
use crate::terminal::escape::{file_word, remember_word};

/// The ids of known sessions by their files, and the working folder.
#[derive(Debug, Default)]
pub(crate) struct SessionWords {
    ids: HashMap<PathBuf, String>,
    working: Option<PathBuf>,
}

impl SessionWords {
    /// Reads the ids of all known sessions.
    pub(crate) fn read(environment: &Environment) -> Self {
        let known = KnownSessions::read(environment);
        let ids = known.all.iter().map(|it| (real(&it.found.path), it.id.clone())).collect();
        known.close();
        Self { ids, working: environment.working.clone() }
    }

    /// Returns the word for a session: its id, or its path from here.
    pub(crate) fn word(&self, path: &Path) -> String {
        let below = || path.strip_prefix(self.working.as_deref()?).ok();
        let id = self.ids.get(&real(path)).map(Path::new);
        file_word(id.or_else(below).unwrap_or(path))
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Prints later commands with the id of a session, or with its path from here.
pub(crate) fn shorten(environment: &Environment, chosen: &ChosenSession) {
    let path = &chosen.path;
    let below = || path.strip_prefix(environment.working.as_deref()?).ok();
    let id = chosen.known.as_ref().map(|known| Path::new(&known.id));
    if let Some(word) = id.or_else(below) {
        remember_word(path, word);
    }
}
