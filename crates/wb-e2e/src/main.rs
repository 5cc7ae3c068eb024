//! End-to-end tests: real agents and the official SDKs, against a mock provider on the loopback
//! address, and suites of other projects.
//!
//! `cargo xtask e2e`, `sdk`, `integrations` and `peers` run this program in the root of the
//! checkout.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod agents;
mod attack;
mod python;
mod integrations;
mod sdk;
mod peer_suites;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask attack|e2e|integrations|sdk|peers …";

fn main() -> ExitCode {
    let root = PathBuf::from(".");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["attack", ref words @ ..] => attack::run(&root, words),
        ["e2e", ref words @ ..] => agents::run(&root, words),
        ["integrations"] => integrations::run(&root),
        ["sdk", ref words @ ..] => sdk::run(&root, words),
        ["peers", ref words @ ..] => peer_suites::run(&root, words),
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

/// Returns the target directory, in which this program was built.
fn target() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    Ok(program.ancestors().nth(2).ok_or("this program is in no target directory")?.to_path_buf())
}

/// Returns the commit that a page names: `cargo xtask` passes it on.
fn commit() -> String {
    std::env::var("WB_COMMIT").unwrap_or_else(|_| "unknown".to_owned())
}
