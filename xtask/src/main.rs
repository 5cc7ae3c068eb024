//! The checks of this repository, as one program: `cargo xtask ci` runs them all, in the order of
//! [`ci::STEPS`].
//!
//! Each rule is a function from text to findings, so that its test can show it failing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod program;
mod tidy;
mod layers;
mod alone;
mod catalog;
mod schema;
mod figures;
mod weight;
mod estimators;
mod fuzz;
mod e2e;
mod bindings;
mod fleet;
mod release;
mod package;
mod api;
mod speed;
mod pages;
mod times;
mod deep;
mod ci;
mod house;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  api [--write]
          compare the public surface of the crates with docs/reference/api, or write it; needs nightly Rust
  attack [--runs N] [--record] [--wb PROGRAM]
          attack the command: damaged files, kills, full disks, two writers, texts that imitate the user; --record
          writes docs/evaluation/safety.md
  bindings [--deep | --speed]
          test the packages for Python and, with --deep, for JavaScript, with frameworks of agents; needs Python with venv,
          and npm. --speed measures both next to Rust, and writes docs/evaluation/bindings.md
  catalog [--age]
          check the table of models: sorted, dated, with sources and plausible figures; --age lists the figures that are
          older than 60 days
  ci [--deep | --record]
          run formatting, layers, catalog, tidiness, lints, each crate alone, tests, documentation, and where npm and
          Python are installed real agents and the SDKs, up to the first failure. --deep runs all cases of each law, all
          sessions through opencode, the types of the plug-ins and dist, and writes docs/evaluation/deep.md; --record
          writes the seconds of each step into docs/evaluation/ci.tsv
  dist    build wb as it is installed, and check its size and the time that an agent waits for its answer
  e2e HOST… [--wb PROGRAM] [--only CASE] [--keep] [--record]
          have real agents continue sessions that wb compacted; HOST is pi, codex, opencode, all (these three), claude-code,
          gemini-cli or pi-0
  figures [FOLDER [DATE]]
          measure what compactions keep of the sessions in FOLDER, or in WB_SHARED, and write it into docs/evaluation
  fit-estimators FOLDER [DATE]
          fit the estimators of tokens on the sessions in FOLDER, and write their weights and docs/evaluation/estimators.md
  fleet [--deep]
          test the workspace in fleet/, which builds for minutes, and with --deep its package for Python in Spark, Daft,
          Ray, Polars and DuckDB; needs Python with venv, and Java
  fuzz [TARGET] [--minutes N]
          feed arbitrary bytes to read, compact, validate and repair, ten minutes each, and write docs/evaluation/fuzz.md;
          needs a nightly toolchain and cargo-fuzz
  growth  measure how commands grow with the number and size of messages, and write docs/evaluation/growth.md
  house [--write] [--tsv] [--root FOLDER]
          count lines, files, items, functions and words; --write writes docs/evaluation/house.md
  instructions [--write]
          count the instructions of commands on composed sessions and compare them with the recorded counts, or record
          them; needs valgrind
  integrations
          check the plug-ins of crates/wb-cli/integrations against the types of their agents; needs npm
  layers  check that dependencies between crates point down, and external ones are on the list
  package package each crate in the order of dependencies, and build it from its package
  pages   open the pages of wb view and wb replay in Chromium: no message, no request, no serious finding of axe;
          needs npm and Chromium
  peers [--record] [--wb PROGRAM]
          run suites that other projects wrote for compactions against wb, and check what has to be kept; needs Python
          with venv
  release [--try] [x86_64 | aarch64]
          build what a release publishes into target/release-files: programs, wheels, npm packages, checksums, a bill of
          materials; --try installs each into a clean place and runs its first example. Publishes nothing
  schema  write the JSON Schemas and the table of formats into docs/reference
  sdk [--record | --server]
          send our requests through the official Python SDKs to a provider that checks them; needs Python with venv.
          --server has llama.cpp's server write a digest
  weight  count the external crates of each crate and feature, and write docs/evaluation/weight.md
  tidy    check rules about files: length, order of modules, links, words, names, comments, help, folders
";

fn main() -> ExitCode {
    let root = root();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci", ref words @ ..] => ci::run(&root, words),
        ["time-tests", ref words @ ..] => times::run(words),
        ["catalog"] => catalog::run(&root),
        ["catalog", "--age"] => catalog::print_old(&root),
        ["layers"] => layers::run(&root),
        ["bindings", "--speed"] => speed::bindings::run(&root),
        ["bindings", ref words @ ..] => bindings::run(&root, words),
        ["fleet", ref words @ ..] => fleet::run(&root, words),
        ["release", ref words @ ..] => release::run(&root, words),
        ["package"] => package::run(&root),
        ["api", ref words @ ..] => api::run(&root, words),
        ["dist"] => speed::dist::run(&root),
        ["growth"] => speed::growth::run(&root),
        ["instructions", ref words @ ..] => speed::instructions::run(&root, words),
        ["pages"] => pages::run(&root),
        ["attack" | "e2e" | "sdk" | "integrations" | "peers", ..] => {
            e2e::run(&root, &words.iter().map(String::as_str).collect::<Vec<_>>())
        }
        ["fit-estimators", ref words @ ..] => estimators::run(&root, words),
        ["figures", ref words @ ..] => figures::run(&root, words),
        ["fuzz", ref words @ ..] => fuzz::run(&root, words),
        ["house", ref words @ ..] => house::run(&root, words),
        ["schema"] => schema::run(&root),
        ["weight"] => weight::run(&root),
        ["tidy"] => tidy::run(&root),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{}", why.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the checkout that cargo runs this from.
///
/// It is asked for at run time: checkouts that share a target directory may share this very program
/// too.
fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    xtask.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Returns the target directory, in which this program was built.
fn target() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    Ok(program.ancestors().nth(2).ok_or("this program is in no target directory")?.to_path_buf())
}

/// Turns findings into an outcome: one line each.
fn report(name: &str, findings: &[String]) -> Result<(), String> {
    if findings.is_empty() {
        println!("{name}: nothing found");
        return Ok(());
    }
    Err(format!("{}\n{name}: {} found", findings.join("\n"), findings.len()))
}
