//! `cargo xtask e2e`, `sdk`, `integrations` and `peers`: the program of `crates/wb-e2e`, in a
//! process of its own.

use std::path::Path;
use std::process::Command;

use crate::{program, target};

/// Builds and runs the program with these words.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    run_program(root, program::cargo(root, ["run", "--quiet", "-p", "wb-e2e", "--"]).args(words))
}

/// Runs the program that the tests built, on the `wb` that they built.
pub(crate) fn run_built(root: &Path, words: &str) -> Result<(), String> {
    let built = |name: &str| {
        Ok::<_, String>(target()?.join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION))
    };
    let (program, wb) = (built("wb-e2e")?, built("wb")?);
    let wb = wb.to_str().ok_or("the target directory is no text")?;
    let mut program = Command::new(program);
    run_program(root, program.args(words.split(' ')).args(["--wb", wb]).current_dir(root))
}

fn run_program(root: &Path, command: &mut Command) -> Result<(), String> {
    let commit = program::commit_of_head(root, "docs/evaluation/")?;
    program::run(command.env("WB_COMMIT", commit))
}
