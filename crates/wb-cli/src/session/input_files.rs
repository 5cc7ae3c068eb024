//! The files that are meant by names of files and folders.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::args::database_url::is_database;
#[cfg(feature = "postgres")]
use crate::session::postgres;

/// Endings of the files of a folder that are taken for sessions.
const ENDINGS: [&str; 2] = ["jsonl", "json"];

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputSource {
    pub(crate) path: PathBuf,
    /// The name of the folder that it was found in, as the user gave it; none if the file itself
    /// was named, or is a folder that cannot be listed.
    pub(crate) folder: Option<PathBuf>,
}

/// Returns whether a path is a folder or a database, which is shown as a list.
pub(crate) fn is_list(path: &Path) -> bool {
    path.is_dir() || is_database(path) && !path.to_string_lossy().contains('#')
}

/// Returns the named files, those in named folders and below, and the sessions of named databases,
/// sorted by name without duplicates.
pub(crate) fn all(paths: &[PathBuf]) -> Vec<InputSource> {
    let mut sources = Vec::new();
    for path in paths {
        #[cfg(feature = "postgres")]
        if is_database(path) {
            let folder = is_list(path).then(|| path.clone());
            let sources_of =
                |it: PathBuf| InputSource { folder: folder.clone().filter(|of| *of != it), path: it };
            sources.extend(postgres::session_names(path).into_iter().map(sources_of));
            continue;
        }
        if path.is_dir() {
            below(path, path, &mut sources);
        } else {
            sources.push(InputSource { path: path.clone(), folder: None });
        }
    }
    let mut known = HashSet::new();
    sources.retain(|source| known.insert(source.path.canonicalize().unwrap_or_else(|_| source.path.clone())));
    sources
}

fn below(root: &Path, folder: &Path, sources: &mut Vec<InputSource>) {
    let source = |path: PathBuf| InputSource { path, folder: Some(root.to_owned()) };
    let Ok(entries) = folder.read_dir() else {
        // Reading it as a file reports why it cannot be listed.
        return sources.push(InputSource { path: folder.to_owned(), folder: None });
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
            below(root, &path, sources);
        } else if path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known)) {
            sources.push(source(path));
        }
    }
}

impl InputSource {
    /// Returns the whole path as text.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the path below the folder that was named, or the session in a database.
    pub(crate) fn short_name(&self) -> String {
        if let Some((_, session)) = self.name().split_once('#').filter(|_| is_database(&self.path)) {
            return format!("#{session}");
        }
        let below = self.folder.as_deref().and_then(|folder| self.path.strip_prefix(folder).ok());
        below.unwrap_or(&self.path).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_the_session_files_below_it_and_each_file_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["c.jsonl", "b/a.json", "b/readme.md"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let file = folder.path().join("c.jsonl");
        let found = all(&[file.clone(), folder.path().to_owned()]);
        let names: Vec<_> = found.iter().map(InputSource::short_name).collect();
        assert_eq!(names, [file.to_str().unwrap(), "b/a.json"]);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_as_one_that_was_named() {
        let gone = Path::new("/nowhere/below");
        let mut found = Vec::new();
        below(Path::new("/nowhere"), gone, &mut found);
        assert_eq!(found, [InputSource { path: gone.to_owned(), folder: None }]);
    }
}
