//! The page about the last deep run of the checks.

use std::fmt::Write as _;
use std::path::Path;

use crate::program::{commit_of_head, date_of_head, write};
use crate::times::{N_SLOWEST, Timed};

const PAGE: &str = "docs/evaluation/deep.md";

/// The seconds of each step and of the slowest tests.
const ROWS: &str = "docs/evaluation/data/deep.tsv";

/// Writes the page with date and commit, and the seconds of each step and of the slowest tests.
pub(crate) fn record(root: &Path, steps: &[(&str, f64)], times: &[Timed]) -> Result<(), String> {
    let text = page(&date_of_head(root)?, &commit_of_head(root, PAGE)?, steps, times);
    write(root, ROWS, rows(steps, times))?;
    write(root, PAGE, text)
}

fn page(date: &str, commit: &str, steps: &[(&str, f64)], times: &[Timed]) -> String {
    let seconds: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
    format!(
        "# The last deep run\n\n`cargo xtask ci --deep` passed at commit {commit}, {date}: {} tests, with all cases of each law, \
         in {seconds:.0} s.\nSeconds of each step and of the slowest tests: [`deep.tsv`](data/deep.tsv).\n",
        times.len()
    )
}

fn rows(steps: &[(&str, f64)], times: &[Timed]) -> String {
    let mut rows = String::from("step or test\tseconds\n");
    for (name, seconds) in steps {
        let _ = writeln!(rows, "{name}\t{seconds:.0}");
    }
    for Timed { name, seconds } in times.iter().take(N_SLOWEST) {
        let _ = writeln!(rows, "{name}\t{seconds:.1}");
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_the_commit_and_the_rows_steps_and_slowest_tests() {
        let times = [Timed { name: "wb-a one".into(), seconds: 2.5 }];
        let steps = [("fmt", 1.2), ("dist", 99.6)];
        let page = page("2026-01-02", "0a1b2c3", &steps, &times);
        assert!(page.contains("at commit 0a1b2c3, 2026-01-02: 1 tests"), "{page}");
        assert!(page.contains(" in 101 s.\n"), "{page}");
        let rows = rows(&steps, &times);
        assert!(rows.ends_with("fmt\t1\ndist\t100\nwb-a one\t2.5\n"), "{rows}");
    }
}
