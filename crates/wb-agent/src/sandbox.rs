//! The only folder that the tools work in.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A folder that paths of a model may not leave, not by `..`, not by an absolute path and not by a
/// link.
///
/// It holds the tools that are given paths. A command of the shell begins in the folder and may go
/// where the user may.
#[derive(Clone, Debug)]
pub struct Sandbox {
    root: PathBuf,
}

impl Sandbox {
    /// Creates a sandbox of an existing folder.
    pub fn new(root: &Path) -> std::io::Result<Self> {
        let root = fs::canonicalize(root)?;
        if root.is_dir() { Ok(Self { root }) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
    }

    /// Returns the folder, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the target of a path of the model, or the reason that it may not be used; the file
    /// need not exist.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let outside = || format!("{path} is outside of the folder that this agent works in");
        let asked = self.root.join(path);
        if asked.components().any(|part| part == Component::ParentDir) && !asked.exists() {
            return Err(outside());
        }
        let found = real(&asked).map_err(|error| format!("{path}: {error}"))?;
        if found.starts_with(&self.root) { Ok(found) } else { Err(outside()) }
    }

    /// Returns a path as shown to the model: relative to the folder.
    pub(crate) fn display<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// Follows links as far as the path exists, and appends the rest.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        done => return done,
    }
    // Writing to a dangling link would follow it.
    if fs::symlink_metadata(path).is_ok() {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(real(parent)?.join(name)),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox() -> (tempfile::TempDir, Sandbox) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("in/src")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(dir.path().join("in/src/a.rs"), "a").unwrap();
        let sandbox = Sandbox::new(&dir.path().join("in")).unwrap();
        (dir, sandbox)
    }

    #[test]
    fn a_path_inside_is_found_whether_it_exists_or_not() {
        let (_dir, sandbox) = sandbox();
        for path in ["src/a.rs", "./src/../src/a.rs", "src/new.rs", "new/deep/b.rs", ".", ""] {
            assert!(sandbox.resolve(path).is_ok(), "{path}: {:?}", sandbox.resolve(path));
        }
        let absolute = sandbox.root().join("src/a.rs");
        assert_eq!(sandbox.resolve(absolute.to_str().unwrap()).unwrap(), absolute);
        assert_eq!(sandbox.display(&absolute).to_string(), "src/a.rs");
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_refused() {
        let (dir, sandbox) = sandbox();
        let absolute = dir.path().join("secret");
        for path in
            ["..", "../secret", "src/../../secret", "../new", "none/../../new", absolute.to_str().unwrap()]
        {
            let refused = sandbox.resolve(path).unwrap_err();
            assert!(refused.contains("is outside of the folder"), "{path}: {refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leaves_the_folder_is_refused_even_if_it_leads_nowhere() {
        let (dir, sandbox) = sandbox();
        for (name, to) in [("file", "secret"), ("folder", "."), ("nowhere", "not-there")] {
            std::os::unix::fs::symlink(dir.path().join(to), sandbox.root().join(name)).unwrap();
        }
        for path in ["file", "folder/secret", "folder/new", "nowhere"] {
            assert!(sandbox.resolve(path).is_err(), "{path}");
        }
    }
}
