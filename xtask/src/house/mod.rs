//! `cargo xtask house`: the size of the repository in figures, before and now.

mod doors;
mod measure;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::program::{commit_of_head, write};
use crate::tidy::tree::Tree;
use measure::{CRATE, Figure, figures};

/// The page that is written.
const PAGE: &str = "docs/evaluation/house.md";

/// The figures of an earlier commit, whose first line names it.
const BEFORE: &str = "docs/evaluation/house.tsv";

const USAGE: &str = "usage: cargo xtask house [--write] [--tsv] [--root FOLDER]";

/// Prints the figures, with `--write` into the page, with `--tsv` as the rows of a later
/// comparison.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (mut measured, mut is_written, mut is_tsv) = (root.to_path_buf(), false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--write" => is_written = true,
            "--tsv" => is_tsv = true,
            "--root" => measured = words.next().map(PathBuf::from).ok_or(USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let now = figures(&Tree::read(&measured)?);
    let commit = commit_of_head(&measured, "docs/evaluation/house")?;
    if is_tsv {
        print!("{}", rows(&commit, &now));
        return Ok(());
    }
    let text = std::fs::read_to_string(root.join(BEFORE)).map_err(|error| format!("{BEFORE}: {error}"))?;
    let page = page(&text, &commit, &now);
    if is_written {
        return write(root, PAGE, page);
    }
    print!("{page}");
    Ok(())
}

/// Returns the commit and the figures, a row each.
fn rows(commit: &str, figures: &[Figure]) -> String {
    let rows = figures.iter().map(|(name, value)| format!("{name}\t{value}\n"));
    format!("commit\t{commit}\n{}", rows.collect::<String>())
}

/// Returns the page for the rows of an earlier commit and the figures of this one.
fn page(before: &str, commit: &str, now: &[Figure]) -> String {
    let before: Vec<Figure> = before
        .lines()
        .filter_map(|row| row.split_once('\t'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let past = before.first().map_or("before", |(_, commit)| commit);
    let mut page = format!(
        "# The house\n\nThe size of this repository at `{past}` and now, at {commit}, counted from the sources alone.\n\
         `cargo xtask house --write` writes this page. Lines of source are those of `src` without tests; lines of tests\n\
         are those under `#[cfg(test)]` and in `tests`. `cargo xtask ci --record` measures seconds of CI.\n\n\
         measure | {past} | now\n--- | ---: | ---:\n"
    );
    let (crates, others): (Vec<&str>, Vec<&str>) =
        names(&before, now).iter().partition(|name| name.starts_with(CRATE));
    for name in others {
        let _ = writeln!(page, "{name} | {} | {}", value(&before, name), value(now, name));
    }
    let _ = writeln!(
        page,
        "\ncrate | source at {past} | source now | tests at {past} | tests now\n--- | ---: | ---: | ---: | ---:"
    );
    for name in crates.into_iter().collect::<BTreeSet<_>>() {
        let (before, now) = (value(&before, name), value(now, name));
        let (before, now) =
            (before.split_once(' ').unwrap_or(("–", "–")), now.split_once(' ').unwrap_or(("–", "–")));
        let name = name.trim_start_matches(CRATE);
        let _ = writeln!(page, "{name} | {} | {} | {} | {}", before.0, now.0, before.1, now.1);
    }
    page
}

/// Returns the names of both lists in the order of the newer one, those that are only in the older
/// one last.
fn names<'a>(before: &'a [Figure], now: &'a [Figure]) -> Vec<&'a str> {
    let old = before.iter().skip(1).filter(|(name, _)| !now.iter().any(|(it, _)| it == name));
    now.iter().chain(old).map(|(name, _)| name.as_str()).collect()
}

fn value<'a>(figures: &'a [Figure], name: &str) -> &'a str {
    figures.iter().find(|(it, _)| it == name).map_or("–", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_compares_figures_and_crates_of_both_commits() {
        let figure = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let before =
            rows("0a1b2c3", &[figure("crate a", "3 4"), figure("lines of README", "9"), figure("gone", "1")]);
        let page = page(
            &before,
            "4d5e6f7",
            &[figure("crate a", "2 5"), figure("crate b", "1 1"), figure("lines of README", "8")],
        );
        assert!(page.contains("\nlines of README | 9 | 8\ngone | 1 | –\n"), "{page}");
        assert!(page.contains("\na | 3 | 2 | 4 | 5\nb | – | 1 | – | 1\n"), "{page}");
    }
}
