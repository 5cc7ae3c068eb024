//! `cargo xtask e2e`, `sdk` and `integrations`: the program of `crates/wb-e2e`, in a process of its
//! own.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::figures::commit_of_head;
use crate::target;

/// Builds and runs the program with these words.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["run", "--quiet", "-p", "wb-e2e", "--"];
    run_program(root, &cargo, &[&build, words].concat())
}

/// Runs the program that the tests built, on the `wb` that they built.
pub(crate) fn run_built(root: &Path, words: &str) -> Result<(), String> {
    let built = |name: &str| {
        Ok::<_, String>(target()?.join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION))
    };
    let (program, wb) = (built("wb-e2e")?, built("wb")?);
    let wb = wb.to_str().ok_or("the target directory is no text")?;
    run_program(root, program.as_os_str(), &words.split(' ').chain(["--wb", wb]).collect::<Vec<_>>())
}

fn run_program(root: &Path, program: &OsStr, words: &[&str]) -> Result<(), String> {
    let status = Command::new(program)
        .args(words)
        .env("WB_COMMIT", commit_of_head(root, "docs/evaluation/")?)
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", words.join(" "))) }
}
