//! A rule about words: the library says what a thing is; `docs/lineage.md` says where it came from.

use super::tree::{File, Tree};

/// Crates whose code may name sources: `wb-compat` repeats recorded behaviours.
const EXEMPT: [&str; 1] = ["crates/wb-compat"];

/// Returns whether a file is code of a crate that must not name where things came from.
fn is_bound(file: &File) -> bool {
    let dir = file.in_crate().map(|(dir, _)| dir);
    file.is(&[".rs"]) && dir.is_some_and(|dir| dir.starts_with("crates/") && !EXEMPT.contains(&dir))
}

/// Words in lower case that always name a source.
const NAMES: [&str; 2] = ["lineage", "published"];

/// Finds lines that name a source: `lineage`, `published`, `seed 0` to `seed 9`, `the seed`,
/// `the main seed` and `seed's`. A seed of random numbers or ids is not found unless an article
/// precedes it.
pub(crate) fn named_sources(tree: &Tree) -> Vec<String> {
    let bound = tree.files.iter().filter(|file| is_bound(file));
    bound
        .flat_map(|file| {
            let lines = file.text.lines().zip(1..).filter(|(line, _)| names_source(line));
            lines
                .map(|(_, number)| format!("{}:{number}: name what it is, not where it came from", file.path))
        })
        .collect()
}

fn names_source(line: &str) -> bool {
    let line = line.to_lowercase();
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '\'').collect();
    let is_name = |word: &str| NAMES.contains(&word.strip_suffix('s').unwrap_or(word));
    let is_seed = |pair: &[&str]| match pair[1] {
        "seed" | "seeds" => matches!(pair[0], "the" | "main" | "other"),
        _ => false,
    };
    words.iter().any(|word| is_name(word) || *word == "seed's")
        || words.windows(2).any(is_seed)
        || is_numbered(&line)
}

/// Returns whether a single digit follows the word in a line of lower case.
fn is_numbered(line: &str) -> bool {
    line.match_indices("seed ").any(|(at, word)| {
        let mut rest = line[at + word.len()..].chars();
        rest.next().is_some_and(|c| c.is_ascii_digit()) && !rest.next().is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, line: &str) -> bool {
        !named_sources(&Tree::from_files(&[(path, line)])).is_empty()
    }

    #[test]
    fn sources_are_found_by_number_article_and_name() {
        for line in [
            "/// The default (seed 2).",
            "//! As in Seed 0: a gate.",
            "/// The seed's policy.",
            "/// The constants of the main seed.",
            "/// Estimates of other lineages.",
            "struct Lineage;",
            "/// The Published slicer.",
        ] {
            assert!(findings("crates/wb-message/src/a/b.rs", line), "{line}");
        }
    }

    #[test]
    fn seeds_of_numbers_and_other_words_are_no_sources() {
        for line in [
            "let ids = IdSource::new(seed);",
            "    pub fn new(seed: u64) -> Self {",
            "/// Starts at a seed.",
            "/// From a counter that a seed scatters; one seed gives the same ids.",
            "fn prose(seed: u32, n_words: usize)",
            "const SEED: u64 = 0x5EED;",
            "/// Made with seed 0x5EED, or with seed 17.",
            "let three = at(seed, 3);",
            "seed = seed * 3 + 1;",
            "fn publishes() {}",
        ] {
            assert!(!findings("crates/wb-message/src/a.rs", line), "{line}");
        }
    }

    #[test]
    fn tests_documents_and_the_recorded_behaviours_may_name_them() {
        for path in [
            "crates/wb-compat/src/lib.rs",
            "crates/wb-budget/tests/it/a.rs",
            "docs/lineage.md",
            "xtask/src/a.rs",
        ] {
            assert!(!findings(path, "/// The published seed 1."), "{path}");
        }
    }

    #[test]
    fn a_finding_names_its_line() {
        let tree = Tree::from_files(&[("crates/wb-cli/src/a.rs", "fn a() {}\n/// Published.\n")]);
        assert_eq!(
            named_sources(&tree),
            ["crates/wb-cli/src/a.rs:2: name what it is, not where it came from"]
        );
    }
}
