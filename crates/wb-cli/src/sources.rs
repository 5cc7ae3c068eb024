//! The files that are replayed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wb_formats::FormatError;
use wb_replay::Session;

use crate::session::bytes_of;

/// Endings of the files of a folder that are taken for sessions.
const ENDINGS: [&str; 2] = ["jsonl", "json"];

/// A file that may be a session.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    name: String,
}

/// A file that could not be read.
#[derive(Debug, Serialize)]
pub(crate) struct Skipped {
    pub(crate) file: String,
    pub(crate) error: String,
    pub(crate) hint: String,
}

/// Returns the files that were named, and those in named folders and below, in order of their names, each once.
pub(crate) fn all(paths: &[PathBuf]) -> Vec<Source> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            below(path, &mut files);
        } else {
            files.push(path.clone());
        }
    }
    let mut known = HashSet::new();
    files.retain(|path| known.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    let source = |path: PathBuf| Source { name: path.display().to_string(), path };
    files.into_iter().map(source).collect()
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else {
        // Reading it as a file says why it cannot be listed.
        return files.push(folder.to_owned());
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
            below(&path, files);
        } else if path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known)) {
            files.push(path);
        }
    }
}

impl Source {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the session.
    pub(crate) fn read(&self) -> Result<Session, Skipped> {
        let skipped = |error: FormatError| Skipped {
            file: self.name.clone(),
            error: error.to_string(),
            hint: error.hint().to_owned(),
        };
        let bytes = bytes_of(&self.path).map_err(|error| skipped(error.into()))?;
        Session::read(&self.name, &bytes).map_err(skipped)
    }
}
