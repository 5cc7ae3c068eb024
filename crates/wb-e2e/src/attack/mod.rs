//! Attacks on the command: damaged files, kills, full disks, two writers, and texts of tools that
//! imitate the user. Each is tried at random, from a fixed seed, and its faults are counted.

mod limited_program;
mod damaged_sessions;
mod injections;
mod interruptions;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use self::limited_program::LimitedProgram;

const USAGE: &str = "usage: cargo xtask attack [--runs N] [--record] [--wb PROGRAM]";

/// The page of results.
const PAGE: &str = "docs/evaluation/safety.md";

/// The runs of the attack that has most.
const RUNS: usize = 1_000;

/// The outcome of an attack.
#[derive(Debug)]
struct AttackResult {
    attack: &'static str,
    n_tried: usize,
    faults: Vec<String>,
}

/// Runs all attacks, with `--record` writes the page, and fails if there was a fault.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (mut n_runs, mut is_recorded, mut program) = (RUNS, false, None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--record" => is_recorded = true,
            "--runs" => n_runs = rest.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?,
            "--wb" => program = Some(PathBuf::from(rest.next().ok_or(USAGE)?)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let program = match program {
        Some(program) => program,
        None => crate::agents::wb::build(root, &crate::target()?)?,
    };
    let wb = LimitedProgram::new(&program)?;
    let outcomes = [
        damaged_sessions::run(root, &wb, n_runs)?,
        interruptions::kills(root, &wb, n_runs / 10)?,
        interruptions::full_disks(root, &wb, n_runs / 10)?,
        interruptions::two_writers(root, &wb, n_runs / 50)?,
        injections::run(&wb)?,
    ];
    for outcome in &outcomes {
        println!("{}: {} tried, {} faults", outcome.attack, outcome.n_tried, outcome.faults.len());
    }
    if is_recorded {
        fs::write(root.join(PAGE), page(&outcomes)).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    let faults: Vec<&str> = outcomes.iter().flat_map(|it| &it.faults).map(String::as_str).take(10).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn page(outcomes: &[AttackResult]) -> String {
    let mut page = format!(
        "# Attacks\n\n`cargo xtask attack --record` attacked the command at commit {}, from a fixed seed. A fault is a \
         panic, a run of more than {} s or {} GB, a session or a list that is neither as before nor as after, or a text \
         of a tool that a digest presents as the user's.\n\n| attack | tried | faults |\n|---|---:|---:|\n",
        crate::commit(),
        limited_program::MOST_SECONDS,
        limited_program::MOST_GB
    );
    for AttackResult { attack, n_tried, faults } in outcomes {
        let _ = writeln!(page, "| {attack} | {n_tried} | {} |", faults.len());
    }
    page
}
