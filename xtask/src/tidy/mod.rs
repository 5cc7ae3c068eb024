//! `cargo xtask tidy`: small rules about files, each a function of its own.

pub(crate) mod tree;
pub(crate) mod rust;
pub(crate) mod definitions;
mod lines;
mod order;
mod links;
mod manifests;
pub(crate) mod folders;
mod words;
mod comments;
mod twins;
mod help;
mod doc_names;

use std::path::Path;

use crate::report;
use tree::{Source, Tree};

/// A rule: from the files, and the Rust files as tokens, to their findings.
type Rule = fn(&Tree, &[Source<'_>]) -> Vec<String>;

const RULES: [Rule; 15] = [
    |tree, _| lines::long_files(tree),
    |tree, _| lines::trailing_blanks(tree),
    |tree, _| lines::tabs(tree),
    |tree, _| lines::machine_paths(tree),
    order::downward_imports,
    |tree, _| links::broken_links(tree),
    |tree, _| manifests::bare_manifests(tree),
    words::banned_words,
    comments::long_comments,
    comments::first_words,
    twins::twin_types,
    doc_names::missing_names,
    help::long_help,
    |tree, _| folders::full_folders(tree),
    |tree, _| folders::lone_files(tree),
];

/// Checks the repository.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    report("tidy", &findings(&Tree::read(root)?))
}

fn findings(tree: &Tree) -> Vec<String> {
    let sources = tree.sources();
    RULES.iter().flat_map(|rule| rule(tree, &sources)).collect()
}

/// Returns the number of banned words in the files.
pub(crate) fn n_banned_words(tree: &Tree, sources: &[Source<'_>]) -> usize {
    words::banned_words(tree, sources).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_all_rules_are_gathered() {
        let text = "mod x; \n\ty\n/// How it is.\nfn z() {}\n";
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", text), ("README.md", "[a](b.md)\n")]);
        assert_eq!(findings(&tree).len(), 4, "{:?}", findings(&tree));
    }

    #[test]
    fn nothing_is_found_in_a_tidy_tree() {
        let manifest = "[package]\ndescription = \"Counts\"\n[lints]\nworkspace = true\n";
        let tree =
            Tree::from_files(&[("crates/a/src/lib.rs", "//! Counts.\n"), ("crates/a/Cargo.toml", manifest)]);
        assert!(findings(&tree).is_empty());
    }
}
