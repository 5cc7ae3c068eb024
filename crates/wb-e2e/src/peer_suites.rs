//! `cargo xtask peers`: suites of other projects for compactions, run against `wb`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::agents::cache;
use crate::commit;
use crate::python::{self, PythonOptions};

const USAGE: &str = "usage: cargo xtask peers [--wb PROGRAM] [--record] [--or-skip]";
/// The suites: one with sessions and compactors, and one with constraints from a paper.
const SUITES: [&str; 2] = ["compaction-conformance-kit==0.8.0", "conpact==0.1.0"];
/// The program that runs them.
const PROGRAM: &str = "crates/wb-e2e/python/peers.py";
/// The page with the results.
const FILE: &str = "docs/evaluation/peers.md";

/// The results of all suites; shares are percentages.
#[derive(Debug, Deserialize)]
struct PeerResults {
    chained: Vec<Chained>,
    constraints: Vec<Constraints>,
    short_chats: Vec<ShortChats>,
    updates: Vec<Updates>,
}

/// Statements of one type that are kept after a number of compactions.
#[derive(Debug, Deserialize)]
struct Chained {
    window: u64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "1")]
    one: f64,
    #[serde(rename = "2")]
    two: f64,
    #[serde(rename = "3")]
    three: f64,
    #[serde(rename = "5")]
    five: f64,
    #[serde(rename = "10")]
    ten: f64,
}

impl Chained {
    fn shares(&self) -> [f64; 5] {
        [self.one, self.two, self.three, self.five, self.ten]
    }
}

/// Constraints that are kept word for word after a number of compactions.
#[derive(Debug, Deserialize)]
struct Constraints {
    window: u64,
    place: String,
    of: usize,
    #[serde(rename = "1")]
    one: usize,
    #[serde(rename = "5")]
    five: usize,
    #[serde(rename = "10")]
    ten: usize,
}

/// A compactor on the kit's short chats after five rounds.
#[derive(Debug, Deserialize)]
struct ShortChats {
    budget: String,
    compactor: String,
    kept: f64,
    size: f64,
    fits: bool,
}

/// Statements that a later one replaces.
#[derive(Debug, Deserialize)]
struct Updates {
    set: String,
    n: usize,
    latest: usize,
    unmarked: usize,
    wrong: usize,
}

/// Installs the suites, runs them and checks the floors; `--record` writes the page.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let options = PythonOptions::read(words, USAGE)?;
    if options.is_skippable && !python::is_there() {
        println!("peers: skipped, since Python with venv and pip is not installed");
        return Ok(());
    }
    let cache = cache()?;
    let python = python::installed_alone(&cache, &SUITES)?;
    let wb = options.wb(root, cache.parent().ok_or("no target directory")?)?;
    let mut command = Command::new(python);
    command.arg(root.join(PROGRAM)).arg(wb).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("{PROGRAM}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{PROGRAM}: {}", output.status));
    }
    let found: PeerResults =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{PROGRAM}: {error}"))?;
    let page = page(&found);
    print!("{}", &page[page.find("## ").unwrap_or(0)..]);
    if options.is_recorded {
        std::fs::write(root.join(FILE), &page).map_err(|error| format!("{FILE}: {error}"))?;
        println!("{FILE}: written");
    }
    let below = below_floors(&found);
    if below.is_empty() { Ok(()) } else { Err(format!("peers: below the floors:\n{}", below.join("\n"))) }
}

/// Returns what is below the floors that we promise.
fn below_floors(found: &PeerResults) -> Vec<String> {
    let mut below = Vec::new();
    for it in &found.chained {
        let floor = if it.kind.contains("safety") || it.kind.contains("constraint") { 100.0 } else { 95.0 };
        let least = it.shares().into_iter().fold(100.0, f64::min);
        if least < floor {
            below.push(format!("{} in a window of {}: {least:.0} % of {floor:.0} %", it.kind, it.window));
        }
    }
    for it in &found.constraints {
        let least = it.one.min(it.five).min(it.ten);
        if least < it.of {
            below.push(format!("constraints at the {} of {}: {least} of {}", it.place, it.window, it.of));
        }
    }
    for Updates { set, n, latest, unmarked, wrong } in &found.updates {
        if latest < n {
            below.push(format!("latest statements of {set}: {latest} of {n}"));
        }
        if unmarked * 8 > n * 3 || *wrong > 0 {
            below.push(format!(
                "replaced statements of {set}: {unmarked} of {n} unmarked, {wrong} others marked"
            ));
        }
    }
    below
}

const TITLE: &str = "\
# Suites of peers

Suites of other projects, run against `wb compact` without a model. They count words that are still there, not
whether a model would use them.
";

fn page(found: &PeerResults) -> String {
    let mut out = String::from(TITLE);
    let _ = writeln!(out, "\n- commit: {}\n- suites: {}", commit(), SUITES.join(", ").replace("==", " "));
    out += "- command: `cargo xtask peers --record`\n\n## Ten compactions in a row\n
Statements of five types in four sessions with long results of tools; least percentage of any type that is\nkept.\n
| window | after 1 | 2 | 3 | 5 | 10 |\n|---:|---:|---:|---:|---:|---:|\n";
    let mut windows: Vec<u64> = found.chained.iter().map(|it| it.window).collect();
    windows.dedup();
    for window in &windows {
        let rows = || found.chained.iter().filter(|it| it.window == *window).map(Chained::shares);
        let least = rows().reduce(|least, row| std::array::from_fn(|at| f64::min(least[at], row[at])));
        let cells = least.unwrap_or_default().map(|share| format!(" {share:.0} |")).concat();
        let _ = writeln!(out, "| {window} |{cells}");
    }
    out += "\n## Constraints of a paper\n
Those of COMPINT (arXiv 2608.11242) at three places of a session, that are there word for word.\n
| window | after 1 | 5 | 10 | of |\n|---:|---:|---:|---:|---:|\n";
    for window in &windows {
        let rows = || found.constraints.iter().filter(|it| it.window == *window);
        let sum = |n: fn(&Constraints) -> usize| rows().map(n).sum::<usize>();
        let [one, five, ten, of] = [sum(|it| it.one), sum(|it| it.five), sum(|it| it.ten), sum(|it| it.of)];
        let _ = writeln!(out, "| {window} | {one} | {five} | {ten} | {of} |");
    }
    out += "\n## Short chats\n
Percentage of statements kept after five compactions, and the size, without a budget and with one; `wb`\n\
reaches it by `--target`. The others are the kit's; the last two read the labels of its statements.\n\n";
    let mut budgets: Vec<&str> = found.short_chats.iter().map(|it| it.budget.as_str()).collect();
    budgets.dedup();
    let _ = writeln!(out, "| compactor | {} |\n|---|{}", budgets.join(" | "), "---:|".repeat(budgets.len()));
    for first in found.short_chats.iter().filter(|it| it.budget == budgets[0]) {
        let _ = write!(out, "| {} |", first.compactor);
        for it in found.short_chats.iter().filter(|it| it.compactor == first.compactor) {
            let over = if it.fits { "" } else { ", too large" };
            let _ = write!(out, " {:.0} ({:.0}{over}) |", it.kept, it.size);
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "\n## Replaced statements\n\nStatements that a later one replaces: the latest is there, the replaced one is quoted \
         without a mark, and\nothers are marked. Our patterns were written with both sets in view.\n\n| set | of | latest | unmarked | others marked |\n|---|---:|---:|---:|---:|"
    );
    for Updates { set, n, latest, unmarked, wrong } in &found.updates {
        let _ = writeln!(out, "| {set} | {n} | {latest} | {unmarked} | {wrong} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_below_its_floor_is_found() {
        let chained = |kind: &str, ten| Chained {
            window: 32_000,
            kind: kind.to_owned(),
            one: 100.0,
            two: 100.0,
            three: 100.0,
            five: 100.0,
            ten,
        };
        let found = PeerResults {
            chained: vec![chained("fact", 96.0), chained("safety_rule", 99.0), chained("goal_state", 94.0)],
            constraints: vec![Constraints {
                window: 64_000,
                place: "top".into(),
                of: 15,
                one: 15,
                five: 15,
                ten: 14,
            }],
            short_chats: vec![ShortChats {
                budget: "10%".into(),
                compactor: "x".into(),
                kept: 1.0,
                size: 10.0,
                fits: true,
            }],
            updates: vec![Updates { set: "kit".into(), n: 64, latest: 64, unmarked: 8, wrong: 1 }],
        };
        let below = below_floors(&found);
        assert_eq!(below.len(), 4, "{below:?}");
        assert!(page(&found).contains("| 32000 | 100 | 100 | 100 | 100 | 94 |"));
    }
}
