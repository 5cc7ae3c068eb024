//! The files that are meant by names of files and folders.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::args::database_url::is_database;
use crate::platform::environment::Environment;
#[cfg(feature = "postgres")]
use crate::session::find::postgres;

/// Endings of the files of a folder that are taken for sessions.
const ENDINGS: [&str; 3] = ["jsonl", "json", "traj"];

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
/// sorted by name without duplicates and without what `wb` keeps for itself.
pub(crate) fn all(environment: &Environment, paths: &[PathBuf]) -> Vec<InputSource> {
    let mut sources = with_duplicates(paths);
    let folders = [&environment.cache, &environment.state, &environment.config].into_iter().flatten();
    let ours: Vec<PathBuf> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    let mut known = HashSet::new();
    sources.retain(|source| {
        let path = source.path.canonicalize().unwrap_or_else(|_| source.path.clone());
        let is_ours = source.folder.is_some() && ours.iter().any(|folder| path.starts_with(folder));
        !is_ours && known.insert(path)
    });
    sources
}

fn with_duplicates(paths: &[PathBuf]) -> Vec<InputSource> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_the_session_files_below_it_and_each_file_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["c.jsonl", "b/a.json", "b/b.traj", "b/readme.md"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let file = folder.path().join("c.jsonl");
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).unwrap();
        fs::write(cache.join("sessions.jsonl"), "").unwrap();
        let environment = Environment { cache: Some(cache), ..Environment::default() };
        let found = all(&environment, &[file.clone(), folder.path().to_owned()]);
        let paths: Vec<_> = found.into_iter().map(|it| it.path).collect();
        assert_eq!(paths, [file, folder.path().join("b/a.json"), folder.path().join("b/b.traj")]);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_as_one_that_was_named() {
        let gone = Path::new("/nowhere/below");
        let mut found = Vec::new();
        below(Path::new("/nowhere"), gone, &mut found);
        assert_eq!(found, [InputSource { path: gone.to_owned(), folder: None }]);
    }
}
