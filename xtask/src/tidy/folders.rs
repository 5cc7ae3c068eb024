//! The rules about how many Rust files lie in a folder.

use std::collections::BTreeMap;

use super::tree::Tree;

/// Rust files that a folder may hold, those of its subfolders aside.
const MAX_FILES: usize = 20;

/// Counts the Rust files directly in each folder.
pub(crate) fn files_by_folder(tree: &Tree) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.is(&[".rs"])) {
        let (folder, _) = file.path.rsplit_once('/').unwrap_or_default();
        *counts.entry(folder).or_default() += 1;
    }
    counts
}

/// Finds folders with too many Rust files.
pub(crate) fn full_folders(tree: &Tree) -> Vec<String> {
    let full = files_by_folder(tree).into_iter().filter(|(_, n_files)| *n_files > MAX_FILES);
    full.map(|(folder, n)| {
        format!("{folder}: {n} files → at most {MAX_FILES}; group them in folders by subject")
    })
    .collect()
}

/// Finds folders of modules that hold a single file and no other folder.
pub(crate) fn lone_files(tree: &Tree) -> Vec<String> {
    let counts = files_by_folder(tree);
    let is_leaf =
        |folder: &str| !counts.keys().any(|it| it.strip_prefix(folder).is_some_and(|it| it.starts_with('/')));
    let lone =
        counts.iter().filter(|(folder, n_files)| **n_files == 1 && is_of_modules(folder) && is_leaf(folder));
    lone.map(|(folder, _)| format!("{folder}: holds one file → move it one folder up")).collect()
}

/// Returns whether a folder is below a folder of sources, where only modules are.
fn is_of_modules(folder: &str) -> bool {
    let below = folder.split_once("/src/").or_else(|| folder.split_once("/tests/it/"));
    below.is_some_and(|(_, below)| below != "bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_21_files_is_too_full_and_one_of_20_is_not() {
        let paths: Vec<String> = (0..20).map(|n| format!("a/src/{n}.rs")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.extend([("a/src/b/c.rs", ""), ("a/src/d.md", "")]);
        assert!(full_folders(&Tree::from_files(&files)).is_empty());
        files.push(("a/src/e.rs", ""));
        assert_eq!(
            full_folders(&Tree::from_files(&files)),
            ["a/src: 21 files → at most 20; group them in folders by subject"]
        );
    }

    #[test]
    fn a_folder_of_one_module_is_found_and_those_of_cargo_are_not() {
        let paths = [
            "a/src/lib.rs",
            "a/src/b/c.rs",
            "a/src/d/mod.rs",
            "a/src/d/e/f.rs",
            "a/src/d/e/g.rs",
            "a/src/bin/h.rs",
        ];
        let files: Vec<(&str, &str)> =
            paths.into_iter().chain(["a/benches/i.rs"]).map(|path| (path, "")).collect();
        assert_eq!(
            lone_files(&Tree::from_files(&files)),
            ["a/src/b: holds one file → move it one folder up"]
        );
    }
}
