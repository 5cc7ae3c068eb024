//! `cargo xtask house`: the size of the repository in figures, before and now.

mod doors;
mod measure;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::program::{commit_of_head, write};
use crate::tidy::tree::Tree;
use measure::{ALL_STEPS, CRATE, Figure, STEP, figures};

/// The page that is written.
const PAGE: &str = "docs/evaluation/house.md";

/// The figures of an earlier commit, whose first line names it.
const BEFORE: &str = "docs/evaluation/house.tsv";

/// All figures of this commit, also those that the page leaves out.
const NOW: &str = "docs/evaluation/data/house.tsv";

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
        write(root, NOW, rows(&commit, &now))?;
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
        "# The house\n\nThe size of this repository at `{past}` and now, at {commit}, counted from the sources. `cargo xtask house\n\
         --write` writes this page. Tests are the lines under `#[cfg(test)]` and in `tests`, source the others. Rows of each\n\
         crate and each step of CI: [then](house.tsv), [now](data/house.tsv).\n\n\
         measure | {past} | now\n--- | ---: | ---:\n"
    );
    for name in names(&before, now).into_iter().filter(|name| is_on_page(name)) {
        let _ = writeln!(page, "{name} | {} | {}", value(&before, name), value(now, name));
    }
    page
}

fn is_on_page(name: &str) -> bool {
    !name.starts_with(CRATE) && (!name.starts_with(STEP) || name == ALL_STEPS)
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
    fn the_page_compares_the_figures_of_both_commits_except_those_of_crates_and_steps() {
        let figure = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let before =
            rows("0a1b2c3", &[figure("crate a", "3 4"), figure("lines of README", "9"), figure("gone", "1")]);
        let now = [
            figure("crate a", "2 5"),
            figure("lines of README", "8"),
            figure("seconds of CI: fmt", "1"),
            figure(ALL_STEPS, "9"),
        ];
        let page = page(&before, "4d5e6f7", &now);
        assert!(
            page.ends_with("\nlines of README | 9 | 8\nseconds of CI: all | – | 9\ngone | 1 | –\n"),
            "{page}"
        );
        assert!(!page.contains("crate a |") && !page.contains("fmt"), "{page}");
    }
}
