//! `cargo xtask tidy`: small rules about files, each a function of its own.

pub(crate) mod tree;
mod lines;
mod sources;
mod order;
mod links;
mod manifests;

use std::path::Path;

use crate::judged;
use tree::Tree;

/// A rule: from the files to what is wrong with them.
type Rule = fn(&Tree) -> Vec<String>;

const RULES: [Rule; 11] = [
    lines::long_files,
    lines::leftovers,
    lines::trailing_blanks,
    lines::tabs,
    lines::machine_paths,
    sources::named_sources,
    order::downward_imports,
    links::broken_links,
    links::missing_tests,
    manifests::bare_manifests,
    manifests::roots_without_docs,
];

/// Runs every rule over the files of the repository.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    judged("tidy", &findings(&Tree::read(root)?))
}

fn findings(tree: &Tree) -> Vec<String> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_all_rules_are_gathered() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", "mod x; \n\ty"), ("README.md", "[a](b.md)\n")]);
        assert_eq!(findings(&tree).len(), 4, "{:?}", findings(&tree));
    }

    #[test]
    fn nothing_is_found_in_a_tidy_tree() {
        let manifest = "[package]\ndescription = \"Counts\"\n[lints]\nworkspace = true\n";
        let tree = Tree::of(&[("crates/a/src/lib.rs", "//! Counts.\n"), ("crates/a/Cargo.toml", manifest)]);
        assert!(findings(&tree).is_empty());
    }
}
