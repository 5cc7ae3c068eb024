//! `cargo xtask peers`: suites of other projects for compactions, run against `wb`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::agents::{build_wb, cache};
use crate::{commit, python};

const USAGE: &str = "usage: cargo xtask peers [--record]";
/// The suites: one with sessions and compactors, and one with constraints from a paper.
const SUITES: [&str; 2] = ["compaction-conformance-kit==0.8.0", "conpact==0.1.0"];
/// The program that runs them.
const PROGRAM: &str = "crates/wb-e2e/python/peers.py";
/// The page with the results.
const FILE: &str = "docs/evaluation/peers.md";
/// Our compactor in the table of short chats.
const OURS: &str = "window-budget";

/// The results of all suites; shares are percentages.
#[derive(Debug, Deserialize)]
struct PeerResults {
    chained: Vec<Chained>,
    constraints: Vec<Constraints>,
    short_chats: Vec<ShortChats>,
    updates: Updates,
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
    n: usize,
    latest: usize,
    replaced_too: usize,
}

/// Installs the suites, runs them and checks the floors; `--record` writes the page.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let is_recorded = match words {
        [] => false,
        ["--record"] => true,
        _ => return Err(USAGE.to_owned()),
    };
    if !python::is_there() {
        println!("peers: skipped, since Python with venv is not installed");
        return Ok(());
    }
    let cache = cache()?;
    let python = python::installed_alone(&cache, &SUITES)?;
    let wb = build_wb(root, cache.parent().ok_or("no target directory")?)?;
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
    if is_recorded {
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
        let least = [it.one, it.two, it.three, it.five, it.ten].into_iter().fold(100.0, f64::min);
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
    let Updates { n, latest, .. } = found.updates;
    if latest < n {
        below.push(format!("latest statements: {latest} of {n}"));
    }
    below
}

const TITLE: &str = "\
# Suites of peers

Suites that other projects wrote for compactions, run against `wb compact` with its defaults and without a
model. What counts is that the words are still there; whether a model would use them is not asked.
";

fn page(found: &PeerResults) -> String {
    let mut out = String::from(TITLE);
    let _ = writeln!(out, "\n- commit: {}\n- command: `cargo xtask peers --record`", commit());
    for suite in SUITES {
        let _ = writeln!(out, "- suite: {}", suite.replace("==", " "));
    }
    out += "\n## Ten compactions in a row\n
The kit's statements of five types in sessions of real size, four of them: each request is followed by tool
calls with long results, and each compaction by 36 more. Percentage kept after the first compactions.\n
| window | statements | 1 | 2 | 3 | 5 | 10 |
|---:|---|---:|---:|---:|---:|---:|\n";
    for Chained { window, kind, one, two, three, five, ten } in &found.chained {
        let _ =
            writeln!(out, "| {window} | {kind} | {one:.0} | {two:.0} | {three:.0} | {five:.0} | {ten:.0} |");
    }
    out += "\n## Constraints of a paper\n
The constraints of COMPINT (arXiv 2608.11242), each at three places of a session, that are there word for word.\n
| window | place | after 1 | after 5 | after 10 | of |
|---:|---|---:|---:|---:|---:|\n";
    for Constraints { window, place, of, one, five, ten } in &found.constraints {
        let _ = writeln!(out, "| {window} | {place} | {one} | {five} | {ten} | {of} |");
    }
    out += "\n## Short chats\n
The kit's own chats, compacted five times without anything said in between, without a budget and with one in
characters; `wb` reaches a budget by `--target`. The compactors below it are the kit's; checklist and
pinned-rules read the labels by which the kit marks its statements.\n
| budget | compactor | kept % | size % | within the budget |
|---:|---|---:|---:|---|\n";
    for ShortChats { budget, compactor, kept, size, fits } in &found.short_chats {
        let name = if compactor == OURS { format!("**{compactor}**") } else { compactor.clone() };
        let fits = if *fits { "yes" } else { "no" };
        let _ = writeln!(out, "| {budget} | {name} | {kept:.0} | {size:.0} | {fits} |");
    }
    let Updates { n, latest, replaced_too } = &found.updates;
    let _ = writeln!(
        out,
        "\n## Replaced statements\n\nOf {n} statements that a later one replaces, the latest is there for {latest}; the \
         replaced one is there too for\n{replaced_too}, as an earlier request before it."
    );
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
            short_chats: Vec::new(),
            updates: Updates { n: 64, latest: 64, replaced_too: 64 },
        };
        let below = below_floors(&found);
        assert_eq!(below.len(), 3, "{below:?}");
        assert!(page(&found).contains("| 64000 | top | 15 | 15 | 14 | 15 |"));
    }
}
