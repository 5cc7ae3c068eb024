//! Counts of the sources: lines, files, public items, functions, doors, words.

use std::collections::BTreeMap;

use super::doors;
use crate::ci::RECORD;
use crate::tidy::folders::files_by_folder;
use crate::tidy::n_banned_words;
use crate::tidy::rust::{Kind, Token};
use crate::tidy::tree::{Source, Tree};

/// A measure by its name, with its figures as text.
pub(crate) type Figure = (String, String);

/// The start of the name of a figure of a crate: lines of source and lines of tests.
pub(crate) const CRATE: &str = "crate ";

/// The start of the name of a figure of a step of CI.
pub(crate) const STEP: &str = "seconds of CI: ";

/// The name of the figure of all steps.
pub(crate) const ALL_STEPS: &str = "seconds of CI: all";

/// Measures a tree.
pub(crate) fn figures(tree: &Tree) -> Vec<Figure> {
    let sources = tree.sources();
    let lines = lines_by_crate(&sources);
    let mut figures: Vec<Figure> = lines
        .iter()
        .map(|(name, it)| (format!("{CRATE}{name}"), format!("{} {}", it.source, it.tests)))
        .collect();
    let mut add = |name: &str, value: String| figures.push((name.to_owned(), value));
    add("crates", lines.keys().filter(|name| **name != "xtask").count().to_string());
    add("lines of source", lines.values().map(|it| it.source).sum::<usize>().to_string());
    add("lines of tests", lines.values().map(|it| it.tests).sum::<usize>().to_string());
    let (folder, n_files) = fullest_folder(tree, false);
    add("most files in a folder of source", format!("{n_files} ({folder})"));
    let (folder, n_files) = fullest_folder(tree, true);
    add("most files in a folder of tests", format!("{n_files} ({folder})"));
    add("public structs, enums, traits, functions", public_items(&sources));
    add("functions: median, p90, p99 and most lines", function_lengths(&sources));
    let (doors, covers) = doors::doors(&sources);
    add("doors into one compaction", doors.len().to_string());
    add("covers of those with the names of documents", covers.len().to_string());
    add("words of docs/", words_of(tree, |path| path.starts_with("docs/")).to_string());
    add("words of README, CONTRIBUTING, CHANGELOG", words_of(tree, |path| !path.contains('/')).to_string());
    let readme = tree.files.iter().find(|file| file.path == "README.md");
    add("lines of README", readme.map_or(0, |file| file.text.lines().count()).to_string());
    add("banned words and names", n_banned_words(tree, &sources).to_string());
    figures.extend(steps(tree));
    figures
}

fn words_of(tree: &Tree, is_wanted: fn(&str) -> bool) -> usize {
    let pages = tree.files.iter().filter(|file| file.is(&[".md"]) && is_wanted(&file.path));
    pages.map(|page| page.text.split_whitespace().count()).sum()
}

fn steps(tree: &Tree) -> Vec<Figure> {
    let file = tree.files.iter().find(|file| file.path == RECORD);
    let rows = file.into_iter().flat_map(|file| file.text.lines()).filter_map(|row| row.split_once('\t'));
    rows.map(|(name, seconds)| (format!("{STEP}{name}"), seconds.to_owned())).collect()
}

/// The lines of a crate: those of its sources without their tests, and those of its tests in both
/// places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    source: usize,
    tests: usize,
}

fn lines_by_crate<'a>(sources: &[Source<'a>]) -> BTreeMap<&'a str, Lines> {
    let mut lines: BTreeMap<&str, Lines> = BTreeMap::new();
    for source in sources {
        let Some((name, folder)) = place(&source.file.path) else { continue };
        // The empty line behind the last one counts, as it does in the review that set the goals.
        let n_lines = source.file.text.split('\n').count();
        let n_tests = match folder {
            "src" if source.file.is(&["/tests.rs"]) => n_lines,
            "src" => lines_of_tests(&source.tokens),
            "tests" => n_lines,
            _ => continue,
        };
        let lines = lines.entry(name).or_default();
        lines.tests += n_tests;
        lines.source += n_lines - n_tests;
    }
    lines
}

/// Returns the crate of a Rust file and the folder of the crate that it lies in.
fn place(path: &str) -> Option<(&str, &str)> {
    let (name, below) = match path.strip_prefix("crates/") {
        Some(path) => path.split_once('/')?,
        None => ("xtask", path.strip_prefix("xtask/")?),
    };
    Some((name, below.split('/').next()?))
}

/// Returns the number of lines of the modules under `#[cfg(test)]`; other files of a test than
/// `tests.rs` are source.
fn lines_of_tests(tokens: &[Token<'_>]) -> usize {
    if tokens.iter().all(|token| token.is_test) {
        return 0;
    }
    let mut n_lines = 0;
    let items = tokens.chunk_by(|a, b| a.is_test == b.is_test).filter(|item| item[0].is_test);
    // The keyword follows the attribute, perhaps a comment and `pub(crate)`.
    for item in items.filter(|item| item.iter().take(12).any(|token| token.is("mod"))) {
        let last = item[item.len() - 1];
        n_lines += last.line + last.text.lines().count() - item[0].line;
    }
    n_lines
}

fn fullest_folder(tree: &Tree, is_tests: bool) -> (&str, usize) {
    let folders = files_by_folder(tree).into_iter();
    let wanted = folders.filter(|(folder, _)| folder.contains("/tests") == is_tests);
    wanted.max_by_key(|(_, n_files)| *n_files).unwrap_or_default()
}

fn public_items(sources: &[Source<'_>]) -> String {
    let mut counts = [0_usize; 4];
    for source in sources.iter().filter(|source| matches!(place(&source.file.path), Some((_, "src")))) {
        for definition in source.definitions.iter().filter(|it| it.is_public && !it.is_test) {
            let kinds = ["struct", "enum", "trait", "fn"];
            if let Some(kind) = kinds.iter().position(|kind| *kind == definition.keyword) {
                counts[kind] += 1;
            }
        }
    }
    counts.map(|n| n.to_string()).join(" / ")
}

fn function_lengths(sources: &[Source<'_>]) -> String {
    let of_crates = sources.iter().filter(|source| matches!(place(&source.file.path), Some((_, "src"))));
    let mut lengths: Vec<usize> = of_crates.flat_map(|source| lengths(&source.tokens)).collect();
    lengths.sort_unstable();
    let at =
        |percent: usize| lengths.get((lengths.len() * percent / 100).min(lengths.len().saturating_sub(1)));
    [50, 90, 99, 100].map(|percent| at(percent).copied().unwrap_or_default().to_string()).join(" / ")
}

/// Returns the lines of each function with a body, those of tests aside.
fn lengths(tokens: &[Token<'_>]) -> Vec<usize> {
    let code: Vec<_> = tokens.iter().filter(|token| token.kind != Kind::Comment && !token.is_test).collect();
    let mut lengths = Vec::new();
    for at in 0..code.len() {
        if !code[at].is("fn") || code.get(at + 1).is_none_or(|name| name.kind != Kind::Word) {
            continue;
        }
        let mut depth = 0;
        for token in &code[at..] {
            depth += i32::from(token.is("{")) - i32::from(token.is("}"));
            if depth == 0 && token.is(";") {
                break;
            }
            if depth == 0 && token.is("}") {
                lengths.push(token.line - code[at].line + 1);
                break;
            }
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(files: &[(&str, &str)], name: &str) -> String {
        let figures = figures(&Tree::from_files(files));
        figures.into_iter().find(|(it, _)| it == name).map_or_else(String::new, |(_, value)| value)
    }

    #[test]
    fn lines_of_tests_are_no_lines_of_source() {
        let files = [
            ("crates/a/src/lib.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n"),
            ("crates/a/tests/it/main.rs", "fn c() {}\nfn d() {}\n"),
            ("crates/a/benches/e.rs", "fn f() {}\n"),
            ("xtask/src/main.rs", "fn main() {}\n"),
        ];
        assert_eq!(figure(&files, "crate a"), "3 7");
        assert_eq!(figure(&files, "crate xtask"), "2 0");
        assert_eq!((figure(&files, "crates"), figure(&files, "lines of source")), ("1".into(), "5".into()));
        assert_eq!(figure(&files, "most files in a folder of tests"), "1 (crates/a/tests/it)");
    }

    #[test]
    fn public_items_are_those_that_other_crates_see() {
        let text = "pub struct A;\npub(crate) struct B;\npub enum C {}\nimpl A { pub const fn d() {} fn e() {} }\npub type F = A;\n";
        assert_eq!(
            figure(&[("crates/a/src/lib.rs", text)], "public structs, enums, traits, functions"),
            "1 / 1 / 0 / 1"
        );
    }

    #[test]
    fn a_function_is_as_long_as_from_its_name_to_its_brace() {
        let text = "fn a() {}\nfn b(\n    c: D,\n) {\n    { e }\n}\ntrait F {\n    fn g();\n}\n#[cfg(test)]\nfn h() {\n}\n";
        let name = "functions: median, p90, p99 and most lines";
        assert_eq!(figure(&[("crates/a/src/lib.rs", text)], name), "5 / 5 / 5 / 5");
    }

    #[test]
    fn words_and_recorded_seconds_are_read_from_their_files() {
        let files = [("docs/a.md", "one two\nthree\n"), ("README.md", "four\n"), (RECORD, "fmt\t15\n")];
        assert_eq!(figure(&files, "words of docs/"), "3");
        assert_eq!(figure(&files, "words of README, CONTRIBUTING, CHANGELOG"), "1");
        assert_eq!(figure(&files, "lines of README"), "1");
        assert_eq!(figure(&files, "seconds of CI: fmt"), "15");
    }
}
