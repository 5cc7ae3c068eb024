//! The rule that names of our source on a page exist.

use std::collections::HashSet;

use super::rust::Kind;
use super::tree::{File, Source, Tree};

/// Names of other products that pages mention, one a row with whose it is.
const FOREIGN: &str = include_str!("foreign.tsv");

/// Folders whose paths a page may name.
const FOLDERS: [&str; 4] = ["crates/", "docs/", "fixtures/", "xtask/"];

/// Endings of files other than Rust and Markdown whose words count as names.
const OTHER_SOURCES: [&str; 6] = [".json", ".mjs", ".py", ".toml", ".ts", ".tsv"];

/// Finds names between backticks that look like ours and are in no source.
pub(crate) fn missing_names(tree: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let known = Known::new(tree, sources);
    let mut findings = Vec::new();
    for page in tree.files.iter().filter(|file| is_page(file)) {
        let mut in_fence = false;
        for (number, line) in (1..).zip(page.text.lines()) {
            in_fence ^= line.trim_start().starts_with("```");
            let spans = line.split('`').skip(1).step_by(2).filter(|_| !in_fence);
            for name in spans.filter_map(|span| known.missing(span)) {
                findings
                    .push(format!("{}:{number}: `{name}` is in no source → name what is there", page.path));
            }
        }
    }
    findings
}

fn is_page(file: &File) -> bool {
    let is_guide =
        file.path.starts_with("docs/") || matches!(file.path.as_str(), "README.md" | "CONTRIBUTING.md");
    let is_of_crate = file.path.starts_with("crates/") && file.path.ends_with("README.md");
    file.is(&[".md"]) && (is_guide || is_of_crate)
}

struct Known<'a> {
    tree: &'a Tree,
    /// The words of code and of strings.
    names: HashSet<&'a str>,
    /// The ends of the paths of Rust files, such as `b.rs` and `a/b.rs` of `x/a/b.rs`.
    paths: HashSet<&'a str>,
    /// The crates that others wrote.
    crates: HashSet<String>,
}

impl<'a> Known<'a> {
    fn new(tree: &'a Tree, sources: &[Source<'a>]) -> Self {
        let mut names: HashSet<&str> = foreign().collect();
        for token in sources.iter().flat_map(|source| &source.tokens) {
            match token.kind {
                Kind::Word => {
                    names.insert(token.text);
                }
                Kind::Text => names.extend(words(token.text)),
                _ => {}
            }
        }
        let others =
            tree.files.iter().filter(|file| file.is(&OTHER_SOURCES) && !file.path.starts_with("xtask/"));
        names.extend(others.flat_map(|file| words(&file.text)));
        let locks = tree.files.iter().filter(|file| file.path == "Cargo.lock");
        let packages =
            locks.flat_map(|lock| lock.text.lines()).filter_map(|line| line.strip_prefix("name = \""));
        let crates = packages.map(|name| name.trim_end_matches('"').replace('-', "_"));
        let crates =
            crates.filter(|name| !name.starts_with("wb_")).chain(["std", "core", "alloc"].map(str::to_owned));
        let ends = |path: &'a str| path.match_indices('/').map(move |(at, _)| &path[at + 1..]).chain([path]);
        let paths = sources.iter().flat_map(|source| ends(&source.file.path)).collect();
        Self { tree, names, paths, crates: crates.collect() }
    }

    /// Returns the name in a span of code that looks like ours and is not known.
    fn missing<'s>(&self, span: &'s str) -> Option<&'s str> {
        let span = span.trim();
        let is_open = |c: char| !(c.is_ascii_alphanumeric() || "_-./:".contains(c));
        if span.strip_suffix(".rs").is_some() || FOLDERS.iter().any(|folder| span.starts_with(folder)) {
            let is_there = span.contains(is_open) || self.paths.contains(span) || self.tree.has(span);
            return (!is_there).then_some(span);
        }
        let name = span.split(['(', '<']).next().unwrap_or_default();
        let is_call = span.ends_with(')') && span.contains('(');
        let segments: Vec<&str> = name.split("::").collect();
        let is_name = |name: &&str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        // A prefix such as `try_` is no name.
        if name.ends_with('_') || !segments.iter().all(is_name) || self.crates.contains(segments[0]) {
            return None;
        }
        let is_ours = segments.len() > 1 || is_call || is_type(name) || name.contains('_');
        let is_known = segments.iter().all(|it| self.names.contains(it));
        (is_ours && !is_known).then_some(name)
    }
}

fn is_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn foreign() -> impl Iterator<Item = &'static str> {
    let rows = FOREIGN.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.filter_map(|row| row.split_once('\t')).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(line: &str) -> Vec<String> {
        let lock = "[[package]]\nname = \"serde_json\"\n[[package]]\nname = \"wb-a\"\n";
        let source = "//! Comment.\npub struct Patch;\nfn cut_at() { b(\"tool_use\") }\n";
        let tree = Tree::from_files(&[
            ("docs/a.md", line),
            ("crates/wb-a/src/x/y.rs", source),
            ("Cargo.lock", lock),
        ]);
        let found = missing_names(&tree, &tree.sources());
        found.iter().filter_map(|it| it.split('`').nth(1).map(str::to_owned)).collect()
    }

    #[test]
    fn names_that_are_in_no_source_are_found() {
        for name in [
            "wb_b::Patch",
            "Patch::gone",
            "Gone",
            "gone()",
            "cut_off",
            "CUT_OFF",
            "gone.rs",
            "z/y.rs",
            "crates/wb-b",
            "xtask/src/a.rs",
        ] {
            assert_eq!(findings(&format!("See `{name}`.")), [name.trim_end_matches("()")], "{name}");
        }
        assert_eq!(findings("`Comment`"), ["Comment"], "a comment is no source");
    }

    #[test]
    fn names_that_exist_and_those_of_others_are_fine() {
        for name in [
            "Patch",
            "Patch::cut_at(x)",
            "cut_at()",
            "tool_use",
            "y.rs",
            "x/y.rs",
            "crates/wb-a/src",
            "serde_json::Value",
            "wb plan",
            "crates/NAME/*.rs",
            "HOME",
        ] {
            assert!(findings(&format!("See `{name}`.")).is_empty(), "{name}");
        }
        assert!(findings("```\n`Gone`\n```").is_empty());
    }
}
