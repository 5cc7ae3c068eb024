//! The files of the repository with their texts.

use std::path::Path;
use std::process::Command;

use super::definitions::{Definition, definitions};
use super::rust::{Token, tokens};
use crate::program;

/// A file of the repository.
#[derive(Debug)]
pub(crate) struct File {
    /// The path from the root, with slashes.
    pub(crate) path: String,
    /// The text; empty if the file is not UTF-8.
    pub(crate) text: String,
}

impl File {
    /// Returns whether the path ends in one of these.
    pub(crate) fn is(&self, ends: &[&str]) -> bool {
        ends.iter().any(|end| self.path.ends_with(end))
    }

    /// Splits the path of a crate's file into the crate's directory and the path below its `src`.
    pub(crate) fn in_crate(&self) -> Option<(&str, &str)> {
        let (dir, below) = self.path.split_once("/src/")?;
        let is_crate = dir == "xtask" || dir.strip_prefix("crates/").is_some_and(|name| !name.contains('/'));
        is_crate.then_some((dir, below))
    }
}

/// A Rust file as tokens, with the names that it defines.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a File,
    pub(crate) tokens: Vec<Token<'a>>,
    pub(crate) definitions: Vec<Definition<'a>>,
}

impl<'a> Source<'a> {
    fn new(file: &'a File) -> Self {
        let tokens = tokens(&file.text);
        Self { file, definitions: definitions(&tokens), tokens }
    }

    /// Returns the paths, without an ending, of the modules that are files under `#[cfg(test)]`.
    fn test_modules(&self) -> Vec<String> {
        let path = self.file.path.trim_end_matches(".rs");
        let folder =
            ["/mod", "/lib", "/main"].iter().find_map(|root| path.strip_suffix(root)).unwrap_or(path);
        let is_module = |three: &&[Token<'_>]| three[0].is_test && three[0].is("mod") && three[2].is(";");
        self.tokens.windows(3).filter(is_module).map(|three| format!("{folder}/{}", three[1].text)).collect()
    }
}

/// Every file that git tracks or would track.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The files in the order of their paths.
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the files below the root that git knows or does not ignore.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        for path in listed(root)? {
            // A file that git still lists may be gone from the disk.
            let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
            files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
        }
        Ok(Self { files })
    }

    /// Returns whether a file or a directory of this path is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.files.iter().any(|file| {
                file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// Reads the Rust files as tokens.
    pub(crate) fn sources(&self) -> Vec<Source<'_>> {
        let mut sources: Vec<_> =
            self.files.iter().filter(|file| file.is(&[".rs"])).map(Source::new).collect();
        let modules: Vec<String> = sources.iter().flat_map(Source::test_modules).collect();
        let is_test = |path: &str| {
            modules.iter().any(|it| {
                path.strip_prefix(it.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            })
        };
        for source in sources.iter_mut().filter(|source| is_test(&source.file.path)) {
            source.tokens.iter_mut().for_each(|token| token.is_test = true);
            source.definitions.iter_mut().for_each(|definition| definition.is_test = true);
        }
        sources
    }

    /// Builds a tree for a test.
    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
        Self { files: files.iter().map(file).collect() }
    }
}

fn listed(root: &Path) -> Result<Vec<String>, String> {
    // A checkout that belongs to another user, as in a container, is read all the same.
    let words = "-c safe.directory=* ls-files -z --cached --others --exclude-standard";
    let text = program::output(Command::new("git").args(words.split(' ')).current_dir(root))?;
    let mut paths: Vec<String> =
        text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_there_where_a_file_is_below_them() {
        let tree = Tree::from_files(&[("docs/adr/0001.md", "")]);
        assert!(tree.has("docs/adr/0001.md") && tree.has("docs/adr/") && tree.has("docs") && tree.has(""));
        assert!(!tree.has("docs/ad") && !tree.has("docs/adr/0002.md"));
    }

    #[test]
    fn a_path_gives_the_crate_of_a_file() {
        let tree = Tree::from_files(&[
            ("crates/a/src/x/y.rs", ""),
            ("xtask/src/main.rs", ""),
            ("docs/src/z.md", ""),
        ]);
        let places: Vec<_> = tree.files.iter().map(File::in_crate).collect();
        assert_eq!(places, [Some(("crates/a", "x/y.rs")), Some(("xtask", "main.rs")), None]);
    }

    #[test]
    fn a_file_of_a_test_module_is_a_test() {
        let text = "#[cfg(test)]\nmod b;\nmod c;\n";
        let tree = Tree::from_files(&[
            ("crates/a/src/lib.rs", text),
            ("crates/a/src/b.rs", "fn x() {}"),
            ("crates/a/src/c.rs", "fn y() {}"),
        ]);
        let tests: Vec<_> =
            tree.sources().iter().flat_map(|source| &source.definitions).map(|it| it.is_test).collect();
        assert_eq!(tests, [true, false, true, false]);
    }

    #[test]
    fn this_repository_is_read() {
        let root = crate::root();
        let tree = Tree::read(&root).expect("a checkout");
        assert!(tree.has("xtask/src/tidy/tree.rs") && !tree.has("target"));
    }
}
