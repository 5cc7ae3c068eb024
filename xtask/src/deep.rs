//! The page about the last deep run of the checks.

use std::fmt::Write as _;
use std::path::Path;

use crate::program::{commit_of_head, date_of_head, write};
use crate::times::{Timed, slowest};

const PAGE: &str = "docs/evaluation/deep.md";

/// Writes the page: date, commit, seconds of each step, the slowest tests.
pub(crate) fn record(root: &Path, steps: &[(&str, f64)], times: &[Timed]) -> Result<(), String> {
    let text = page(&date_of_head(root)?, &commit_of_head(root, PAGE)?, steps, times);
    write(root, PAGE, text)
}

fn page(date: &str, commit: &str, steps: &[(&str, f64)], times: &[Timed]) -> String {
    let mut text = format!(
        "# The last deep run\n\n`cargo xtask ci --deep` passed at commit {commit}, {date}: {} tests, with all cases of \
         each law.\n\n| step | seconds |\n|---|---:|\n",
        times.len()
    );
    for (name, seconds) in steps {
        let _ = writeln!(text, "| {name} | {seconds:.0} |");
    }
    let _ = write!(text, "\nThe slowest tests:\n\n```text\n{}```\n", slowest(times));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_commit_steps_and_slowest_tests() {
        let times = [Timed { name: "wb-a one".into(), seconds: 2.5 }];
        let page = page("2026-01-02", "0a1b2c3", &[("fmt", 1.2), ("dist", 99.6)], &times);
        assert!(page.contains("at commit 0a1b2c3, 2026-01-02: 1 tests"), "{page}");
        assert!(page.contains("| fmt | 1 |\n| dist | 100 |\n") && page.contains("wb-a one\n```\n"), "{page}");
    }
}
