//! `cargo xtask tidy`: small rules about files, each a function of its own.

pub(crate) mod tree;
pub(crate) mod rust;
pub(crate) mod definitions;
mod not_yet;
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

use std::collections::BTreeMap;
use std::path::Path;

use crate::report;
use not_yet::{NOT_YET, outstanding, part};
use tree::{Source, Tree};

/// A rule: from the files, and the Rust files as tokens, to their findings.
type Rule = fn(&Tree, &[Source<'_>]) -> Vec<String>;

/// The rules that every file keeps.
const RULES: [Rule; 7] = [
    |tree, _| lines::long_files(tree),
    |tree, _| lines::trailing_blanks(tree),
    |tree, _| lines::tabs(tree),
    |tree, _| lines::machine_paths(tree),
    order::downward_imports,
    |tree, _| links::broken_links(tree),
    |tree, _| manifests::bare_manifests(tree),
];

/// The rules that every part of the repository keeps but those in [`NOT_YET`], each by its name.
const NEWER_RULES: [(&str, Rule); 8] = [
    ("words", words::banned_words),
    ("long comments", comments::long_comments),
    ("first words", comments::first_words),
    ("twin types", twins::twin_types),
    ("names on pages", doc_names::missing_names),
    ("help", help::long_help),
    ("full folders", |tree, _| folders::full_folders(tree)),
    ("lone files", |tree, _| folders::lone_files(tree)),
];

/// Checks the repository; with `--all` or the names of crates, lists what [`NOT_YET`] keeps quiet,
/// with `--count` its numbers.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let tree = Tree::read(root)?;
    match words {
        [] => report("tidy", &findings(&tree, NOT_YET)),
        ["--count"] => {
            print!("{}", table(&newer_findings(&tree)));
            Ok(())
        }
        ["--all"] => report("tidy", &newer_findings(&tree).concat()),
        parts => {
            let mut found = newer_findings(&tree).concat();
            found.retain(|finding| parts.contains(&part(finding)));
            report("tidy", &found)
        }
    }
}

fn findings(tree: &Tree, not_yet: &[&str]) -> Vec<String> {
    let sources = tree.sources();
    let findings = RULES.iter().flat_map(|rule| rule(tree, &sources));
    findings.chain(outstanding(newer_findings(tree).concat(), not_yet)).collect()
}

/// Returns the findings of each of the [`NEWER_RULES`].
fn newer_findings(tree: &Tree) -> [Vec<String>; NEWER_RULES.len()] {
    let sources = tree.sources();
    NEWER_RULES.map(|(_, rule)| rule(tree, &sources))
}

/// Returns the number of banned words in the files.
pub(crate) fn n_banned_words(tree: &Tree, sources: &[Source<'_>]) -> usize {
    words::banned_words(tree, sources).len()
}

/// Returns a table of the findings by part and by rule.
fn table(findings: &[Vec<String>; NEWER_RULES.len()]) -> String {
    let mut counts: BTreeMap<&str, [usize; NEWER_RULES.len()]> = BTreeMap::new();
    for (rule, findings) in findings.iter().enumerate() {
        for finding in findings {
            counts.entry(part(finding)).or_default()[rule] += 1;
        }
    }
    let row = |name: &str, cells: Vec<String>| format!("{name} | {}\n", cells.join(" | "));
    let mut table = row("part", NEWER_RULES.map(|(name, _)| name.to_owned()).to_vec());
    table += &row("---", vec!["---:".to_owned(); NEWER_RULES.len()]);
    for (name, counts) in counts {
        table += &row(name, counts.map(|n| n.to_string()).to_vec());
    }
    table + &row("all", findings.iter().map(|it| it.len().to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_all_rules_are_gathered() {
        let text = "mod x; \n\ty\n/// How it is.\nfn z() {}\n";
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", text), ("README.md", "[a](b.md)\n")]);
        assert_eq!(findings(&tree, &[]).len(), 4, "{:?}", findings(&tree, &[]));
        assert_eq!(findings(&tree, &["a"]).len(), 3);
    }

    #[test]
    fn nothing_is_found_in_a_tidy_tree() {
        let manifest = "[package]\ndescription = \"Counts\"\n[lints]\nworkspace = true\n";
        let tree =
            Tree::from_files(&[("crates/a/src/lib.rs", "//! Counts.\n"), ("crates/a/Cargo.toml", manifest)]);
        assert!(findings(&tree, &[]).is_empty());
    }

    #[test]
    fn the_table_counts_by_part_and_rule() {
        let tree = Tree::from_files(&[(
            "crates/a/src/b.rs",
            "/// How it is.\n/// Why.\nfn z() {}\n\n/// Why.\nfn y() {}\n",
        )]);
        let table = table(&newer_findings(&tree));
        assert!(table.contains("\na | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 0\n"), "{table}");
    }
}
